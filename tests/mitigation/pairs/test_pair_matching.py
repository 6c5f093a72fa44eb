"""Which sentences get a twin, and which are kept out."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from plain_swapper import DOUBTFUL, PlainSwapper
from small_corpus import PROBES

from evenhand.core.errors import UnknownNameError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import fill
from evenhand.data.probes import load_probes
from evenhand.mitigation.pairs.matching import (
    EVALUATION,
    NO_OCCUPATION,
    NO_TERM,
    REPEATED,
    TWIN_IN_EVALUATION,
    Matcher,
    PairSearch,
    SentenceTally,
    evaluation_sentences,
    forms_of,
)
from evenhand.text.digests import digest_of
from evenhand.text.swappers import swapper_for


def search(*experiments: Experiment) -> PairSearch:
    return PairSearch.of(PROBES, experiments=experiments or TRAINED_EXPERIMENTS, make_swapper=PlainSwapper)


def outcome(sentence: str, *experiments: Experiment) -> str | tuple[str, str]:
    """The pair of a sentence, or why it has none."""
    tally = SentenceTally()
    pairs = list(Matcher(search(*experiments)).pairs([sentence], tally))
    assert (tally.sentences, tally.found, tally.left_out.total()) == (1, len(pairs), 1 - len(pairs))
    return pairs[0].sentences if pairs else next(iter(tally.left_out))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("He saw the nurse.", ("He saw the nurse.", "She saw the nurse.")),
        ("She saw the nurse.", ("He saw the nurse.", "She saw the nurse.")),
        ("Doctor she was.", ("Doctor he was.", "Doctor she was.")),
        ("The police officer said he came.", ("The police officer said he came.", "The police officer said she came.")),
        ("He saw the police.", NO_OCCUPATION),
        ("He saw the nurses.", NO_OCCUPATION),
        ("He saw a nurse-led ward.", NO_OCCUPATION),
        ("He saw Mr Nurse.", NO_OCCUPATION),
        ("The nurse saw him.", NO_TERM),
        ("The nurse slept.", NO_TERM),
        ("He said to the nurse it was theirs.", DOUBTFUL),
        ("He is our  nurse.", EVALUATION),
        ("our NURSE is michael.", NO_OCCUPATION),
        ("Our nurse is MICHAEL.", EVALUATION),
        ("", NO_OCCUPATION),
        ("x" * 10_000, NO_OCCUPATION),
    ],
)  # fmt: skip
def test_a_sentence_is_kept_with_an_occupation_and_a_term(
    sentence: str, expected: str | tuple[str, str]
) -> None:
    assert outcome(sentence) == expected


@pytest.mark.parametrize(
    ("experiment", "kept"),
    [(Experiment.HE_SHE, "He saw the nurse."), (Experiment.HIS_HER, "The nurse lost his hat."),
     (Experiment.NAMES, "James saw the nurse.")],
)  # fmt: skip
def test_only_terms_of_the_experiment_count(experiment: Experiment, kept: str) -> None:
    sentences = ["He saw the nurse.", "The nurse lost his hat.", "James saw the nurse."]

    found = list(Matcher(search(experiment)).pairs(sentences))

    assert [pair.corpus_sentence for pair in found] == [kept]
    assert [pair.experiments for pair in found] == [(experiment,)]


def test_the_experiments_and_occupations_of_a_sentence_are_all_named() -> None:
    (pair,) = Matcher(search()).pairs(
        ["James, a police officer, saw his nurse as he met a nurse and a doctor."]
    )

    assert pair.experiments == TRAINED_EXPERIMENTS
    assert pair.occupations == ("police officer", "nurse", "doctor")


def test_a_sentence_that_comes_again_in_other_case_or_space_is_repeated() -> None:
    tally = SentenceTally()

    found = list(
        Matcher(search()).pairs(["He saw the nurse.", "HE  saw the nurse.", "he saw\tthe nurse. "], tally)
    )

    assert len(found) == 1
    assert tally.left_out == {REPEATED: 2}


def test_a_sentence_whose_twin_is_asked_in_the_evaluation_is_kept_out() -> None:
    # The swapper makes dad of mum and of mom, but only mum of dad; so a twin can be asked where the sentence is not.
    structure = replace(PROBES.structures[0], text="[MASK] is dad's [OCC].")
    probes = replace(PROBES, structures=(structure,))
    tally = SentenceTally()

    found = list(
        Matcher(PairSearch.of(probes, make_swapper=PlainSwapper)).pairs(
            ["He is mom's doctor.", "He is dad's doctor.", "He is mom's nurse, too."], tally
        )
    )

    assert [pair.corpus_sentence for pair in found] == ["He is mom's nurse, too."]
    assert tally.left_out == {TWIN_IN_EVALUATION: 1, EVALUATION: 1}


def test_all_forms_of_german_occupations_are_looked_for() -> None:
    teacher = next(each for each in load_probes("de").occupations if each.name == "surgeon")

    assert set(forms_of(teacher)) == {"Chirurg", "Chirurgen", "Chirurgin"}


def test_the_evaluation_is_every_structure_with_every_occupation_and_term() -> None:
    probes = load_probes("de")
    few = replace(probes, occupations=probes.occupations[:2], structures=probes.structures[::40])
    asked = {
        re.sub(r"\s+", " ", fill(structure, form, term=term)).casefold()
        for structure in few.structures
        for occupation in few.occupations
        for form in occupation.forms
        for term in few.terms[structure.experiment].all
    }

    evaluation = evaluation_sentences(few)

    assert len(evaluation) == len(asked) > 100
    assert evaluation.overlap(asked) == len(asked)
    assert evaluation.overlap(f" {sentence.upper()}  " for sentence in asked if "ß" not in sentence) > 100
    assert evaluation.overlap(f"{sentence} Ja." for sentence in asked) == 0


def test_digests_ignore_case_and_white_space_and_nothing_else() -> None:
    assert digest_of("Die Ärztin  kam.\n") == digest_of("die ärztin kam.")
    assert (
        len({digest_of(text) for text in ("He came.", "He came", "He came!", "He, came.", "Hecame.", "")})
        == 6
    )
    assert 0 <= digest_of("He came.") < 2**64


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"language of twins 'fr'.*Known: de, en"):
        swapper_for("fr")
