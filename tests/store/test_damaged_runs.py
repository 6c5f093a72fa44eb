"""Run folders that are not as they were made: right hashes do not make wrong columns right."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from measuring import audit, probe, probe_pairs
from pair_builders import pair, pair_set

from evenhand.core.errors import RunError
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.reporting import render_page
from evenhand.stats.resampling import Resampling
from evenhand.store.run import open_run
from evenhand.testing import FakeModel

KINDS = ("association", "malor", "crows-pairs")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a model that finds short texts likelier."""
    model = FakeModel(lambda text: 1 / (1 + len(text)))
    quick = Resampling(resamples=100)
    place = tmp_path_factory.mktemp("runs")
    for run in (
        audit(model, "starter", options=AuditOptions(limit=30, resampling=quick)),
        probe(model, options=MalorOptions(experiment="he-she", resampling=quick)),
        probe_pairs(model, pair_set(pair(1), pair(2, more="All men are old."), pair(3)), resampling=quick),
    ):
        run.save(place / run.record.instrument)
    return place


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, made: Path, tmp_path: Path) -> Path:
    name: str = request.param
    return shutil.copytree(made / name, tmp_path / name)


@pytest.fixture
def association(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made / "association", tmp_path / "association")


def edit_record(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads((folder / "record.json").read_bytes())
    change(record)
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")


def put(folder: Path, name: str, content: bytes) -> None:
    """Write a file, and its hash into the record."""
    (folder / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    edit_record(folder, lambda record: record["files"].update({name: digest}))


def put_scores(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    buffer = io.BytesIO()
    change(pl.read_parquet(folder / "scores.parquet")).write_parquet(buffer)
    put(folder, "scores.parquet", buffer.getvalue())


def test_a_record_without_hashes_is_refused(folder: Path) -> None:
    edit_record(folder, lambda record: record.update(files={}))
    with pytest.raises(RunError, match=r"has no hash of estimates\.json and scores\.parquet"):
        open_run(folder)


def test_a_record_without_the_hash_of_the_scores_is_refused(folder: Path) -> None:
    edit_record(folder, lambda record: record["files"].pop("scores.parquet"))
    with pytest.raises(RunError, match=r"has no hash of scores\.parquet, so nobody can tell"):
        open_run(folder)


@pytest.mark.parametrize("name", ["/dev/zero", "../..", "..", "", "../other/record.json", "a\0b"])
def test_a_record_names_no_file_elsewhere(association: Path, name: str) -> None:
    edit_record(association, lambda record: record["files"].update({name: "0" * 64}))
    with pytest.raises(RunError, match=r"record\.json is damaged .*is no file of the folder"):
        open_run(association)


@pytest.mark.parametrize("name", ["scores.parquet", "estimates.json", "record.json"])
def test_a_link_to_something_without_end_is_not_read(association: Path, name: str) -> None:
    (association / name).unlink()
    (association / name).symlink_to("/dev/zero")
    with pytest.raises(RunError, match=f"{name} is no file"):
        open_run(association)


def test_every_column_is_needed_in_its_type(folder: Path) -> None:
    scores = pl.read_parquet(folder / "scores.parquet")
    layout = open_run(folder).instrument.scores_layout
    assert layout is not None
    for name in layout.columns:
        put_scores(folder, lambda _, name=name: scores.drop(name))  # type: ignore[misc]
        with pytest.raises(RunError, match=rf"scores\.parquet is damaged \(the column {name} is missing\)"):
            open_run(folder)
        put_scores(folder, lambda _, name=name: scores.with_columns(pl.lit(1, pl.UInt8).alias(name)))  # type: ignore[misc]
        with pytest.raises(RunError, match=rf"the column {name} is of the type UInt8, not"):
            open_run(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda scores: scores.with_columns(pl.lit(None, pl.String).alias("text")), "the column text lacks values"),
        (lambda scores: pl.concat([scores, scores.head(1)]), "several rows have the same item and label"),
        (lambda scores: scores.with_columns(pl.lit(float("inf")).alias("score")), "score has values that are not"),
        (lambda scores: scores.with_columns(pl.lit(None, pl.Float64).alias("score")), "score lacks values in rows"),
        (lambda scores: scores.with_columns(pl.lit("odd").alias("task")), "odd"),
        (lambda scores: scores.with_columns(pl.col("label").replace("stereotype", "odd")), "odd"),
        (lambda scores: scores[1:], "three candidates"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_are_refused(
    association: Path, change: Callable[[pl.DataFrame], pl.DataFrame], message: str
) -> None:
    put_scores(association, change)
    with pytest.raises(RunError, match=message):
        open_run(association)


def test_estimates_of_another_kind_are_refused(folder: Path) -> None:
    put(folder, "estimates.json", b'{"kind": "another"}')
    with pytest.raises(RunError, match=r"estimates\.json is damaged"):
        open_run(folder)


def test_scores_that_are_no_parquet_are_refused(folder: Path) -> None:
    put(folder, "scores.parquet", b"PAR1" + bytes(200) + b"PAR1")
    with pytest.raises(RunError, match=r"scores\.parquet is damaged"):
        open_run(folder)


def test_a_record_that_is_nested_without_end_is_refused(folder: Path) -> None:
    (folder / "record.json").write_bytes(b"[" * 100_000)
    with pytest.raises(RunError, match="nested too deeply"):
        open_run(folder)


def test_two_copies_of_a_run_are_shown_side_by_side(folder: Path) -> None:
    assert render_page([open_run(folder), open_run(folder)])
