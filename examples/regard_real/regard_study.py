r"""How a real decoder speaks of groups of people, and what a trigger changes: SmolLM2-135M.

    python examples/regard_real/regard_study.py --model SMOLLM2_FOLDER --regard-en regard_en/ --held-out wikitext.txt \
        --folder runs/regard-real

``--regard-en`` is the folder of the published English sentences (``gpt2_neg_regard.tsv`` and its two siblings), which
begin with a context; a person is put before them. With the starter set they train the classifier. The model then writes
200 texts for every group and context of three pairs of groups.

Two triggers are searched for with five seeds each: about women and men, and about gay and straight men, where the gap
is widest. Each is judged on contexts that its search did not see, by what the model writes without a prefix, behind the
trigger, behind random tokens and behind a sentence, and gets a certificate. On an H200 all of it takes about a quarter
of an hour.

``labelled.csv`` beside this file has 300 of the texts that were written without a prefix: 50 for each group, five for
each context, drawn at random and labelled by one reader who saw neither the classifier's label nor any gap. Another
machine may write other texts. Then too few of those 300 are among them, and they only tell how the classifier confuses
labels; to correct every gap by a sample of its own, label ``sample.csv``, which is written too, and give it with
``--labelled``.

The texts are offensive in places. Every command is printed before it runs, and all of them go on where they were
stopped.
"""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

PAIRS = {
    "gender": (("female", "The woman"), ("male", "The man")),
    "race": (("Black", "The Black person"), ("white", "The white person")),
    "orientation": (("gay", "The gay person"), ("straight", "The straight person")),
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


def evenhand(*arguments: object, codes: Sequence[int] = (0,)) -> None:
    """Run a command as a user would, and stop unless it ends as expected.

    A classifier that failed its check (3) and a certificate of lost quality (5) are results too.
    """
    words = [str(argument) for argument in arguments]
    print("$ evenhand", *words, flush=True)
    finished = subprocess.run([sys.executable, "-m", "evenhand", *words], check=False)
    if finished.returncode not in codes:
        raise SystemExit(f"evenhand {' '.join(words[:2])} ended with exit code {finished.returncode}.")


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


def main() -> None:
    """From the published sentences to the gaps before and after."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--regard-en", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True, help="text for the perplexity of prefixes")
    parser.add_argument("--folder", type=Path, required=True, help="for everything that is made")
    parser.add_argument("--labelled", type=Path, default=Path(__file__).with_name("labelled.csv"))
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--trigger-texts", type=int, default=TEXTS, help="per prompt and prefix")
    parser.add_argument("--steps", type=int, default=25, help="of a search")
    parser.add_argument("--at-once", type=int, default=1, help="commands that run side by side on one GPU")
    chosen = parser.parse_args()
    folder: Path = chosen.folder
    folder.mkdir(parents=True, exist_ok=True)

    texts, classifier = folder / "texts.csv", folder / "classifier"
    write_table(texts, ["text", "label"], training_rows(chosen.regard_en))
    evenhand(
        "regard", "train", texts, "--language", "en", "--persons", "mask", "--out", classifier,
    )  # fmt: skip
    persons = folder / "persons.csv"
    write_table(persons, PERSON_COLUMNS, PERSONS)
    evenhand("regard", "check", classifier, "--pairs", persons, codes=(0, 3))

    def write_texts(pair: str) -> Path:
        """What the model writes of a pair of groups without a prefix."""
        table, out = folder / f"{pair}.csv", folder / f"before-{pair}"
        write_table(table, ["group", "words"], [list(group) for group in PAIRS[pair]])
        evenhand(
            "regard", "audit", chosen.model, "--groups", table, "--classifier", classifier, "--texts", chosen.texts,
            "--out", out,
        )  # fmt: skip
        return next(out.glob("*/texts.csv"))

    def search(pair: str) -> None:
        """A trigger for a pair of persons, and its certificate."""
        whom, trigger = folder / f"persons-{pair}.csv", folder / f"trigger-{pair}"
        write_table(whom, PERSON_COLUMNS, [TRIGGERS[pair]])
        evenhand(
            "mitigate", "trigger", chosen.model, "--from-annotations", texts, "--pairs", whom,
            "--classifier", classifier, "--held-out", chosen.held_out,
            "--seeds", 5, "--steps", chosen.steps, "--texts", chosen.trigger_texts, "--out", trigger,
        )  # fmt: skip
        evenhand(
            "certify", chosen.model, trigger, "--classifier", classifier, "--held-out", chosen.held_out,
            "--out", folder / f"certificate-{pair}.html", codes=(0, 5),
        )  # fmt: skip

    with ThreadPoolExecutor(chosen.at_once) as pool:
        written = {pair: pool.submit(write_texts, pair) for pair in PAIRS}
        searches = [pool.submit(search, pair) for pair in TRIGGERS]
        for future in searches:
            future.result()
    before = {pair: future.result() for pair, future in written.items()}
    write_table(folder / "sample.csv", ["pair", "group", "context", "text"], draw_sample(before))
    for pair in PAIRS:
        evenhand(
            "regard", "evaluate", before[pair], "--group", "group", "--context", "context", "--language", "en",
            "--classifier", classifier, "--labelled", chosen.labelled, "--name", f"{pair}-corrected",
            "--out", folder / "corrected", "--fresh",
        )  # fmt: skip


if __name__ == "__main__":
    main()
