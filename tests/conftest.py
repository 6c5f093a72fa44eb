"""Fixtures that several kinds of tests share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from evenhand.stats.resampling import Resampling

# What a slow machine says while it works is in nobody's way; the tests of it ask for it.
os.environ["EVENHAND_PROGRESS"] = "0"

# A busy machine is slow, and no test may fail for that.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

pytest_plugins = [
    "running",
    "browsing",
    "noun_lists",
    "ray_fixtures",
    "regard_training",
    "torch_marker",
    "web_fixtures",
    "zoo_fixtures",
]

PARITY_VARIABLE = "EVENHAND_PARITY_DATA"

LONGEST = frozenset(
    {
        "test_documentation.py",
        "test_executors.py",
        "test_kills.py",
        "test_lab_rebuild.py",
        "test_study_command.py",
    }
)
"""Files with tests that take ten seconds or more."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no worker is left alone with one of them at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules, which stay: it would look through all of them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What tests write need not survive a power failure, so nothing waits until it is on the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@contextmanager
def _every_model_passes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in ("instruments.gate", "reporting.probes.malor_words", "reporting.probes.words"):
            patch.setattr(f"evenhand.{module}.knows_words", lambda _: True)
        yield


@pytest.fixture(scope="module")
def without_gate() -> Iterator[None]:
    """Figures of models that know nothing, for tests of how figures are computed."""
    with _every_model_passes():
        yield


@pytest.fixture
def once_without_gate() -> Iterator[None]:
    """The same for a single test of a module whose other tests have the gate."""
    with _every_model_passes():
        yield


@pytest.fixture
def quick() -> Resampling:
    """The fewest resamples that are possible, for tests that are not about intervals."""
    return Resampling(resamples=100)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the public datasets and predictions, which is not part of the repository.

    Without it the tests that compare with published figures are skipped, but not in continuous
    integration: there a missing folder would hide that nothing was compared.
    """
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get(PARITY_VARIABLE) or default)
    if (folder / "stereoset" / "en.json").is_file():
        return folder
    reason = f"no published data in {folder}; set {PARITY_VARIABLE} to a folder that has them"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
