"""A temporary folder in which the commands and sessions of one page are really run.

Commands run as they would for a person in that folder: the example files lie in it, nothing is fetched,
and nothing of the machine at hand shows in the output.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import evenhand as eh
from evenhand.cli.pulse import PROGRESS_VARIABLE
from evenhand.data.datasets import EXAMPLES

TERMINAL_WIDTH = 112
"""Columns of the terminal that output is shown for: the table of ``evenhand evaluate`` just fits."""
HELP_WIDTH = 100
FILES = Path(__file__).resolve().parents[1] / "files"
"""Files that pages show and use."""

PACKAGE = Path(eh.__file__).resolve().parent

_SHELL_SYNTAX = re.compile(r"[|<>&;*$`\n]")
_ECHO_CODE = re.compile(r"\s*;\s*echo \$\?$")


class _Terminal(io.StringIO):
    """Output that claims to be a terminal, so that the width of the environment counts."""

    def isatty(self) -> bool:
        return True


class _Notes(io.TextIOBase):
    """Standard error that goes where standard output goes, but is no terminal, so that no bar is drawn."""

    def __init__(self, output: io.StringIO) -> None:
        self._output = output

    def write(self, text: str) -> int:
        return self._output.write(text)

    def isatty(self) -> bool:
        return False


@dataclass(slots=True)
class Workshop:
    """Runs commands and Python sessions in one folder; later ones see what earlier ones made."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def command(self, command: str) -> str:
        """What a terminal shows of a command, notes and results in their order, and the exit code if asked for."""
        asked_for_code = _ECHO_CODE.search(command) is not None
        plain = _ECHO_CODE.sub("", command)
        if plain.startswith("evenhand ") and not _SHELL_SYNTAX.search(plain):
            output, code = self._evenhand(plain)
        else:
            output, code = self._shell(plain)
        return self._tidy(f"{output.rstrip()}\n{code}" if asked_for_code else output)

    def session(self, text: str) -> str:
        """The same ``>>>`` session with the output that it has now."""
        parts: list[str] = []
        for part in doctest.DocTestParser().parse(text):
            if isinstance(part, str):
                parts.append(part)
                continue
            first, *rest = part.source.rstrip("\n").split("\n")
            shown = [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
            parts.append("\n".join([*shown, self._tidy(self._execute(part.source))]).rstrip("\n") + "\n")
        return "".join(parts)

    def _evenhand(self, command: str) -> tuple[str, int]:
        """In this process: starting Python for each of many commands would take minutes."""
        import shlex

        from evenhand.cli import main

        output, code = _Terminal(), 0
        former = sys.argv
        sys.argv = shlex.split(command)
        try:
            with (
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(_Notes(output)),
                # Lines about progress depend on how fast the machine is.
                mock.patch.dict(os.environ, {PROGRESS_VARIABLE: "0"}),
            ):
                main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            sys.argv = former
        return output.getvalue(), code

    def _shell(self, command: str) -> tuple[str, int]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run(  # noqa: S603 - the commands stand in our own pages
            ["bash", "-c", command],  # noqa: S607
            cwd=self.folder,
            env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout, done.returncode

    def _execute(self, source: str) -> str:
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(source, "<session>", "single"), self.names)  # noqa: S102
        except Exception as problem:  # a session may show an error on purpose
            kind = type(problem)
            place = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            output.write(
                f"Traceback (most recent call last):\n  ...\n{place}{kind.__qualname__}: {problem}\n"
            )
        return output.getvalue()

    def _tidy(self, text: str) -> str:
        """Without trailing space, without empty lines at either end, without the folder's own path."""
        for folder in (str(self.folder), str(self.folder.resolve())):
            text = text.replace(folder, "~")
        lines = [line.rstrip() for line in text.split("\n")]
        return "\n".join(lines).strip("\n")


@contextlib.contextmanager
def workshop() -> Iterator[Workshop]:
    """A fresh folder with the example files, and an environment that shows nothing of this machine."""
    former_folder, former_environment = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file in (*(eh.example_scores(example) for example in EXAMPLES), *sorted(FILES.iterdir())):
            shutil.copy(file, folder)
        examples = eh.example_scores(EXAMPLES[0]).parent
        shutil.copytree(examples, folder / "src" / examples.relative_to(PACKAGE.parent))
        os.environ.update(
            COLUMNS=str(TERMINAL_WIDTH),
            LINES="50",
            NO_COLOR="1",
            EVENHAND_PROGRESS="0",
            TERM="dumb",
            HOME=name,
            EVENHAND_OFFLINE="1",
        )
        for variable in ("EVENHAND_HOME", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
            os.environ.pop(variable, None)
        os.chdir(folder)
        try:
            yield Workshop(folder)
        finally:
            os.chdir(former_folder)
            os.environ.clear()
            os.environ.update(former_environment)


def help_of(commands: str) -> str:
    """The help of a command such as ``evenhand data list``, as a terminal of usual width shows it."""
    with workshop() as shop:
        os.environ["COLUMNS"] = str(HELP_WIDTH)
        return shop.command(f"{commands} --help")
