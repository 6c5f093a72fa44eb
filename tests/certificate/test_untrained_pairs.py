"""Pairs of words that no mitigation is trained for: what is asked, and how a certificate reports it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import certificates
import numpy as np
import polars as pl
import probe_runs
import pytest
from certificate_runs import small_plan
from measuring import probe

from evenhand.api.defaults.mitigating import CertifyOptions, default_data, default_plan
from evenhand.certificate.bias import KeyedRow, malor_results, split_by_training
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import OccupationForm, ProbeSet, fill, held_out_half
from evenhand.data.probes import load_probes, load_untrained_probes
from evenhand.instruments.malor.comparison import malor_bias_rows
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.models.references import ModelRef
from evenhand.reporting.certificate.untrained import untrained_words
from evenhand.reporting.tables import certificate_rows
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import HELD_OUT
from evenhand.store.run import Run

FEW = Resampling(resamples=100)
REF = ModelRef(id="some-model")


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_group_has_structures_of_its_own_that_give_nothing_away(language: str) -> None:
    probes = load_untrained_probes(language)
    assert not probes.warnings
    counts = Counter(structure.experiment for structure in probes.structures)
    assert len(counts) >= 4
    assert min(counts.values()) >= 12
    assert not set(counts) & set(TRAINED_EXPERIMENTS)
    assert len({structure.text for structure in probes.structures}) == len(probes.structures)
    trained = {structure.text for structure in load_probes(language).structures}
    assert not trained & {structure.text for structure in probes.structures}
    assert probes.terms.keys() == counts.keys()
    assert not {term for pairs in probes.terms.values() for term in pairs.male} & {
        term for pairs in probes.terms.values() for term in pairs.female
    }


def test_sentences_are_written_with_articles_in_their_case() -> None:
    probes = load_untrained_probes("de")
    doctor = probes.occupations[0]
    first = probes.of(Experiment.HIM_HER)[0]
    assert [fill(first, form, term="ihn") for form in doctor.forms] == [
        "Der Arzt kam zu spät, also mussten alle auf ihn warten.",
        "Die Ärztin kam zu spät, also mussten alle auf ihn warten.",
    ]
    english = load_untrained_probes("en").of(Experiment.HIMSELF_HERSELF)[0]
    assert fill(english, OccupationForm("nurse"), term="herself").startswith("The nurse poured herself")


def plan_probes(language: str) -> ProbeSet:
    plan = default_plan(REF, CertifyOptions(language=language))
    options = plan.measurements[0].options
    assert isinstance(options, MalorOptions)
    assert isinstance(options.data, ProbeSet)
    return options.data


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_certificate_asks_them_and_a_mitigation_does_not_know_them(language: str) -> None:
    asked = plan_probes(language)
    assert set(asked.experiments) == {*TRAINED_EXPERIMENTS, *load_untrained_probes(language).experiments}
    assert asked.sha256 not in (load_probes(language).sha256, load_untrained_probes(language).sha256)
    assert default_data(REF, language=language).experiments == TRAINED_EXPERIMENTS


def small_set() -> ProbeSet:
    (measurement, _) = small_plan().measurements
    own = measurement.options.data
    other = load_untrained_probes("en")
    few = tuple(one for experiment in other.experiments for one in other.of(experiment)[:2])
    joined: ProbeSet = own.joined(replace(other, structures=few))
    return joined


def test_they_are_asked_with_the_term_hidden_alone(menagerie: Any) -> None:
    options = MalorOptions(direction="both", resampling=FEW)
    run = probe(menagerie.model("gpt2"), small_set(), options=options)
    asked = Counter((result.experiment in TRAINED_EXPERIMENTS, result.direction) for result in run.results)
    assert asked == {(True, "gender"): 3, (True, "occupation"): 3, (False, "gender"): 5}
    assert {result.experiment for result in malor_results(run)} == set(TRAINED_EXPERIMENTS)


def test_a_pair_that_a_model_does_not_know_leaves_the_others_as_they_are(menagerie: Any) -> None:
    probes = small_set()
    strange = replace(probes.terms[Experiment.TITLES], male=("☃",), female=("☄",))
    odd = replace(probes, terms={**probes.terms, Experiment.TITLES: strange})
    model = menagerie.model("bert")
    plain, found = (probe(model, own, options=MalorOptions(resampling=FEW)) for own in (probes, odd))
    titles = next(result for result in found.results if result.experiment == "titles")
    assert not titles.MALoR.defined
    assert titles.skipped
    first, second = (
        own.scores.filter(pl.col("experiment") != "titles")["log2_ratio"].to_numpy() for own in (plain, found)
    )
    np.testing.assert_allclose(first, second, atol=1e-4)


def answers(generator: np.random.Generator, scale: float) -> Run:
    """Forty occupations: twenty structures that were trained for, and sixteen that were not."""
    frames = []
    for experiment, count in (("he-she", 20), ("man-woman", 16)):
        leans = scale * generator.normal(0, 1.5, (40, 1)) + generator.normal(0, 0.2, (40, count))
        made = probe_runs.asked_run(
            {(f"job {row}", column): float(ratio) for (row, column), ratio in np.ndenumerate(leans)},
            experiment=experiment,
        )
        texts = pl.format("[MASK] is a [OCC] {} {}.", pl.lit(experiment), "structure")
        frames.append(made.scores.with_columns(text=texts))
    return replace(made, scores=pl.concat(frames))


def test_they_are_reported_as_not_trained_whatever_is_known() -> None:
    generator = np.random.default_rng(1)
    rows = malor_bias_rows(answers(generator, 1.0), answers(generator, 0.1), resampling=FEW)
    pair = rows["man-woman.gender.MALoR"]
    assert (pair.measure, pair.untrained_pair, pair.experiment) == ("MALoR man-woman", "man-woman", None)
    assert "man and woman" in pair.title
    for trained in (None, ("he-she",)):
        judged, others = split_by_training([KeyedRow(key, row) for key, row in rows.items()], trained)
        assert "MALoR man-woman" in {row.measure for row in others}
        assert not {row.untrained_pair for row in judged} - {None}
    # Whoever says so trains it.
    judged, _ = split_by_training([KeyedRow(key, row) for key, row in rows.items()], ("man-woman",))
    assert {row.untrained_pair for row in judged} == {"man-woman"}


def test_they_are_over_all_structures_and_the_occupations_that_are_held_out() -> None:
    generator = np.random.default_rng(2)
    before, after = answers(generator, 1.0), answers(generator, 0.5)
    rows = malor_bias_rows(before, after, resampling=FEW)
    row = rows["man-woman.gender.MALoR"]
    held_out = held_out_half(f"job {number}" for number in range(40))
    own = before.scores.filter(
        (pl.col("experiment") == "man-woman") & pl.col("occupation").is_in(list(held_out))
    )
    leans = own.group_by("occupation").agg(pl.col("log2_ratio").mean())["log2_ratio"]
    assert row.before == pytest.approx(float(leans.abs().mean()))  # type: ignore[arg-type]
    assert row.difference.n == 16 * len(held_out)
    assert row.sample == HELD_OUT
    assert "man-woman.gender.MALoR.all probes" not in rows


def test_a_certificate_tells_of_them_in_a_sentence_of_their_own() -> None:
    pair = certificates.malor_row("man-woman", 1.2, 1.1, half=0.3).model_copy(
        update={"experiment": None, "untrained_pair": "man-woman"}
    )
    part = pair.model_copy(update={"measure": "spread man-woman", "part_of": "MALoR man-woman"})
    made = certificates.certificate(untrained=(certificates.score_row("SS", 58.0, 57.5), pair, part))
    words = untrained_words(made)
    assert "Of the measures that were not trained on, SS (58.00 to 57.50)" in words
    assert (
        "Of pairs of words that no mitigation is trained for, MALoR man-woman (1.20 to 1.10) is not clearly closer"
        in words
    )
    assert [row[0] for row in certificate_rows(made) if "man-woman" in row[0]] == ["MALoR man-woman"]
