"""Names: every module says what it holds, every word of the glossary is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import evenhand

PACKAGE = Path(evenhand.__file__).parent
GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def test_every_module_says_what_it_holds() -> None:
    assert [str(path) for path, module in modules().items() if not ast.get_docstring(module)] == []


def test_code_in_the_glossary_exists() -> None:
    names = set(
        re.findall(r"^\| \*\*.+?\*\* \(`(\w+)`\)", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    )
    classes = {
        node.name for module in modules().values() for node in module.body if isinstance(node, ast.ClassDef)
    }

    assert len(names) >= 30
    assert names <= classes, names - classes
