"""A folder keeps the untouched file, the rows and the file that they make, and notices what was edited by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Command
from translation_files import write_translation_file

from evenhand.core.errors import DatasetError
from evenhand.store.claims import BusyError, claimed
from evenhand.translation import TranslationError, adopt_file, open_translation, read_changes
from evenhand.translation.documents import Document
from evenhand.translation.review_records import read_review


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    adopt_file(write_translation_file(tmp_path / "de.json"), tmp_path / "work")
    return tmp_path / "work"


def edit(path: Path, before: str, after: str) -> None:
    path.write_text(path.read_text().replace(before, after))


def test_the_command_repairs_a_folder_in_its_place(folder: Path, run_evenhand_here: Command) -> None:
    ended = run_evenhand_here("data", "repair", folder, "--json")

    assert json.loads(ended.stdout) == {
        "stages": [
            {"name": "untouched", "intrasentence": 3, "intersentence": 1},
            {"name": "terms", "intrasentence": 3, "intersentence": 1},
            {"name": "closest", "intrasentence": 1, "intersentence": 0},
        ]
    }
    assert read_changes(folder / "changes.csv")
    assert (folder / "de.json").read_bytes() != (folder / "untouched.json").read_bytes()


def test_the_command_takes_changes_back(folder: Path, run_evenhand_here: Command) -> None:
    run_evenhand_here("data", "repair", folder)
    ended = run_evenhand_here("data", "repair", folder, "--undo", "all")

    assert "changes were undone" in ended.stderr
    assert (folder / "de.json").read_bytes() == (folder / "untouched.json").read_bytes()


def test_a_file_without_a_folder_is_only_counted(tmp_path: Path, run_evenhand_here: Command) -> None:
    path = write_translation_file(tmp_path / "de.json")

    ended = run_evenhand_here("data", "repair", path)

    assert "Nothing was written" in ended.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["de.json"]


def test_an_edit_by_hand_is_refused_until_somebody_owns_it(folder: Path, run_evenhand_here: Command) -> None:
    edit(folder / "de.json", "Der Lehrer kommt.", "Der Lehrer geht.")

    refused = run_evenhand_here("data", "repair", folder)
    kept = run_evenhand_here("data", "repair", folder, "--keep-edits", "anna")

    assert refused.returncode == 2
    says = " ".join(refused.stderr.split())
    assert "edited by hand" in says
    assert "--keep-edits NAME), or throw them away (--discard-edits)" in says
    assert "1 change by anna was recorded." in kept.stderr
    first = read_changes(folder / "changes.csv")[0]
    assert (first.item, first.field, first.after, first.by) == (
        "inter-6",
        "context",
        "Der Lehrer geht.",
        "anna",
    )


def test_sentences_follow_an_edited_context(folder: Path) -> None:
    edit(folder / "de.json", '"context": "Der Lehrer war LEER."', '"context": "Der Lehrer blieb BLANK."')

    with open_translation(folder) as translation:
        translation.keep_edits("anna")

    assert "Der Lehrer blieb streng." in (folder / "de.json").read_text()


def test_a_mark_that_was_set_by_hand_is_kept_as_a_change(folder: Path) -> None:
    edit(folder / "de.json", '"id": "inter-6",', '"id": "inter-6", "beyond_repair": "nobody says so",')

    with open_translation(folder) as translation:
        translation.keep_edits("anna")

    (row,) = read_changes(folder / "changes.csv")
    assert (row.field, row.after) == ("beyond_repair", "nobody says so")


def test_edits_of_anything_but_texts_are_refused(folder: Path) -> None:
    edit(folder / "de.json", '"bias_type": "profession"', '"bias_type": "gender"')

    with (
        open_translation(folder) as translation,
        pytest.raises(TranslationError, match="more than its texts"),
    ):
        translation.keep_edits("anna")


def test_an_edit_by_hand_can_be_thrown_away(folder: Path, run_evenhand_here: Command) -> None:
    edit(folder / "de.json", "Der Lehrer kommt.", "Der Lehrer geht.")

    ended = run_evenhand_here("data", "repair", folder, "--discard-edits")

    assert ended.returncode == 0
    assert "Der Lehrer kommt." in (folder / "de.json").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('"text"', "StereoSet's layout"),
        ('{"data": "text"}', "StereoSet's layout"),
        ('{"data": {"intrasentence": true}}', "StereoSet's layout"),
        ('{"data": {"intrasentence": ["text"]}}', "item 1 of intrasentence"),
        ('{"data": {"intersentence": [{"id": "a", "sentences": ["text"]}]}}', "item 1 of intersentence"),
    ],
)
def test_a_document_of_another_layout_is_refused(content: str, said: str) -> None:
    with pytest.raises(DatasetError, match=said):
        Document(content.encode(), language="de", path=Path("untouched.json"))


def test_an_untouched_file_that_was_touched_is_refused(folder: Path) -> None:
    edit(folder / "untouched.json", "Der Lehrer kommt.", "Der Lehrer geht.")

    with pytest.raises(TranslationError, match=r"untouched\.json was changed"), open_translation(folder):
        pass


@pytest.mark.parametrize(
    ("field", "value"),
    [("language", "../de"), ("language", "d\0e"), ("suffix", "x"), ("suffix", "/../x.csv")],
)
def test_a_record_names_no_file_outside_its_folder(folder: Path, field: str, value: str) -> None:
    path = folder / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), field: value}))
    (folder.parent / "de.json").write_text("mine")

    with pytest.raises(TranslationError, match="is no file of a translation"):
        open_translation(folder).__enter__()
    assert (folder.parent / "de.json").read_text() == "mine"


@pytest.mark.parametrize("texts", ["1.5", "[1]", '{""context"": 3}', "[" * 2_000])
def test_verdicts_whose_texts_are_none_are_refused(tmp_path: Path, texts: str) -> None:
    path = tmp_path / "review.csv"
    header = "item,person,role,outcome,comment,time,texts,result"
    path.write_text(f'{header}\na,Ann,reviewer,edit,,,"{texts}",0\n')

    with pytest.raises(DatasetError, match="is not a table of verdicts"):
        read_review(path)


def test_rows_that_were_edited_by_hand_are_named_too(folder: Path, run_evenhand_here: Command) -> None:
    run_evenhand_here("data", "repair", folder)
    edit(folder / "changes.csv", '"Physiker"', '"Physikus"')

    refused = run_evenhand_here("data", "repair", folder)

    assert refused.returncode == 2
    assert "If it was changes.csv, put it back from a copy." in " ".join(refused.stderr.split())


def test_rows_that_are_lost_are_to_be_put_back(folder: Path, run_evenhand_here: Command) -> None:
    (folder / "changes.csv").unlink()

    refused = run_evenhand_here("data", "repair", folder)

    assert f"The folder {folder} has lost changes.csv. Put it back from a copy." in " ".join(
        refused.stderr.split()
    )


def test_a_person_is_not_named_like_a_rule(folder: Path) -> None:
    edit(folder / "de.json", "Der Lehrer kommt.", "Der Lehrer geht.")

    with (
        open_translation(folder) as translation,
        pytest.raises(TranslationError, match="is the name of a rule"),
    ):
        translation.keep_edits("closest")


def test_what_is_not_there_is_neither_file_nor_folder(tmp_path: Path, run_evenhand_here: Command) -> None:
    refused = run_evenhand_here("data", "repair", tmp_path / "nothing")
    (tmp_path / "terms.csv").write_text("foo,bar\na,b\n")
    table = run_evenhand_here(
        "data", "repair", write_translation_file(tmp_path / "de.json"), "--terms", tmp_path / "terms.csv"
    )

    assert f"There is no file or folder {tmp_path / 'nothing'}." in " ".join(refused.stderr.split())
    assert "before and after are missing" in " ".join(table.stderr.split())


def test_items_that_were_removed_by_hand_are_refused(folder: Path) -> None:
    content = json.loads((folder / "de.json").read_text())
    content["data"]["intersentence"].pop()
    (folder / "de.json").write_text(json.dumps(content))

    with open_translation(folder) as translation, pytest.raises(TranslationError, match="has other items"):
        translation.keep_edits("anna")


def test_two_processes_never_change_one_folder(folder: Path) -> None:
    with claimed(folder), pytest.raises(BusyError), open_translation(folder):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stages", "term"], "Did you mean 'terms'"),
        (["--out", "x"], "--out is for files"),
        (["--stages", "people"], "go together"),
        (["--stages", "terms", "--fixes", "x"], "go together"),
        (["--undo", "nobody"], "nothing left to undo"),
    ],
)
def test_wrong_options_are_refused(
    folder: Path, run_evenhand_here: Command, arguments: list[str], message: str
) -> None:
    ended = run_evenhand_here("data", "repair", folder, *arguments)

    assert ended.returncode == 2
    assert message in ended.stderr


def test_a_folder_without_a_translation_is_refused(tmp_path: Path, run_evenhand_here: Command) -> None:
    ended = run_evenhand_here("data", "repair", tmp_path)

    assert ended.returncode == 2
    assert "holds no translation" in ended.stderr


def test_a_folder_that_is_taken_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TranslationError, match="is not empty"):
        adopt_file(tmp_path / "de.json", folder)
