"""Output that is not UTF-8: what it cannot write is replaced, and exit codes are those of the result."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import builders
import pytest

import evenhand as eh
from evenhand.cli import main

ENCODINGS = ["ascii", "cp1252", "latin-1"]


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it wrote."""

    code: int
    output: bytes
    messages: bytes


Run = Callable[..., Ended]


@pytest.fixture
def run_in(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``evenhand`` in this process, with output in an encoding."""

    def run(encoding: str, *arguments: str | Path) -> Ended:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        contents = []
        for stream in streams:
            stream.flush()
            contents.append(stream.buffer.getvalue())
        return Ended(code, *contents)

    return run


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_gate_sees_its_codes(run_in: Run, encoding: str) -> None:
    scores = eh.example_scores("leaning")
    few = ("--data", "starter", "--resamples", "100")

    passed = run_in(encoding, "evaluate", scores, *few)
    failed = run_in(encoding, "evaluate", scores, *few, "--fail-if", "SS>55")

    assert (passed.code, failed.code) == (0, 4)
    assert b"intrasentence" in passed.output
    assert b"==" in passed.output
    assert b"Gate closed: SS 67.7 is above 55" in failed.messages


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_loses_nothing(run_in: Run, encoding: str, tmp_path: Path) -> None:
    item = builders.intra(1, bias_type="Beruf − œuvre")
    data = builders.write_json(tmp_path / "data.json", builders.document([item], language="de"))
    scores = builders.write_json(
        tmp_path / "scores.json",
        {"intrasentence": [{"id": candidate.id, "score": 0.5} for candidate in item.candidates]},
    )

    done = run_in(encoding, "evaluate", scores, "--data", data, "--json", "--resamples", "100")

    assert done.code == 0, done.messages
    (run,) = json.loads(done.output.decode(encoding))["runs"]
    assert list(run["tasks"]["intrasentence"]["by_bias_type"]) == [item.bias_type]


def test_an_error_keeps_its_code(run_in: Run) -> None:
    done = run_in("ascii", "evaluate", "größer−kleiner.json", "--data", "starter")

    assert done.code == 2
    assert b"There is no file gr??er-kleiner.json" in done.messages
