r"""How a real decoder speaks of groups of people, and what a trigger changes: SmolLM2-135M.

    python examples/real_model/fetch.py runs/real-model
    python examples/regard_real/regard_study.py --model runs/real-model/SmolLM2-135M-Instruct.Q4_1.gguf \
        --regard-en regard_en/ --held-out wikitext.txt --folder runs/regard-real

``--regard-en`` is the folder of the published English sentences (``gpt2_neg_regard.tsv`` and its two siblings), which
begin with a context; a person is put before them. With the starter set they train the classifier. The model then writes
200 texts for every group and context of three pairs of groups.

Two triggers are searched for with five seeds each: about women and men, and about gay and straight men, where the gap
is widest. Each is judged on contexts that its search did not see, by what the model writes without a prefix, behind the
trigger, behind random tokens and behind a sentence, and gets a certificate.

``labelled.csv`` beside this file has 300 of the texts that were written without a prefix: 50 for each group, five for
each context, drawn at random and labelled by one reader who saw neither the classifier's label nor any gap. Another
machine may write other texts. Then too few of those 300 are among them, and they only tell how the classifier confuses
labels; to correct every gap by a sample of its own, label ``sample.csv``, which is written too, and give it with
``--labelled``.

The texts are offensive in places. Every command is printed before it runs. One that fails does not stop the others,
and all of them go on where they were stopped. ``--export DIR`` is for a machine that may go away. It gets two files:
``results.tar.gz``, all that ``write_regard_page.py`` needs, after every command, and ``unfinished.tar.gz``, all else
that is needed to go on, every half minute and at the end. Unpack both in a folder of the same path and give the same
command again.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import random
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from importlib import resources
from pathlib import Path
from shutil import copyfile

from evenhand.models.references import ModelRef
from evenhand.runs.mitigation_records import MITIGATION_FILE, read_mitigation_record

PAIRS = {
    "gender": (("women", "The woman"), ("men", "The man")),
    "race": (("Black people", "The Black person"), ("white people", "The white person")),
    "orientation": (("gay people", "The gay person"), ("straight people", "The straight person")),
}
PERSONS: list[list[object]] = [
    ["woman-man", "The woman", "female", "The man", "male"],
    ["Black-white", "The Black man", "male", "The white man", "male"],
    ["gay-straight", "The gay man", "male", "The straight man", "male"],
]
TRIGGERS = {"gender": PERSONS[0], "orientation": PERSONS[2]}
"""Whom a trigger is searched for."""
PERSON_COLUMNS = ["name", "first", "first_gender", "second", "second_gender"]
LABELS = {"neg": -1, "neu": 0, "pos": 1}
TEXTS = 200
"""Per prompt: ten contexts make 2,000 a group."""
DRAWN = 5
"""Texts of each group and context that are labelled by hand."""

TIMES = "times.csv"
RESULTS = (
    TIMES, "sample.csv", "classifier/*", "before-*/*_regard/*", "corrected/*-corrected/*", "trigger-*/mitigation.json",
    "certificate-*.json",
)  # fmt: skip
"""What the page is written from, as patterns of paths in the folder."""
NOT_KEPT = ("*.claim", "model*.safetensors", "tokenizer.json")
"""Who works on what, and the model, which can be had again."""
EXPORT_EVERY = 30.0
"""Seconds between two exports of what is unfinished."""


class Study:
    """Commands of one study, each printed, timed and exported."""

    def __init__(self, folder: Path, export: Path | None) -> None:
        self.folder = folder
        self.export = export
        self.failures: list[str] = []
        self._exporting = threading.Lock()
        self._timing = threading.Lock()

    def evenhand(self, *arguments: object, codes: Sequence[int] = (0,)) -> None:
        """Run a command as a user would, and raise unless it ends as expected.

        A classifier that failed its check (3) and a certificate of lost quality (5) are results too.
        """
        words = [str(argument) for argument in arguments]
        print("$ evenhand", *words, flush=True)
        started = time.monotonic()
        finished = subprocess.run([sys.executable, "-m", "evenhand", *words], check=False)
        seconds = time.monotonic() - started
        command = words[: 1 if words[0] == "certify" else 2]
        if "--out" in words:
            command.append(Path(words[words.index("--out") + 1]).name)
        name = " ".join(command)
        print(f"# {name}: {seconds:.0f} s, exit code {finished.returncode}", flush=True)
        with self._timing, (self.folder / TIMES).open("a", encoding="utf-8") as stream:
            stream.write(f"{name},{seconds:.1f},{finished.returncode}\n")
        if finished.returncode not in codes:
            raise RuntimeError(f"evenhand {name} ended with exit code {finished.returncode}.")
        self.export_results()

    def attempt(self, work: Callable[[], None]) -> None:
        """Do a piece of work; if it fails, say so and let the others go on."""
        try:
            work()
        except RuntimeError as problem:
            print(problem, file=sys.stderr, flush=True)
            self.failures.append(str(problem))

    def export_results(self) -> None:
        """Pack what the page is written from."""
        self._pack("results.tar.gz", is_wanted=_is_result)

    def export_unfinished(self) -> None:
        """Pack all else that is needed to go on."""
        self._pack("unfinished.tar.gz", is_wanted=lambda path: not _is_result(path))

    @contextmanager
    def exporting(self) -> Iterator[None]:
        """Export what is unfinished again and again while the block runs, and everything at its end."""
        over = threading.Event()

        def repeat() -> None:
            while not over.wait(EXPORT_EVERY):
                self.export_unfinished()

        exporter = threading.Thread(target=repeat, daemon=True)
        exporter.start()
        try:
            yield
        finally:
            over.set()
            exporter.join()
            self.export_results()
            self.export_unfinished()

    def _pack(self, name: str, *, is_wanted: Callable[[str], bool]) -> None:
        """Write an archive of the files of the folder, whole or not at all."""
        if self.export is None:
            return
        with self._exporting:
            self.export.mkdir(parents=True, exist_ok=True)
            scratch = self.export / f".{name}"
            with tarfile.open(scratch, "w:gz", compresslevel=6) as archive:
                for file in sorted(self.folder.rglob("*")):
                    path = file.relative_to(self.folder).as_posix()
                    if _is_kept(file) and is_wanted(path):
                        _add(archive, file, path)
            scratch.replace(self.export / name)


def _is_result(path: str) -> bool:
    patterns = (pattern for pattern in RESULTS if pattern.count("/") == path.count("/"))
    return any(fnmatch(path, pattern) for pattern in patterns) and "/." not in f"/{path}"


def _is_kept(file: Path) -> bool:
    return file.is_file() and not any(file.match(pattern) for pattern in NOT_KEPT)


def _add(archive: tarfile.TarFile, file: Path, path: str) -> None:
    """Add a file, unless a command has removed it meanwhile."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return
    member = tarfile.TarInfo(path)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def restore_model(model: Path, trigger: Path) -> None:
    """Write the model of a trigger again where an export kept its record alone."""
    if not (trigger / MITIGATION_FILE).exists() or any(trigger.glob("*.safetensors")):
        return
    from evenhand.mitigation.mitigate import write_model_folder
    from evenhand.models.language_model import load_language_model

    record = read_mitigation_record(trigger)
    write_model_folder(load_language_model(ModelRef(id=str(model))), record, trigger)


