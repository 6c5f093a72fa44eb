"""Texts with votes, test rows and folds: no author and no text on both sides, and bad input refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from regard_training import NEEDS_REGARD

from evenhand.core.errors import DatasetError
from evenhand.core.labels import UnknownLabelError
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.regard.splits import SharedAuthors, grouped_folds, shared_authors, split_off_test_rows
from evenhand.regard.texts import (
    LabelKind,
    RegardTexts,
    language_of,
    read_plain_texts,
    read_regard_texts,
    text_key,
)
from evenhand.stats.vote_aggregation import TieRule

pytestmark = NEEDS_REGARD


@pytest.fixture(scope="module")
def texts() -> RegardTexts:
    return plant_texts(PlantedRegard(texts=240, authors=24, error=0.1, seed=3)).texts


def _written(folder: Path, *rows: str, header: str = "id,text,label,author") -> Path:
    path = folder / "texts.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_folds_hold_every_text_out_once_and_no_author_is_on_both_sides(texts: RegardTexts) -> None:
    places = np.arange(0, 240, 2)
    folds = grouped_folds(texts, places, folds=5, seed=0)
    assert sorted(np.concatenate([own.held_out for own in folds]).tolist()) == places.tolist()
    for own in folds:
        assert not set(texts.groups[own.train]) & set(texts.groups[own.held_out])
        keys = [{text_key(texts.rows.texts[place]) for place in side} for side in (own.train, own.held_out)]
        assert not keys[0] & keys[1]


def test_texts_that_all_stand_on_both_sides_are_told(tmp_path: Path) -> None:
    rows = [
        f"{place},The person has idea {place % 30}.,{place % 2},author {place // 30}" for place in range(60)
    ]
    read = read_regard_texts([_written(tmp_path, *rows)], group="author")
    with pytest.raises(DatasetError, match=r"so none is left to train on\. Give texts that differ"):
        split_off_test_rows(read, share=0.5, seed=0, given=tuple(range(30)), shared=SharedAuthors.REFUSE)


def test_test_rows_depend_on_texts_and_seed_alone(texts: RegardTexts) -> None:
    first, second, other = (
        split_off_test_rows(texts, share=0.2, seed=seed, given=None, shared=SharedAuthors.REFUSE)
        for seed in (0, 0, 1)
    )
    assert first.held_out.tolist() == second.held_out.tolist() != other.held_out.tolist()
    assert len(first.held_out) / len(texts) == pytest.approx(0.2, abs=0.05)


def test_an_author_on_both_sides_of_given_rows_is_refused_or_told(texts: RegardTexts) -> None:
    given = tuple(range(0, 240, 5))
    with pytest.raises(
        DatasetError, match="22 authors have texts among the training rows and among the test"
    ):
        split_off_test_rows(texts, share=0.2, seed=0, given=given, shared=SharedAuthors.REFUSE)
    split = split_off_test_rows(texts, share=0.2, seed=0, given=given, shared=SharedAuthors.WARN)
    assert split.held_out.tolist() == list(given)
    assert shared_authors(texts, split) == 22


def test_rows_that_do_not_exist_are_refused(texts: RegardTexts) -> None:
    with pytest.raises(DatasetError, match="2 test rows were given, of 240 texts; 0 of them can be used"):
        split_off_test_rows(texts, share=0.2, seed=0, given=(900, 901), shared=SharedAuthors.REFUSE)


def test_fewer_authors_or_texts_than_folds_are_refused(texts: RegardTexts) -> None:
    few = texts.take(np.flatnonzero(texts.groups < 3))
    with pytest.raises(DatasetError, match="3 authors cannot be put into 5 folds"):
        grouped_folds(few, np.arange(len(few)), folds=5, seed=0)
    rare = texts.take(
        np.concatenate([np.flatnonzero(texts.labels != 1), np.flatnonzero(texts.labels == 1)[:3]])
    )
    with pytest.raises(DatasetError, match="The label 0 has 3 texts, fewer than the 5 folds"):
        grouped_folds(rare, np.arange(len(rare)), folds=5, seed=0)


def test_one_class_only_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, *(f"{number},text {number},1,a{number}" for number in range(40)))
    with pytest.raises(DatasetError, match=r"All 40 texts have the same label \(1\)"):
        split_off_test_rows(
            read_regard_texts([path], group="author"),
            share=0.2,
            seed=0,
            given=None,
            shared=SharedAuthors.REFUSE,
        )


def test_targets_of_modes_consensus_and_soft_votes(tmp_path: Path) -> None:
    files = []
    for name, votes in {"ada": "1,0,-1,1", "ben": "1,0,0,-1", "cem": "1,1,1,1"}.items():
        path = tmp_path / f"{name}.csv"
        rows = [f"{number},text {number},{vote}" for number, vote in enumerate(votes.split(","))]
        path.write_text("\n".join(["id,text,label", *rows]) + "\n", encoding="utf-8")
        files.append(path)
    texts = read_regard_texts(files)
    assert texts.targets(LabelKind.MODE).tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert texts.targets(LabelKind.CONSENSUS).sum(axis=1).tolist() == [1, 0, 0, 0]
    assert texts.targets(LabelKind.SOFT)[3] == pytest.approx([1 / 3, 0, 2 / 3])
    dropping = read_regard_texts(files, ties=TieRule.DROP)
    assert dropping.targets(LabelKind.MODE).sum(axis=1).tolist() == [1, 1, 0, 1]


def test_authors_come_from_a_column_or_from_another_file(tmp_path: Path) -> None:
    path = _written(tmp_path, "0,one,1,ann", "1,two,0,bob", "2,three,-1,ann")
    assert read_regard_texts([path], group="author").authors == ("ann", "bob", "ann")
    other = tmp_path / "authors.csv"
    other.write_text("case\n7\n7\n8\n", encoding="utf-8")
    assert read_regard_texts([path], group=f"{other}:case").authors == ("7", "7", "8")
    other.write_text("case\n7\n8\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="names the authors of 2 texts, and there are 3"):
        read_regard_texts([path], group=f"{other}:case")
    path.write_text("id,text,label,author\n0,one,1,ann\n1,two,0,\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="1 texts have no author"):
        read_regard_texts([path], group="author")


def test_labels_outside_the_scheme_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownLabelError, match="'2' is not a label of the scheme regard"):
        read_regard_texts([_written(tmp_path, "0,one,2,ann")])


def test_a_text_that_somebody_was_unsure_about_is_left_out(tmp_path: Path) -> None:
    texts = read_regard_texts(
        [_written(tmp_path, "0,one,1,ann", "1,two,X,bob", "2,three,0,ann")], group="author"
    )
    assert texts.rows.texts == ("one", "three")
    assert texts.left_out == 1
    assert texts.rows.numbers.tolist() == [0, 2]
    assert texts.authors == ("ann", "ann")


def test_plain_texts_come_from_tables_and_lines(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("one\n\n two \n", encoding="utf-8")
    assert read_plain_texts(lines) == ("one", "two")
    path = _written(tmp_path, "0,one,1,ann", "1,,0,bob")
    with pytest.raises(DatasetError, match="row 3: the text is empty"):
        read_plain_texts(path)
    path.write_bytes("text\nmüde\n".encode("cp1252"))
    with pytest.raises(DatasetError, match="not UTF-8 text"):
        read_plain_texts(path)


def test_the_language_is_told_from_words_or_has_to_be_given() -> None:
    assert language_of(["Die Person war nett und wurde gelobt."]) == "de"
    assert language_of(["The person was kind to a friend."]) == "en"
    for texts in (["La personne est gentille."], ["The person und die Person"], []):
        with pytest.raises(DatasetError, match="Give it with --language"):
            language_of(texts)


def test_a_text_of_100_kilobytes_is_a_text(tmp_path: Path) -> None:
    long = _written(tmp_path, f"0,{'word ' * 20_000},1,ann", "1,two,0,bob")
    assert len(read_regard_texts([long]).rows.texts[0]) == 99_999
