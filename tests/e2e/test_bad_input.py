"""Bad input: a clear message, exit code 2, and nothing written half."""

from __future__ import annotations

import gzip
import json
import resource
import signal
from pathlib import Path
from typing import Any

import pytest
from forking import evenhand, exit_code
from running import Command

import evenhand as eh

LEANING = eh.example_scores("leaning")


def scores() -> dict[str, list[dict[str, Any]]]:
    document: dict[str, list[dict[str, Any]]] = json.loads(LEANING.read_text(encoding="utf-8"))
    return document


def with_first_score(value: Any) -> str:
    document = scores()
    document["intrasentence"][0]["score"] = value
    return json.dumps(document)


def repeated_with_other_score() -> str:
    document = scores()
    first = document["intrasentence"][0]
    document["intrasentence"].append({"id": first["id"], "score": first["score"] * 2})
    return json.dumps(document)


REFUSED = {
    "truncated gzip": (gzip.compress(LEANING.read_bytes())[:-200], "truncated gzip"),
    "not JSON": (b"{'intrasentence': []}", "not valid JSON"),
    "not UTF-8": ('{"intrasentence": "Künstler"}'.encode("latin-1"), "not UTF-8"),
    "another layout": (b'{"scores": [1, 2, 3]}', "holds no scores"),
    "entries without ids": (b'{"intrasentence": [{"sentence": "x", "score": 1}]}', "entry 1"),
    "empty": (b"", "is empty"),
    "no scores": (b'{"intrasentence": []}', "holds no scores"),
    "ids of another benchmark": (
        b'{"intrasentence": [{"id": "elsewhere", "score": 1}]}',
        "belongs to a candidate",
    ),
    "two scores for one id": (repeated_with_other_score().encode(), "two different scores"),
    "a string of CSV": (b"name,value\nx,1\n", "id and score are needed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unusable_predictions_are_refused(run_evenhand_here: Command, tmp_path: Path, case: str) -> None:
    content, message = REFUSED[case]
    (tmp_path / "bad.json").write_bytes(content)
    done = run_evenhand_here(
        "evaluate", tmp_path / "bad.json", "--data", "starter", "--out", tmp_path / "runs"
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "score is NaN"),
        (float("inf"), "score is infinite"),
        (None, "score is null"),
        ("0.5", "score is text"),
        (True, "score is true or false"),
    ],
)
def test_unusable_scores_skip_their_item_and_say_so(
    run_evenhand_here: Command, tmp_path: Path, value: Any, reason: str
) -> None:
    (tmp_path / "scores.json").write_text(with_first_score(value), encoding="utf-8")
    done = run_evenhand_here("evaluate", tmp_path / "scores.json", "--data", "starter", "--json")
    assert done.returncode == 0
    tasks = json.loads(done.stdout)["runs"][0]["tasks"]
    assert (tasks["intrasentence"]["n"], tasks["intrasentence"]["skipped"]) == (47, 1)
    assert reason in done.stderr


def test_missing_candidates_and_unknown_ids_are_counted_and_listed(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    document = scores()
    del document["intrasentence"][4]
    document["intersentence"].append({"id": "unheard-of", "score": 1.0})
    (tmp_path / "scores.json").write_text(json.dumps(document), encoding="utf-8")
    done = run_evenhand_here("evaluate", tmp_path / "scores.json", "--data", "starter", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["runs"][0]["tasks"]["intrasentence"]["skipped"] == 1
    assert "there is no score" in done.stderr
    assert "unheard-of" in done.stderr


def test_large_file_is_refused_without_reading_it_all(run_evenhand_here: Command, tmp_path: Path) -> None:
    """200 MB, written sparsely; compressed it would be tiny, so the limit is on the content."""
    large = tmp_path / "large.json"
    with large.open("wb") as stream:
        stream.write(b'{"intrasentence": [')
        stream.truncate(200 * 2**20)
    for path in (large, tmp_path / "large.json.gz"):
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(b"[" + b" " * (200 * 2**20), compresslevel=1))
        done = run_evenhand_here("evaluate", path, "--data", "starter")
        assert done.returncode == 2
        assert "more than 64 MB" in done.stderr


def test_unwritable_output_is_an_error_and_leaves_nothing(run_evenhand_here: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = run_evenhand_here("evaluate", LEANING, "--data", "starter", "--out", tmp_path / "file" / "runs")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def evaluate_on_a_full_disk(out: Path, messages: Path) -> None:
    """No file may grow past 20 kB: the page cannot be written, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    evenhand(["evaluate", LEANING, "--data", "starter", "--out", out], messages)


def test_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    out, messages = tmp_path / "runs", tmp_path / "messages"
    assert exit_code(evaluate_on_a_full_disk, out, messages) == 2
    assert "cannot be written" in messages.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["messages"]


def test_folder_that_is_no_run_is_never_touched(run_evenhand_here: Command, tmp_path: Path) -> None:
    folder = tmp_path / "simulated-leaning"
    folder.mkdir()
    (folder / "thesis.txt").write_text("dear to somebody", encoding="utf-8")
    for extra in ((), ("--fresh",)):
        done = run_evenhand_here("evaluate", LEANING, "--data", "starter", "--out", tmp_path, *extra)
        assert done.returncode == 2
        assert "is there already and is no run" in done.stderr
        assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "stereotset"), "Did you mean 'stereoset'"),
        (("--data", "starter", "--language", "xx"), "Unknown language"),
        (("--data", "starter", "--protocol", "evenhand.v11"), "Did you mean 'evenhand.v1'"),
        (("--data", "starter", "--resamples", "3"), "100 to"),
        (("--data", "starter", "--confidence", "95"), "confidence level"),
        (("--data", "starter", "--name", "../up"), "cannot be the name"),
        (("--data", "nowhere.json"), "There is no file"),
    ],
)
def test_wrong_options_say_what_would_be_right(
    run_evenhand_here: Command, arguments: tuple[str, ...], message: str
) -> None:
    done = run_evenhand_here("evaluate", LEANING, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_named_dataset_without_a_copy_says_where_to_put_it(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    done = run_evenhand_here(
        "data", "describe", "stereoset", environment={"EVENHAND_HOME": str(tmp_path), "EVENHAND_OFFLINE": "1"}
    )
    assert done.returncode == 2
    assert str(tmp_path / "datasets" / "stereoset") in done.stderr
