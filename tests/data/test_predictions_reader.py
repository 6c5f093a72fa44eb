"""Scores are read from every layout, and unusable ones are kept with a reason."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.data.predictions import LARGEST_SCORE, Score, as_score, read_predictions

Scores = dict[str, float]
Writer = Callable[[Path, Scores], None]


def entries(scores: Scores) -> list[dict[str, object]]:
    return [{"id": key, "score": value} for key, value in scores.items()]


def stereoset(path: Path, scores: Scores) -> None:
    half = len(scores) // 2
    rows = entries(scores)
    path.write_text(json.dumps({"intrasentence": rows[:half], "intersentence": rows[half:]}))


def stereoset_indented(path: Path, scores: Scores) -> None:
    path.write_text(json.dumps({"intrasentence": entries(scores)}, indent=2))


def stereoset_gzip(path: Path, scores: Scores) -> None:
    path.write_bytes(gzip.compress(json.dumps({"intersentence": entries(scores)}).encode()))


def stereoset_with_byte_order_mark(path: Path, scores: Scores) -> None:
    path.write_text(json.dumps({"intersentence": entries(scores)}), encoding="utf-8-sig")


def plain_list(path: Path, scores: Scores) -> None:
    path.write_text(json.dumps(entries(scores)))


def json_lines(path: Path, scores: Scores) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in entries(scores)))


def csv_file(path: Path, scores: Scores) -> None:
    pl.DataFrame({"id": list(scores), "score": list(scores.values())}).write_csv(path)


def parquet_candidate(path: Path, scores: Scores) -> None:
    pl.DataFrame({"candidate": list(scores), "score": list(scores.values())}).write_parquet(path)


def parquet_id(path: Path, scores: Scores) -> None:
    pl.DataFrame({"id": list(scores), "score": list(scores.values())}).write_parquet(path)


LAYOUTS: list[Writer] = [
    stereoset,
    stereoset_indented,
    stereoset_gzip,
    stereoset_with_byte_order_mark,
    plain_list,
    json_lines,
    csv_file,
    parquet_candidate,
    parquet_id,
]


@pytest.mark.parametrize("write", LAYOUTS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_layout_gives_the_same_scores(tmp_path: Path, write: Writer, count: int) -> None:
    scores = {f"candidate-{number}": number / 7 for number in range(count)}
    path = tmp_path / "scores.file"
    write(path, scores)

    assert read_predictions(path).scores == {key: Score(value) for key, value in scores.items()}


IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@pytest.mark.parametrize("write", [stereoset, plain_list, json_lines, csv_file, parquet_candidate])
@given(
    scores=st.dictionaries(IDS, st.floats(-LARGEST_SCORE, LARGEST_SCORE), min_size=1, max_size=8),
)
def test_any_usable_scores_survive_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, write: Writer, scores: Scores
) -> None:
    path = tmp_path_factory.mktemp("scores") / "scores.file"
    write(path, scores)

    assert read_predictions(path).scores == {key: Score(value) for key, value in scores.items()}


def test_name_source_and_hash_are_kept(tmp_path: Path) -> None:
    plain, packed = tmp_path / "model_en.json", tmp_path / "model_en.json.gz"
    plain.write_text('[{"id": "a", "score": 1}]')
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    first, second = read_predictions(plain), read_predictions(packed)

    assert (first.name, first.source) == ("model_en", "model_en.json")
    assert (second.name, second.source) == ("model_en", "model_en.json.gz")
    assert first.sha256 == second.sha256


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("null", "score is null"),
        ("NaN", "score is NaN"),
        ("Infinity", "score is infinite"),
        ("-Infinity", "score is infinite"),
        ("1e999", "score is infinite"),
        ("true", "score is true or false, not a number"),
        ('"0.5"', "score is text, not a number"),
        ("[1]", "score is list, not a number"),
        ("1" + "0" * 400, "score is too large"),
    ],
)
def test_a_score_that_is_no_number_is_kept_with_the_reason(
    tmp_path: Path, written: str, problem: str
) -> None:
    path = tmp_path / "scores.json"
    path.write_text(f'[{{"id": "good", "score": 1}}, {{"id": "bad", "score": {written}}}]')

    scores = read_predictions(path).scores

    assert scores["good"] == Score(1.0)
    assert math.isnan(scores["bad"].value)
    assert scores["bad"].problem == problem


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("", "score is null"),
        ("  ", "score is null"),
        ("nan", "score is NaN"),
        ("-inf", "score is infinite"),
        ("high", "score is text, not a number"),
    ],
)
def test_a_csv_field_that_is_no_number_is_kept_with_the_reason(
    tmp_path: Path, written: str, problem: str
) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(f"id,score\ngood,1\nbad,{written}\n")

    assert read_predictions(path).scores["bad"].problem == problem


@pytest.mark.parametrize("value", [0.25, 1, np.float64(0.25), np.float32(0.25), np.int64(3)])
def test_numbers_of_every_kind_are_scores(value: float) -> None:
    assert as_score(value) == Score(float(value))


def test_csv_columns_are_found_by_name_whatever_stands_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("note, Score ,ID,note\r\nx,0.5,a,y\r\n\r\nx,0.75,b\r\n")

    assert read_predictions(path).scores == {"a": Score(0.5), "b": Score(0.75)}


def test_a_csv_row_that_ends_early_has_no_score(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,score\na,1\nb\n")

    assert read_predictions(path).scores["b"].problem == "score is null"


def test_blank_lines_between_json_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": "a", "score": 1}\n\n{"id": "b", "score": 2}\n\n')

    assert read_predictions(path).scores == {"a": Score(1.0), "b": Score(2.0)}


def test_an_entry_repeated_with_the_same_score_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(
        '[{"id": "a", "score": 1}, {"id": "a", "score": 1.0}, {"id": "b", "score": NaN},'
        ' {"id": "b", "score": NaN}, {"id": "c", "score": 3}]'
    )

    predictions = read_predictions(path)

    assert sorted(predictions.scores) == ["a", "b", "c"]
    assert predictions.repeated_ids == 2
