"""Run folders: written, opened, checked, removed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import builders
import polars as pl
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import RunError
from evenhand.data.predictions import read_predictions
from evenhand.instruments.association.results import SCORES_SCHEMA
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import open_job
from evenhand.store.records import SCHEMA_VERSION
from evenhand.store.run import Run, fingerprint_of_run, open_run, read_record


def make_run(name: str = "model_en", seed: int = 1) -> Run:
    items = (builders.intra(1), builders.intra(2, cluster="pilot"), builders.inter(1))
    triples = {"intra-1": (3.0, 2.0, 1.0), "intra-2": (1.0, 2.0, math.nan), "inter-1": (0.1, 0.2, 0.3)}
    return evaluate(
        builders.scores(triples),
        builders.benchmark(*items),
        resampling=Resampling(resamples=100, seed=seed),
        name=name,
    )


@pytest.fixture
def run() -> Run:
    return make_run()


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    return run.save(tmp_path / "runs" / "model_en")


def test_a_run_that_is_saved_and_opened_is_the_same(run: Run, folder: Path) -> None:
    opened = open_run(folder)

    assert opened.result.model_dump_json() == run.result.model_dump_json()
    assert opened.scores.equals(run.scores)
    assert opened.record.model_copy(update={"files": {}}) == run.record
    assert open_run(str(folder)).name == "model_en"


def test_a_run_folder_has_the_documented_files(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "estimates.json",
        "predictions.json",
        "record.json",
        "scores.parquet",
    ]


def test_further_files_are_written_and_checked_too(run: Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "one", pages={"report.html": "<p>Brot</p>"})

    assert (folder / "report.html").read_text(encoding="utf-8") == "<p>Brot</p>"
    (folder / "report.html").write_text("other")
    with pytest.raises(RunError, match=r"report\.html was changed after the run"):
        open_run(folder)


def test_the_same_run_saved_twice_has_the_same_bytes(tmp_path: Path) -> None:
    first, second = make_run().save(tmp_path / "a"), make_run().save(tmp_path / "b")

    for name in ("scores.parquet", "predictions.json", "estimates.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_scores_have_one_row_per_candidate_and_unscored_ones_a_reason(folder: Path) -> None:
    scores = pl.read_parquet(folder / "scores.parquet")

    assert dict(scores.schema) == dict(SCORES_SCHEMA)
    assert scores.height == 9
    skipped = scores.filter(pl.col("skipped_reason").is_not_null())
    assert skipped["candidate"].to_list() == ["intra-2-s", "intra-2-a", "intra-2-u"]
    assert skipped["skipped_reason"].to_list()[2] == "score is NaN (unrelated candidate)"


def test_predictions_are_in_stereosets_layout_without_unusable_scores(folder: Path) -> None:
    written = json.loads((folder / "predictions.json").read_text())

    assert written == {
        "intrasentence": [
            {"id": "intra-1-s", "score": 3.0},
            {"id": "intra-1-a", "score": 2.0},
            {"id": "intra-1-u", "score": 1.0},
            {"id": "intra-2-s", "score": 1.0},
            {"id": "intra-2-a", "score": 2.0},
        ],
        "intersentence": [
            {"id": "inter-1-s", "score": 0.1},
            {"id": "inter-1-a", "score": 0.2},
            {"id": "inter-1-u", "score": 0.3},
        ],
    }


@pytest.mark.parametrize("name", ["predictions.json", "scores.parquet"])
def test_scores_of_a_run_can_be_evaluated_again(run: Run, folder: Path, name: str) -> None:
    again = evaluate(
        read_predictions(folder / name),
        builders.benchmark(builders.intra(1), builders.intra(2, cluster="pilot"), builders.inter(1)),
        resampling=Resampling(resamples=100, seed=1),
        name=run.name,
    )

    assert {task: result.model_dump_json() for task, result in again.result.tasks.items()} == {
        task: result.model_dump_json() for task, result in run.result.tasks.items()
    }


@pytest.mark.parametrize("name", ["scores.parquet", "predictions.json", "estimates.json"])
def test_a_file_that_was_changed_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")

    with pytest.raises(RunError, match=r"was changed after the run\. Make the run again"):
        open_run(folder)


@pytest.mark.parametrize("name", ["record.json", "scores.parquet", "predictions.json", "estimates.json"])
def test_a_missing_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(RunError, match=f"not a complete run folder: it has no {name}"):
        open_run(folder)


def test_a_folder_of_sample_logs_is_refused_with_the_log_to_give(tmp_path: Path) -> None:
    log = tmp_path / "gpt2" / "samples_crows_pairs_english_2026-01-01.jsonl"
    log.parent.mkdir()
    log.touch()

    with pytest.raises(RunError, match=f"give the log itself, such as {log}"):
        open_run(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"schema_version": 1}'])
def test_a_damaged_record_is_refused(folder: Path, content: bytes) -> None:
    (folder / "record.json").write_bytes(content)

    with pytest.raises(RunError, match=r"record\.json is damaged|version 1 of the format"):
        open_run(folder)


@pytest.mark.parametrize("version", [1, 2, SCHEMA_VERSION + 1, None])
def test_a_record_of_another_format_is_refused(folder: Path, version: int | None) -> None:
    record = json.loads((folder / "record.json").read_text())
    (folder / "record.json").write_text(json.dumps(record | {"schema_version": version}))

    with pytest.raises(
        RunError, match=f"version {version} of the format; this version of Evenhand reads {SCHEMA_VERSION}"
    ):
        open_run(folder)


def test_a_place_that_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    for place in (tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(RunError, match="is not a run folder"):
            open_run(place)


def test_an_existing_folder_is_not_written_over(run: Run, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    with pytest.raises(RunError, match="exists already"):
        run.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_existing_run_gives_way_when_asked_to(run: Run, folder: Path) -> None:
    other = make_run("model_en", seed=2)
    with open_job(folder, other.record.fingerprint, fingerprint_at=fingerprint_of_run, replace=True) as job:
        other.save(job)

    assert open_run(folder).record.statistics.seed == 2
    assert [path.name for path in folder.parent.iterdir()] == ["model_en"]
    assert run.record.statistics.seed == 1


def test_a_folder_that_is_not_a_run_does_not_give_way(run: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    with pytest.raises(RunError, match="is there already and is no run"):
        fingerprint_of_run(tmp_path)
    with pytest.raises(RunError, match="exists already"):
        run.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_record_says_what_ran_on_what(folder: Path) -> None:
    record = read_record(folder)

    assert record.schema_version == SCHEMA_VERSION
    assert (record.dataset.name, record.dataset.language, record.dataset.items) == ("tiny", "en", 3)
    assert record.protocol is not None
    assert record.protocol.name == "evenhand.v2"
    assert (record.statistics.resamples, record.statistics.seed) == (100, 1)
    assert record.scored == {"intrasentence": 1, "intersentence": 1}
    assert record.skipped == {"intrasentence": 1, "intersentence": 0}
    assert set(record.files) == {"scores.parquet", "predictions.json", "estimates.json"}


def test_runs_have_the_same_fingerprint_when_the_same_things_determine_them() -> None:
    assert make_run("a").record.fingerprint == make_run("b").record.fingerprint
    assert make_run(seed=1).record.fingerprint != make_run(seed=2).record.fingerprint


@pytest.mark.parametrize(("name", "label"), [("model_en", "model_en"), ("model", "model (en)")])
def test_a_label_says_the_language_where_the_name_does_not(name: str, label: str) -> None:
    assert make_run(name).label == label


def test_items_have_the_scores_of_their_candidates_side_by_side(run: Run) -> None:
    rows = run.items().select("item", "stereotype", "anti-stereotype", "unrelated").rows()

    assert rows == [
        ("intra-1", 3.0, 2.0, 1.0),
        ("intra-2", 1.0, 2.0, None),
        ("inter-1", 0.1, 0.2, 0.3),
    ]


def test_a_record_with_faults_names_the_first_in_plain_words(folder: Path) -> None:
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    del record["dataset"], record["statistics"]
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(RunError) as refused:
        read_record(folder)
    assert "(2 faults, the first is dataset: Field required). Make the run again" in str(refused.value)
    assert "pydantic" not in str(refused.value)
