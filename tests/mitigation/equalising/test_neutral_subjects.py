"""Sentences that are told once more of somebody whose gender nobody has said."""

from __future__ import annotations

import pytest

from evenhand.core.probes import Experiment, Occupation, OccupationForm, ProbeSet
from evenhand.data.probes import gendered_vocabulary, load_probes, people_of
from evenhand.mitigation.equalising.gaps import NEUTRAL, grammar_finder
from evenhand.mitigation.equalising.neutral_subjects import (
    NeutralSubjects,
    WithNeutralSubjects,
    unprobed_people,
)
from evenhand.text.twins.twin import NO_GENDERED_WORD, swapper_for
from evenhand.text.word_search import gendered_words_in, words_of

ENGLISH = swapper_for("en")
FIND = grammar_finder(ENGLISH, load_probes("en").terms)


def subjects(*nouns: str, whole: bool = False) -> NeutralSubjects:
    return NeutralSubjects(ENGLISH, nouns or ("the cook",), needs_whole_sentences=whole)


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("He took his hat.", "The cook took his hat."),
        ("When she arrived, she put down the bag.", "When the cook arrived, she put down the bag."),
        ("At noon she slept.", "At noon the cook slept."),
        ("His hat was where he had left it.", None),
        ("The king said that he was late.", None),
        ("The sea is cold.", None),
    ],
)
def test_the_noun_stands_for_the_first_pronoun(sentence: str, wanted: str | None) -> None:
    assert subjects().rewrite(sentence) == wanted


def test_what_comes_behind_the_second_gendered_word_is_cut_where_that_is_no_harm() -> None:
    sentence = "She gave her coat to her dog."
    assert subjects().rewrite(sentence) == "The cook gave her coat to"
    assert subjects(whole=True).rewrite(sentence) is None


def test_the_noun_follows_from_the_sentence_alone() -> None:
    nouns = tuple(f"the {name}" for name in ("cook", "poet", "guide", "diver"))
    sentences = [f"He saw the {number} lamps." for number in ("two", "three", "four", "five", "six", "seven")]
    first = [subjects(*nouns).rewrite(sentence) for sentence in sentences]
    assert [subjects(*nouns).rewrite(sentence) for sentence in sentences[::-1]] == first[::-1]
    assert len({text.split()[1] for text in first if text}) > 1


def test_only_gaps_and_neutral_sentences_are_added() -> None:
    given = ["He took his hat.", "She slept.", "He saw his aunt.", "The sea is cold."]
    both = WithNeutralSubjects(given, subjects(), FIND)
    found = list(both)
    assert found == [given[0], "The cook took his hat.", given[1], "The cook slept.", *given[2:]]
    assert both.rewritten == 2
    assert FIND(found[1]).experiment is Experiment.HIS_HER  # type: ignore[union-attr]
    assert FIND(found[3]) is NEUTRAL


def test_without_nouns_the_sentences_are_as_they_were() -> None:
    both = WithNeutralSubjects(["He took his hat."], None, FIND)
    assert list(both) == ["He took his hat."]
    assert both.rewritten == 0


def test_occupations_that_are_asked_are_never_put_in() -> None:
    probes = load_probes("en")
    people = people_of("en")
    assert len(people) > 200
    assert unprobed_people(probes) == list(people), "the bundled occupations are others"
    own = tuple(Occupation(name, None, (OccupationForm(name),)) for name in ("Driver", "florist"))
    others = unprobed_people(
        ProbeSet(language="en", structures=(), occupations=own, terms={}, warnings=(), sha256="")
    )
    assert set(people) - set(others) == {
        "the florist", "the bus driver", "the cab driver", "the taxi driver", "the truck driver",
    }  # fmt: skip


def test_no_noun_tells_a_gender() -> None:
    for noun in people_of("en"):
        assert noun.startswith("the ")
        assert not gendered_words_in(words_of(noun), gendered_vocabulary("en"))
        assert ENGLISH.twin(f"At noon {noun} was here.") == NO_GENDERED_WORD, noun


def test_german_nouns_tell_a_gender_so_there_are_none() -> None:
    assert people_of("de") == ()
