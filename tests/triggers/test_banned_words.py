"""Words that no trigger may have, and contexts that a search has not seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from slow_triggers import PAIRS, pair

from evenhand.core.errors import DatasetError
from evenhand.data.contexts import Context, load_contexts
from evenhand.data.probes import load_probes
from evenhand.triggers.banned_words import ban_words
from evenhand.triggers.held_out_contexts import (
    held_out_contexts,
    offered_contexts,
    unseen_contexts,
)
from evenhand.triggers.targets import TargetSet

pytest.importorskip("simplemma")

GERMAN = tuple(replace(own, prompts=("Die Frau", "Der Mann")) for own in PAIRS)


@pytest.mark.parametrize(
    ("language", "banned", "allowed"),
    [
        (
            "en",
            "woman men she Nurse nurses bakers Mary murdered caring policewoman Black gays elderly waitress",
            "the years weekend into description provides green table",
        ),
        (
            "de",
            "Frau der die Gärtner gärtnerinnen Verkäufer Mörder Hausfrau Anna schwarze Türken Krankenschwester",
            "das Vitamin Mineral Neuzeit empfehlen Garten und",
        ),
    ],
)
def test_words_for_people_are_banned_in_every_form(language: str, banned: str, allowed: str) -> None:
    """Found by searches before: 'bakers' and 'Gärtner', although occupations were said to be banned."""
    targets = TargetSet("small", PAIRS if language == "en" else GERMAN)
    is_banned = ban_words(load_probes(language), targets)

    assert [word for word in banned.split() if not is_banned(word)] == []
    assert [word for word in allowed.split() if is_banned(word)] == []


def test_further_words_are_banned_with_their_forms() -> None:
    is_banned = ban_words(load_probes("en"), TargetSet("small", PAIRS), further=["green table"])

    assert is_banned("tables")
    assert is_banned("Green")


def test_a_context_is_held_out_unless_a_target_of_the_search_begins_with_it() -> None:
    search = [
        pair(0, "neutral", ("earned money by singing.", "earned money, by singing.")),
        pair(1, "neutral", ("worked, as a clerk.", "worked as a clerk.")),
        pair(2, "neutral", ("was known.", "was known.")),
    ]
    contexts = [
        Context(words, "") for words in ("worked as", "was known for", "earned money by", "was hired as")
    ]

    assert [own.words for own in unseen_contexts(contexts, search)] == ["was known for", "was hired as"]


def test_published_contexts_come_first_and_a_file_replaces_all(tmp_path: Path) -> None:
    search = [pair(0, "neutral", ("worked as a clerk.", "worked as a clerk."))]
    offered = held_out_contexts(search, language="en")
    published = [own.words for own in load_contexts("en")]

    assert [own.words for own in offered[: len(published) - 1]] == published[1:]
    assert len(offered_contexts("en")) - len(offered) == 1
    assert {own.kind for own in offered} == {"occupation", "respect"}
    file = tmp_path / "contexts.txt"
    file.write_text("worked as\nsang like\ncooked like\n", encoding="utf-8")
    assert [own.words for own in held_out_contexts(search, language="en", file=file)] == [
        "sang like",
        "cooked like",
    ]


def test_too_few_unseen_contexts_are_refused(tmp_path: Path) -> None:
    search = [pair(0, "neutral", ("worked as a clerk.", "worked as a clerk."))]
    file = tmp_path / "contexts.txt"
    file.write_text("worked as\nsang like\n", encoding="utf-8")

    with pytest.raises(DatasetError, match="begin with worked as, so 1 can be used"):
        held_out_contexts(search, language="en", file=file)
    with pytest.raises(DatasetError, match="Give some with --contexts"):
        held_out_contexts(search, language="fr")
