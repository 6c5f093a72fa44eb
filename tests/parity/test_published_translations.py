"""The published translations of StereoSet: the German repair, stage by stage, and what was never repaired elsewhere."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from running import Command

from evenhand.core.items import Task
from evenhand.data import load_dataset
from evenhand.data.stereoset import STEREOSET
from evenhand.translation import (
    Changes,
    Document,
    RepairOptions,
    bundled_term_table,
    read_document,
    read_people_tables,
    repair,
    replay,
)


@pytest.fixture(scope="module")
def repaired(shared_data: Path) -> Changes[Document]:
    document = read_document(shared_data / "stereoset" / "de.untouched.json")
    people = read_people_tables(shared_data / "stereoset" / "fixes_de", document)
    changes = Changes(document)
    repair(changes, RepairOptions(terms=bundled_term_table("de"), people=people))
    return changes


def test_the_counts_after_each_stage_are_the_published_ones(
    shared_data: Path, run_evenhand_here: Command
) -> None:
    folder = shared_data / "stereoset"
    start = time.monotonic()

    ended = run_evenhand_here(
        "data", "repair", folder / "de.untouched.json", "--fixes", folder / "fixes_de", "--json"
    )

    assert time.monotonic() - start < 20
    assert json.loads(ended.stdout) == {
        "stages": [
            {"name": "untouched", "intrasentence": 562, "intersentence": 535},
            {"name": "terms", "intrasentence": 378, "intersentence": 352},
            {"name": "closest", "intrasentence": 57, "intersentence": 41},
            {"name": "people", "intrasentence": 4, "intersentence": 5},
        ]
    }


def test_the_repaired_file_is_the_untouched_one_and_its_rows(
    repaired: Changes[Document], shared_data: Path
) -> None:
    again = replay(read_document(shared_data / "stereoset" / "de.untouched.json"), repaired.rows)

    assert again.document.to_bytes() == repaired.document.to_bytes()


def test_all_but_sixteen_items_are_those_that_were_published(
    repaired: Changes[Document], shared_data: Path
) -> None:
    published = read_document(shared_data / "stereoset" / "de.json")

    differing = [
        item
        for item in published
        if any(item[name] != repaired.document.items[item.id][name] for name in item.fields())
    ]

    # Ten words that the authors stripped of hyphens, commas and accents; four contexts in which they made Leonee of
    # Leone; two targets that are not in their contexts. docs/translation.md tells each.
    assert len(differing) == 16
    assert sum(item["context"] != repaired.document.items[item.id]["context"] for item in differing) == 4
    assert sum(item["target"] != repaired.document.items[item.id]["target"] for item in differing) == 2


def test_the_items_beyond_repair_are_those_that_the_authors_left_out(
    repaired: Changes[Document], shared_data: Path
) -> None:
    published = read_document(shared_data / "stereoset" / "de.json")

    marked = {item.id for item in repaired.document if item.is_beyond_repair}

    assert marked == repaired.document.items.keys() - published.items.keys()
    assert len(marked) == 3


@pytest.mark.parametrize(("language", "counts"), [("es", (520, 496)), ("fr", (372, 333)), ("tr", (427, 457))])
def test_targets_that_are_missing_in_languages_that_were_never_repaired(
    shared_data: Path, language: str, counts: tuple[int, int]
) -> None:
    document = read_document(shared_data / "stereoset" / f"{language}.json")

    assert tuple(document.missing_targets(task) for task in Task) == counts


@pytest.mark.parametrize("language", ["de", "es", "fr", "tr"])
def test_a_copy_of_a_published_translation_has_a_name(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    place = STEREOSET.translation_path(language)
    place.parent.mkdir(parents=True)
    place.symlink_to(shared_data / "stereoset" / f"{language}.json")

    benchmark = load_dataset("stereoset", language=language)

    assert (benchmark.name, len(benchmark)) == ("stereoset", 4226 if language == "de" else 4229)
