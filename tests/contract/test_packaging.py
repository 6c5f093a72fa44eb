"""What the built package holds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_no_source_file_is_ignored_by_git_because_the_wheel_would_lack_it() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        input="\n".join(map(str, files)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ignored.stderr == ""
    assert ignored.stdout == ""
