"""Sentences that are told once more of somebody else."""

from __future__ import annotations

import pytest

from evenhand.core.experiments import Experiment
from evenhand.core.probes import Occupation, OccupationForm, ProbeSet, TermPairs
from evenhand.data.probes import gendered_people, gendered_vocabulary, load_probes, people_of
from evenhand.mitigation.equalising.gaps import NEUTRAL, grammar_finder
from evenhand.mitigation.equalising.subjects import (
    Retelling,
    RetoldSentences,
    Subjects,
    unprobed_people,
)
from evenhand.text.swappers import NO_GENDERED_WORD, Rejected, swapper_for
from evenhand.text.word_search import gendered_words_in, words_of

ENGLISH = swapper_for("en")
FIND = grammar_finder(ENGLISH, load_probes("en").terms)


def retelling(*nouns: str, whole: bool = False) -> Retelling:
    subjects = Subjects(nouns or ("the cook",), TermPairs(("my uncle",), ("my aunt",)))
    return Retelling(ENGLISH, subjects, needs_whole_sentences=whole)


@pytest.mark.parametrize(
    ("sentence", "neutral", "gendered"),
    [
        ("He took his hat.", "The cook took his hat.", "My uncle took his hat."),
        (
            "When she arrived, she put down the bag.",
            "When the cook arrived, she put down the bag.",
            "When my aunt arrived, she put down the bag.",
        ),
        ("At noon she slept.", "At noon the cook slept.", None),
        ("His hat was where he had left it.", None, None),
        ("The king said that he was late.", None, None),
        ("The sea is cold.", None, None),
    ],
)
def test_another_subject_stands_for_the_first_pronoun(
    sentence: str, neutral: str | None, gendered: str | None
) -> None:
    retold = retelling().retell(sentence)
    assert retold.neutral == neutral
    assert retold.gendered == gendered


def test_what_comes_behind_the_second_gendered_word_is_cut_where_that_is_no_harm() -> None:
    sentence = "She gave her coat to her dog."
    retold = retelling().retell(sentence)
    assert retold.neutral == "The cook gave her coat to"
    assert retold.gendered == "My aunt gave her coat to"
    assert retelling(whole=True).retell(sentence).neutral is None


def test_the_subject_follows_from_the_sentence_alone() -> None:
    nouns = tuple(f"the {name}" for name in ("cook", "poet", "guide", "diver"))
    sentences = [f"He saw the {number} lamps." for number in ("two", "three", "four", "five", "six", "seven")]
    first = [retelling(*nouns).retell(sentence).neutral for sentence in sentences]
    assert [retelling(*nouns).retell(sentence).neutral for sentence in sentences[::-1]] == first[::-1]
    assert len({text.split()[1] for text in first if text}) > 1


def test_with_a_neutral_subject_only_gaps_and_neutral_sentences_are_added() -> None:
    given = ["He took his hat.", "She slept.", "He saw his aunt.", "The sea is cold."]
    retold = RetoldSentences(given, retelling(), FIND)
    found = list(retold)
    assert found == [
        given[0], "The cook took his hat.", "My uncle took his hat.",
        given[1], "The cook slept.",
        given[2], "My uncle saw his",
        given[3],
    ]  # fmt: skip
    assert retold.with_neutral_subjects == 2
    assert retold.with_gendered_subjects == 2
    assert FIND(found[1]).experiment is Experiment.HIS_HER  # type: ignore[union-attr]
    assert FIND(found[2]) is None
    assert FIND(found[4]) is NEUTRAL


def test_without_a_retelling_the_sentences_are_as_they_were() -> None:
    retold = RetoldSentences(["He took his hat."], None, FIND)
    assert list(retold) == ["He took his hat."]
    assert (retold.with_neutral_subjects, retold.with_gendered_subjects) == (0, 0)


def test_names_and_relatives_tell_a_gender() -> None:
    probes = load_probes("en")
    gendered = Subjects.of(probes).gendered
    assert set(gendered.male) == {*gendered_people("en").male, *probes.terms[Experiment.NAMES].male}
    for side, pronoun in ((gendered.male, "himself"), (gendered.female, "herself")):
        for subject in side:
            twin = ENGLISH.twin(f"At noon {subject} saw {pronoun}.")
            assert FIND(f"At noon {subject} saw the sea.") is not NEUTRAL, subject
            assert not isinstance(twin, Rejected), subject
            assert len({swap.male for swap in twin.swaps}) == 1, subject


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
