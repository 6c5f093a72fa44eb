"""Translated tables are repaired in stages, every change is a row, and what people settle comes back."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Command
from table_translations import PAIRS, STRUCTURES, table_folder

from evenhand.core.errors import DatasetError, EvenhandError, TranslationError
from evenhand.translation import (
    Changes,
    RepairOptions,
    RepairStage,
    TableDocument,
    TermRow,
    open_table,
    open_translation,
    read_changes,
    repair_table,
)
from evenhand.translation.table_documents import EQUAL_TEXTS, LOST_TAGS, table_problems
from evenhand.translation.table_repairs import TAG_RULES


def document(text: str, *, suffix: str = ".csv") -> TableDocument:
    return TableDocument(text.encode(), language="es", suffix=suffix, path=Path("es.csv"))


@pytest.mark.parametrize(
    ("text", "original", "repaired"),
    [
        ("[mask] es [OCC].", "[MASK] is a [OCC].", "[MASK] es [OCC]."),
        ("[MÁSCARA] es [OCC].", "[MASK] is a [OCC].", "[MASK] es [OCC]."),
        ("{nombre} llega.", "{name} arrives.", "{name} llega."),
        ("[A] y [B].", "[MASK] and [OCC].", "[A] y [B]."),
        ("Nadie llega.", "[MASK] arrives.", "Nadie llega."),
        ("[MASK] (y [algo]) es [OCC].", "[MASK] is a [OCC].", "[MASK] (y [algo]) es [OCC]."),
    ],
)
def test_tags_come_back_where_it_is_clear_what_was_one(text: str, original: str, repaired: str) -> None:
    table = document(f'structure\n"{text}"\n')
    changes = Changes(table)
    repair_table(changes, document(f'structure\n"{original}"\n'), RepairOptions(stages=(RepairStage.TERMS,)))
    assert table.items["1"]["structure"] == repaired
    assert {row.by for row in changes.rows} <= set(TAG_RULES)


def test_problems_of_rows_are_found_beside_the_source() -> None:
    source = document(
        "id,sent_more,sent_less\na,The women there are late.,The men there are late.\n"
        "b,Old people walk rather slowly there.,Young people walk rather slowly there.\nc,Same.,Same.\n"
    )
    table = document(
        "id,sent_more,sent_less\na,Llegan tarde.,Llegan tarde.\n"
        "b,Los viejos walk rather slowly there.,Los jóvenes van despacio.\nc,Igual.,Igual.\n"
    )
    found = {row: list(names) for row, names in table_problems(table, source).items()}
    assert found == {"a": [EQUAL_TEXTS], "b": ["untranslated"]}
    lost = document("structure\nElla es [OCC].\n")
    assert table_problems(lost, document("structure\n[MASK] is a [OCC].\n")) == {
        "1": {LOST_TAGS: "missing, or there too often: [MASK]"}
    }


def test_a_repair_is_counted_after_each_stage_and_can_be_undone(
    tmp_path: Path, run_evenhand_here: Command
) -> None:
    folder = table_folder(tmp_path, STRUCTURES)
    untouched = (folder / "untouched.csv").read_bytes()
    fixes = tmp_path / "fixes"
    fixes.mkdir()
    (fixes / "ann.csv").write_text("id,structure\n2,El [OCC] dijo que [MASK] llegaba.\n", encoding="utf-8")
    terms = tmp_path / "terms.csv"
    terms.write_text("before,after\ntrabajo,oficio\n", encoding="utf-8")

    told = run_evenhand_here("data", "repair", folder, "--terms", terms, "--fixes", fixes, "--json")

    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["stages"] == [
        {"name": "untouched", "lost_tags": 2, "equal_texts": 0},
        {"name": "terms", "lost_tags": 1, "equal_texts": 0},
        {"name": "people", "lost_tags": 0, "equal_texts": 0},
    ]
    assert [row.by for row in read_changes(folder / "changes.csv")] == ["tag.leak", "terms", "ann.csv"]
    with (folder / "es.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["structure"] for row in csv.DictReader(stream)] == [
            "[MASK] es [OCC] y le gusta el oficio.",
            "El [OCC] dijo que [MASK] llegaba.",
        ]
    done = run_evenhand_here("data", "repair", folder, "--undo", "all")
    assert done.returncode == 0, done.stderr
    assert (folder / "es.csv").read_bytes() == untouched


def test_edits_by_hand_are_refused_kept_or_discarded(tmp_path: Path, run_evenhand_here: Command) -> None:
    folder = table_folder(tmp_path, PAIRS)
    path = folder / "es.csv"
    edited = path.read_text(encoding="utf-8").replace("vagos", "perezosos")
    path.write_text(edited, encoding="utf-8")
    refused = run_evenhand_here("data", "repair", folder)
    assert "was edited by hand" in " ".join(refused.stderr.split())
    kept = run_evenhand_here("data", "repair", folder, "--keep-edits", "Ann")
    assert kept.returncode == 0, kept.stderr
    assert {row.by for row in read_changes(folder / "changes.csv")} == {"Ann"}
    assert path.read_text(encoding="utf-8") == edited
    path.write_text(edited.replace("gender", "age"), encoding="utf-8")
    other = run_evenhand_here("data", "repair", folder, "--keep-edits", "Ann")
    assert "in more than its texts" in " ".join(other.stderr.split())
    assert run_evenhand_here("data", "repair", folder, "--discard-edits").returncode == 0
    assert path.read_text(encoding="utf-8") == edited


def test_a_marked_row_stays_in_the_file_with_its_mark(tmp_path: Path) -> None:
    folder = table_folder(tmp_path, PAIRS)
    with open_table(folder) as table:
        table.changes.set(table.changes.document.items["p2"], "beyond_repair", "a pun", by="Ann")
        table.save()
    with open_table(folder) as table:
        table.refuse_edits()
        assert table.changes.document.items["p2"].is_beyond_repair
    with (folder / "es.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["beyond_repair"] for row in csv.DictReader(stream)] == ["", "a pun"]


def test_a_table_is_published_with_its_statement_and_changes(
    tmp_path: Path, run_evenhand_here: Command
) -> None:
    folder = table_folder(tmp_path, STRUCTURES)
    wrong = run_evenhand_here("data", "publish", folder, "--out", tmp_path / "es.json", "--licence", "CC0")
    done = run_evenhand_here("data", "publish", folder, "--out", tmp_path / "es.csv", "--licence", "CC0")
    assert "does not end in .csv" in wrong.stderr
    assert done.returncode == 0, done.stderr
    assert "| structure | 2 | 2 | 0 | 0 |" in (tmp_path / "es.md").read_text(encoding="utf-8")
    assert (tmp_path / "es.csv").read_bytes() == (folder / "es.csv").read_bytes()


def test_a_file_with_one_text_per_line_is_a_table_too() -> None:
    table = document("Uno.\nDos.\n", suffix=".txt")
    assert table.to_bytes() == b"Uno.\nDos.\n"
    table.items["2"]["text"] = "Tres."
    assert table.to_bytes() == b"Uno.\nTres.\n"


def opens_as_benchmark(folder: Path) -> None:
    with open_translation(folder):
        pass


def without_its_source(folder: Path) -> None:
    (folder / "source.csv").unlink()
    with open_table(folder) as table:
        table.source()


def with_another_untouched(folder: Path) -> None:
    (folder / "untouched.csv").write_text("structure\n", encoding="utf-8")
    with open_table(folder):
        pass


@pytest.mark.parametrize(
    ("fails", "message"),
    [
        (opens_as_benchmark, "translated table"),
        (without_its_source, "Put it back"),
        (with_another_untouched, "was changed"),
    ],
)
def test_a_folder_that_is_not_what_it_should_be_is_refused(
    tmp_path: Path, fails: Callable[[Path], None], message: str
) -> None:
    with pytest.raises(TranslationError, match=message):
        fails(table_folder(tmp_path, STRUCTURES))


def test_what_makes_no_sense_for_a_table_is_refused(tmp_path: Path, run_evenhand_here: Command) -> None:
    folder = table_folder(tmp_path, STRUCTURES)
    done = run_evenhand_here("data", "repair", folder, "--stages", "closest")
    assert "its stages are terms and people" in done.stderr
    with open_table(folder) as table, pytest.raises(DatasetError, match="has no text 'target'"):
        table.changes.set(table.changes.document.items["1"], "target", "x", by="Ann")
    with open_table(folder) as table, pytest.raises(EvenhandError, match="nothing left to undo"):
        table.changes.undo("Zoe")


def test_terms_never_change_a_tag() -> None:
    table = document("structure\n[MASK] es un [OCC].\n")
    terms = (TermRow("[OCC]", "[JOB]"), TermRow("es un", "es"))
    changes = Changes(table)
    repair_table(
        changes,
        document("structure\n[MASK] is a [OCC].\n"),
        RepairOptions(stages=(RepairStage.TERMS,), terms=terms),
    )
    assert table.items["1"]["structure"] == "[MASK] es [OCC]."


def test_the_check_lists_rows_with_problems(tmp_path: Path, run_evenhand_here: Command) -> None:
    folder = table_folder(tmp_path, PAIRS)
    told = json.loads(run_evenhand_here("data", "check", folder, "--json").stdout)
    shown = run_evenhand_here("data", "check", folder)
    assert told["datasets"][0]["defects"] == [{"defect": EQUAL_TEXTS, "count": 1, "ids": ["p1"]}]
    assert "equal-texts" in shown.stdout
    assert "1 row has a problem" in shown.stderr
