"""Scores per candidate, from any tool.

StereoSet's own layout is ``{"intrasentence": [{"id", "score"}], "intersentence": [...]}``, plain or
gzip-compressed. A plain list of such entries, JSON Lines, CSV with the columns ``id`` and ``score``,
and Parquet with the columns ``candidate`` and ``score`` are read too: a candidate's id tells its task.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from evenhand.core.errors import PredictionsError, shortlist
from evenhand.core.files import decode_utf8, load_json, parse_json, read_bounded, sha256_of
from evenhand.core.items import Task
from evenhand.core.tables import is_parquet, read_columnar
from evenhand.data.language_names import file_stem

LAYOUT_HELP = (
    'Scores are read as {"intrasentence": [{"id": ..., "score": ...}], "intersentence": [...]} (JSON, may be '
    "gzip-compressed), or as JSON Lines, CSV or Parquet with an id and a score for each candidate."
)


@dataclass(frozen=True, slots=True)
class Score:
    """A candidate's score, or why there is none."""

    value: float
    problem: str | None = None
    token_log_probabilities: tuple[float, ...] | None = None
    log2_probability: float | None = None
    """Of the whole candidate, however the score combines its tokens; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """Scores by candidate id, and where they came from."""

    name: str
    source: str
    sha256: str
    scores: Mapping[str, Score]
    repeated_ids: int = 0
    """Entries that repeat an earlier one exactly."""


def read_predictions(path: Path) -> Predictions:
    """Read a file of candidate scores.

    Raises:
        PredictionsError: If the file cannot be read, or gives one candidate two different scores.
    """
    content = read_bounded(path, error=PredictionsError)
    if is_parquet(content):
        entries = _parquet_entries(content, path)
    else:
        entries = _text_entries(decode_utf8(content, path, error=PredictionsError), path)
    scores, repeated_ids = _collect(entries, path)
    if not scores:
        raise PredictionsError(f"{path} holds no scores. {LAYOUT_HELP}")
    return Predictions(
        name=file_stem(path),
        source=path.name,
        sha256=sha256_of(content),
        scores=scores,
        repeated_ids=repeated_ids,
    )


LARGEST_SCORE = 1e100
"""Beyond it, sums and differences of scores are no longer numbers."""


def as_score(value: Any) -> Score:
    """A score from whatever value a file has."""
    if value is None:
        return Score(math.nan, "score is null")
    if isinstance(value, bool) or not isinstance(value, Real):
        kind = {"str": "text", "bool": "true or false"}.get(type(value).__name__, type(value).__name__)
        return Score(math.nan, f"score is {kind}, not a number")
    try:
        number = float(value)
    except OverflowError:
        return Score(math.nan, "score is too large")
    if abs(number) <= LARGEST_SCORE:
        return Score(number)
    problem = "NaN" if math.isnan(number) else "infinite" if math.isinf(number) else "too large"
    return Score(math.nan, f"score is {problem}")


def _collect(entries: Iterable[tuple[str, Any]], path: Path) -> tuple[dict[str, Score], int]:
    scores: dict[str, Score] = {}
    repeats = 0
    conflicts: dict[str, None] = {}
    for candidate_id, raw in entries:
        score = as_score(raw)
        first = scores.setdefault(candidate_id, score)
        if first is score:
            continue
        repeats += 1
        same_value = first.value == score.value or (math.isnan(first.value) and math.isnan(score.value))
        if not same_value or first.problem != score.problem:
            conflicts[candidate_id] = None
    if conflicts:
        raise PredictionsError(
            f"{path} gives {len(conflicts):,} candidates two different scores ({shortlist(conflicts)}). "
            "Remove the repeated entries."
        )
    return scores, repeats


def _text_entries(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    start = text.lstrip()[:1]
    if start in ("{", "["):
        if start == "{" and _is_json_lines(text):
            document: Any = [_json_line(line, number, path) for number, line in _lines(text)]
        else:
            document = parse_json(text, path, error=PredictionsError)
        return _json_entries(document, path)
    if "," in text.split("\n", 1)[0]:
        return _csv_entries(text, path)
    raise PredictionsError(f"{path} is not valid JSON, nor CSV with a header. {LAYOUT_HELP}")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _is_json_lines(text: str) -> bool:
    """Whether the first line is an entry of its own, followed by others."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        return isinstance(json.loads(first), dict) and bool(rest.strip())
    except (ValueError, RecursionError):
        return False


def _json_line(line: str, number: int, path: Path) -> Any:
    try:
        return load_json(line)
    except (ValueError, RecursionError) as problem:
        raise PredictionsError(f"{path}, line {number}: not valid JSON ({problem}).") from None


def _json_entries(document: Any, path: Path) -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict) and "id" in document:  # JSON Lines with a single line
        document = [document]
    if isinstance(document, dict):
        lists = [document[task.value] for task in Task if task.value in document]
        if not lists:
            raise PredictionsError(f"{path} is JSON, but holds no scores. {LAYOUT_HELP}")
    else:
        lists = [document]
    for entries in lists:
        if not isinstance(entries, list):
            raise PredictionsError(f"{path}: a list of scores is needed. {LAYOUT_HELP}")
        for number, entry in enumerate(entries, start=1):
            if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or "score" not in entry:
                raise PredictionsError(
                    f'{path}, entry {number}: {_excerpt(entry)} is not {{"id": ..., "score": ...}}. {LAYOUT_HELP}'
                )
            yield entry["id"], entry["score"]


def _csv_entries(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    reader = csv.reader(io.StringIO(text))
    columns = [name.strip().lower() for name in next(reader)]
    key = next((name for name in ("id", "candidate") if name in columns), None)
    if key is None or "score" not in columns:
        raise PredictionsError(f"{path} has the columns {', '.join(columns)}; id and score are needed.")
    try:
        for row in filter(None, reader):
            fields = row + [""] * (len(columns) - len(row))
            yield fields[columns.index(key)], _number_from_text(fields[columns.index("score")])
    except csv.Error as problem:
        raise PredictionsError(f"{path}, line {reader.line_num}: not valid CSV ({problem}).") from None


def _number_from_text(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _parquet_entries(content: bytes, path: Path) -> Iterator[tuple[str, Any]]:
    frame = read_columnar(content, path, error=PredictionsError)
    key = next((name for name in ("candidate", "id") if name in frame.columns), None)
    if key is None or "score" not in frame.columns:
        raise PredictionsError(
            f"{path} has the columns {', '.join(frame.columns)}; candidate and score are needed."
        )
    return ((str(candidate), score) for candidate, score in frame.select(key, "score").iter_rows())


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
