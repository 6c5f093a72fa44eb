"""Files that hold no usable scores are refused with a message that says why."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from evenhand.core import tables
from evenhand.core.errors import PredictionsError
from evenhand.data.predictions import as_score, read_predictions

GOOD = b'{"intrasentence": [{"id": "a", "score": 1}]}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(GOOD[:-5], "ends in the middle", id="truncated JSON"),
        pytest.param(gzip.compress(GOOD)[:-12], "truncated gzip", id="truncated gzip"),
        pytest.param(b"hello", "not valid JSON, nor CSV", id="one word"),
        pytest.param("é,score\n".encode("latin-1"), "not UTF-8", id="Latin-1"),
        pytest.param(b"{}", "holds no scores", id="empty object"),
        pytest.param(b"[]", "holds no scores", id="empty list"),
        pytest.param(b'{"intrasentence": []}', "holds no scores", id="task without scores"),
        pytest.param(b'{"data": {"intrasentence": []}}', "holds no scores", id="a benchmark"),
        pytest.param(b'{"intrasentence": {"a": 1}}', "a list of scores is needed", id="scores by id"),
        pytest.param(b"[1, 2]", 'entry 1: 1 is not {"id": ..., "score": ...}', id="bare numbers"),
        pytest.param(b'[{"id": "a"}]', "entry 1", id="no score"),
        pytest.param(b'[{"score": 1}]', "entry 1", id="no id"),
        pytest.param(b'[{"id": "a", "score": 1}, {"id": 7, "score": 1}]', "entry 2", id="id is a number"),
        pytest.param(b'{"id": "a", "score": 1}\n{"id": ', "line 2: not valid JSON", id="truncated lines"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", id="nested too deeply"),
        pytest.param(
            b'{"id": "a", "score": 1}\n' + b'{"a":' * 100_000, "line 2: not valid JSON", id="nested line"
        ),
        pytest.param(
            b'[{"id": "a", "score": ' + b"1" * 5_000 + b"}]", "cannot be read as JSON", id="endless integer"
        ),
        pytest.param(b'[{"id": "\\ud800", "score": 1}]', "surrogates not allowed", id="half a character"),
        pytest.param(
            b'{"id": "a", "score": 1}\n{"id": "\\uDC00", "score": 1}',
            "line 2: not valid JSON",
            id="half a character in a line",
        ),
        pytest.param(b"id,score\n", "holds no scores", id="header only"),
        pytest.param(b"name,score\na,1\n", "has the columns name, score; id and score", id="no id column"),
        pytest.param(b"id,value\na,1\n", "has the columns id, value; id and score", id="no score column"),
        pytest.param(
            b"id,score\n" + b"x" * 200_000 + b",1\n", "line 2: not valid CSV", id="endless CSV field"
        ),
        pytest.param(b"PAR1 and nothing else PAR1", "damaged Parquet", id="damaged Parquet"),
    ],
)
def test_a_file_without_usable_scores(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "scores.file"
    path.write_bytes(content)

    with pytest.raises(PredictionsError) as caught:
        read_predictions(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_parquet_file_without_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"name": ["a"], "score": [1.0]}).write_parquet(path)

    with pytest.raises(PredictionsError, match="has the columns name, score; candidate and score are needed"):
        read_predictions(path)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"candidate": ["a"], "score": [1.0]}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-30])

    with pytest.raises(PredictionsError, match="damaged Parquet"):
        read_predictions(path)


@pytest.mark.parametrize("second", ["2", "1.0000000000000002", "null", "NaN"])
def test_two_different_scores_of_one_candidate_are_refused_by_name(tmp_path: Path, second: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(
        f'[{{"id": "a", "score": 1}}, {{"id": "b", "score": 1}}, {{"id": "a", "score": {second}}}]'
    )

    with pytest.raises(PredictionsError, match=r"1 candidates two different scores \(a\)"):
        read_predictions(path)


def test_two_different_reasons_for_no_score_are_two_different_scores(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text('[{"id": "a", "score": null}, {"id": "b", "score": NaN}, {"id": "b", "score": NaN}]')
    assert read_predictions(path).repeated_ids == 1

    path.write_text('[{"id": "a", "score": null}, {"id": "b", "score": 1}, {"id": "a", "score": NaN}]')
    with pytest.raises(PredictionsError, match=r"1 candidates two different scores \(a\)"):
        read_predictions(path)


def test_a_table_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 3)
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"candidate": list("abc"), "score": [1.0] * 3}).write_parquet(path)
    assert len(read_predictions(path).scores) == 3

    pl.DataFrame({"candidate": list("abcd"), "score": [1.0] * 4}).write_parquet(path)
    with pytest.raises(PredictionsError, match=r"more than 3 rows\. Split it"):
        read_predictions(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PredictionsError, match="There is no file"):
        read_predictions(tmp_path / "nothing.json")


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(PredictionsError, match="is a folder"):
        read_predictions(tmp_path)


def test_the_offending_entry_is_shown_in_part(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(f'[{{"text": "{"bread " * 1_000}"}}]')

    with pytest.raises(PredictionsError, match="bread bread") as caught:
        read_predictions(path)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("value", [1e308, -1e308, 1.1e100])
def test_scores_whose_sums_are_no_numbers_are_skipped_with_a_reason(value: float) -> None:
    assert as_score(value).problem == "score is too large"
    assert as_score(9.9e99).problem is None
