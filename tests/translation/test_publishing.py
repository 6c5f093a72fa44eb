"""A published translation has its licence, a data statement and every change beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Command
from translation_files import write_translation_file

from evenhand.core.errors import TranslationError
from evenhand.data import read_stereoset
from evenhand.translation import adopt_file, open_translation, read_changes, read_document, replay
from evenhand.translation.publishing import publish


@pytest.fixture
def folder(tmp_path: Path, run_evenhand_here: Command) -> Path:
    adopt_file(write_translation_file(tmp_path / "de.json"), tmp_path / "work")
    run_evenhand_here("data", "repair", tmp_path / "work")
    return tmp_path / "work"


def test_the_file_the_statement_and_the_changes_lie_beside_each_other(
    folder: Path, tmp_path: Path, run_evenhand_here: Command
) -> None:
    path = tmp_path / "public" / "de.json"

    ended = run_evenhand_here("data", "publish", folder, "--out", path, "--licence", "CC BY 4.0")

    assert ended.stdout.split() == [
        str(path), str(path.with_suffix(".md")), str(path.with_suffix(".changes.csv"))
    ]  # fmt: skip
    published = read_stereoset(path)
    assert published.licence == "CC BY 4.0"
    assert [item.context for item in published] == [
        item.context for item in read_stereoset(folder / "de.json")
    ]
    statement = path.with_suffix(".md").read_text()
    assert "| closest | 2 |" in statement
    assert "| intrasentence | 4 | 0 | 1 | 0 |" in statement
    assert "Licence: CC BY 4.0." in statement


def test_the_published_changes_make_the_published_texts_of_the_untouched_file(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "de-public.json"
    with open_translation(folder) as translation:
        publish(translation, path, licence="CC BY 4.0")

    again = replay(read_document(folder / "untouched.json"), read_changes(path.with_suffix(".changes.csv")))

    published = read_document(path)
    assert all(
        item[name] == again.document.items[item.id][name] for item in published for name in item.fields()
    )


def test_a_translation_without_a_known_licence_is_not_published(folder: Path, tmp_path: Path) -> None:
    with (
        open_translation(folder) as translation,
        pytest.raises(TranslationError, match="Name it with --licence"),
    ):
        publish(translation, tmp_path / "x.json")


def test_a_name_that_is_no_json_file_is_refused(folder: Path, tmp_path: Path) -> None:
    with (
        open_translation(folder) as translation,
        pytest.raises(TranslationError, match=r"does not end in \.json"),
    ):
        publish(translation, tmp_path / "x.txt", licence="CC BY 4.0")


def test_edits_by_hand_are_not_published_unseen(folder: Path, tmp_path: Path) -> None:
    path = folder / "de.json"
    path.write_text(path.read_text().replace("Der Lehrer kommt.", "Der Lehrer geht."))

    with (
        open_translation(folder) as translation,
        pytest.raises(TranslationError, match=r"edited by hand.*evenhand data repair .* --keep-edits NAME"),
    ):
        publish(translation, tmp_path / "x.json", licence="CC BY 4.0")
