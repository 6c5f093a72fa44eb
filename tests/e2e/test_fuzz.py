"""More than a hundred damaged inputs, of every kind that is quickly read: each is read or refused, and nothing else.

``benchmarks/fuzz.py`` does the same for every kind, ten thousand times.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fuzz
import pytest

QUICK = {
    "run folders": 20,
    "learning curves": 40,
    "StereoSet files": 8,
    "scores": 8,
    "probe files": 6,
    "CrowS-Pairs files": 8,
    "hub records": 12,
    "logs of pairs": 16,
    "Winogender files": 8,
    "labelled text": 40,
    "annotations": 40,
    "texts to train on": 12,
    "classifiers": 30,
    "labels of two versions": 20,
    "word lists of regard": 20,
    "twin pairs": 40,
    "BEC-Pro files": 20,
    "calibrations": 8,
    "model folders": 8,
    "GGUF files": 6,
    "next-sentence pairs": 8,
    "next-sentence heads": 4,
    "SHADES files": 10,
    "EuroGEST files": 10,
    "translations": 8,
    "translation tables": 16,
    "surveys and schemes": 12,
    "MediaWiki dumps": 20,
    "cards": 20,
    "trigger targets": 20,
}
SEED = 14


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("inputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENHAND_HOME", str(folder.parent / "home"))
        fuzz.make_inputs(folder, set(QUICK))
        yield folder


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Fail what takes longer."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    former = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reader", list(QUICK))
def test_damaged_inputs_are_read_or_refused(reader: str, inputs: Path, tmp_path: Path) -> None:
    for number in range(QUICK[reader]):
        with patience(300):
            outcome = fuzz.try_case(fuzz.Case(reader, number, SEED), inputs, tmp_path)
        assert outcome.kind in (fuzz.ACCEPTED, fuzz.REFUSED), f"{outcome.damage}\n{outcome.details}"