def copy_text(source: Path, place: Path) -> None:
    """Copy a file, with a time of change that is the same on every machine, by which commands know a text."""
    if not place.exists():
        copyfile(source, place)
    os.utime(place, (0, 0))


def write_table(path: Path, columns: list[str], rows: list[list[object]]) -> None:
    """A CSV, left alone if it is there already."""
    if path.exists():
        return
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def training_rows(published: Path) -> list[list[object]]:
    """The published sentences told of a person, and the starter set."""
    rows: list[list[object]] = [
        [f"The person {line.strip()}", label]
        for name, label in LABELS.items()
        for line in (published / f"gpt2_{name}_regard.tsv").read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    starter = resources.files("evenhand.data") / "resources" / "regard" / "starter_en.csv"
    lines = starter.read_text(encoding="utf-8").splitlines()
    rows += [[row["text"], row["label"]] for row in csv.DictReader(lines)]
    return rows


def draw_sample(tables: dict[str, Path]) -> list[list[object]]:
    """Texts to label by hand, in random order and without what the classifier said."""
    generator = random.Random(20261116)  # noqa: S311 - nothing secret
    rows: list[list[object]] = []
    drawn: set[str] = set()
    for pair, table in tables.items():
        texts: dict[tuple[str, str], set[str]] = {}
        with table.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                texts.setdefault((row["group"], row["context"]), set()).add(row["text"])
        for (group, context), own in sorted(texts.items()):
            left = sorted(own - drawn)
            chosen = generator.sample(left, min(DRAWN, len(left)))
            drawn.update(chosen)
            rows += [[pair, group, context, text] for text in chosen]
    generator.shuffle(rows)
    return rows


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file, or a folder of Transformers")
    parser.add_argument("--regard-en", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True, help="text for the perplexity of prefixes")
    parser.add_argument("--folder", type=Path, required=True, help="for everything that is made")
    parser.add_argument("--labelled", type=Path, default=Path(__file__).with_name("labelled.csv"))
    parser.add_argument("--texts", type=int, default=TEXTS, help="per prompt, without a prefix")
    parser.add_argument("--trigger-texts", type=int, default=TEXTS, help="per prompt and prefix")
    parser.add_argument("--certificate-texts", type=int, default=100, help="per prompt, of both models")
    parser.add_argument("--sentences", type=int, default=2000, help="held-out ones of a certificate")
    parser.add_argument("--seeds", type=int, default=5, help="of a search")
    parser.add_argument("--steps", type=int, default=25, help="of each seed")
    parser.add_argument("--at-once", type=int, default=1, help="commands side by side; five can be")
    parser.add_argument("--export", type=Path, help="folder for archives that are written as results come")
    return parser.parse_args()


def main() -> None:
    """From the published sentences to the gaps before and after."""
    chosen = options()
    folder: Path = chosen.folder
    folder.mkdir(parents=True, exist_ok=True)
    study = Study(folder, chosen.export)
    evenhand = study.evenhand

    texts, classifier, persons = folder / "texts.csv", folder / "classifier", folder / "persons.csv"
    held_out = folder / "held-out.txt"
    copy_text(chosen.held_out, held_out)

    def train() -> None:
        write_table(texts, ["text", "label"], training_rows(chosen.regard_en))
        evenhand(
            "regard", "train", texts, "--language", "en", "--persons", "mask", "--out", classifier,
        )  # fmt: skip
        write_table(persons, PERSON_COLUMNS, PERSONS)
        evenhand("regard", "check", classifier, "--pairs", persons, codes=(0, 3))

    before: dict[str, Path] = {}

    def write_texts(pair: str) -> None:
        """What the model writes of a pair of groups without a prefix, with and without labels by hand."""
        table, out = folder / f"{pair}.csv", folder / f"before-{pair}"
        write_table(table, ["group", "words"], [list(group) for group in PAIRS[pair]])
        evenhand(
            "regard", "audit", chosen.model, "--groups", table, "--classifier", classifier, "--texts", chosen.texts,
            "--out", out,
        )  # fmt: skip
        written = next(out.glob("*/texts.csv"))
        evenhand(
            "regard", "evaluate", written, "--group", "group", "--context", "context", "--language", "en",
            "--classifier", classifier, "--labelled", chosen.labelled, "--name", f"{pair}-corrected",
            "--out", folder / "corrected", "--fresh",
        )  # fmt: skip
        before[pair] = written

    def search(pair: str) -> None:
        """A trigger for a pair of persons, and its certificate."""
        whom, trigger = folder / f"persons-{pair}.csv", folder / f"trigger-{pair}"
        write_table(whom, PERSON_COLUMNS, [TRIGGERS[pair]])
        restore_model(chosen.model, trigger)
        evenhand(
            "mitigate", "trigger", chosen.model, "--from-annotations", texts, "--pairs", whom,
            "--classifier", classifier, "--held-out", held_out, "--seeds", chosen.seeds,
            "--steps", chosen.steps, "--texts", chosen.trigger_texts, "--out", trigger,
        )  # fmt: skip
        evenhand(
            "certify", chosen.model, trigger, "--classifier", classifier, "--held-out", held_out,
            "--sentences", chosen.sentences, "--texts", chosen.certificate_texts,
            "--out", folder / f"certificate-{pair}.html", codes=(0, 5),
        )  # fmt: skip

    with study.exporting():
        study.attempt(train)
        if not study.failures:
            # What takes longest comes first.
            with ThreadPoolExecutor(chosen.at_once) as pool:
                pieces = [partial(search, pair) for pair in TRIGGERS]
                pieces += [partial(write_texts, pair) for pair in PAIRS]
                done = [pool.submit(study.attempt, piece) for piece in pieces]
            for future in done:
                future.result()
        if len(before) == len(PAIRS):
            tables = {pair: before[pair] for pair in PAIRS}
            write_table(folder / "sample.csv", ["pair", "group", "context", "text"], draw_sample(tables))
    if study.failures:
        raise SystemExit("Not everything was done:\n" + "\n".join(study.failures))


if __name__ == "__main__":
    main()
