"""Processes that are killed at chosen moments: the next one goes on, and the bytes are those of an undisturbed run.

``benchmarks/kills.py`` does the same at random moments, many times, over every workflow.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import small_corpus
from forking import exit_code

from evenhand.api import measure
from evenhand.api.measure import audit, probe
from evenhand.api.pairs import build_pairs
from evenhand.core.items import PairDirection, PairSet, SentencePair
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.lab.items import lab_benchmark
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts, leftovers

pytestmark = pytest.mark.torch

RESULTS = {"scores.parquet", "estimates.json", "predictions.json", "pairs.jsonl", "pairs.counts.json"}
QUICK = Resampling(resamples=100)


def audit_lab_model(folder: Path) -> None:
    options = AuditOptions(limit=24, max_tokens=64, resampling=QUICK)
    audit("lab:masked", options=options, name="result", out=folder)


def probe_lab_model(folder: Path) -> None:
    options = MalorOptions(limit=6, max_tokens=256, resampling=QUICK)
    probe("lab:masked", options=options, name="result", out=folder)


def probe_sentence_pairs(folder: Path) -> None:
    pairs = PairSet(
        name="pairs",
        language="en",
        pairs=tuple(
            SentencePair(item.id, "en", item.bias_type, PairDirection.STEREO, more.text, less.text)
            for item in lab_benchmark("en").items[:12]
            for more, less, _ in [item.candidates]
        ),
        source="lab",
        sha256="of the lab's items",
    )
    options = InstrumentOptions(data=pairs, max_tokens=64, resampling=QUICK)
    probe("lab:masked", "crows-pairs", options=options, name="result", out=folder)


def build_twins(folder: Path) -> None:
    corpus = folder.parent / "corpus"
    if not corpus.exists():
        small_corpus.write_corpus(corpus)
    build_pairs([corpus], folder / "pairs.jsonl", options=small_corpus.options())


Workflow = Callable[[Path], None]

PLACES: dict[Workflow, str] = {
    audit_lab_model: "result",
    probe_lab_model: "result",
    probe_sentence_pairs: "result",
    build_twins: "pairs.jsonl",
}
"""The workflows, and the name of what each makes."""


def work(workflow: Workflow, folder: Path, moment: Callable[[Path], None] | None = None) -> None:
    """What a process does: a workflow, until a moment."""
    os.setsid()
    setattr(measure, "render_page", lambda _: "the page")  # noqa: B010 # drawn, it takes longer than all the rest
    if moment is not None:
        moment(folder / PLACES[workflow])
    workflow(folder)


def die() -> None:
    os.killpg(os.getpid(), signal.SIGKILL)


def when_a_part_is_kept(_: Path) -> None:
    put = Parts.put

    def put_and_die(self: Parts, key: str, piece: bytes) -> None:
        put(self, key, piece)
        die()

    Parts.put = put_and_die  # type: ignore[method-assign]


def before_the_result_is_in_place(place: Path) -> None:
    for name in ("rename", "replace"):
        _intercept(name, place, lambda _: die())


def after_the_result_is_in_place(place: Path) -> None:
    def move_and_die(move: Callable[[], Path]) -> None:
        move()
        die()

    for name in ("rename", "replace"):
        _intercept(name, place, move_and_die)


def _intercept(name: str, place: Path, act: Callable[[Callable[[], Path]], object]) -> None:
    """Do something else when a file or folder is to be moved to a place."""
    original = getattr(Path, name)

    def move(self: Path, target: Path) -> object:
        if target == place:
            return act(lambda: original(self, target))
        return original(self, target)

    setattr(Path, name, move)


def results(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.name in RESULTS
    }


def parts_of(place: Path) -> list[Path]:
    (unfinished,) = leftovers(place)
    return [path for path in unfinished.glob("*/*") if path.parent.name in {"answers", "tallies"}]


@pytest.mark.parametrize("workflow", PLACES)
def test_a_workflow_that_is_killed_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, workflow: Workflow
) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    place = disturbed / PLACES[workflow]
    assert exit_code(work, workflow, undisturbed) == 0

    for kept in (1, 2):
        assert exit_code(work, workflow, disturbed, when_a_part_is_kept) == -signal.SIGKILL
        assert len(parts_of(place)) == kept
        assert not place.exists()
    assert exit_code(work, workflow, disturbed, before_the_result_is_in_place) == -signal.SIGKILL
    assert not place.exists()
    # The parts of all that is asked are there now, so this process asks for nothing.
    assert exit_code(work, workflow, disturbed, after_the_result_is_in_place) == -signal.SIGKILL
    assert place.exists()
    assert exit_code(work, workflow, disturbed) == 0

    assert results(disturbed) == results(undisturbed) != {}
    assert list(disturbed.rglob(".*")) == []
