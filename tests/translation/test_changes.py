"""A repaired file can be made again from its rows, byte for byte, and every change can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from translation_files import changes_of

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.translation import (
    Change,
    Changes,
    RepairOptions,
    TermRow,
    read_changes,
    read_document,
    repair,
    replay,
    write_changes,
)

OPTIONS = RepairOptions(terms=(TermRow("Brötchenmacher", "Bäcker"),))


def test_the_untouched_file_and_the_rows_make_the_repaired_file(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)
    write_changes(tmp_path / "changes.csv", changes.rows)

    again = replay(read_document(tmp_path / "de.json"), read_changes(tmp_path / "changes.csv"))

    assert again.document.to_bytes() == changes.document.to_bytes()
    assert changes.document.to_bytes() != (tmp_path / "de.json").read_bytes()


def test_undoing_everything_gives_the_untouched_bytes(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)

    changes.undo("all")

    assert changes.document.to_bytes() == (tmp_path / "de.json").read_bytes()
    assert changes.rows[-1].by == "undo"


def test_what_was_undone_is_not_undone_again(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)
    changes.undo("all")
    rows = len(changes.rows)

    for selected in ("all", "undo", "closest"):
        with pytest.raises(EvenhandError, match=r"There is nothing left to undo\."):
            changes.undo(selected)
    assert len(changes.rows) == rows


def test_what_is_left_after_an_undo_can_be_undone_and_repaired_again(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)
    repaired = changes.document.to_bytes()

    changes.undo("terms")
    with pytest.raises(EvenhandError, match="no changes of 'undo'"):
        changes.undo("undo")
    changes.undo("all")
    assert changes.document.to_bytes() == (tmp_path / "de.json").read_bytes()
    repair(changes, OPTIONS)
    assert changes.document.to_bytes() == repaired
    changes.undo("all")
    assert changes.document.to_bytes() == (tmp_path / "de.json").read_bytes()
    again = replay(read_document(tmp_path / "de.json"), changes.rows)
    assert again.document.to_bytes() == changes.document.to_bytes()


def test_undoing_an_item_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)

    changes.undo("intra-1")

    assert changes.document.items["intra-1"].context == "Der BLANK-Brötchenmacher backt früh."
    assert changes.document.items["intra-1"]["sentence/intra-1-s"] == "Der fresh-Brötchenmacher backt früh."
    assert changes.document.items["intra-2"].target == "Physiker"


def test_undoing_a_rule_rebuilds_the_sentences_that_it_changed(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)

    changes.undo("terms")

    item = changes.document.items["intra-1"]
    assert item.context == "Der BLANK Brötchenmacher backt früh."
    assert item["sentence/intra-1-s"] == "Der gute Brötchenmacher backt früh."
    again = replay(read_document(tmp_path / "de.json"), changes.rows)
    assert again.document.to_bytes() == changes.document.to_bytes()


def test_a_change_that_a_later_one_built_on_is_not_undone_alone(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)

    with pytest.raises(EvenhandError, match="changed again later, by terms"):
        changes.undo("blank.hyphen")


def test_undoing_what_nobody_did_names_those_who_did_something(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, OPTIONS)

    with pytest.raises(EvenhandError, match=r"no changes of 'anna'.*blank.hyphen"):
        changes.undo("anna")


def test_rows_of_another_file_are_refused(tmp_path: Path) -> None:
    document = changes_of(tmp_path).document

    with pytest.raises(EvenhandError, match="Change 1 expects target of the item intra-1 to be 'x'"):
        replay(document, [Change("intra-1", "target", "x", "y", "anna", "")])
    with pytest.raises(EvenhandError, match="the item nobody, which the file does not have"):
        replay(document, [Change("nobody", "target", "x", "y", "anna", "")])


def test_a_field_that_an_item_lacks_is_refused(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)

    with pytest.raises(DatasetError, match="has no field 'word/9'"):
        changes.set(changes.document.items["intra-1"], "word/9", "x", by="anna")


def test_a_file_that_is_no_table_of_changes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "changes.csv"
    path.write_text("item,field\n1,2\n")

    with pytest.raises(DatasetError, match="not a table of changes"):
        read_changes(path)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(rows=st.lists(st.builds(Change, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)))
def test_rows_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Change]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "changes.csv"
    write_changes(path, rows)

    assert read_changes(path) == rows


def test_the_time_of_a_change_is_kept(tmp_path: Path) -> None:
    changes = Changes(changes_of(tmp_path).document)
    changes.set(changes.document.items["intra-1"], "target", "Koch", by="anna")

    assert changes.rows[0].time.endswith("+00:00")
