"""Annotations in every layout: what is read, what comes back from a round trip, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.labels import NO_ANSWER, NOT_ASKED, UNSURE, LabelOption, LabelScheme, UnknownLabelError
from evenhand.data.annotation_files import (
    ANNOTATION_LAYOUTS,
    AnnotationColumns,
    read_annotations,
    write_annotations,
)
from evenhand.data.annotations import Annotation, AnnotationTable
from evenhand.data.label_schemes import bundled_schemes, load_scheme

REGARD = load_scheme("regard")
GERMAN = AnnotationColumns(label="Label", unsure="Unsicher")

SMALL = AnnotationTable(
    REGARD,
    (
        Annotation("0", "Die Person lacht.", "ada", "1", seconds=2.5),
        Annotation("1", "Die Person singt, „laut“.", "ada", "0", unsure=True, comment="weder\nnoch"),
        Annotation("0", "Die Person lacht.", "ben", "0"),
        Annotation("1", "Die Person singt, „laut“.", "ben", "-1"),
        Annotation("0", "Die Person lacht.", "lead", "1", comment="two against one", adjudicated=True),
        Annotation("1", "Die Person singt, „laut“.", "lead", None, adjudicated=True),
    ),
)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_cell_means_the_label_that_it_spells() -> None:
    assert [REGARD.read_code(cell) for cell in ("-1", "0.0", "+1", "Positiv", " negative ")] == [
        "-1",
        "0",
        "1",
        "1",
        "-1",
    ]
    assert REGARD.means_unsure("x")
    with pytest.raises(
        UnknownLabelError, match=r"'2' is not a label of the scheme regard\. Its labels are -1, 0, 1"
    ):
        REGARD.read_code("2")


def test_the_six_categories_have_three_labels_beside_the_scale() -> None:
    six = load_scheme("six-categories")
    assert bundled_schemes() == ("lexicon-match", "regard", "six-categories")
    assert [value for value in six.values if value == value] == [1, -1, 0]  # noqa: PLR0124 # NaN is not itself
    assert six.is_ordinal
    assert six.read_code("Ansichtssache") == "opposing"


def test_a_scheme_of_ones_own(tmp_path: Path) -> None:
    path = write(
        tmp_path / "own.yaml", "name: own", "labels:", "  - {code: 1}", "  - {code: 2, title: {de: zwei}}"
    )
    scheme = load_scheme(path)
    assert (scheme.codes, scheme.is_ordinal, scheme.labels[1].title_in("en")) == (("1", "2"), False, "zwei")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["name: own", "labels: [{code: a}]"], "at least two labels"),
        (["name: own", "labels: [{code: a}, {code: A}]"], "'a' stands for a and for A"),
        (["name: own", "lables: []", "labels: [{code: a}, {code: b}]"], "lables"),
        (["- a"], "is not a label scheme. It needs a name"),
        (["name: ["], "not valid YAML"),
    ],
)
def test_a_file_that_is_no_scheme_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load_scheme(write(tmp_path / "own.yaml", *lines))


def test_an_unknown_scheme_is_named_with_those_that_are_known() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'regard'"):
        load_scheme("regards")


def test_votes_tell_unsure_from_no_answer_and_from_not_asked() -> None:
    table = AnnotationTable(
        REGARD,
        (
            Annotation("a", "A.", "ada", "1"),
            Annotation("b", "B.", "ada", "0", unsure=True),
            Annotation("a", "A!", "ben"),
            Annotation("b", "B.", "lead", "-1", adjudicated=True),
        ),
    )
    np.testing.assert_array_equal(table.votes, [[2, NO_ANSWER], [UNSURE, NOT_ASKED]])
    assert (table.annotators, table.texts, table.decisions) == (
        ("ada", "ben"),
        {"a": "A.", "b": "B."},
        {"b": "-1"},
    )
    assert len(table.labelled_by_all()) == 0


@pytest.mark.parametrize("layout", ANNOTATION_LAYOUTS.names())
def test_a_table_comes_back_from_every_layout(tmp_path: Path, layout: str) -> None:
    suffix = {"long": "long.csv", "label-studio": "tasks.json"}.get(layout, "folder")
    files = write_annotations(SMALL, tmp_path / suffix, layout=layout)
    again = read_annotations(files)
    assert sorted(again, key=str) == sorted(SMALL, key=str)
    np.testing.assert_array_equal(again.votes, SMALL.votes)


_TEXTS = (
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1).map(str.strip).filter(bool)
)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["-1", "0", "1", None]),
            st.booleans(),
            st.text(st.characters(codec="utf-8", exclude_characters="\0\r")).map(str.strip),
            st.none() | st.floats(0, 1e6),
        ),
        min_size=1,
        max_size=6,
    ),
    _TEXTS,
)
def test_any_annotation_survives_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    answers: list[tuple[str | None, bool, str, float | None]],
    text: str,
) -> None:
    folder = tmp_path_factory.mktemp("layouts")
    table = AnnotationTable(
        REGARD,
        tuple(
            Annotation(str(number), text, "ada", label, unsure, comment, seconds)
            for number, (label, unsure, comment, seconds) in enumerate(answers)
        ),
    )
    for layout in ("long", "label-studio", "doccano"):
        suffix = {"long": "long.csv", "label-studio": "tasks.json"}.get(layout, "folder")
        assert read_annotations(write_annotations(table, folder / suffix, layout=layout)) == table


def test_aligned_files_keep_their_quirks(tmp_path: Path) -> None:
    first = write(
        tmp_path / "a.csv",
        ",Unsicher,Label,Text,Gender",
        "0,,0.0,Er lacht. ,M",
        '1,X,1,"Sie singt, laut",F',
        ",,,,",
        "2,x,,Er geht.,M",
        "3,,,Er geht.,M",
    )
    second = write(
        tmp_path / "b.csv",
        "Unnamed: 0,Label,Unsicher,Text",
        "0,-1,,Er lacht!",
        '1,X,,"Sie singt, laut"',
        "2,0,0,Er geht.",
        "3,1,,Er geht.",
        ",,,",
    )
    table = read_annotations([first, second], columns=GERMAN)
    assert (table.annotators, tuple(table.texts)) == (("a", "b"), ("0", "1", "2", "3"))
    np.testing.assert_array_equal(table.votes, [[1, 0], [UNSURE, UNSURE], [UNSURE, 1], [NO_ANSWER, 2]])
    assert table.annotations[1].label == "1"
    assert "b.csv has a different text than a.csv in 1 of 4 rows" in table.warnings[0]
    assert "1 text occurs more than once" in table.warnings[1]


def test_a_column_per_label_is_read_by_its_ticks(tmp_path: Path) -> None:
    header = "Unnamed: 0,Positiv,Negativ,Neutral,Pos&Neg,Ansichtssache,Nonsense,Text"
    path = write(tmp_path / "a.csv", header, "0,x,,,,,,Er lacht.", "1,,,,,,X,Blau.", "2,,,,,,,Er geht.")
    table = read_annotations([path])
    assert table.scheme.name == "six-categories"
    assert [row.label for row in table] == ["positive", "nonsense", None]
    twice = write(tmp_path / "b.csv", header, "0,x,x,,,,,Er lacht.")
    with pytest.raises(DatasetError, match="positive and negative are ticked"):
        read_annotations([twice])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            ["text,label", "A.,1", "B.,0"],
            ["text,label", "A.,1"],
            "different numbers of texts: a.csv 2, b.csv 1",
        ),
        (["text,label", "A.,1", "B.,0"], ["text,label", "B.,0", "A.,1"], "2 texts stand in other rows there"),
        (["text,label", "A.,1"], ["text,label", "A.,1"], "have the same content"),
        (
            ["text,label", "A.,1"],
            ["text,label", "A.,2"],
            r"b.csv, row 2: '2' is not a label of the scheme regard",
        ),
        (["text,label", "A.,1"], ["text,label", ",1"], "an answer without a text"),
        (["text,rating", "A.,1"], ["text,label", "A.,0"], "label is missing. Name the column with --label"),
        (["text,label,seconds", "A.,1,soon"], ["text,label", "A.,0"], "'soon' is not a number of seconds"),
    ],
)
def test_aligned_files_that_do_not_fit_are_refused(
    tmp_path: Path, first: list[str], second: list[str], message: str
) -> None:
    files = [write(tmp_path / "a.csv", *first), write(tmp_path / "b.csv", *second)]
    with pytest.raises(DatasetError, match=message):
        read_annotations(files)


def test_votes_of_several_annotators_need_the_ids_of_their_texts(tmp_path: Path) -> None:
    """Two votes on one text would otherwise be two texts."""
    rows = ("A.,ana,1", "A.,ben,-1", "B.,ana,0")
    with pytest.raises(DatasetError, match="votes of several annotators and no column text_id"):
        read_annotations([write(tmp_path / "votes.csv", "text,annotator,label", *rows)])
    alone = write(tmp_path / "ana.csv", "text,annotator,label", "A.,ana,1", "B.,ana,0")
    assert len(read_annotations([alone]).texts) == 2


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label", "A.,1")
    with pytest.raises(DatasetError, match="more than once"):
        read_annotations([path, path])


def test_a_column_for_unsure_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label", "A.,1")
    with pytest.raises(DatasetError, match="unsicher is missing"):
        read_annotations([path], columns=GERMAN)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nEr hört zu.,1\n".encode("latin-1"))
    with pytest.raises(DatasetError, match="WINDOWS-1252"):
        read_annotations([path])


def test_an_annotator_has_one_vote_per_text() -> None:
    with pytest.raises(DatasetError, match="ada labelled text 0 twice"):
        AnnotationTable(REGARD, (SMALL.annotations[0], SMALL.annotations[0]))


def test_a_long_table_needs_an_annotator_in_every_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text_id,text,annotator,label", "1,A.,,1")
    with pytest.raises(DatasetError, match="row 2: annotator is empty"):
        read_annotations([path])


def test_annotators_who_saw_different_texts_cannot_be_aligned(tmp_path: Path) -> None:
    table = AnnotationTable(REGARD, (*SMALL.annotations[:2], SMALL.annotations[2]))
    with pytest.raises(DatasetError, match="ben has 1 rows about 2 texts"):
        write_annotations(table, tmp_path, layout="aligned")


def test_label_studio_takes_our_tasks(tmp_path: Path) -> None:
    """The rule of its importer: who completed an annotation is left out, or an account of the server."""
    tasks, interface = write_annotations(SMALL, tmp_path / "tasks.json", layout="label-studio")
    for task in json.loads(tasks.read_text(encoding="utf-8")):
        assert isinstance(task["data"], dict)
        for annotation in task["annotations"]:
            assert "completed_by" not in annotation
            assert isinstance(annotation["result"], list)
    view = ElementTree.fromstring(interface.read_text(encoding="utf-8"))  # noqa: S314  our own file
    names = {element.get("name") for element in view}
    assert {
        entry["from_name"]
        for task in json.loads(tasks.read_text(encoding="utf-8"))
        for annotation in task["annotations"]
        for entry in annotation["result"]
    } <= names
    assert [choice.get("alias") for choice in view.iter("Choice")][:4] == ["-1", "0", "1", "X"]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("a.csv", ["text_id,text,annotator,label", "1,A.,ada,1", "1,B.,ben,1"]),
        (
            "a.jsonl",
            [
                '{"id": 1, "text": "A.", "label": ["1"], "annotator": "ada"}',
                '{"id": 1, "text": "B.", "label": ["1"], "annotator": "ben"}',
            ],
        ),
        (
            "a.json",
            [
                '[{"id": 1, "data": {"text": "A."}, "annotations": [{"completed_by": "ada", "result": []}]},',
                ' {"id": 1, "data": {"text": "B."}, "annotations": [{"completed_by": "ben", "result": []}]}]',
            ],
        ),
    ],
)
def test_an_id_with_different_texts_is_told_in_every_layout(
    tmp_path: Path, name: str, lines: list[str]
) -> None:
    (warning,) = read_annotations([write(tmp_path / name, *lines)]).warnings
    assert warning.startswith("1 id has different texts, such as 1: 'A.' and 'B.'")


@pytest.mark.parametrize("name", ["label-studio", "doccano"])
def test_what_the_tools_themselves_export_is_read(tmp_path: Path, name: str) -> None:
    if name == "doccano":
        record = {"id": 7, "text": "Er lacht.", "label": ["positiv"], "Comments": ["why not"]}
        path = write(tmp_path / "ada.jsonl", json.dumps(record))
    else:
        choice = {"type": "choices", "from_name": "sentiment", "value": {"choices": ["positiv"]}}
        comment = {"type": "textarea", "from_name": "note", "value": {"text": ["why not"]}}
        annotation = {"completed_by": {"id": 3, "email": "ada"}, "result": [choice, comment], "lead_time": 3}
        task = {"id": 7, "data": {"text": "Er lacht."}, "annotations": [annotation]}
        path = write(tmp_path / "tasks.json", json.dumps([task]))
    (row,) = read_annotations([path])
    assert (row.text_id, row.annotator, row.label, row.comment) == ("7", "ada", "1", "why not")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"id": 1, "text": "A.", "label": ["0", "1"]}', "the labels 0 and 1 are given"),
        ("a.jsonl", '{"id": 1, "text": " ", "label": ["0"]}', "line 1: the text is missing or empty"),
        ("a.jsonl", '{"text": "A.", "label": ["0"]}', "the id of the text is missing"),
        ("a.jsonl", '{"id": 1', "not valid JSON"),
        ("a.json", "{}", "not an export of Label Studio"),
        ("a.json", '[{"data": {"text": "A.", "id": 1}, "annotations": [{"result": []}]}]', "who made it"),
        ("a.json", "[1]", "task 1: an object with named fields"),
        ("a.json", '[{"data": {"text": "A.", "id": 1}, "annotations": 7}]', "annotations is int, and a list"),
        ("a.jsonl", '{"id": 1, "text": "A.", "label": [], "Comments": 7}', "Comments is int, and a list"),
    ],
)
def test_records_that_are_not_whole_are_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        read_annotations([write(tmp_path / name, content)])


def test_a_label_is_shown_in_the_readers_language_or_in_english() -> None:
    option = LabelOption(code="1", title={"en": "positive", "de": "positiv"})
    assert [option.title_in(language) for language in ("de", "fr")] == ["positiv", "positive"]
    with pytest.raises(ValueError, match="not all different"):
        LabelScheme(name="own", labels=(option, option.model_copy(update={"title": {}})))
