"""German noun genders by the table of german-nouns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from noun_lists import forget_noun_list
from running import HANG

from evenhand.core.errors import DatasetError, require_extra
from evenhand.text.swappers import Twin
from evenhand.twins.de.noun_genders import NounGenders, has_noun_list, noun_genders
from evenhand.twins.de.swapper import GermanSwapper
from evenhand.twins.de.things import is_thing, slots_of_thing

TABLE = """\
lemma,pos,genus,genus 1,genus 2,nominativ singular,nominativ singular 1,nominativ plural,nominativ plural 1
Lehrer,Substantiv,m,,,Lehrer,,Lehrer,
Tür,Substantiv,f,,,Tür,,Türen,
See,Substantiv,,m,f,,See,,Seen
Messer,Substantiv,n,,,Messer,,Messer,
Messer,"Substantiv,Nomen agentis",m,,,Messer,,Messer,
Ferien,Substantiv,,,,,,Ferien,
Marie,"Substantiv,Vorname",f,,,Marie,,Marien,
-heit,"Affix,Substantiv",f,,,-heit,,-heiten,
a-Moll,Substantiv,n,,,a-Moll,,,
"""
KINDS = {
    "Lehrer": "mp",
    "Tür": "f",
    "Türen": "p",
    "See": "fm",
    "Seen": "p",
    "Messer": "mnp",
    "Ferien": "p",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package german_nouns whose code must not run."""
    folder = tmp_path / "german_nouns"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('german_nouns was imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    forget_noun_list()
    yield folder
    forget_noun_list()


def test_the_table_is_read_without_running_the_package(package: Path) -> None:
    (package / "nouns.csv").write_text(TABLE, encoding="utf-8")
    assert has_noun_list()
    assert noun_genders().kinds == KINDS


@pytest.mark.parametrize(
    ("form", "kinds"),
    [
        ("Messer", "mnp"),
        ("Taschenmesser", "mnp"),
        ("Chefoberlehrer", "m"),
        ("Sommerferien", "p"),
        ("Bergsee", ""),
        ("Türen", "p"),
        ("Thüren", "p"),
        ("Ofenthüren", "p"),
        ("Kowalczyk", ""),
    ],
)
def test_a_compound_is_as_the_longest_last_part_of_four_letters_or_more(form: str, kinds: str) -> None:
    assert NounGenders({**KINDS, "Oberlehrer": "m"}).of(form) == kinds


@pytest.mark.parametrize("table", [None, "", "lemma,form\nTür,Tür\n", TABLE + "Tor,Substantiv,n\n"])
def test_a_table_that_cannot_be_read_is_refused_with_a_way_out(package: Path, table: str | None) -> None:
    if table is not None:
        (package / "nouns.csv").write_text(table, encoding="utf-8")
    with pytest.raises(DatasetError, match=r"Install it again: pip install --force-reinstall --no-deps"):
        GermanSwapper().twin("Er sah die Haustür.")


def test_twins_import_nothing_of_german_nouns() -> None:
    require_extra("german", purpose="This test")
    lines = """
import sys
from evenhand.twins import swapper_for
assert swapper_for("de").twin("Er las den Liebesbrief.").text == "Sie las den Liebesbrief."
assert not {"german_nouns", "wiktionary_de_parser", "lxml", "mwparserfromhell"} & {*sys.modules}
"""
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, check=False, timeout=HANG
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("noun", "kinds"),
    [
        ("Tages", "m"),
        ("Wege", "mp"),
        ("Hände", "p"),
        ("Augen", "p"),
        ("Gedanken", "mp"),
        ("Abendwind", "m"),
        ("Antwort", "f"),
        ("Messer", "np"),
        ("Handeln", "np"),
        ("Krankenschwester", "f"),
        ("Regenschirme", "mp"),
        ("Fluß", "m"),
        ("Thür", "f"),
        ("Teppiches", "m"),
        ("Winnetou", "mfnp"),
    ],
)
def test_the_gender_of_a_noun_is_known_in_its_forms_and_compounds(noun: str, kinds: str) -> None:
    require_extra("german", purpose="This test")
    assert {slot[1] for slot in slots_of_thing(noun)} == set(kinds)


def test_a_compound_in_the_list_is_a_thing_as_its_last_part_is() -> None:
    require_extra("german", purpose="This test")
    assert is_thing("Liebesbrief")
    assert is_thing("Bauernhäuser")


def test_what_is_in_no_list_of_nouns_is_a_name() -> None:
    require_extra("german", purpose="This test")
    twin = GermanSwapper().twin("Ich kenne Kowalczyk und weiß, dass ihm nicht zu trauen ist.")
    assert isinstance(twin, Twin)
    assert twin.text == "Ich kenne Kowalczyk und weiß, dass ihr nicht zu trauen ist."
