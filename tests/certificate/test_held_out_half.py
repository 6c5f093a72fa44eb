"""The half of structures and occupations that no training may see: which it is, and that it is what is judged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import certificates
import mitigation_records
import numpy as np
import polars as pl
import probe_runs
import pytest
from certificate_runs import nudged

from evenhand.api.defaults.mitigating import default_data
from evenhand.certificate import CertificatePlan, Measurement, certify
from evenhand.certificate.bias import KeyedRow, split_by_training
from evenhand.certificate.caveats import caveats_of
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.mitigated import summarise
from evenhand.certificate.verification import read_certificate
from evenhand.core.errors import DatasetError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import FEWEST_HELD_OUT, ProbeSet, held_out_half
from evenhand.data.probes import load_probes, load_untrained_probes
from evenhand.instruments.malor.comparison import malor_bias_rows
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.lab.items import lab_probes
from evenhand.mitigation import training_mitigation
from evenhand.mitigation.counterfactual import COUNTERFACTUAL, CounterfactualOptions
from evenhand.mitigation.mitigation import MitigationData
from evenhand.mitigation.texts import (
    HeldOutSentences,
    PairFile,
    SentenceList,
    TrainingText,
    UnseenProbes,
)
from evenhand.mitigation.training_mitigation import MitigationInputs
from evenhand.models.references import ModelRef
from evenhand.reporting.certificate.bias_words import sample_words
from evenhand.reporting.tables import certificate_rows
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import ALL_PROBES, HELD_OUT, BiasRow, BiasVerdict, bias_verdict
from evenhand.store.mitigation_records import UnseenRecord
from evenhand.store.mitigation_summaries import MitigationSummary
from evenhand.store.run import Run

FEW = Resampling(resamples=200)
JOBS = [f"job {number}" for number in range(40)]
HELD_OUT_JOBS = held_out_half(JOBS)
COLUMNS = range(40)


def run(leans: np.ndarray) -> Run:
    """Answers for forty occupations in forty structures."""
    made = probe_runs.asked_run(
        {(JOBS[row], column): float(ratio) for (row, column), ratio in np.ndenumerate(leans)}
    )
    texts = pl.format("[MASK] is a [OCC] of {} years.", "structure")
    return replace(made, scores=made.scores.with_columns(text=texts))


HELD_OUT_TEXTS = held_out_half(run(np.zeros((40, 40))).scores["text"].unique().to_list())
IS_HELD_OUT = np.zeros((40, 40), dtype=bool)
for _text, _job, _column in (
    run(np.zeros((40, 40))).scores.select("text", "occupation", "structure").iter_rows()
):
    IS_HELD_OUT[JOBS.index(_job), _column] = _text in HELD_OUT_TEXTS and _job in HELD_OUT_JOBS


def test_a_half_is_told_by_its_texts_alone() -> None:
    everything = [f"text {number}" for number in range(60)]
    half = held_out_half(everything)
    assert 20 <= len(half) <= 40
    assert held_out_half(everything[10:]) == half - set(everything[:10])
    assert held_out_half(reversed([*everything, *everything])) == half
    # For all versions to come: what was unseen for a model of today must not be trained on tomorrow.
    assert {"nurse", "doctor", "teacher"} <= held_out_half(
        [own.name for own in load_probes("en").occupations]
    )


def test_too_few_texts_are_not_divided() -> None:
    half = sorted(held_out_half(f"text {number}" for number in range(60)))
    rest = [f"text {number}" for number in range(60) if f"text {number}" not in half]
    assert held_out_half([*half[:FEWEST_HELD_OUT], *rest]) == set(half[:FEWEST_HELD_OUT])
    assert not held_out_half([*half[: FEWEST_HELD_OUT - 1], *rest])
    assert not held_out_half([*half, *rest[: FEWEST_HELD_OUT - 1]])


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_bundled_probes_have_a_half_of_everything(language: str) -> None:
    probes = load_probes(language)
    assert 0.35 <= len(probes.held_out_occupations) / len(probes.occupations) <= 0.65
    rest = probes.without_held_out()
    for experiment in probes.experiments:
        assert 0.35 <= len(rest.of(experiment)) / len(probes.of(experiment)) <= 0.65
    assert not {own.name for own in rest.occupations} & probes.held_out_occupations
    assert not {own.text for own in rest.structures} & probes.held_out_structures


def test_a_small_set_is_left_whole() -> None:
    probes = load_probes("en")
    small = replace(probes, structures=probes.structures[:8])
    assert not small.held_out_occupations
    assert small.without_held_out() == small


def rows_of(before: np.ndarray, after: np.ndarray) -> dict[str, BiasRow]:
    return malor_bias_rows(run(before), run(after), resampling=FEW)


def test_the_headline_is_over_the_held_out_half_and_all_probes_stand_beside_it() -> None:
    generator = np.random.default_rng(1)
    before, after = generator.normal(0.3, 1, (2, 40, 40))
    rows = rows_of(before, after)
    for side, table in (("before", before), ("after", after)):
        for key, cells in (("he-she.gender.MALoR", IS_HELD_OUT), ("he-she.gender.MALoR.all probes", None)):
            leans = [
                fmean(table[row, column] for column in COLUMNS if cells is None or cells[row, column])
                for row in range(40)
                if cells is None or cells[row].any()
            ]
            assert getattr(rows[key], side) == pytest.approx(fmean(abs(lean) for lean in leans))
    assert rows["he-she.gender.MALoR"].sample == HELD_OUT
    beside = rows["he-she.gender.spread.all probes"]
    assert (beside.sample, beside.measure, beside.part_of) == (
        ALL_PROBES, "spread he-she, all probes", "MALoR he-she, all probes",
    )  # fmt: skip


def test_what_was_learnt_by_heart_is_not_called_lowered() -> None:
    """Every answer that training may have seen is even, and the held-out half leans as it did."""
    generator = np.random.default_rng(2)
    before = generator.normal(0, 1.5, (40, 1)) + generator.normal(0, 0.3, (40, 40))
    after = np.where(IS_HELD_OUT, before + generator.normal(0, 0.01, (40, 40)), 0.0)
    rows = rows_of(before, after)
    judged = [KeyedRow(key, row) for key, row in rows.items() if row.sample != ALL_PROBES]
    trained, _ = split_by_training(judged, ("he-she",))
    assert bias_verdict(trained, changed=True) is BiasVerdict.NOT_LOWERED
    whole = [row for row in rows.values() if row.sample == ALL_PROBES]
    assert bias_verdict(whole, changed=True) is BiasVerdict.LOWERED


def test_no_training_reads_of_an_occupation_that_is_held_out() -> None:
    probes = load_probes("en")
    unseen = UnseenProbes(probes)
    sentences = (
        "The nurse said that she was late.",
        "Two nurses came.",
        "Nurses came and went.",
        "The plumber said that she was late.",
        "Mr Baker said that he was late.",
        "The farm is old.",
    )
    assert "nurse" in probes.held_out_occupations
    assert "plumber" not in probes.held_out_occupations
    text = TrainingText((SentenceList("a", sentences),), HeldOutSentences("b", ("Kept back.",)), None, unseen)
    assert list(text.read([])) == list(sentences[3:])
    assert unseen.record is not None
    assert unseen.record.left_out == 3
    assert set(unseen.record.occupations) == probes.held_out_occupations


def test_no_pair_about_an_occupation_that_is_held_out_is_trained_on(tmp_path: Path) -> None:
    pair = (
        '{"male": "He is the doctor.", "female": "She is the doctor.", "original": "female", "experiments": '
        '["he-she"], "occupations": ["doctor"], "swaps": [{"role": "subject pronoun", "male": "He", "female": "She", '
        '"male_at": [0, 2], "female_at": [0, 3]}]}\n'
    )
    path = tmp_path / "pairs.jsonl"
    path.write_text(pair, encoding="utf-8")
    probes = load_probes("en")
    unseen = UnseenProbes(probes)
    inputs = MitigationInputs(
        text=TrainingText((PairFile(path),), HeldOutSentences("b", ("Kept back.",)), None, unseen),
        probes=probes,
        experiments=TRAINED_EXPERIMENTS,
        recipe=COUNTERFACTUAL.recipe,
        scratch=tmp_path,
    )
    with pytest.raises(DatasetError, match=r"all 1 pairs are .* about occupations that are held out"):
        COUNTERFACTUAL.prepare(None, inputs, CounterfactualOptions())  # type: ignore[arg-type]
    assert unseen.record is not None
    assert unseen.record.left_out == 1


def test_german_occupations_are_found_in_all_cases() -> None:
    unseen = UnseenProbes(load_probes("de"))
    assert "Sie sprach mit dem Chirurgen." in unseen
    assert "Die Ärztin kam." in unseen
    assert "Er sah das Haus." not in unseen


def test_probes_without_a_half_keep_nothing_from_training() -> None:
    probes = load_probes("en")
    unseen = UnseenProbes(replace(probes, structures=probes.structures[:8]))
    assert "The nurse said that she was late." not in unseen
    assert unseen.record is None


def fits(structures: Iterable[str]) -> re.Pattern[str]:
    """Sentences of structures, with any words in their gaps."""
    escaped = (re.escape(text) for text in structures)
    return re.compile("|".join(text.replace(r"\[MASK\]", ".+").replace(r"\[OCC\]", ".+") for text in escaped))


def test_no_training_sentence_of_the_lab_fits_a_structure_that_is_held_out() -> None:
    probes = lab_probes("en")
    data = default_data(ModelRef(id="lab:masked"))
    text = TrainingText(data.sources, data.held_out_sentences(), unseen=UnseenProbes(data.probes))
    sentences = list(text.read([]))
    assert len(probes.held_out_structures) > 40
    assert not list(filter(fits(probes.held_out_structures).fullmatch, sentences))
    others = fits(structure.text for structure in probes.without_held_out().structures)
    assert sum(others.fullmatch(sentence) is not None for sentence in sentences) > 300


def test_a_record_says_whether_the_training_saw_the_held_out_half() -> None:
    record = mitigation_records.a_record()
    assert record.data is not None
    assert not summarise(record).unseen
    unseen = UnseenRecord(occupations=("nurse",), structures=("The [OCC] lost [MASK] hat.",), left_out=3)
    told = record.model_copy(update={"data": record.data.model_copy(update={"unseen": unseen})})
    assert summarise(told).unseen
    assert summarise(record.model_copy(update={"data": None})).unseen


def test_no_epoch_is_chosen_by_what_is_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ProbeSet] = []

    def reader(_model: Any, probes: ProbeSet, **_: Any) -> None:
        asked.append(probes)

    monkeypatch.setattr(training_mitigation, "MalorReader", reader)
    probes = load_probes("en")
    data = MitigationData(sources=(), probes=probes, experiments=probes.experiments)
    training_mitigation.figure_readers(None, data)  # type: ignore[arg-type]
    assert asked == [probes.without_held_out()]


def divided(**changes: Any) -> Any:
    row = certificates.malor_row("he-she", 1.35, 0.11).model_copy(update={"sample": HELD_OUT})
    beside = certificates.malor_row("he-she", 1.4, 0.06).model_copy(
        update={"sample": ALL_PROBES, "measure": "MALoR he-she, all probes"}
    )
    return certificates.certificate(trained=(row,), whole=(beside,), **changes)


def test_a_certificate_says_what_its_figures_are_over() -> None:
    unknown = divided()
    seen = divided(
        mitigation=MitigationSummary(
            weights="0" * 64, method="equalise", experiments=("he-she",), unseen=True
        )
    )
    assert sample_words(unknown) == (
        "MALoR is over the half of structures and occupations that is held out; over all of them MALoR he-she went "
        "from 1.40 to 0.06."
    )
    assert "that no training saw" in sample_words(seen)
    assert ("MALoR he-she, all probes", "all probes") in [row[:2] for row in certificate_rows(seen)]
    none = Measurements({}, {})
    (caveat,) = [text for text in caveats_of(unknown, none, none) if "held-out half" in text]
    assert caveat.startswith("It is not known whether the training saw")
    assert not [text for text in caveats_of(seen, none, none) if "held-out half" in text]
    small = certificates.certificate()
    assert not sample_words(small)
    assert any("too few structures" in text for text in caveats_of(small, none, none))


def test_a_certificate_of_large_enough_probes_is_judged_on_the_half_and_verified(
    menagerie: Any, tmp_path: Path
) -> None:
    probes, others = load_probes("en"), load_untrained_probes("en")
    structures, occupations = probes.held_out_structures, probes.held_out_occupations
    he_she = sorted(probes.of(Experiment.HE_SHE), key=lambda own: own.text in structures)
    jobs = sorted(probes.occupations, key=lambda own: own.name in occupations)
    asked = replace(
        probes.joined(others),
        structures=(*he_she[:7], *he_she[-7:], *others.of(Experiment.HIM_HER)[:2]),
        occupations=(*jobs[:7], *jobs[-7:]),
    )
    text = tuple(
        f"Then {word} went home for the {number}th time." for number in range(10) for word in ("he", "she")
    )
    plan = CertificatePlan(
        measurements=(Measurement("malor", MalorOptions(data=asked)),), training_text=text, resampling=FEW
    )
    before = menagerie.folder("gpt2")
    after = nudged(before, tmp_path / "changed")
    place = tmp_path / "certificate.json"
    certificate = certify(str(before), str(after), plan, place=place)

    assert [row.measure for row in certificate.whole] == [
        f"{name} he-she, all probes" for name in ("MALoR", "base rate", "spread")
    ]
    assert [row.sample for row in (*certificate.trained, *certificate.untrained)] == [HELD_OUT] * 6
    judged, pair = certificate.trained[0], certificate.untrained[0]
    assert judged.difference.n == 7 * 7
    assert (pair.untrained_pair, pair.difference.n) == ("him-her", 7 * 2)
    assert certificate.whole[0].difference.n == 14 * 14
    assert certificate.baseline is not None
    assert [row.sample for row in certificate.baseline.reached] == [HELD_OUT] * 3
    assert read_certificate(place) == certificate
