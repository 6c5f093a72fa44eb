"""Twin pairs: a sentence about a man and the same sentence about a woman; and files of them.

A file is JSON Lines, one pair per line:

    {"male": "He is the doctor.", "female": "She is the doctor.", "original": "male", "experiments": ["he-she"],
     "occupations": ["doctor"],
     "swaps": [{"role": "subject pronoun", "male": "He", "female": "She", "male_at": [0, 2], "female_at": [0, 3]}]}

The words of a swap are those of the male and of the female sentence. Where the male sentence has the female word, as in
the second swap of *He met her*, the swap is marked ``"crossed": true``. Pairs about other groups have ``first`` and
``second`` in the place of ``male`` and ``female``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment, in_order
from evenhand.core.files import load_json
from evenhand.core.inputs import checked_path
from evenhand.core.items import Span
from evenhand.data.corpora import decoded, lines_of, read_bytes
from evenhand.text.swappers import Role, Swap, Twin


class PairSide(StrEnum):
    """Which sentence of a pair."""

    MALE = "male"
    FEMALE = "female"
    NEITHER = "neither"
    """Both sentences are made: names were put in that the corpus does not have there."""


@dataclass(frozen=True, slots=True)
class PairSwap:
    """Where the sentences of a pair differ."""

    role: Role
    male: Span
    """In the male sentence."""
    female: Span
    """In the female sentence."""
    crossed: bool = False
    """Whether the male sentence has the female word here, as it can in a sentence about men and women."""


@dataclass(frozen=True, slots=True)
class TwinPair:
    """Two sentences that differ in gendered words alone.

    A sentence may tell of men and women. Its side is that of its first word which an experiment asks for: *She met his
    doctor* is the female sentence, and its twin *He met her doctor* the male one. So there are as many male sentences
    as female ones in any set of pairs.
    """

    male: str
    female: str
    original: PairSide
    """The sentence that the corpus has."""
    experiments: tuple[Experiment, ...]
    """The experiments that it is kept for."""
    occupations: tuple[str, ...]
    """Their names, which are the same in all languages, from left to right."""
    swaps: tuple[PairSwap, ...]
    """From left to right."""
    tells_gender: bool = True
    """Whether it is about men and women; if not, its sides are those of two other groups, the first called male."""

    @property
    def corpus_sentence(self) -> str:
        """The sentence of the corpus; the male one if both are made."""
        return self.female if self.original is PairSide.FEMALE else self.male

    @property
    def sentences(self) -> tuple[str, str]:
        """The male and the female sentence."""
        return self.male, self.female

    def words_at(self, swap: PairSwap) -> tuple[str, str]:
        """The male and the female word of a swap, whichever sentence each is in."""
        words = swap.male.of(self.male), swap.female.of(self.female)
        return (words[1], words[0]) if swap.crossed else words


def experiments_in(swaps: Iterable[Swap], experiments: Iterable[Experiment]) -> tuple[Experiment, ...]:
    """Those of the experiments that ask for one of the words."""
    present = {swap.experiment for swap in swaps}
    return in_order(experiment for experiment in experiments if experiment in present)


def pair_of(
    sentence: str,
    twin: Twin,
    *,
    experiments: tuple[Experiment, ...],
    occupations: tuple[str, ...],
    tells_gender: bool = True,
) -> TwinPair:
    """The pair of a sentence and its twin.

    Args:
        sentence: As the corpus has it.
        twin: With at least one word that the experiments ask for.
        experiments: That the sentence is kept for.
        occupations: Names of those in the sentence.
        tells_gender: Whether the experiments are about men and women.

    Raises:
        ValueError: If the twin differs from the sentence elsewhere than its swaps say.
    """
    text, spans = _swapped(sentence, twin.swaps)
    if text != twin.text:
        raise ValueError(f"The swaps make {text!r} of {sentence!r}, but its twin is {twin.text!r}.")
    first = next(swap for swap in twin.swaps if swap.experiment in experiments)
    swaps = tuple(
        PairSwap(
            swap.role,
            *((swap.span, span) if first.male else (span, swap.span)),
            crossed=swap.male is not first.male,
        )
        for swap, span in zip(twin.swaps, spans, strict=True)
    )
    male, female = (sentence, text) if first.male else (text, sentence)
    return TwinPair(
        male=male,
        female=female,
        original=PairSide.MALE if first.male else PairSide.FEMALE,
        experiments=experiments,
        occupations=occupations,
        swaps=swaps,
        tells_gender=tells_gender,
    )


def _swapped(sentence: str, swaps: Iterable[Swap]) -> tuple[str, list[Span]]:
    """The sentence with the new words, and their positions."""
    return replaced(sentence, [(swap.span, swap.new) for swap in swaps])


def replaced(sentence: str, words: Iterable[tuple[Span, str]]) -> tuple[str, list[Span]]:
    """The sentence with other words at some spans, in order from left to right, and their new positions."""
    pieces: list[str] = []
    spans: list[Span] = []
    end = size = 0
    for span, word in words:
        kept = sentence[end : span.start]
        pieces += [kept, word]
        size += len(kept)
        spans.append(Span(size, size + len(word)))
        size += len(word)
        end = span.end
    return "".join([*pieces, sentence[end:]]), spans


def sides_named(*, genders: bool) -> tuple[str, str]:
    """What files call the two sides of a pair: by gender, or by the order of the groups."""
    return ("male", "female") if genders else ("first", "second")


def pair_line(pair: TwinPair) -> bytes:
    """A pair as a line."""
    sides = sides_named(genders=pair.tells_gender)
    originals = {PairSide.MALE: sides[0], PairSide.FEMALE: sides[1]}
    row = {
        sides[0]: pair.male,
        sides[1]: pair.female,
        "original": originals.get(pair.original, pair.original.value),
        "experiments": [experiment.value for experiment in pair.experiments],
        "occupations": list(pair.occupations),
        "swaps": [_swap_row(pair, swap, sides) for swap in pair.swaps],
    }
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def read_twin_pairs(path: str | Path) -> Iterator[TwinPair]:
    """The pairs of a file, plain or compressed with gzip, in its order.

    Raises:
        DatasetError: If the file cannot be read, a line is no pair, or there is none.
    """
    path = checked_path(path, error=DatasetError)
    if not path.is_file():
        raise DatasetError(
            f"There is no file {path}. Make one with: evenhand data counterfactual --corpus ..."
        )
    is_empty = True
    chunks = read_bytes(path, progress=lambda _: None, digest=lambda _: None)
    for number, line in enumerate(lines_of(decoded(chunks, path)), start=1):
        if line is None:
            raise DatasetError(f"{path}, line {number}: too long for a pair.")
        if line.strip():
            is_empty = False
            yield parse_pair(line, place=f"{path}, line {number}")
    if is_empty:
        raise DatasetError(f"{path} has no pairs. Make some with: evenhand data counterfactual --corpus ...")


def read_twin_sentences(
    path: str | Path, *, experiments: Iterable[Experiment] = TRAINED_EXPERIMENTS
) -> Iterator[str]:
    """Both sentences of every pair that is kept for one of the experiments: what a model is trained on."""
    chosen = frozenset(experiments)
    for pair in read_twin_pairs(path):
        if not chosen.isdisjoint(pair.experiments):
            yield from pair.sentences


def parse_pair(line: str, *, place: str) -> TwinPair:
    """The pair of a line.

    Args:
        line: As ``pair_line`` writes it.
        place: For messages.
    """
    try:
        row = load_json(line)
    except (ValueError, RecursionError) as problem:
        raise DatasetError(f"{place}: not valid JSON ({problem}). Every line is a pair.") from None
    try:
        return _pair_from_row(row)
    except KeyError as problem:
        raise DatasetError(
            f"{place}: {problem.args[0]!r} is missing. A pair has male and female (first and second for other "
            "groups), original, experiments, occupations and swaps."
        ) from None
    except (TypeError, ValueError, AttributeError) as problem:
        raise DatasetError(f"{place}: not a pair ({problem}).") from None


def _pair_from_row(row: dict[str, Any]) -> TwinPair:
    if not isinstance(row, dict):
        raise TypeError(f"an object is needed, not {type(row).__name__}")
    tells_gender = "first" not in row
    sides = sides_named(genders=tells_gender)
    male, female = (_text_field(row, side) for side in sides)
    originals = {sides[0]: PairSide.MALE, sides[1]: PairSide.FEMALE, "neither": PairSide.NEITHER}
    if row["original"] not in originals:
        raise ValueError(f"original is {row['original']!r}; {', '.join(originals)} are possible")
    return TwinPair(
        male=male,
        female=female,
        original=originals[row["original"]],
        experiments=tuple(
            Experiment.named(_text_field({"experiments": name}, "experiments"))
            for name in _list_field(row, "experiments")
        ),
        occupations=tuple(
            _text_field({"occupations": name}, "occupations") for name in _list_field(row, "occupations")
        ),
        swaps=tuple(_swap_from_row(swap, (male, female), sides) for swap in _list_field(row, "swaps")),
        tells_gender=tells_gender,
    )


def _swap_from_row(row: dict[str, Any], sentences: tuple[str, str], sides: tuple[str, str]) -> PairSwap:
    role = Role(row["role"])
    first, second = (row[f"{side}_at"] for side in sides)
    swap = PairSwap(
        role=role,
        male=_span_field(first),
        female=_span_field(second),
        crossed=row.get("crossed", False) is True,
    )
    words = (swap.male.of(sentences[0]), swap.female.of(sentences[1]))
    if words != (row[sides[0]], row[sides[1]]):
        raise ValueError(f"the words at {first} and {second} are {words[0]!r} and {words[1]!r}")
    return swap


def _span_field(value: Any) -> Span:
    start, end = value
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end):
        raise ValueError(f"{value} is no span")
    return Span(start, end)


def _text_field(row: dict[str, Any], key: str) -> str:
    if not isinstance(row[key], str) or not row[key].strip():
        raise TypeError(f"{key} is {row[key]!r}; text is needed")
    return str(row[key])


def _list_field(row: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(row[key], list):
        raise TypeError(f"{key} is {row[key]!r}; a list is needed")
    return list(row[key])


def _swap_row(pair: TwinPair, swap: PairSwap, sides: tuple[str, str]) -> dict[str, Any]:
    row = {
        "role": swap.role.value,
        sides[0]: swap.male.of(pair.male),
        sides[1]: swap.female.of(pair.female),
        f"{sides[0]}_at": [swap.male.start, swap.male.end],
        f"{sides[1]}_at": [swap.female.start, swap.female.end],
    }
    return row | {"crossed": True} if swap.crossed else row
