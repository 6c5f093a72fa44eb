"""How often the check of grammatical concord is right, on items that were keyed by hand.

    python benchmarks/concord_items.py
    python benchmarks/concord_items.py --language fr --list

``tests/translation/concord_items/*.csv`` has one item per row: a context with its blank, and the words of its three
candidates in the columns ``agree``, ``disagree`` and ``open`` (a reader cannot say), separated by semicolons. From that
key it follows what should be flagged: words that disagree, if another agrees.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binomtest

from evenhand.core.items import BLANK, Association, Candidate, Label, Task
from evenhand.translation.concord import CONCORDS, disagreeing_candidates

ITEMS = Path(__file__).resolve().parents[1] / "tests" / "translation" / "concord_items"


@dataclass(frozen=True, slots=True)
class KeyedItem:
    """An item, and what a reader says about the words of its candidates."""

    language: str
    context: str
    agree: tuple[str, ...]
    disagree: tuple[str, ...]
    open: tuple[str, ...]

    @property
    def expected(self) -> frozenset[str]:
        """The words that should be flagged."""
        return frozenset(self.disagree if self.agree else ())

    def flagged(self) -> frozenset[str]:
        """The words that the check flags."""
        words = (*self.agree, *self.disagree, *self.open)
        first, second, third = (
            Candidate(word, self.context.replace(BLANK, word), label, word)
            for word, label in zip(words, Label, strict=True)
        )
        item = Association(
            id=self.context,
            language=self.language,
            bias_type="gender",
            target="",
            cluster="",
            task=Task.INTRASENTENCE,
            context=self.context,
            candidates=(first, second, third),
        )
        return frozenset(disagreeing_candidates(item))


def read_items(language: str, folder: Path = ITEMS) -> list[KeyedItem]:
    """The keyed items of a language."""
    with (folder / f"{language}.csv").open(encoding="utf-8", newline="") as stream:
        return [
            KeyedItem(
                language,
                row["context"],
                *(tuple(filter(None, row[column].split(";"))) for column in ("agree", "disagree", "open")),
            )
            for row in csv.DictReader(stream)
        ]


@dataclass(frozen=True, slots=True)
class ConcordFigures:
    """How the check does on keyed items.

    Attributes:
        words: How many words were judged rightly and wrongly, and how many were left undecided; open words aside.
        right: Items of which exactly the expected words are flagged.
        incomplete: Items of which expected words are not flagged, and no others are.
        wrong: Items of which a word is flagged that should not be.
    """

    words: Counter[str]
    right: list[KeyedItem]
    incomplete: list[KeyedItem]
    wrong: list[KeyedItem]

    @property
    def items(self) -> int:
        """All items."""
        return len(self.right) + len(self.incomplete) + len(self.wrong)

    @property
    def share_right(self) -> float:
        """Of the words that are judged, those that are judged rightly."""
        return self.words["right"] / (self.words["right"] + self.words["wrong"])

    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of that share."""
        found = binomtest(self.words["right"], self.words["right"] + self.words["wrong"])
        interval = found.proportion_ci(method="wilson")
        return float(interval.low), float(interval.high)


def figures_of(items: list[KeyedItem]) -> ConcordFigures:
    """The figures on keyed items."""
    words: Counter[str] = Counter()
    sorted_items: dict[str, list[KeyedItem]] = {"right": [], "incomplete": [], "wrong": []}
    for item in items:
        for listed, agrees in ((item.agree, True), (item.disagree, False)):
            for word in listed:
                verdict = CONCORDS[item.language](item.context, word)
                words["undecided" if verdict is None else "right" if verdict is agrees else "wrong"] += 1
        flagged = item.flagged()
        outcome = (
            "right" if flagged == item.expected else "incomplete" if flagged < item.expected else "wrong"
        )
        sorted_items[outcome].append(item)
    return ConcordFigures(words, **sorted_items)


_SAYS = {True: "agrees", False: "disagrees", None: "undecided"}


def main() -> None:
    """Print one line per language."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--language", choices=sorted(CONCORDS), action="append")
    parser.add_argument("--folder", type=Path, default=ITEMS)
    parser.add_argument("--list", action="store_true", help="print the items that are not right")
    options = parser.parse_args()
    for language in options.language or sorted(CONCORDS):
        figures = figures_of(read_items(language, options.folder))
        low, high = figures.interval()
        print(
            f"{language}: words right {figures.words['right']}, wrong {figures.words['wrong']}, "
            f"undecided {figures.words['undecided']}; of those judged {figures.share_right:.1%} right "
            f"(95% interval {low:.1%} to {high:.1%}); of {figures.items} items {len(figures.right)} right, "
            f"{len(figures.incomplete)} incomplete, {len(figures.wrong)} wrong"
        )
        if options.list:
            for name, listed in (("incomplete", figures.incomplete), ("wrong", figures.wrong)):
                for item in listed:
                    verdicts = [
                        f"{sign}{word} {_SAYS[CONCORDS[language](item.context, word)]}"
                        for sign, own in (("+", item.agree), ("-", item.disagree), ("o", item.open))
                        for word in own
                    ]
                    print(f"  {name}: {item.context}  {', '.join(verdicts)}")


if __name__ == "__main__":
    main()
