"""The commands and the program in docs/web.md do what the page says, in the order in which they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from running import run_here

pytest.importorskip("fastapi")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "web.md"
SERVERS = re.compile(r"^evenhand serve( --|$)|^evenhand serve restore .*postgresql|^pip ")
"""Commands that run until they are stopped, or need another server."""


def _commands(page: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ").partition("#")[0].strip() for line in lines if line.startswith("$ ")]


def test_everything_on_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text("text\nDie Person schlief.\nDie Person log.\n", encoding="utf-8")
    (tmp_path / "lessons.csv").write_text("text,gold\nDie Person half.,1\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    commands = [command for command in _commands(page) if not SERVERS.search(command)]
    assert len(commands) >= 12
    # A backup needs a database, which the first project makes.
    commands.sort(key=lambda command: command.startswith("evenhand serve backup"))
    for command in commands:
        words = shlex.split(command.partition(">")[0])
        done = run_here(*words[1:], cwd=tmp_path)
        if words[1:3] == ["annotate", "agreement"]:  # nobody has labelled a text yet
            assert "Error: " in done.stderr
            assert "Traceback" not in done.stderr
        else:
            assert done.returncode == 0, f"{command}\n{done.stderr}"
        if ">" in command:
            survey = done.stdout.replace("[Name und Adresse der Verantwortlichen]", "Institut, Hauptstraße 1")
            (tmp_path / "mine.yaml").write_text(survey, encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(program, str(PAGE), "exec"), names)  # noqa: S102  our own page
    assert len(names["table"]) == 0  # type: ignore[arg-type]
    assert (tmp_path / "evenhand-tuesday.db").is_file()
