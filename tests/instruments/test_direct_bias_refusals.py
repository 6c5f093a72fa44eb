"""Direct bias: what cannot be measured is left out with its reason, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from marked_corpora import ENGLISH, result_of, written
from measuring import probe_direct_bias
from zoo_fixtures import Zoo

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.data.probes import load_probes
from evenhand.instruments.direct_bias.corpus_vectors import CorpusVectors, RunningMean
from evenhand.instruments.direct_bias.gender_direction import (
    PRONOUNS,
    gender_direction,
)
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Resampling
from evenhand.text.word_search import WordFinder


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "There is no sentence"),
        (
            "She saw a nurse.\nThe nurse left.",
            r"has 2 sentences, and none with 'he'\. The direction lies",
        ),
        ("He saw a nurse.\nThe nurse left.", r"has 2 sentences, and none with 'she'"),
        (
            "He left.\nShe " + "very " * 200 + "late.\nThe nurse left.",
            r"none with 'she' that can be used: the text is longer than the 130 tokens",
        ),
        (
            "He left.\nShe left.\nIt rained.",
            r"has 3 sentences, and in none of them could any of the 60 professions be measured \(it does not occur",
        ),
        (
            "He saw a nurse.\nShe left.",
            r"be measured \(it does not occur in the corpus, it occurs only beside words that tell a gender\)",
        ),
    ],
)
def test_a_corpus_that_lacks_something_is_refused(
    menagerie: Zoo, tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text(content)

    with pytest.raises(DatasetError, match=message):
        probe_direct_bias(menagerie.model("bert"), path)


def test_other_mistakes_are_refused_before_the_corpus_is_read(menagerie: Zoo, tmp_path: Path) -> None:
    model = menagerie.model("bert")
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(b"\xff not read")
    professions = tmp_path / "professions.txt"
    professions.write_text("Raumpfleger\n")

    with pytest.raises(UnknownNameError, match="Known: de, en"):
        probe_direct_bias(model, corpus, language="fr")
    with pytest.raises(ModelError, match="Layer 9 was asked for"):
        probe_direct_bias(model, corpus, layer=9)
    with pytest.raises(DatasetError, match="There is no file"):
        probe_direct_bias(model, corpus, professions=tmp_path / "missing.txt")
    with pytest.raises(DatasetError, match="is not among the bundled German occupations"):
        probe_direct_bias(model, corpus, language="de", professions=professions)
    with pytest.raises(DatasetError, match="There is no file or folder"):
        probe_direct_bias(model, tmp_path / "missing")
    with pytest.raises(DatasetError, match=r"corpus\.txt is not UTF-8 text \(byte 0"):
        probe_direct_bias(model, corpus)


def test_sentences_that_do_not_fit_are_left_out(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    long = f"The nurse was {'very ' * 200}tired."
    result = result_of(
        probe_direct_bias(menagerie.model("bert"), written(tmp_path, *ENGLISH, long), resampling=quick)
    )

    assert result.left_out["the text is longer than the 130 tokens that the model takes"] == 1
    assert next(each.n for each in result.professions if each.profession == "nurse") == 2


def test_a_word_that_the_tokenizer_does_not_know_is_skipped_with_its_reason(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    professions = tmp_path / "professions.txt"
    professions.write_text("nurse\nΩmega\n", encoding="utf-8")
    corpus = written(tmp_path, *ENGLISH, "The Ωmega left.")

    result = result_of(
        probe_direct_bias(menagerie.model("bert"), corpus, professions=professions, resampling=quick)
    )

    assert [(each.reason, each.examples) for each in result.skipped] == [
        ("the tokenizer does not know the word", ("Ωmega",))
    ]
    assert result.left_out["the tokenizer does not know the word"] == 1


def test_pronouns_with_one_vector_have_no_direction(menagerie: Zoo) -> None:
    same = {word: RunningMean(np.ones(3), 1, 1) for word in ("he", "she")}
    finder = WordFinder({"he": "he"})
    vectors = CorpusVectors(
        menagerie.model("bert"), layer=0, pronouns=finder, nouns=finder, gendered=frozenset(), means=same
    )

    with pytest.raises(ModelError, match="vectors of 'he' and 'she' are the same"):
        gender_direction(vectors, PRONOUNS["en"])


def test_every_language_with_word_lists_has_its_pronouns() -> None:
    for language, pronouns in PRONOUNS.items():
        he_she = load_probes(language).terms
        assert pronouns.both in [(male, female) for pairs in he_she.values() for male, female in pairs]
