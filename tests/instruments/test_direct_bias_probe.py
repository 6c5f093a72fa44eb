"""Direct bias: its numbers are those of the slow way, and the record says what determines them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zoo
from marked_corpora import ENGLISH, GERMAN, result_of, written
from measuring import probe_direct_bias
from slow_vectors import slow_cosine, slow_means
from zoo_fixtures import Zoo

from evenhand.instruments.direct_bias.corpus_vectors import BESIDE_GENDERED, NOTHING_SOUGHT
from evenhand.instruments.direct_bias.gender_direction import (
    ABSENT,
    ONE_FORM,
    ONLY_BESIDE_GENDERED,
)
from evenhand.instruments.direct_bias.instrument import SCORES_SCHEMA
from evenhand.stats.resampling import Resampling
from evenhand.store.run import open_run

MODELS = ["bert", "distilbert", "roberta", "albert", "gpt2", "t5"]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layer", [-1, 0])
def test_direct_bias_is_that_of_one_sentence_at_a_time(
    menagerie: Zoo, tmp_path: Path, quick: Resampling, name: str, layer: int
) -> None:
    run = probe_direct_bias(menagerie.model(name), written(tmp_path, *ENGLISH), layer=layer, resampling=quick)
    means = slow_means(menagerie.reference(name), zoo.SPECIES[name].family, ENGLISH, layer=layer)
    direction = means["he"] - means["she"]
    expected = {
        word: slow_cosine(vector, direction) for word, vector in means.items() if word not in ("he", "she")
    }

    result = result_of(run)

    assert {each.profession: each.cosine for each in result.professions} == pytest.approx(expected, abs=5e-5)
    assert set(expected) == {"nurse", "teacher", "doctor", "engineer"}
    assert result.direct_bias.value == pytest.approx(np.mean(np.abs(list(expected.values()))), abs=5e-5)
    assert result.signed_mean.value == pytest.approx(np.mean(list(expected.values())), abs=5e-5)
    assert 0 <= result.direct_bias.low <= result.direct_bias.value <= result.direct_bias.high <= 1
    assert (result.direct_bias.n, result.direct_bias.clusters) == (7, 4)
    assert result.direct_bias.method == "profession jackknife, t"
    seen = {each.profession: each.n for each in result.professions}
    assert seen == {"nurse": 2, "teacher": 2, "doctor": 2, "engineer": 1}


@pytest.mark.parametrize("name", ["roberta", "gpt2", "t5"])
def test_german_professions_are_the_mean_of_both_forms(
    menagerie: Zoo, tmp_path: Path, quick: Resampling, name: str
) -> None:
    corpus = written(tmp_path, *GERMAN)
    run = probe_direct_bias(menagerie.model(name), corpus, language="de", resampling=quick)
    means = slow_means(menagerie.reference(name), zoo.SPECIES[name].family, GERMAN, layer=-1)
    direction = means["er"] - means["sie"]
    expected = {
        "teacher": slow_cosine((means["lehrer"] + means["lehrerin"]) / 2, direction),
        "baker": slow_cosine((means["bäcker"] + means["bäckerin"]) / 2, direction),
    }

    result = result_of(run)

    assert {each.profession: each.cosine for each in result.professions} == pytest.approx(expected, abs=5e-5)
    assert {each.profession: each.n for each in result.professions} == {"teacher": 2, "baker": 2}
    assert {each.reason: each.examples for each in result.skipped if each.reason != ABSENT} == {
        ONE_FORM: ("chef",)
    }
    assert result.pronouns == {"er": 1, "sie": 1}
    assert any("German sie means she and they" in warning for warning in run.record.warnings)


def test_what_was_not_used_is_counted(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    run = probe_direct_bias(menagerie.model("bert"), written(tmp_path, *ENGLISH), resampling=quick)
    result = result_of(run)

    assert result.sentences == len(ENGLISH)
    assert result.pronouns == {"he": 2, "she": 2}
    assert result.left_out == {NOTHING_SOUGHT: 1, BESIDE_GENDERED: 4}
    assert {each.reason: each.count for each in result.skipped} == {ABSENT: 54, ONLY_BESIDE_GENDERED: 2}
    assert len(run.scores) == 60
    librarian = run.scores.filter(pl.col("profession") == "librarian").row(0, named=True)
    assert librarian["skipped_reason"] == ONLY_BESIDE_GENDERED
    assert (librarian["cosine"], librarian["sentences"], librarian["sentences_left_out"]) == (None, 0, 2)
    teacher = run.scores.filter(pl.col("profession") == "teacher").row(0, named=True)
    assert (teacher["sentences"], teacher["occurrences"], teacher["sentences_left_out"]) == (2, 2, 1)
    assert any("only 2 sentences have 'he'" in warning for warning in run.record.warnings)


def test_the_baseline_is_the_same_for_random_directions(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    name = "bert"
    means = slow_means(menagerie.reference(name), zoo.SPECIES[name].family, ENGLISH, layer=-1)
    directions = np.random.default_rng([quick.seed, zoo.WIDTH, 4]).standard_normal((100, zoo.WIDTH))
    expected = [
        np.mean([abs(slow_cosine(means[word], direction)) for word in means if word not in ("he", "she")])
        for direction in directions
    ]

    baseline = result_of(
        probe_direct_bias(menagerie.model(name), written(tmp_path, *ENGLISH), resampling=quick)
    ).baseline

    assert baseline.value == pytest.approx(np.mean(expected), abs=1e-4)
    assert baseline.low == pytest.approx(np.quantile(expected, 0.025), abs=1e-4)
    assert baseline.high == pytest.approx(np.quantile(expected, 0.975), abs=1e-4)
    assert (baseline.n, baseline.method) == (100, "random directions, percentiles")


def test_the_record_says_what_determines_the_result(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    run = probe_direct_bias(
        str(menagerie.folder("bert")), written(tmp_path, *ENGLISH), layer=1, resampling=quick
    )
    opened = open_run(run.save(tmp_path / "run"))

    assert (run.record.instrument, run.record.name) == ("direct-bias", "bert_direct-bias_corpus_en")
    assert set(run.record.data) == {"professions", "gendered words"}
    assert run.record.options["layer"] == 1
    assert run.record.options["pronouns"] == ["he", "she"]
    assert dict(run.scores.schema) == SCORES_SCHEMA
    assert opened.results == run.results
    assert opened.scores.equals(run.scores)


def test_professions_come_from_a_list(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    professions = tmp_path / "professions.txt"
    professions.write_text("old doctor\nnurse\nking\n")

    result = result_of(
        probe_direct_bias(
            menagerie.model("bert"), written(tmp_path, *ENGLISH), professions=professions, resampling=quick
        )
    )

    assert [each.profession for each in result.professions] == ["old doctor", "nurse"]
    assert [(each.reason, each.examples) for each in result.skipped] == [(ONLY_BESIDE_GENDERED, ("king",))]


def test_a_decoder_is_measured_and_its_blindness_said(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    run = probe_direct_bias(menagerie.model("gpt2"), written(tmp_path, *ENGLISH), resampling=quick)

    assert any("reads from left to right" in warning for warning in run.record.warnings)
