"""The garbage collector is paused, and left as it was found."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from evenhand.models import references
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.references import load_model


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """On, as it is found and left."""
    gc.enable()
    yield
    gc.enable()


def test_the_collector_pauses_and_goes_on() -> None:
    with gc_disabled():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with gc_disabled():
        pass
    assert not gc.isenabled()


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
