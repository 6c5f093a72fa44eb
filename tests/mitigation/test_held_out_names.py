"""A held-out sentence is not trained on with another name either."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from plain_swapper import PlainSwapper
from small_corpus import NAMES, PROBES, options

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import TermPairs
from evenhand.data.corpus_sources import CorpusSource
from evenhand.mitigation import counterfactual
from evenhand.mitigation.counterfactual import COUNTERFACTUAL, CounterfactualMitigation, CounterfactualOptions
from evenhand.mitigation.pairs.building import build_pairs
from evenhand.mitigation.pairs.twin_pairs import pair_line, read_twin_pairs
from evenhand.mitigation.texts import (
    HeldOutSentences,
    PairFile,
    SentenceList,
    TrainingText,
    keep_back,
    read_held_out,
)
from evenhand.mitigation.training_mitigation import MitigationInputs, PreparedObjective
from evenhand.store.mitigation_records import TextRecord

ONE_OF_EACH = tuple(f"{NAMES.all[n % 6]} saw the nurse for {n} days." for n in range(240))
"""Every sentence has a number of its own, so it differs from all others in more than a name."""


def nameless(sentence: str) -> str:
    return re.sub("|".join(NAMES.all), "somebody", sentence)


class Trial:
    """Prepares trainings and notes what would be trained on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.trained: list[str] = []
        monkeypatch.setattr(counterfactual, "pretraining_objective", self._note)

    def _note(self, sentences: Sequence[str], *_: Any, **__: Any) -> Any:
        self.trained = list(sentences)
        return SimpleNamespace(examples=sentences)

    def prepare(self, sources: Iterable[CorpusSource], held_out: HeldOutSentences) -> PreparedObjective:
        inputs = MitigationInputs(
            text=TrainingText(tuple(sources), held_out),
            probes=PROBES,
            experiments=(Experiment.NAMES,),
            recipe=COUNTERFACTUAL.recipe,
            scratch=self.folder,
        )
        return CounterfactualMitigation(PlainSwapper).prepare(None, inputs, CounterfactualOptions())  # type: ignore[arg-type]

    def pair_file(self, sentences: Iterable[str], **changes: Any) -> PairFile:
        path = self.folder / "own.jsonl"
        source = SentenceList("own", tuple(sentences))
        build_pairs([source], path, options=options(experiments=(Experiment.NAMES,), **changes))
        return PairFile(path)


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    return Trial(tmp_path, monkeypatch)


def test_text_is_keep_back_with_whatever_would_be_made_of_it(trial: Trial) -> None:
    source = SentenceList("own", ONE_OF_EACH)
    held_out = keep_back([source])
    prepared = trial.prepare([source], held_out)
    kept = {nameless(sentence) for sentence in held_out.sentences}
    assert kept
    assert {nameless(sentence) for sentence in trial.trained} == {*map(nameless, ONE_OF_EACH)} - kept
    # Every sentence gives a pair and two repeats.
    lost = 3 * len(kept)
    assert prepared.counts == {"pairs": 3 * 240 - lost, "pairs left out as held out": lost}


@pytest.mark.parametrize("names_sample", [3_144, 100])
def test_a_file_of_pairs_is_keep_back_with_all_repeats(trial: Trial, names_sample: int) -> None:
    """With the smaller sample most originals are missing, and repeats stand for them."""
    source = trial.pair_file(ONE_OF_EACH, names_sample=names_sample)
    there = {nameless(sentence) for pair in source.pairs() for sentence in pair.sentences}
    held_out = keep_back([source])
    prepared = trial.prepare([source], held_out)
    kept = {nameless(sentence) for sentence in held_out.sentences}
    assert 0 < len(kept) < 0.15 * len(there)
    assert len(kept) == len(held_out.sentences)
    assert {nameless(sentence) for sentence in trial.trained} == there - kept
    assert sum(prepared.counts.values()) == min(names_sample, 3 * 240)


