"""German twins where the extra ``german`` is not installed: fewer of them, and none that is wrong."""

from __future__ import annotations

import pytest
from twin_sentences import NATURAL, TRAP, read_twin_sentences, tally_of

from evenhand.core.errors import require_extra
from evenhand.text.swappers import Rejected, Twin
from evenhand.twins.de.swapper import GermanSwapper
from evenhand.twins.de.things import is_thing, slots_of_thing

UNKNOWN_NAME = "Ich kenne Kowalczyk und weiß, dass ihm nicht zu trauen ist."


def _twins() -> dict[str, str | None]:
    swapper = GermanSwapper()
    found = {
        each.sentence: swapper.twin(each.sentence)
        for name in ("blind_de.txt", "second_blind_de.txt")
        for each in read_twin_sentences(name)
    }
    return {sentence: twin.text if isinstance(twin, Twin) else None for sentence, twin in found.items()}


@pytest.mark.usefixtures("without_noun_list")
@pytest.mark.parametrize("name", ["blind", "second_blind"])
@pytest.mark.parametrize("kind", [NATURAL, TRAP])
def test_no_twin_is_wrong(name: str, kind: str) -> None:
    tally = tally_of("de", kind, name=name)
    assert not tally.wrong
    if kind == NATURAL:
        assert len(tally.left_out) <= 0.3 * tally.swappable


@pytest.mark.usefixtures("without_noun_list")
@pytest.mark.parametrize(
    ("noun", "kinds"),
    [
        ("Tages", "mp"),
        ("Hände", "p"),
        ("Abendwind", "mp"),
        ("Zeitung", "fp"),
        ("Messer", "np"),
        ("Nervensäge", "fp"),
        ("Abreise", "mfnp"),
        ("Verschwinden", "mfnp"),
        ("Geistlichen", "mfnp"),
        ("Reisende", "mfnp"),
        ("Vorsprung", "mfnp"),
        ("Bäumchen", "np"),
        ("Bäume", "p"),
        ("Känne", "mfnp"),
        ("Winnetou", "mfnp"),
    ],
)
def test_the_gender_of_a_noun_is_told_by_frequent_nouns_and_endings(noun: str, kinds: str) -> None:
    assert {slot[1] for slot in slots_of_thing(noun)} == set(kinds)


@pytest.mark.usefixtures("without_noun_list")
def test_an_unknown_word_may_be_a_thing() -> None:
    assert is_thing("Brief")
    assert not is_thing("Liebesbrief")
    swapper = GermanSwapper()
    assert isinstance(swapper.twin(UNKNOWN_NAME), Rejected)
    assert isinstance(swapper.twin("Kowalczyk dachte lange nach, bevor er antwortete."), Twin)


def test_the_list_only_adds_twins(request: pytest.FixtureRequest) -> None:
    require_extra("german", purpose="This test")
    with_list = _twins()
    request.getfixturevalue("without_noun_list")
    without_list = {sentence: twin for sentence, twin in _twins().items() if twin is not None}
    assert without_list.items() <= with_list.items()
    assert len(without_list) < sum(twin is not None for twin in with_list.values())
