"""What the built package holds."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WRITTEN = (
    "src/evenhand/**/*.py",
    "src/evenhand/**/*.j2",
    "docs/**/*.md",
    "docs/**/*.py",
    "examples/**/*",
    "*.md",
)
"""What users read."""


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


def test_nobody_is_told_to_install_evenhand_from_an_index() -> None:
    """It is in none: an extra is installed from a clone."""
    files = [
        path
        for pattern in WRITTEN
        for path in ROOT.glob(pattern)
        if path.suffix in {".md", ".py", ".j2", ".toml"}
    ]
    advice = re.compile(r"pip install[^\n`]*[ '\"]evenhand[\[ '\"`]")
    assert len(files) > 500
    assert [
        str(path.relative_to(ROOT)) for path in files if advice.search(path.read_text(encoding="utf-8"))
    ] == []


def test_how_an_extra_is_installed_is_written_in_one_place() -> None:
    advice = re.compile(r"pip install '\.\[")
    sources = [
        path for path in (ROOT / "src").rglob("*.py") if advice.search(path.read_text(encoding="utf-8"))
    ]
    assert [path.name for path in sources] == ["errors.py"]
