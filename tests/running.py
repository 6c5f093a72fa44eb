"""The command line as users run it, and a browser where there is one."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Command = Callable[..., subprocess.CompletedProcess[str]]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


HANG = 900
"""Seconds after which a process hangs and is not merely slow: no busy machine may fail a test."""

_ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "160"}


@pytest.fixture(scope="session")
def run_evenhand() -> Command:
    """Run ``evenhand`` in a process of its own."""
    executable = Path(sys.executable).with_name("evenhand")

    def run(
        *arguments: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [executable, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **_ENVIRONMENT, **(environment or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=HANG,
        )

    return run


@pytest.fixture(scope="session")
def run_evenhand_here() -> Command:
    """Run ``evenhand`` in this process, without importing everything anew: where a process of its own adds little."""
    return run_here


def run_here(
    *arguments: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What ``evenhand`` does with these arguments, as if it had a process of its own."""
    from evenhand.cli import main

    words = ["evenhand", *map(str, arguments)]
    said, told = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.dict(os.environ, {**_ENVIRONMENT, **(environment or {})}),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(told),
        contextlib.chdir(cwd or Path.cwd()),
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(words, code, said.getvalue(), told.getvalue())


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real browser; the tests that need one are skipped without it, but not in continuous integration."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None or find_spec("playwright") is None:
        reason = (
            f"no browser on this machine; install one of {', '.join(BROWSERS)}, and pip install '.[test]'"
        )
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=found, args=BROWSER_OPTIONS, timeout=1000 * HANG
        )
        yield launched
        launched.close()
