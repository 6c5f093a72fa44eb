"""Sentences with their twins, as the files of ``tests/twins/sentences`` have them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evenhand.text.swappers import Rejected, Twin, swapper_for

DATA = Path(__file__).parent / "twins" / "sentences"
NATURAL, TRAP = "natural", "trap"
"""Kinds of blind sentences: ordinary prose, and what is made to mislead."""
_EXCHANGE = re.compile(r"\{([^|{}]*)\|([^|{}]*)\}")


@dataclass(frozen=True, slots=True)
class TwinSentence:
    """A sentence and its twin; None where there must be none."""

    shows: str
    sentence: str
    twin: str | None


def read_twin_sentences(name: str) -> list[TwinSentence]:
    """The sentences of a file."""
    found: list[TwinSentence] = []
    shows = ""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            shows = line.removeprefix("## ")
        elif line.startswith("- "):
            found.append(TwinSentence(shows, line.removeprefix("- "), None))
        elif line and not line.startswith("#"):
            found.append(TwinSentence(shows, _EXCHANGE.sub(r"\1", line), _EXCHANGE.sub(r"\2", line)))
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a swapper did on sentences."""

    given: int
    """Sentences for which it gave a twin."""
    wrong: tuple[str, ...]
    """Twins that are not the right one, or that should not be there."""
    left_out: tuple[str, ...]
    """Sentences that have a twin, but were left out."""
    swappable: int

    @property
    def accuracy(self) -> float:
        """Share of right ones among the twins given."""
        return 1 - len(self.wrong) / self.given


def outcome(sentences: list[TwinSentence], twin: Callable[[str], Twin | Rejected]) -> Outcome:
    """Compare the twins given with the right ones."""
    given = {wanted: result for wanted in sentences if isinstance(result := twin(wanted.sentence), Twin)}
    return Outcome(
        given=len(given),
        wrong=tuple(result.text for wanted, result in given.items() if result.text != wanted.twin),
        left_out=tuple(each.sentence for each in sentences if each.twin is not None and each not in given),
        swappable=sum(each.twin is not None for each in sentences),
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """How many sentences of a kind came out how."""

    right: tuple[str, ...]
    wrong: tuple[str, ...]
    left_out: tuple[str, ...]
    """Those that have a twin and got none; those rightly left out count as right."""
    swappable: int


def tally_of(language: str, kind: str, *, name: str = "blind") -> Tally:
    """How the sentences of a kind come out; of all kinds if it is empty."""
    sentences = [
        each for each in read_twin_sentences(f"{name}_{language}.txt") if each.shows.startswith(kind)
    ]
    swapper = swapper_for(language)
    right: list[str] = []
    wrong: list[str] = []
    left_out: list[str] = []
    for wanted in sentences:
        result = swapper.twin(wanted.sentence)
        if isinstance(result, Rejected):
            (right if wanted.twin is None else left_out).append(wanted.sentence)
        elif _is_right(wanted, result.text):
            right.append(wanted.sentence)
        else:
            wrong.append(f"{wanted.sentence} -> {result.text}")
    swappable = sum(each.twin is not None for each in sentences)
    return Tally(tuple(right), tuple(wrong), tuple(left_out), swappable)


def _is_right(wanted: TwinSentence, text: str) -> bool:
    """Whether a twin is as the key has it, in which * stands for any other first name."""
    if wanted.twin is None:
        return False
    pattern = re.escape(wanted.twin).replace(r"\*", r"[A-ZÄÖÜ]\w+")
    return re.fullmatch(pattern, text) is not None and text != wanted.sentence
