"""A repair works in stages, counts after each, and keeps a row for every change."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import inter, intra
from translation_files import changes_of

from evenhand.core.errors import DatasetError
from evenhand.data import check, read_stereoset
from evenhand.translation import (
    RepairOptions,
    RepairStage,
    StageCount,
    TermRow,
    When,
    bundled_term_table,
    read_people_tables,
    read_term_table,
    repair,
)
from evenhand.translation.changes import repaired_items
from evenhand.translation.closest_words import closest_word, common_words, is_doubtful

TERMS = (TermRow("Brötchenmacher", "Bäcker"),)


def test_counts_are_taken_before_the_first_stage_and_after_each(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    table = tmp_path / "fixes" / "anna.csv"
    table.parent.mkdir()
    table.write_text("id,target,context\nintra-4,,problematic: nobody is meant\ninter-5,Befehlshaber,\n")

    counts = repair(
        changes, RepairOptions(terms=TERMS, people=read_people_tables(table.parent, changes.document))
    )

    assert counts == [
        StageCount("untouched", 3, 1),
        StageCount("terms", 2, 1),
        StageCount("closest", 1, 1),
        StageCount("people", 0, 0),
    ]
    assert changes.document.items["intra-4"].is_beyond_repair
    assert b"problematic: nobody is meant" in changes.document.to_bytes()


def test_texts_begin_as_their_sources_do_and_have_single_spaces(tmp_path: Path) -> None:
    items = [
        intra(1, target="sastre", context="BLANK El  sastre cose.", words=("Hoy", "Ayer", "Azul")),
        inter(2, target="pan", context="huele a pan.", texts=("se cose.", "Cose  bien. ", "Siete.")),
    ]
    changes = changes_of(tmp_path, *items, language="es")
    sources = {
        "intra-1": intra(1, context="BLANK the tailor sews."),
        "inter-2": inter(2, context="It smells.", texts=("It is sewn.", "It sews well.", "Seven.")),
    }

    repair(changes, RepairOptions(sources=sources))

    first, second = changes.document
    assert first.context == "BLANK el sastre cose."
    assert first["sentence/intra-1-s"] == "Hoy el sastre cose."
    assert second.context == "Huele a pan."
    assert [second[f"sentence/inter-2-{label}"] for label in "sau"] == ["Se cose.", "Cose bien.", "Siete."]
    assert {row.by for row in changes.rows} == {"text.spaces", "text.case", "rebuild"}
    assert repaired_items(changes.rows) == frozenset(), "nothing was said anew"


def test_without_a_source_only_blanks_are_cleaned(tmp_path: Path) -> None:
    item = intra(1, target="sastre", context="El  sastre cose BLANK BLANK.", words=("hoy", "ayer", "azul"))
    changes = changes_of(tmp_path, item, language="es")

    repair(changes, RepairOptions())

    assert changes.document.items["intra-1"].context == "El  sastre cose BLANK."
    assert {row.by for row in changes.rows} == {"blank.double", "rebuild"}


def test_a_second_repair_finds_nothing_left_to_change(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    repair(changes, RepairOptions(terms=TERMS))
    rows = len(changes.rows)

    counts = repair(changes, RepairOptions(terms=TERMS))

    assert len(changes.rows) == rows
    assert counts[0].name == "so far"


def test_only_the_stages_that_are_asked_for_are_applied(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)

    counts = repair(changes, RepairOptions(stages=(RepairStage.CLOSEST,), terms=TERMS))

    assert [count.name for count in counts] == ["untouched", "closest"]
    assert {row.by for row in changes.rows} == {"closest"}


def test_every_change_is_a_row_with_both_texts_and_its_rule(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)

    repair(changes, RepairOptions(terms=TERMS))

    told = [(row.field, row.before, row.after, row.by) for row in changes.rows if row.item == "intra-1"]
    assert told == [
        (
            "context",
            "Der BLANK-Brötchenmacher backt früh.",
            "Der BLANK Brötchenmacher backt früh.",
            "blank.hyphen",
        ),
        ("context", "Der BLANK Brötchenmacher backt früh.", "Der BLANK Bäcker backt früh.", "terms"),
        (
            "sentence/intra-1-s",
            "Der fresh-Brötchenmacher backt früh.",
            "Der gute Bäcker backt früh.",
            "rebuild",
        ),
        (
            "sentence/intra-1-a",
            "Der brown-Brötchenmacher backt früh.",
            "Der alte Bäcker backt früh.",
            "rebuild",
        ),
        (
            "sentence/intra-1-u",
            "Der purple-Brötchenmacher backt früh.",
            "Der blaue Bäcker backt früh.",
            "rebuild",
        ),
    ]


def test_a_sentence_without_a_stated_word_is_rebuilt_from_what_stood_in_its_blank(tmp_path: Path) -> None:
    changes = changes_of(
        tmp_path, intra(1, target="Haus", context="Das BLANK-Haus ist da.", fills=("rote", "alte", "x"))
    )

    repair(changes, RepairOptions())

    assert changes.document.items["intra-1"]["sentence/intra-1-s"] == "Das rote Haus ist da."


def test_a_term_is_replaced_at_the_beginning_of_words_and_never_twice() -> None:
    row = TermRow("Sierra Leon", "Sierra Leone")

    assert row.replaced("Sierra Leon und Sierra Leone") == "Sierra Leone und Sierra Leone"
    assert TermRow("lieferant", "Zusteller").replaced("lieferanten, Diamantenlieferant") == (
        "Zustelleren, Diamantenlieferant"
    )


def test_a_row_that_must_fit_changes_only_what_it_mends(tmp_path: Path) -> None:
    changes = changes_of(
        tmp_path,
        inter(1, target="Kommandant", context="Der Befehlshaber schläft."),
        inter(2, target="Offizier", context="Der Befehlshaber schläft."),
    )

    repair(
        changes,
        RepairOptions(
            terms=(TermRow("Befehlshaber", "Kommandant", when=When.FITS),), stages=(RepairStage.TERMS,)
        ),
    )

    assert [(row.item, row.after) for row in changes.rows] == [("inter-1", "Der Kommandant schläft.")]


def test_a_row_for_missing_targets_looks_at_them_when_the_stage_begins(tmp_path: Path) -> None:
    rows = (
        TermRow("Bote", "Zusteller", when=When.MISSING),
        TermRow("Läufer", "Zusteller", when=When.MISSING),
    )
    changes = changes_of(
        tmp_path,
        inter(1, target="Bote", context="Der Läufer kommt."),
        inter(2, target="Bote", context="Der Bote und der Läufer kommen."),
    )

    repair(changes, RepairOptions(terms=rows, stages=(RepairStage.TERMS,)))

    items = changes.document.items
    assert (items["inter-1"].target, items["inter-1"].context) == ("Zusteller", "Der Zusteller kommt.")
    assert items["inter-2"].context == "Der Bote und der Läufer kommen."


@pytest.mark.parametrize(
    ("target", "context", "word"),
    [
        ("Physikerin", "Der Physiker, der kam.", "Physiker"),
        ("Physikerin", "Ein „Physiker“ kam.", "Physiker"),
        ("Kap Verde", "Die kapverdischen Inseln sind schön.", "kapverdischen"),
        ("sich selbst", "Sie hat es selbst getan.", None),
        ("Bank", "Der BLANK ist zu.", None),
        ("Uhr", "Xyz.", None),
        ("cafétéria", "La cafe\u0301te\u0301ria.", "cafe\u0301te\u0301ria"),
    ],
)
def test_the_closest_word_of_a_context(target: str, context: str, word: str | None) -> None:
    assert closest_word(target, context) == word


def test_a_guess_is_doubtful_if_it_is_unlike_short_or_common(tmp_path: Path) -> None:
    many = [inter(number, target=f"Ort {number}", context="Der Bote geht vor Ort.") for number in range(15)]
    common = common_words(changes_of(tmp_path, *many).document)
    few = common_words(changes_of(tmp_path, *many[1:]).document)

    assert {"bote", "geht"} <= common
    assert few == frozenset()
    assert not is_doubtful("noruega", "Noruego", common=common)
    assert is_doubtful("Bote", "Boten", common=common)
    assert not is_doubtful("Bote", "Boten", common=few)
    assert is_doubtful("plomero", "fontanero", common=few), "2 x 4 letters of 16 in common"
    assert is_doubtful("bar", "barman", common=few)


def test_a_doubtful_guess_is_marked_until_a_person_or_a_term_table_knows_better(tmp_path: Path) -> None:
    items = [
        inter(1, target="fontanero", context="El plomero llega."),
        inter(2, target="noruego", context="La noruega llega."),
        inter(3, target="mudanza", context="Es un día largo."),
        inter(4, target="gerente", context="Durante meses vino."),
    ]
    changes = changes_of(tmp_path, *items, language="es")
    untouched = changes.document.to_bytes()
    repair(changes, RepairOptions())

    marks = {item.id: item["doubtful_target"] for item in changes.document}
    assert marks == {"inter-1": "fontanero", "inter-2": "", "inter-3": "mudanza", "inter-4": "gerente"}
    (tmp_path / "repaired.json").write_bytes(changes.document.to_bytes())
    report = check(read_stereoset(tmp_path / "repaired.json"))
    assert report.count("target-guessed", "intersentence") == 3
    changes.set(changes.document.items["inter-1"], "target", "plomero ", by="Ann")
    changes.set(changes.document.items["inter-3"], "target", "largo", by="terms")
    assert {item.id for item in changes.document if item["doubtful_target"]} == {"inter-4"}
    changes.undo("all")
    assert changes.document.to_bytes() == untouched


def test_a_target_with_accents_encoded_otherwise_is_not_missing(tmp_path: Path) -> None:
    changes = changes_of(tmp_path, inter(1, target="Café", context="Das CAFE\u0301 ist offen."))

    assert repair(changes, RepairOptions())[0].intersentence == 0


def test_right_to_left_texts_and_very_long_ones_are_repaired_like_others(tmp_path: Path) -> None:
    long = "wort " * 2_000 + "Physiker."
    changes = changes_of(
        tmp_path,
        inter(1, target="הרופאה", context="הרופאים הגיע אתמול."),
        inter(2, target="Physikerin", context=long),
        language="he",
    )

    assert repair(changes, RepairOptions())[-1].intersentence == 0
    assert [row.after for row in changes.rows] == ["הרופאים", "Physiker"]


def test_people_may_give_one_row_per_text(tmp_path: Path) -> None:
    changes = changes_of(tmp_path)
    folder = tmp_path / "fixes"
    folder.mkdir()
    (folder / "rows.csv").write_text(
        "item,field,after,by\nintra-1,word/1,junge,anna\nintra-3,context,Er war BLANK.,ben\n"
    )

    repair(
        changes,
        RepairOptions(stages=(RepairStage.PEOPLE,), people=read_people_tables(folder, changes.document)),
    )

    assert [(row.item, row.field, row.by) for row in changes.rows][:2] == [
        ("intra-1", "word/intra-1-s", "anna"),
        ("intra-3", "context", "ben"),
    ]
    assert changes.document.items["intra-3"]["sentence/intra-3-a"] == "Er war nett."


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"a.csv": "id,target\nintra-99,x\n"}, "row 2: the file has no item 'intra-99'"),
        ({"a.csv": "id,target\nintra-1,x\n", "b.csv": "id,target\nintra-1,y\n"}, "differently: 'x' and 'y'"),
        (
            {"a.csv": "id,context\nintra-1,Der Koch backt.\n"},
            "row 2: the context of the item intra-1 has no BLANK",
        ),
        ({"a.csv": "number,target\n1,x\n"}, "id is missing"),
        ({"a.csv": "item,field,after\nintra-1,target,\n"}, "'after' is empty"),
        ({}, "has no CSV or TSV file"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path: Path, tables: dict[str, str], message: str) -> None:
    changes = changes_of(tmp_path)
    folder = tmp_path / "fixes"
    folder.mkdir()
    for name, text in tables.items():
        (folder / name).write_text(text)

    with pytest.raises(DatasetError, match=message):
        read_people_tables(folder, changes.document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("before,after\nx,\n", "both need a text"),
        ("before,after,when\nx,y,sometimes\n", "Unknown when 'sometimes'"),
        ("before,after,fields\nx,y,title\n", "Unknown field 'title'"),
        ("from,to\nx,y\n", "before and after are missing"),
    ],
)
def test_a_term_table_that_cannot_be_understood_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "terms.csv"
    path.write_text(text)

    with pytest.raises(DatasetError, match=message):
        read_term_table(path)


def test_a_language_without_a_table_of_its_own_has_no_terms() -> None:
    assert bundled_term_table("de")
    assert bundled_term_table("sw") == ()
