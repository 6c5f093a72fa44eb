"""German with and without the list of noun genders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenhand.twins.de import noun_genders, noun_pairs, things


def forget_noun_list() -> None:
    """Let the list be looked for again."""
    for cached in (noun_genders.noun_genders, noun_pairs.pair_of, things.is_thing, things._kinds):
        cached.cache_clear()


@pytest.fixture
def without_noun_list(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation without the extra ``german``."""
    monkeypatch.setattr(noun_genders, "find_spec", lambda _: None)
    forget_noun_list()
    yield
    forget_noun_list()
