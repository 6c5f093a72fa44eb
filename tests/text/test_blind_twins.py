"""Twins of sentences that were keyed before any rule was run on them: half ordinary prose, half made to mislead."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from twin_sentences import TwinSentence, read_twin_sentences

from evenhand.text.twins.twin import Rejected, swapper_for

NATURAL, TRAP = "natural", "trap"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many sentences of a kind came out how."""

    right: tuple[str, ...]
    wrong: tuple[str, ...]
    left_out: tuple[str, ...]
    """Those that have a twin and got none; those rightly left out count as right."""
    swappable: int


def _tally(language: str, kind: str, *, name: str = "blind") -> Tally:
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


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_blind_sentences_are_half_natural_and_half_traps_of_many_kinds(language: str) -> None:
    sentences = read_twin_sentences(f"blind_{language}.txt")
    assert len({each.sentence for each in sentences}) == 300
    assert sum(each.shows.startswith(NATURAL) for each in sentences) == 150
    assert len({each.shows for each in sentences if each.shows.startswith(TRAP)}) >= 25


@pytest.mark.parametrize("name", ["blind", "second_blind"])
@pytest.mark.parametrize(("language", "most_wrong", "most_left_out"), [("en", 0.01, 0.1), ("de", 0.03, 0.3)])
def test_twins_of_natural_sentences_are_rarely_wrong_and_not_often_missing(
    name: str, language: str, most_wrong: float, most_left_out: float
) -> None:
    tally = _tally(language, NATURAL, name=name)
    given = len(tally.wrong) + tally.swappable - len(tally.left_out)
    assert len(tally.wrong) <= most_wrong * given, tally.wrong
    assert len(tally.left_out) <= most_left_out * tally.swappable, tally.left_out


@pytest.mark.parametrize("language", ["en", "de"])
def test_twins_of_traps_are_rarely_wrong_since_rules_were_mended_after_the_first_run(language: str) -> None:
    tally = _tally(language, TRAP)
    assert len(tally.wrong) <= 6, tally.wrong


@pytest.mark.parametrize(("language", "most_wrong"), [("en", 3), ("de", 0)])
def test_traps_of_the_second_set_are_rarely_wrong_since_rules_were_mended(
    language: str, most_wrong: int
) -> None:
    """Of 150 traps each, of which 19 and 11 were wrong in the first run. The set is not blind any more."""
    tally = _tally(language, TRAP, name="second_blind")
    assert len(tally.wrong) <= most_wrong, tally.wrong


@pytest.mark.parametrize("language", ["en", "de"])
def test_traps_of_the_same_kinds_are_left_out_or_right(language: str) -> None:
    """Two of each language are not: what *her* belongs to in *bought her house paint*, proverbs in no list."""
    tally = _tally(language, "", name="traps")
    assert len(tally.wrong) <= 2, tally.wrong
    assert len(tally.left_out) <= 2, tally.left_out
