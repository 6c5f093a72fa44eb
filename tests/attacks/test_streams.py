"""Standard streams that are closed or full: an exit code that is not 0 where something is lost, and no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh

FULL = (
    "Standard output cannot be written: No space left on device. What the command has saved in files stays."
)
CLOSED = "Standard output is closed. Send it to a file or to /dev/null."


def run(
    redirection: str, *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it, which can close streams."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", sys.executable, "-m", "evenhand", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


@pytest.mark.parametrize(
    "arguments", [["data", "list"], ["data", "describe", "starter", "--json"], ["--help"], ["--version"]]
)
@pytest.mark.parametrize(("redirection", "message"), [(">/dev/full", FULL), (">&-", CLOSED)])
def test_output_that_cannot_be_written_is_an_error(
    arguments: list[str], redirection: str, message: str
) -> None:
    done = run(redirection, *arguments)
    assert (done.returncode, done.stderr) == (2, f"Error: {message}\n")


def test_results_stay_where_the_output_is_full(tmp_path: Path) -> None:
    done = run(
        ">/dev/full",
        "evaluate",
        eh.example_scores("leaning"),
        "--data",
        "starter",
        "--out",
        "run",
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stderr.strip().endswith(FULL)
    (folder,) = [path.parent for path in tmp_path.rglob("record.json")]
    assert eh.open_run(folder).record.files


def test_nothing_is_begun_without_an_output(tmp_path: Path) -> None:
    done = run(
        ">&-", "evaluate", eh.example_scores("leaning"), "--data", "starter", "--out", "run", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (2, f"Error: {CLOSED}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&-", "2>&- <&-"])
def test_a_result_needs_no_other_stream(redirection: str) -> None:
    done = run(redirection, "data", "describe", "starter", "--json")
    assert done.returncode == 0
    assert done.stdout == run("", "data", "describe", "starter", "--json").stdout
    assert json.loads(done.stdout)


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full"])
def test_an_error_that_nobody_can_read_has_its_exit_code(redirection: str) -> None:
    assert run(redirection, "compare", "nothing", "here").returncode == 2


def test_a_name_that_is_too_long_is_named_by_its_beginning() -> None:
    done = run("", "compare", "n" * 5000, "n" * 5000)
    assert done.returncode == 2
    assert done.stderr.endswith(f"Error: {'n' * 100}... cannot be used: File name too long.\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["data", "describe", "NAME"],
        ["report", "NAME", "--out", "page.html"],
        ["audit", "lab:masked", "--data", "NAME"],
        ["evaluate", "NAME"],
        ["annotate", "import", "NAME"],
        ["regard", "audit", "NAME"],
        ["data", "translate", "NAME", "--to", "de"],
        ["data", "list", "--json", "NAME"],
    ],
)
def test_no_command_takes_a_name_of_5000_characters(tmp_path: Path, arguments: list[str]) -> None:
    done = run("", *("n" * 5000 if word == "NAME" else word for word in arguments), cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
