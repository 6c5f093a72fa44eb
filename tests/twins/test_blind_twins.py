"""Twins of sentences that were keyed before any rule was run on them: half ordinary prose, half made to mislead."""

from __future__ import annotations

import pytest
from twin_sentences import NATURAL, TRAP, read_twin_sentences, tally_of


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
    tally = tally_of(language, NATURAL, name=name)
    given = len(tally.wrong) + tally.swappable - len(tally.left_out)
    assert len(tally.wrong) <= most_wrong * given, tally.wrong
    assert len(tally.left_out) <= most_left_out * tally.swappable, tally.left_out


@pytest.mark.parametrize("language", ["en", "de"])
def test_twins_of_traps_are_rarely_wrong_since_rules_were_mended_after_the_first_run(language: str) -> None:
    tally = tally_of(language, TRAP)
    assert len(tally.wrong) <= 6, tally.wrong


@pytest.mark.parametrize(("language", "most_wrong"), [("en", 3), ("de", 0)])
def test_traps_of_the_second_set_are_rarely_wrong_since_rules_were_mended(
    language: str, most_wrong: int
) -> None:
    """Of 150 traps each, of which 19 and 11 were wrong in the first run. The set is not blind any more."""
    tally = tally_of(language, TRAP, name="second_blind")
    assert len(tally.wrong) <= most_wrong, tally.wrong


@pytest.mark.parametrize("language", ["en", "de"])
def test_traps_of_the_same_kinds_are_left_out_or_right(language: str) -> None:
    """Two of each language are not: what *her* belongs to in *bought her house paint*, proverbs in no list."""
    tally = tally_of(language, "", name="traps")
    assert len(tally.wrong) <= 2, tally.wrong
    assert len(tally.left_out) <= 2, tally.left_out
