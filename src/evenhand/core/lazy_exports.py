"""Packages whose names are imported when they are first used (PEP 562), so that importing the package stays quick."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_exports(package: str) -> None:
    """Give a package what it names below its ``if TYPE_CHECKING:``, each thing when it is first used.

    There a name stands once, for type checkers too: ``from package.module import Name as Name``. An import without
    ``as`` is no export; ``name = imported`` exports it under another name.
    """
    module = sys.modules[package]
    imported: dict[str, tuple[str, str]] = {}
    exported = set()
    for block in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
        for node in block.body if isinstance(block, ast.If) else ():
            match node:
                case ast.ImportFrom(module=str(home), names=names):
                    imported |= {alias.asname or alias.name: (home, alias.name) for alias in names}
                    exported |= {alias.asname for alias in names if alias.asname}
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                    imported[name] = imported[other]
                    exported.add(name)

    def first_use(name: str) -> Any:
        if name not in exported:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, attribute = imported[name]
        try:
            return getattr(import_module(home), attribute)
        except ModuleNotFoundError as problem:
            from evenhand.core.errors import missing_extra

            raise missing_extra(problem, purpose=f"{package}.{name}") or problem from None

    vars(module).update(__all__=sorted(exported), __getattr__=first_use, __dir__=lambda: sorted(exported))
