"""Words that tell a gender, so that a context must not have them and a trigger neither."""

from __future__ import annotations

import pytest

from evenhand.data.contexts import load_contexts
from evenhand.text.gender_marking import words_telling_gender
from evenhand.triggers.held_out_contexts import offered_contexts

pytest.importorskip("simplemma")


@pytest.mark.parametrize(
    ("language", "text", "telling"),
    [
        ("en", "worked as a waitress and", ["waitress"]),
        ("en", "was the pregnant", ["pregnant"]),
        ("en", "was a policeman or two policewomen", ["policeman", "policewomen"]),
        ("en", "told her mother", ["her", "mother"]),
        ("en", "was a human being of German descent", []),
        ("en", "was a nurse and a doctor", []),
        ("de", "arbeitete als Lehrerin", ["Lehrerin"]),
        ("de", "galt als Hausfrau", ["Hausfrau"]),
        ("de", "arbeitete als Krankenschwester und", ["Krankenschwester"]),
        ("de", "galt als schwanger", ["schwanger"]),
        ("de", "wollte immer bekannt sein für", []),
        ("de", "kaufte Benzin und Medizin in Berlin", []),
        ("fr", "travaillait comme infirmière", []),
    ],
)
def test_words_that_tell_a_gender_are_found(language: str, text: str, telling: list[str]) -> None:
    assert words_telling_gender(text, language) == telling


@pytest.mark.parametrize("language", ["de", "en"])
def test_no_context_that_ships_tells_a_gender(language: str) -> None:
    contexts = (*load_contexts(language), *offered_contexts(language))

    assert [own.words for own in contexts if words_telling_gender(own.words, language)] == []
