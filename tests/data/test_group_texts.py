"""Files of texts about groups: what is read, what is found in texts, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import DatasetError
from evenhand.data.contexts import (
    Context,
    ContextList,
    context_languages,
    contexts_found_in,
    load_contexts,
    read_contexts,
)
from evenhand.data.group_text_files import EMPTY, NO_CONTEXT, GroupTextColumns, group_names, read_group_texts
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.evaluation import regard_record


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


WOMEN = ("text,label", "The woman worked as a clerk.,0", "The woman was known for her kindness.,1")
MEN = ("text,label", "The man worked as a thief.,-1", "The man was known for his coat.,0")


def two_files(folder: Path) -> list[Path]:
    return [write(folder / "women_texts.csv", *WOMEN), write(folder / "men_texts.csv", *MEN)]


def test_one_file_per_group_with_contexts_found_in_the_texts(tmp_path: Path) -> None:
    texts = read_group_texts(two_files(tmp_path))
    assert texts.groups == ("women", "men")
    assert texts.language == "en"
    assert [(own.context, own.kind, own.label) for own in texts] == [
        ("worked as", "occupation", "0"),
        ("was known for", "respect", "1"),
        ("worked as", "occupation", "-1"),
        ("was known for", "respect", "0"),
    ]


def test_one_long_file_with_a_column_of_groups_and_one_of_contexts(tmp_path: Path) -> None:
    path = write(
        tmp_path / "texts.csv",
        "Who,What,Regard,Start",
        "nurses,N are kind.,2,are",
        "pilots,P are late.,0,are",
        "cooks,C have knives.,1,have",
    )
    texts = read_group_texts(
        [path], columns=GroupTextColumns(text="What", label="Regard", group="Who", context="Start")
    )
    assert texts.groups == ("nurses", "pilots", "cooks")
    assert [(own.context, own.label) for own in texts] == [("are", "1"), ("are", "-1"), ("have", "0")]
    assert texts.language == "und"


def test_ranks_are_told_from_codes_over_all_files_together(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "text,label", "A worked as x.,0", "A worked as y.,1")
    second = write(tmp_path / "b.csv", "text,label", "B worked as x.,2", "B worked as y.,1.0")
    assert [own.label for own in read_group_texts([first, second])] == ["-1", "0", "1", "0"]


def test_labels_that_could_be_codes_or_ranks_are_doubted(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "text,label", "A worked as x.,0")
    second = write(tmp_path / "b.csv", "text,label", "B worked as x.,1")
    texts = read_group_texts([first, second])
    assert [own.label for own in texts] == ["0", "1"]
    assert "0 and 1 only" in texts.warnings[0]


def test_a_flag_names_the_kind_of_a_context(tmp_path: Path) -> None:
    path = write(
        tmp_path / "texts.csv", "text,group,occ", "A did this.,a,True", "B did that.,b,false", "B did it.,b,0"
    )
    texts = read_group_texts(
        [path],
        columns=GroupTextColumns(group="group", context_flag="occ"),
        contexts=ContextList((Context("did", "deeds"),)),
    )
    assert [own.kind for own in texts] == ["occupation", "respect", "respect"]
    assert texts.unlabelled == 3


def test_lines_of_text_have_no_labels(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "women.txt", "The woman worked as a clerk.", "", "The woman had a job as x."),
        write(tmp_path / "men.txt", "The man worked as a clerk."),
    ]
    texts = read_group_texts(files)
    assert len(texts) == texts.unlabelled == 3


def test_texts_without_a_context_are_left_out_and_counted(tmp_path: Path) -> None:
    first, second = two_files(tmp_path)
    write(first, *WOMEN, "A woman sang.,1")
    texts = read_group_texts([first, second])
    assert len(texts) == 4
    assert texts.left_out_by_reason == {NO_CONTEXT: 1}


def test_empty_texts_are_left_out_and_counted_with_their_group(tmp_path: Path) -> None:
    # Beside quotation marks and a first column without a name, as the published texts of GPT-3 have them.
    header = ",Unnamed: 0,Text,Prediction,OCC context"
    female = write(
        tmp_path / "FEMALE_texts.csv",
        header,
        '0,0," Die Frau arbeitete als Kellnerin, wie sie sagte.",1,True',
        "1,1,,1,False",
        "2,2,Die Frau galt als klug.,2,False",
    )
    male = write(
        tmp_path / "MALE_texts.csv",
        header,
        "0,0,Der Mann galt als klug.,2,False",
        "1,1,Der Mann galt als faul.,0,False",
    )
    texts = read_group_texts(
        [female, male], columns=GroupTextColumns(text="Text", label="Prediction", context_flag="OCC context")
    )
    assert [own.label for own in texts] == ["0", "1", "1", "-1"]
    assert texts.left_out == {EMPTY: {"FEMALE": 1}}
    record = regard_record(texts, RegardAnalysisOptions(), name=None, model=None, determining={})
    assert "1 text was left out because the text is empty." in record.warnings


def test_texts_may_have_nothing_in_common(tmp_path: Path) -> None:
    texts = read_group_texts(two_files(tmp_path), contexts=ContextList(()))
    assert {own.context for own in texts} == {""}


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["FEMALE_SINGLE_texts.csv", "MALE_SINGLE_texts.csv"], ["FEMALE", "MALE"]),
        (["texts_women.csv", "texts_men.csv"], ["women", "men"]),
        (["gpt2_old_women.csv", "gpt2_men.csv"], ["old_women", "men"]),
        (["a.csv", "b.csv", "c.csv"], ["a", "b", "c"]),
        (["women.csv"], ["women"]),
    ],
)
def test_groups_are_named_by_what_differs_between_files(names: list[str], groups: list[str]) -> None:
    assert group_names([Path(name) for name in names]) == groups


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("text,label", "The man worked as a thief.,bad"), "neither codes of the scheme regard"),
        (
            ("text,label", ",1", ",0", ",-1"),
            "3 of 5 texts are empty, the first at .*row 2. Name the column of texts",
        ),
        (("text,label", "The man worked as a thief.,"), "row 2: the label is empty"),
        (("words,label", "The man worked as a thief.,1"), "text is missing"),
        (
            ("text,label", "He sang.,1", "He left.,0", "He ran.,1"),
            "3 of 5 texts contain none of the contexts",
        ),
    ],
)
def test_files_that_cannot_be_used_say_why(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    first, second = two_files(tmp_path)
    write(second, *lines)
    with pytest.raises(DatasetError, match=message):
        read_group_texts([first, second])


def test_one_group_is_not_enough(tmp_path: Path) -> None:
    first, _ = two_files(tmp_path)
    with pytest.raises(DatasetError, match="Give one file per group"):
        read_group_texts([first])
    with pytest.raises(DatasetError, match="is given twice"):
        read_group_texts([first, first])
    with pytest.raises(DatasetError, match="no file of texts"):
        read_group_texts([])
    alone = GroupText(text="A", group="a", context="c")
    with pytest.raises(DatasetError, match="texts about a only"):
        GroupTexts(name="x", language="en", texts=(alone,))
    elsewhere = tmp_path / "more"
    elsewhere.mkdir()
    with pytest.raises(DatasetError, match="about the group 'women'"):
        read_group_texts([write(tmp_path / "women.csv", *WOMEN), write(elsewhere / "women.csv", *MEN)])


def test_a_flag_that_is_neither_true_nor_false_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "texts.csv", "text,group,occ", "A worked as x.,a,maybe", "B worked as x.,b,true")
    with pytest.raises(DatasetError, match="the context flag is 'maybe'"):
        read_group_texts([path], columns=GroupTextColumns(group="group", context_flag="occ"))


FLAGGED = (
    "text,group,Care,crime",
    "A worked as x.,a,True,0",
    "A worked as y.,a,1,no",
    "B worked as x.,b,FALSE,0",
)


def test_flags_are_read_by_name_and_those_that_are_never_set_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "texts.csv", *FLAGGED)
    columns = GroupTextColumns(group="group", flags=("Care", "crime", "Care"))
    texts = read_group_texts([path], columns=columns)
    assert texts.flags == ("Care", "crime")
    assert [own.flags for own in texts] == [("Care",), ("Care",), ()]
    unflagged = read_group_texts([path], columns=GroupTextColumns(group="group"))
    assert unflagged.flags == ()
    assert unflagged.sha256 != texts.sha256


@pytest.mark.parametrize(
    ("flag", "rows", "message"),
    [
        (
            "care",
            ("text,group,care", "A worked as x.,a,perhaps"),
            "the flag care is 'perhaps'. Write true or false",
        ),
        ("care", ("text,group,care", "A worked as x.,a,"), "the flag care is ''"),
        ("care", ("text,group", "A worked as x.,a"), "care is missing"),
    ],
)
def test_flags_that_cannot_be_read_are_refused(
    tmp_path: Path, flag: str, rows: tuple[str, ...], message: str
) -> None:
    path = write(tmp_path / "texts.csv", *rows)
    with pytest.raises(DatasetError, match=message):
        read_group_texts([path], columns=GroupTextColumns(group="group", flags=(flag,)))


def test_lines_of_text_have_no_flags(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.txt", f"The {name} worked as x.") for name in ("woman", "man")]
    with pytest.raises(DatasetError, match="has no columns, so it has no flag care"):
        read_group_texts(paths, columns=GroupTextColumns(flags=("care",)))


def test_labels_outside_regard_are_refused() -> None:
    texts = tuple(GroupText(text="A", group=group, context="c", label="7") for group in "ab")
    with pytest.raises(DatasetError, match="has the label '7'"):
        GroupTexts(name="x", language="en", texts=texts)


def test_the_digest_follows_labels() -> None:
    texts = GroupTexts(
        name="x", language="en", texts=tuple(GroupText(text="A", group=g, context="c") for g in "ab")
    )
    assert texts.labelled_as(["0", "1"]).sha256 != texts.labelled_as(["1", "1"]).sha256


def test_published_contexts_ship_in_both_languages() -> None:
    assert context_languages() == ("de", "en")
    for language in context_languages():
        contexts = load_contexts(language)
        assert len(contexts) == 10
        assert contexts.kinds == ("occupation", "respect")
        assert contexts.language == language


def test_the_longest_context_at_a_place_is_meant() -> None:
    contexts = ContextList((Context("had"), Context("had a job")))
    assert contexts.find("She  HAD a job.") == Context("had a job")
    assert contexts.find("She had a jobless aunt.") == Context("had")
    assert contexts.find("She had. Then she had a job.") == Context("had")
    assert contexts.find("Shad roe") is None


@given(
    before=st.text(alphabet="abc ,.", max_size=12),
    after=st.text(alphabet="abc ,.", max_size=12),
    language=st.sampled_from(["de", "en"]),
    place=st.integers(0, 9),
)
def test_a_context_is_found_wherever_it_stands(before: str, after: str, language: str, place: int) -> None:
    contexts = load_contexts(language)
    context = contexts.contexts[place]
    assert contexts.find(f"{before} {context.words} {after}") == context


def test_contexts_come_from_tables_and_from_lines(tmp_path: Path) -> None:
    table = write(tmp_path / "contexts.csv", "context,kind", '"was known,",respect', "sang,")
    assert list(read_contexts(table)) == [Context("was known,", "respect"), Context("sang")]
    lines = write(tmp_path / "contexts.txt", "was known,", "", "sang")
    assert [own.words for own in read_contexts(lines)] == ["was known,", "sang"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("context,kind", "sang,x", "Sang,x"), "more than once"),
        (("context,kind", "sang,all"), "stands for all contexts together"),
        (("context,kind", ",x"), "a row without a context"),
    ],
)
def test_contexts_that_cannot_be_used_are_refused(
    tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        read_contexts(write(tmp_path / "contexts.csv", *lines))


def test_texts_in_which_no_published_context_stands_say_what_to_do() -> None:
    with pytest.raises(DatasetError, match="--contexts none"):
        contexts_found_in(["Nothing of the kind."])
