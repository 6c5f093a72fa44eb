"""Survey definitions from files, checks of answers, and exports."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_fixtures import Visitor
from web_surveys import SURVEY, began, finished, small_survey

from evenhand.core.errors import EvenhandError
from evenhand.studio.database import Database
from evenhand.studio.survey.checks import AnswerRemark, check_answer
from evenhand.studio.survey.definition import bundled_surveys, load_survey
from evenhand.studio.survey.export import export_survey, write_survey
from evenhand.studio.survey.surveys import SurveyState

Visitors = Callable[[], Visitor]

PUBLISHED = {
    "occupation": [
        "arbeitete als",
        "hatte eine Stelle angefangen als",
        "verdiente Geld, indem",
        "hatte eine Teilzeitstelle als",
        "hatte einen Job als",
    ],
    "respect": [
        "wurde wahrgenommen als",
        "galt als",
        "wurde betrachtet als",
        "wurde beschrieben als",
        "war sehr bekannt dafür",
    ],
    "free": [""] * 10,
}


def test_the_published_prompts_ship() -> None:
    definition = load_survey("regard-de")
    assert definition.subject == "Die Person"
    assert [condition.id for condition in definition.conditions] == ["negative", "neutral", "positive"]
    for kind, contexts in PUBLISHED.items():
        assert [prompt.context for prompt in definition.prompts if prompt.kind == kind] == contexts
    english = load_survey("regard-en")
    assert [prompt.id for prompt in english.prompts] == [prompt.id for prompt in definition.prompts]
    assert bundled_surveys() == ("regard-de", "regard-en")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("title: [", "not valid YAML"),
        ("just words", "not a survey"),
        ("title: A\nlanguage: en\n", "not a survey"),
    ],
)
def test_a_file_that_is_no_survey_is_refused(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(content)
    with pytest.raises(EvenhandError, match=says):
        load_survey(file)
    with pytest.raises(EvenhandError, match="Did you mean 'regard-e"):
        load_survey("regard-eng")


@pytest.mark.parametrize(
    ("written", "text", "remarks"),
    [
        ("Lehrer an einer Schule", "Lehrer an einer Schule", []),
        ("Die Person arbeitete als Lehrer", "Lehrer", [AnswerRemark.COPIED_PROMPT]),
        ("die person  ARBEITETE als … Lehrer", "Lehrer", [AnswerRemark.COPIED_PROMPT]),
        ("arbeitete als Lehrer", "Lehrer", [AnswerRemark.COPIED_PROMPT]),
        ("Die Person arbeitete als", "", [AnswerRemark.COPIED_PROMPT, AnswerRemark.TOO_SHORT]),
        (
            "Die Person arbeitete alsbald",
            "Die Person arbeitete alsbald",
            [AnswerRemark.REPEATED_SUBJECT],
        ),
        ("die Person ist nett", "die Person ist nett", [AnswerRemark.REPEATED_SUBJECT]),
        ("Diener der Person", "Diener der Person", []),
        ("x", "x", [AnswerRemark.TOO_SHORT]),
        ("?!?!?!", "?!?!?!", [AnswerRemark.TOO_SHORT]),
        ("Bote bei a.b@c.example", "Bote bei a.b@c.example", [AnswerRemark.E_MAIL]),
        ("Bote bei a.b(at)c.example", "Bote bei a.b(at)c.example", [AnswerRemark.E_MAIL]),
        ("Bote, Tel. +49 (0)30 123456", "Bote, Tel. +49 (0)30 123456", [AnswerRemark.PHONE]),
        ("Bote bei max (at) gmail.com", "Bote bei max (at) gmail.com", [AnswerRemark.E_MAIL]),
        ("Bote bei max @ gmail.com", "Bote bei max @ gmail.com", [AnswerRemark.E_MAIL]),
        ("Bote @ Post", "Bote @ Post", []),
        ("Bote seit 1999 bis 2004", "Bote seit 1999 bis 2004", []),
        ("Bote von 1990 - 2000", "Bote von 1990 - 2000", []),
        ("Bote, geboren 12.05.1990", "Bote, geboren 12.05.1990", []),
        ("Bote, 1990 - 2000 unter 030 1234567", "Bote, 1990 - 2000 unter 030 1234567", [AnswerRemark.PHONE]),
        ("DICHTER, und Denker!", "DICHTER, und Denker!", [AnswerRemark.DUPLICATE]),
    ],
)
def test_what_is_noticed_about_an_answer(written: str, text: str, remarks: list[AnswerRemark]) -> None:
    checked = check_answer(
        written, subject="Die Person", context="arbeitete als", earlier=["Dichter und Denker"]
    )
    assert (checked.text, list(checked.remarks)) == (text, remarks)


def test_one_word_after_the_subject_alone_is_short() -> None:
    assert check_answer("schlief", subject="Die Person", context="", earlier=[]).remarks == (
        AnswerRemark.TOO_SHORT,
    )
    assert check_answer("schlief lange", subject="Die Person", context="", earlier=[]).remarks == ()


@given(st.text(max_size=200), st.text(max_size=20))
def test_checks_take_any_text(written: str, context: str) -> None:
    checked = check_answer(written, subject="Die Person", context=context, earlier=[written])
    assert len(checked.text) <= len(written)
    again = check_answer(f"Die Person {written}", subject="Die Person", context="", earlier=[])
    assert AnswerRemark.COPIED_PROMPT in again.remarks or re.match(r"\w", written)


def test_an_export_has_one_row_per_answer_and_no_pilot(
    database: Database, visitor: Visitors, lead: Visitor, tmp_path: Path
) -> None:
    small_survey(database, state=SurveyState.PILOT)
    finished(visitor)
    lead.get(f"/surveys/{SURVEY}")
    lead.send(f"/surveys/{SURVEY}/state", state="open")
    finished(visitor)
    partly = began(visitor, gender="female", subject="law")
    beginning = partly.page.text.partition('id="prompt">')[2].partition(" <span")[0]
    partly.send(choice="next", answer=f"{beginning} somebody else's idea")
    partly.send(choice="skip")
    files = write_survey(export_survey(database, SURVEY), tmp_path / "out")
    assert [file.name for file in files] == [
        "answers.csv",
        "answers.parquet",
        "codebook.md",
        "data-statement.md",
    ]
    table = pl.read_parquet(files[1])
    assert table.equals(
        pl.read_csv(files[0], schema=table.schema).with_columns(pl.col(pl.String).fill_null(""))
    )
    assert table.height == 5
    assert table["finished"].sum() == 3
    row = table.filter(pl.col("about_gender") == "female").row(0, named=True)
    assert row["text"] == "somebody else's idea"
    assert row["sentence"] == f"{beginning} somebody else's idea"
    assert row["remarks"] == "copied-prompt"
    assert (row["about_subject"], row["position"], row["consent_version"]) == ("law", 1, "1")
    codebook = files[2].read_text()
    assert all(f"`{column}`" in codebook for column in table.columns)
    statement = files[3].read_text()
    assert "2 people agreed" in statement
    assert "female <5" in statement


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_spreadsheets_find_no_formula_in_what_people_wrote(
    database: Database, visitor: Visitors, tmp_path: Path
) -> None:
    small_survey(database)
    person = began(visitor, subject="@home")
    written = ["＝1+2 ideas of somebody", "+49 ideas of somebody", "-- somebody with ideas"]
    for text in written:
        person.send(choice="keep", answer=text)
    csv_file, parquet, codebook, _ = write_survey(export_survey(database, SURVEY), tmp_path)
    table = pl.read_csv(csv_file, infer_schema=False)
    assert table["written"].to_list() == [f"'{text}" for text in written]
    assert set(table["about_subject"]) == {"'@home"}
    assert table["sentence"].str.starts_with("The person").all()
    assert pl.read_parquet(parquet)["written"].to_list() == written
    assert "an apostrophe stands before texts" in codebook.read_text(encoding="utf-8")


def test_the_lead_takes_files_away(database: Database, visitor: Visitors, lead: Visitor) -> None:
    small_survey(database)
    finished(visitor)
    answer = lead.get(f"/surveys/{SURVEY}/files/answers.csv")
    assert answer.text.count("\n") == 4
    assert lead.get(f"/surveys/{SURVEY}/files/secrets.txt").status_code == 404
    assert "Sign in" in visitor().get(f"/surveys/{SURVEY}/files/answers.csv").text
