"""Probes are asked in chunks: nothing is lost at their edges, and memory does not grow with what is asked."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from measuring import probe
from slow_malor import small_probes
from zoo_fixtures import Zoo

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import ProbeSet, TermPairs
from evenhand.data.probes import load_probes
from evenhand.instruments.malor import preparation, prepared
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.instruments.malor.prepared import PreparedProbe
from evenhand.instruments.malor.questions import (
    ProbeDirection,
    count_questions,
    probe_questions,
    question_chunks,
)
from evenhand.models.engine import rereading
from evenhand.models.requests import Continue
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run
from evenhand.testing import FakeModel

BOTH = MalorOptions(direction="both", resampling=Resampling(resamples=100))
ASKED = [(experiment, direction) for experiment in TRAINED_EXPERIMENTS for direction in ProbeDirection]
TOLERANCE = 5e-5
OCCUPATIONS = load_probes("en").occupations


@pytest.mark.parametrize("language", ["en", "de"])
def test_questions_are_counted_before_they_are_made(language: str) -> None:
    probes = small_probes(language)
    for asked in ASKED:
        assert count_questions(probes, [asked]) == sum(1 for _ in probe_questions(probes, [asked]))


@pytest.mark.parametrize("words", [1, 7, 50, 10**6])
def test_chunks_hold_every_question_once_and_in_order(words: int) -> None:
    questions = list(probe_questions(small_probes("de"), ASKED))
    chunks = list(question_chunks(questions, words=words))
    assert [question for chunk in chunks for question in chunk] == questions
    for chunk in chunks:
        assert len(chunk) == 1 or sum(len(question.places) for question in chunk) <= words


def test_a_structure_is_asked_in_one_chunk_if_it_fits() -> None:
    """In both directions it makes the same sentences, which a model behind an API is paid for."""
    probes = small_probes("en")
    of_structure = Counter(
        question.structure for question in probe_questions(probes, ASKED) for _ in question.places
    )
    chunks = list(question_chunks(probe_questions(probes, ASKED), words=2 * max(of_structure.values())))
    found = [{question.structure for question in chunk} for chunk in chunks]
    assert len(chunks) > 2
    assert sum(map(len, found)) == len(of_structure)


def test_a_sentence_of_both_directions_is_asked_once() -> None:
    texts: Counter[str] = Counter()

    def probability(text: str) -> float:
        texts[text] += 1
        return 0.5 ** (1 + len(text) % 7)

    probe(FakeModel(probability, capabilities=[Continue]), small_probes("en"), options=BOTH)
    assert set(texts.values()) == {1}


def log_ratios(run: Run) -> np.ndarray:
    return run.scores["log2_ratio"].to_numpy().astype(float)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_the_size_of_chunks_does_not_matter(
    menagerie: Zoo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, probes = menagerie.model(name), small_probes("en")
    expected = probe(model, probes, options=BOTH)
    reading = PreparedProbe(model, probes, experiments=TRAINED_EXPERIMENTS).ratios()
    for module in (preparation, prepared):
        monkeypatch.setattr(module, "question_chunks", partial(question_chunks, words=10))
    found = probe(model, probes, options=BOTH)
    np.testing.assert_allclose(log_ratios(found), log_ratios(expected), rtol=0, atol=TOLERANCE)
    assert [result.skipped for result in found.results] == [result.skipped for result in expected.results]
    for experiment, ratios in PreparedProbe(model, probes, experiments=TRAINED_EXPERIMENTS).ratios().items():
        np.testing.assert_allclose(ratios.values, reading[experiment].values, rtol=0, atol=TOLERANCE)


def test_progress_goes_up_to_all_questions(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "question_chunks", partial(question_chunks, words=10))
    probes = small_probes("en")
    told: list[tuple[int, int]] = []
    probe(menagerie.model("bert"), probes, options=BOTH, progress=lambda *counts: told.append(counts))
    total = count_questions(probes, ASKED)
    assert {of for _, of in told} == {total}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (total, total)


def with_names(names: int) -> ProbeSet:
    everything = load_probes("en")
    terms = everything.terms[Experiment.NAMES]
    return replace(
        everything,
        structures=everything.of(Experiment.NAMES)[:2],
        occupations=everything.occupations[:5],
        terms={Experiment.NAMES: TermPairs(terms.male[:names], terms.female[:names])},
    )


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_memory_does_not_grow_with_the_number_of_sentences(
    menagerie: Zoo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "question_chunks", partial(question_chunks, words=32))
    model = menagerie.model(name)
    peaks = []
    for names in (2, 2, 16):
        probes = with_names(names)
        tracemalloc.start()
        probe(model, probes, options=BOTH)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 2 * peaks[1]


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_what_is_read_again_and_again_waits_on_disk(
    menagerie: Zoo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence costs its place in the tables of answers, not its tokens, and as little while it is read."""
    monkeypatch.setattr(prepared, "question_chunks", partial(question_chunks, words=32))
    model = menagerie.model(name)
    few, many = (replace(with_names(4), occupations=OCCUPATIONS[:count]) for count in (4, 32))
    expected = PreparedProbe(model, many, experiments=[Experiment.NAMES]).ratios()[Experiment.NAMES]
    monkeypatch.setattr(rereading, "READY_BYTES", 0)
    held, peaks = [], []
    for probes in (few, few, many):
        gc.collect()
        tracemalloc.start()
        reading = PreparedProbe(model, probes, experiments=[Experiment.NAMES])
        found = reading.ratios()[Experiment.NAMES]
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.reset_peak()
        reading.ratios()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    sentences = 2 * (32 - 4) * 8
    assert held[2] - held[1] < 100 * sentences
    assert peaks[2] < 3 * peaks[1]  # of eight times as many: tables of answers are put together at the end
    np.testing.assert_array_equal(found.values, expected.values)
