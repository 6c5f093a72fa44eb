"""Jobs here and on Ray: the same results, one display, and a dead worker that costs its job alone."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from recording_monitor import RecordingMonitor

import evenhand as eh
from evenhand.api.executors import Assignment, ExecutorError, LocalExecutor, executor_at
from evenhand.core.errors import EvenhandError, MissingExtraError, UnknownNameError
from evenhand.core.progress import Monitor, Progress
from evenhand.stats.resampling import Resampling
from evenhand.store.claims import release_claims

LIMIT = 8


def _name(monitor: Monitor, *, name: str) -> str:
    monitor.note(name)
    return name.upper()


def test_jobs_here_run_in_their_order_and_tell_when_each_is_done() -> None:
    monitor = RecordingMonitor()
    done: list[tuple[int, str]] = []
    assignments = [Assignment(title=name, work=partial(_name, name=name)) for name in ("a", "b")]

    results = LocalExecutor().execute(assignments, monitor=monitor, finished=lambda *each: done.append(each))

    assert results == ["A", "B"]
    assert monitor.notes == ["a", "b"]
    assert done == [(0, "A"), (1, "B")]


@pytest.mark.parametrize("text", ["there", "here:8000", ""])
def test_a_place_that_does_not_exist_is_named(text: str) -> None:
    with pytest.raises(UnknownNameError, match=r"Known: here, ray, ray:ADDRESS"):
        executor_at(text)


def test_ray_without_an_address_behind_the_colon_is_refused() -> None:
    with pytest.raises(ExecutorError, match=r"ray:HOST:PORT"):
        executor_at("ray:")


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtraError, match=r"pip install '\.\[ray\]'"):
        executor_at("ray")


def test_a_dead_address_is_told_at_once_and_nothing_is_begun(tmp_path: Path) -> None:
    pytest.importorskip("ray")

    with pytest.raises(ExecutorError, match=r"no Ray cluster at 127\.0\.0\.1:9 .*ray start --head"):
        eh.measure_all([eh.MeasurementJob(model="lab:masked")], out=tmp_path, on="ray:127.0.0.1:9")
    assert list(tmp_path.iterdir()) == []


def test_only_the_claims_of_the_dead_worker_are_lifted(tmp_path: Path) -> None:
    (tmp_path / ".one.claim").write_text("far-away 7")
    (tmp_path / ".two.claim").write_text("far-away 8")

    release_claims(tmp_path, "far-away 7")

    assert [path.name for path in tmp_path.iterdir()] == [".two.claim"]


class _KillingMonitor:
    """Kills its process at the first sign of progress, once."""

    def __init__(self, marker: Path, monitor: Monitor) -> None:
        self.marker = marker
        self.note, self.warn = monitor.note, monitor.warn

    @contextmanager
    def stage(self, title: str, unit: str = "items") -> Iterator[Progress]:  # noqa: ARG002 # nothing is shown
        yield self._die_once

    def _die_once(self, done: int, total: int) -> None:
        if done < total and not self.marker.exists():
            self.marker.write_text(f"{done} of {total}")
            os.kill(os.getpid(), signal.SIGKILL)


def _measure(monitor: Monitor, *, job: eh.MeasurementJob, out: Path, marker: Path | None = None) -> Path:
    watched = _KillingMonitor(marker, monitor) if marker else monitor
    (run,) = eh.measure_all([job], out=out, monitor=watched)
    return out / run.name


def _jobs() -> list[eh.MeasurementJob]:
    options = eh.AuditOptions(limit=LIMIT, max_tokens=64, resampling=Resampling(resamples=100))
    return [eh.MeasurementJob(model=name, options=options) for name in ("lab:masked", "lab:decoder")]


def _contents(folder: Path) -> dict[str, bytes]:
    """The files of a run but for the date: the record without it, and not the page, which shows it."""
    contents = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".html"}
    record = json.loads(contents["record.json"])
    del record["created"], record["files"]["report.html"]
    return contents | {"record.json": json.dumps(record).encode()}


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_ray_writes_the_same_bytes_although_a_worker_is_killed(tmp_path: Path) -> None:
    monitor = RecordingMonitor()
    jobs = _jobs()
    local = eh.measure_all(jobs, out=tmp_path / "here")
    marker, out = tmp_path / "killed", tmp_path / "ray"
    first, second = (
        Assignment(title=str(job.model), work=partial(_measure, job=job, out=out, marker=kill), folder=out)
        for job, kill in zip(jobs, (marker, None), strict=True)
    )

    places = executor_at("ray").execute([first, second], monitor=monitor)

    assert marker.exists()
    assert monitor.warnings == ["lab:masked: its worker died; another one goes on with what was kept."]
    assert monitor.stages == ["2 jobs on Ray"]
    assert monitor.progress[-1] == (100, 100)
    for run, place in zip(local, places, strict=True):
        assert _contents(tmp_path / "here" / run.name) == _contents(place)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def _fail(_: Monitor) -> str:
    raise UnknownNameError("model", "x", ["y"])


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_a_job_that_fails_on_ray_lets_the_others_finish() -> None:
    done: list[int] = []
    assignments = [
        Assignment(title="bad", work=_fail),
        Assignment(title="good", work=partial(_name, name="good")),
    ]

    with pytest.raises(EvenhandError, match=r"Unknown model 'x'\. Known: y\."):
        executor_at("ray").execute(assignments, finished=lambda number, _: done.append(number))
    assert done == [1]


def test_a_loaded_model_cannot_be_sent_to_other_processes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    loaded = object()

    with pytest.raises(ExecutorError, match="is loaded in this process"):
        eh.measure_all([eh.MeasurementJob(model=loaded)], out=tmp_path, on="ray")
