"""Blocks of real output inside pages that are otherwise written by hand.

A marker in the Markdown, alone on its line, says what the block below it is made from:

    <!-- output: COMMAND -->    a fenced block: what the command prints. In a ``console`` block the command
                                stands above its output, after a dollar sign; in any other it does not.
                                A command that ends with "; echo $?" shows its exit code too.
    <!-- python -->             a fenced ``>>>`` session, whose output lines are made anew.
    <!-- table: NAME -->        a table of ``generators.tables`` or ``translation_tables``, put below the marker.
    <!-- file: PATH -->         a fenced block: what a file of the repository holds.

All blocks of one page share a folder and, in sessions, their variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from generators.tables import TABLES
from generators.translation_tables import TRANSLATION_TABLES
from generators.workshop import Workshop, workshop

_FENCE = r"^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$"
_OUTPUT = re.compile(rf"^<!-- output: (?P<command>.+?) -->\n\n?{_FENCE}", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(rf"^<!-- python -->\n\n?{_FENCE}", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^<!-- table: (?P<name>.+?) -->\n+(?:\|[^\n]*\n)*\n*", re.MULTILINE)
_FILE = re.compile(rf"^<!-- file: (?P<path>.+?) -->\n\n?{_FENCE}", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"^<!-- (?:output: .+?|python|table: .+?|file: .+?) -->$", re.MULTILINE)

ROOT = Path(__file__).resolve().parents[2]

_TABLES = {**TABLES, **TRANSLATION_TABLES}


class MarkerError(Exception):
    """A marker without its block, or with an unknown name."""


def refreshed(text: str) -> str:
    """The page with every marked block made anew, in the order of the page."""
    if not _MARKER.search(text):
        return text
    parts: list[str] = []
    position = 0
    with workshop() as shop:
        for marker in _MARKER.finditer(text):
            block, replacement = _remade(text, marker, shop)
            parts += [text[position : block.start()], replacement]
            position = block.end()
    return "".join(parts) + text[position:]


def _remade(text: str, marker: re.Match[str], shop: Workshop) -> tuple[re.Match[str], str]:
    for pattern, remake in _KINDS.items():
        block = pattern.match(text, marker.start())
        if block is not None:
            return block, remake(block, shop)
    line = text.count("\n", 0, marker.start()) + 1
    raise MarkerError(f"Line {line}: {marker[0]} is not followed by the block that it is about.")


def _output(block: re.Match[str], shop: Workshop) -> str:
    prompt = f"$ {block['command']}\n" if block["language"].strip() == "console" else ""
    return _fenced(
        block, f"{prompt}{shop.command(block['command'])}\n", f"<!-- output: {block['command']} -->"
    )


def _session(block: re.Match[str], shop: Workshop) -> str:
    return _fenced(block, shop.session(block["body"]), "<!-- python -->")


def _table(block: re.Match[str], _shop: Workshop) -> str:
    name = block["name"]
    if name not in _TABLES:
        raise MarkerError(f"There is no table {name!r}; there are {', '.join(_TABLES)}.")
    return f"<!-- table: {name} -->\n\n{_TABLES[name]()}\n"


def _file(block: re.Match[str], _shop: Workshop) -> str:
    path = ROOT / block["path"]
    if not path.is_file():
        raise MarkerError(f"There is no file {block['path']}.")
    return _fenced(block, path.read_text(encoding="utf-8"), f"<!-- file: {block['path']} -->")


def _fenced(block: re.Match[str], body: str, marker: str) -> str:
    return f"{marker}\n{block['fence']}{block['language']}\n{body}{block['fence']}"


_KINDS: Mapping[re.Pattern[str], Callable[[re.Match[str], Workshop], str]] = {
    _OUTPUT: _output,
    _PYTHON: _session,
    _TABLE: _table,
    _FILE: _file,
}