@pytest.mark.parametrize("names_sample", [3_144, 100])
def test_the_text_of_a_file_of_pairs_holds_all_of_it_out(trial: Trial, names_sample: int) -> None:
    source = trial.pair_file(ONE_OF_EACH, names_sample=names_sample)
    held_out = read_held_out([SentenceList("the text", ONE_OF_EACH)])
    number = min(names_sample, 3 * 240)
    with pytest.raises(DatasetError, match=f"Nothing is left to train on: all {number} pairs"):
        trial.prepare([source], held_out)


def test_text_that_is_held_out_as_a_whole_leaves_nothing(trial: Trial) -> None:
    source = SentenceList("own", ONE_OF_EACH)
    with pytest.raises(DatasetError, match="Nothing is left to train on: all 720 pairs"):
        trial.prepare([source], read_held_out([source]))


def test_a_file_made_with_other_names_is_known_by_its_own(trial: Trial) -> None:
    terms = {**PROBES.terms, Experiment.NAMES: TermPairs(("Michael",), ("Jennifer",))}
    source = trial.pair_file(["James saw the nurse.", "James saw the doctor."])
    narrow = MitigationInputs(
        text=TrainingText((source,), HeldOutSentences("held", ("patricia saw  the nurse.",))),
        probes=replace(PROBES, terms=terms),
        experiments=(Experiment.NAMES,),
        recipe=COUNTERFACTUAL.recipe,
        scratch=trial.folder,
    )
    COUNTERFACTUAL.prepare(None, narrow, CounterfactualOptions())  # type: ignore[arg-type]
    assert {nameless(sentence) for sentence in trial.trained} == {"somebody saw the doctor."}
    assert len(trial.trained) == 6


def test_what_the_corpus_says_of_somebody_else_is_trained_on(trial: Trial) -> None:
    """Both sentences are the corpus's own; only what would be made of the held-out one goes."""
    source = SentenceList("own", ("James saw the nurse.", "Patricia saw the nurse."))
    prepared = trial.prepare([source], HeldOutSentences("held", ("James saw the nurse.",)))
    assert trial.trained == ["Robert saw the nurse.", "Patricia saw the nurse."]
    assert prepared.counts == {"pairs": 1, "pairs left out as held out": 2}


def test_a_sentence_without_a_name_goes_only_if_it_is_held_out_itself(tmp_path: Path, trial: Trial) -> None:
    path = tmp_path / "pairs.jsonl"
    sentences = ("He was a Mary nurse.", "He was a James nurse.")  # names that are not marked as such
    build_pairs([SentenceList("own", ("He was a nurse.",))], path, options=options())
    (pair,) = read_twin_pairs(path)
    rows = [replace(pair, male=male, female="S" + male.replace("He", "he")) for male in sentences]
    path.write_bytes(b"".join(map(pair_line, rows)))
    held_out = HeldOutSentences("held", (sentences[0],))
    inputs = MitigationInputs(
        text=TrainingText((PairFile(path),), held_out), probes=PROBES, experiments=(Experiment.HE_SHE,),
        recipe=COUNTERFACTUAL.recipe, scratch=tmp_path,
    )  # fmt: skip
    COUNTERFACTUAL.prepare(None, inputs, CounterfactualOptions())  # type: ignore[arg-type]
    assert trial.trained == [*rows[1].sentences]


def test_a_file_of_pairs_gives_one_sentence_for_all_names_and_all_if_it_is_held_out(trial: Trial) -> None:
    source = trial.pair_file(["Mary saw the nurse.", "James, Robert and the doctor met."])
    records: list[TextRecord] = []
    text = TrainingText((source,), HeldOutSentences("held", ("The sea is cold.",)))
    assert list(text.read(records)) == ["Mary saw the nurse.", "James, Robert and the doctor met."]
    assert [record.sentences for record in records] == [2]
    other = TrainingText((source,), HeldOutSentences("held", ("Jennifer saw the nurse.",)))
    assert list(other.read(records)) == ["James, Robert and the doctor met."]
    assert set(read_held_out([source]).sentences) == {
        "Mary saw the nurse.",
        "Robert saw the nurse.",
        "Michael saw the nurse.",
        "James, Robert and the doctor met.",
        "Robert, Michael and the doctor met.",
        "Michael, James and the doctor met.",
    }
