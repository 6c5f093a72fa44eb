"""The garbage collector is paused, and left as it was found."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from evenhand.models import references
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.references import load_model


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """On, and with nothing frozen; the libraries are frozen again afterwards, as for all tests."""
    gc.unfreeze()
    gc.enable()
    yield
    gc.freeze()
    gc.enable()


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="Python 3.12 counts objects of its own as frozen")
def test_what_was_made_in_the_meantime_is_not_looked_through_at_the_end() -> None:
    with gc_disabled():
        assert not gc.isenabled()
        made: list[object] = [[] for _ in range(100_000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    assert len(gc.get_objects(generation=0)) < len(made)
    assert any(made[0] is thing for thing in gc.get_objects(generation=2))


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with gc_disabled():
        pass
    assert not gc.isenabled()


def test_what_was_frozen_stays_frozen() -> None:
    gc.freeze()
    with gc_disabled():
        pass
    assert gc.get_freeze_count() > 0


def test_a_model_is_loaded_without_looking_for_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    is_enabled: list[bool] = []

    class Backend:
        def location(self, ref: references.ModelRef) -> str:
            return ref.id

        def load(self, ref: references.ModelRef) -> str:
            is_enabled.append(gc.isenabled())
            return ref.id

    monkeypatch.setattr(references, "backend_of", lambda _: Backend())
    assert load_model("any:model") == "any:model"
    assert is_enabled == [False]
    assert gc.isenabled()
