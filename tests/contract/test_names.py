"""Names: no two classes of one name, no file too long, every word of the glossary is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import evenhand

PACKAGE = Path(evenhand.__file__).parent
GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
LONGEST = 400


def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict(list)
    for path, module in modules().items():
        for node in module.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))

    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_file_is_longer_than_one_thought() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}

    assert {str(path): length for path, length in lengths.items() if length > LONGEST} == {}


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
