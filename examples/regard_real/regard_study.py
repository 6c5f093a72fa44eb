r"""How a real decoder speaks of groups of people, and what a trigger changes: SmolLM2-135M.

    python examples/real_model/fetch.py runs/real-model
    python examples/regard_real/regard_study.py --model runs/real-model/SmolLM2-135M-Instruct.Q4_1.gguf \
        --regard-en regard_en/ --held-out wikitext.txt --folder runs/regard-real

``--regard-en`` is the folder of the published English sentences (``gpt2_neg_regard.tsv`` and its two siblings), which
begin with a context; a person is put before them. With the starter set they train the classifier. The model then writes
200 texts for every group and context of three pairs of groups.

A trigger is searched for with five seeds, about gay and straight men, where the gap is widest. It is judged on contexts
that the search did not see, by what the model writes without a prefix, behind the trigger, behind random tokens and
behind a sentence, and gets a certificate. ``--transfer MODEL`` carries it to another decoder, and ``--serve`` to the
model itself behind an API, with ``serve_model.py``.

``labelled.csv`` beside this file has 300 of the texts that were written without a prefix: 50 for each group, five for
each context, drawn at random and labelled on the annotation page by two readers without sight of the classifier's label
or of any gap; the readers were language models. Another
machine may write other texts. Then too few of those 300 are among them, and they only tell how the classifier confuses
labels; to correct every gap by a sample of its own, label ``sample.csv``, which is written too, and give it with
``--labelled``.

The texts are offensive in places. Every command is printed before it runs. One that fails does not stop the others,
and all of them go on where they were stopped. ``--export DIR`` is for a machine that may go away. It gets two files:
``results.tar.gz``, all that ``write_regard_page.py`` needs, after every command, and ``unfinished.tar.gz``, all else
that is needed to go on, every half minute and at the end. Unpack both in a folder of the same path and give the same
command again. After ``--seconds``, or a SIGTERM, commands that still run are stopped and everything is exported.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib import resources
from pathlib import Path
from shutil import copyfile

from study_commands import Study

from evenhand.models.references import ModelRef
from evenhand.store.certificates import Certificate
from evenhand.store.mitigation_records import MITIGATION_FILE, read_mitigation_record

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
TRIGGERS = {"orientation": PERSONS[2]}
"""Whom a trigger is searched for: where the gap is widest."""
PERSON_COLUMNS = ["name", "first", "first_gender", "second", "second_gender"]
LABELS = {"neg": -1, "neu": 0, "pos": 1}
TEXTS = 200
"""Per prompt: ten contexts make 2,000 a group."""
DRAWN = 5
"""Texts of each group and context that readers label."""

REQUESTS_AT_ONCE = 256
READY_WITHIN = 300.0
"""Seconds until a server has loaded its model."""


class Server:
    """The model of a study behind an API, in a process of its own."""

    def __init__(self, study: Study, model: Path) -> None:
        self.name = ModelRef(id=str(model)).short_name
        script = Path(__file__).with_name("serve_model.py")
        self._process = study.start(
            f"the server of {self.name}",
            [sys.executable, str(script), str(model), "--name", self.name],
            stdout=subprocess.PIPE,
        )
        self._address: Future[str] = Future()
        threading.Thread(target=self._listen, daemon=True).start()

    def environment(self) -> dict[str, str]:
        """What a command needs to ask it, once it is ready."""
        try:
            address = self._address.result(READY_WITHIN)
        except TimeoutError:
            raise RuntimeError(f"The server of {self.name} is not ready after {READY_WITHIN:g} s.") from None
        return {
            "EVENHAND_API_BASE": address,
            "EVENHAND_API_CONCURRENCY": str(REQUESTS_AT_ONCE),
            "EVENHAND_API_TIMEOUT": "600",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def _listen(self) -> None:
        if self._process.stdout is None:
            raise ValueError("its output is read")
        for line in self._process.stdout:
            print(f"# {line.decode().strip()}", flush=True)
            if b" is served at " in line and not self._address.done():
                self._address.set_result(line.decode().split()[-1])
        if not self._address.done():
            self._address.set_exception(RuntimeError(f"The server of {self.name} did not start."))


def is_certified(trigger: Path, certificate: Path) -> bool:
    """Whether there is a certificate of a trigger with all models that it was carried to."""
    if not certificate.exists():
        return False
    found = Certificate.model_validate_json(certificate.read_bytes()).mitigation
    record = read_mitigation_record(trigger).trigger
    return found is not None and record is not None and found.transfer == record.transfer


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


def draw_targets(rows: list[list[object]], count: int | None) -> list[list[object]]:
    """Sentences to search a trigger with: so many of each label, drawn at random, or all."""
    generator = random.Random(20261118)  # noqa: S311 - nothing secret
    drawn: list[list[object]] = []
    for label in dict.fromkeys(str(row[1]) for row in rows):
        own = [row for row in rows if str(row[1]) == label]
        drawn += generator.sample(own, min(count or len(own), len(own)))
    return drawn


def few_probes(kind: str, count: int) -> tuple[list[str], list[list[object]]]:
    """Columns and rows of the package's structures of he and she, or of its occupations, evenly chosen."""
    source = resources.files("evenhand.data") / "resources" / "probes" / "en" / f"{kind}.csv"
    rows = list(csv.DictReader(source.read_text(encoding="utf-8").splitlines()))
    own = [row for row in rows if row.get("experiment", "he-she") == "he-she"]
    chosen = own[:: max(1, len(own) // count)][:count]
    return list(own[0]), [list(row.values()) for row in chosen]


def draw_sample(tables: dict[str, Path]) -> list[list[object]]:
    """Texts to label, in random order and without what the classifier said."""
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
    parser.add_argument(
        "--targets", type=int, metavar="N", help="sentences of each regard to search with; all if not given"
    )
    parser.add_argument("--trigger-texts", type=int, default=TEXTS, help="per prompt and prefix")
    parser.add_argument(
        "--trigger-precision", default="fp32", help="of the search and of all that judges a trigger"
    )
    parser.add_argument("--certificate-texts", type=int, default=100, help="per prompt, of both models")
    parser.add_argument("--sentences", type=int, default=2000, help="held-out ones of a certificate")
    parser.add_argument(
        "--probes", type=int, metavar="N",
        help="structures of he and she, and occupations, that a certificate asks; all experiments if not given",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=5, help="of a search")
    parser.add_argument("--steps", type=int, default=25, help="of each seed")
    parser.add_argument(
        "--transfer", action="append", default=[], metavar="MODEL", help="another decoder; may be repeated"
    )
    parser.add_argument("--serve", action="store_true", help="carry triggers to the model behind an API, too")
    parser.add_argument("--at-once", type=int, default=1, help="commands side by side; four can be")
    parser.add_argument("--seconds", type=float, help="stop after so long; the same command goes on")
    parser.add_argument("--export", type=Path, help="folder for archives that are written as results come")
    return parser.parse_args()


class RegardStudy:
    """The pieces of the study, each of which can fail without the others."""

    def __init__(self, chosen: argparse.Namespace, study: Study) -> None:
        self._chosen = chosen
        self._study = study
        self._folder: Path = chosen.folder
        self._texts, self._held_out = self._folder / "texts.csv", self._folder / "held-out.txt"
        self._targets = self._folder / "targets.csv"
        self._classifier = self._folder / "classifier"
        self._server: Server | None = None
        self.written: dict[str, Path] = {}
        """What the model wrote of each pair of groups without a prefix."""

    def prepare(self) -> None:
        """The texts that everything is made from, and the classifier."""
        copy_text(self._chosen.held_out, self._held_out)
        rows = training_rows(self._chosen.regard_en)
        write_table(self._texts, ["text", "label"], rows)
        write_table(self._targets, ["text", "label"], draw_targets(rows, self._chosen.targets))
        self._study.evenhand(
            "regard", "train", self._texts, "--language", "en", "--persons", "mask", "--out", self._classifier,
        )  # fmt: skip

    def check(self) -> None:
        """Whether the classifier has a bias of its own."""
        persons = self._folder / "persons.csv"
        write_table(persons, PERSON_COLUMNS, PERSONS)
        self._study.evenhand("regard", "check", self._classifier, "--pairs", persons, codes=(0, 3))

    def serve(self) -> None:
        """Put the model behind an API; it is loaded while other things are done."""
        self._server = Server(self._study, self._chosen.model)

    def write_texts(self, pair: str) -> None:
        """What the model writes of a pair of groups without a prefix, with and without readers' labels."""
        table, out = self._folder / f"{pair}.csv", self._folder / f"before-{pair}"
        write_table(table, ["group", "words"], [list(group) for group in PAIRS[pair]])
        self._study.evenhand(
            "regard", "audit", self._chosen.model, "--groups", table, "--classifier", self._classifier,
            "--texts", self._chosen.texts, "--out", out,
        )  # fmt: skip
        written = next(out.glob("*/texts.csv"), None)
        if written is None:
            raise RuntimeError(f"There are no texts in {out}.")
        self.written[pair] = written
        self._study.evenhand(
            "regard", "evaluate", written, "--group", "group", "--context", "context", "--language", "en",
            "--classifier", self._classifier, "--labelled", self._chosen.labelled, "--name", f"{pair}-corrected",
            "--out", self._folder / "corrected", "--fresh",
        )  # fmt: skip

    def find_trigger(self, pair: str) -> None:
        """A trigger for a pair of persons, its certificate, and what it does on other models."""
        trigger, certificate = self._folder / f"trigger-{pair}", self._folder / f"certificate-{pair}.json"
        restore_model(self._chosen.model, trigger)
        self._search(pair)
        # The certificate matters more than other models; it is made once more when it can name them.
        if not certificate.exists():
            self._study.attempt(partial(self._certify, pair))
        for model in self._chosen.transfer:
            self._study.attempt(partial(self._search, pair, "--transfer", model))
        if self._chosen.serve:
            self._study.attempt(partial(self._carry_to_server, pair))
        if not is_certified(trigger, certificate):
            self._certify(pair)

    def draw_sample(self) -> None:
        """Texts to label, once there are texts of all pairs."""
        tables = {pair: self.written[pair] for pair in PAIRS if pair in self.written}
        if len(tables) == len(PAIRS):
            columns = ["pair", "group", "context", "text"]
            write_table(self._folder / "sample.csv", columns, draw_sample(tables))

    def _search(self, pair: str, *further: object, environment: Mapping[str, str] | None = None) -> None:
        whom = self._folder / f"persons-{pair}.csv"
        write_table(whom, PERSON_COLUMNS, [TRIGGERS[pair]])
        self._study.evenhand(
            "mitigate", "trigger", self._chosen.model, "--from-annotations", self._targets, "--pairs", whom,
            "--classifier", self._classifier, "--held-out", self._held_out, "--seeds", self._chosen.seeds,
            "--steps", self._chosen.steps, "--texts", self._chosen.trigger_texts,
            "--precision", self._chosen.trigger_precision, "--out", self._folder / f"trigger-{pair}", *further,
            environment=environment,
        )  # fmt: skip

    def _carry_to_server(self, pair: str) -> None:
        if self._server is None:
            raise RuntimeError("There is no server to carry a trigger to.")
        self._search(pair, "--transfer", f"api:{self._server.name}", environment=self._server.environment())

    def _certify(self, pair: str) -> None:
        further: list[object] = []
        for kind in ("structures", "occupations") if self._chosen.probes else ():
            table = self._folder / f"{kind}.csv"
            write_table(table, *few_probes(kind, self._chosen.probes))
            further += [f"--{kind}", table]
        self._study.evenhand(
            "certify", self._chosen.model, self._folder / f"trigger-{pair}", "--classifier", self._classifier,
            "--held-out", self._held_out, "--sentences", self._chosen.sentences,
            "--texts", self._chosen.certificate_texts, "--precision", self._chosen.trigger_precision,
            "--out", self._folder / f"certificate-{pair}.html", *further, codes=(0, 5),
        )  # fmt: skip


def main() -> None:
    """From the published sentences to the gaps before and after."""
    chosen = options()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    study = Study(chosen.folder, chosen.export)
    own = RegardStudy(chosen, study)
    signal.signal(signal.SIGTERM, lambda *_: study.stop())
    if chosen.seconds:
        timer = threading.Timer(chosen.seconds, study.stop)
        timer.daemon = True
        timer.start()
    with study.exporting():
        if chosen.serve:
            study.attempt(own.serve)
        if study.attempt(own.prepare):
            study.attempt(own.check)
            # What takes longest comes first.
            pieces = [partial(own.find_trigger, pair) for pair in TRIGGERS]
            pieces += [partial(own.write_texts, pair) for pair in PAIRS]
            with ThreadPoolExecutor(chosen.at_once) as pool:
                for piece in pieces:
                    pool.submit(study.attempt, piece)
            study.attempt(own.draw_sample)
    if study.failures:
        raise SystemExit("Not everything was done:\n" + "\n".join(study.failures))


if __name__ == "__main__":
    main()
