"""The marker ``torch``: which tests need PyTorch is read off their imports before anything is imported.

A test needs it if its module, or what that imports, imports torch; if it uses the zoo; or if it is marked by hand,
because it runs a command that loads a model. ``pytest -m "not torch"`` never imports torch. Where it is not installed,
the tests that need it are skipped with a reason, but not in continuous integration.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from evenhand.core.errors import MissingExtraError

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src"
HEAVY = {
    "torch",
    "transformers",
    "accelerate",
    "peft",
    "safetensors",
    "tokenizers",
    "datasets",
    "huggingface_hub",
}
"""What comes with the same extra as torch."""

FIXTURES = {"menagerie"}
"""Fixtures that build models."""

REASON = "PyTorch is not installed. Install it with: pip install '.[hf]'"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "torch: the test needs PyTorch; set by itself where a module imports it"
    )


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Import no module that would import torch where that is not wanted or not possible."""
    if not needs_torch(module_path):
        return None
    if "not torch" in parent.config.getoption("markexpr"):
        return _LeftOut.from_parent(parent, path=module_path)
    if not _is_installed():
        return _Skipped.from_parent(parent, path=module_path)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs torch, before ``-m`` chooses."""
    for item in items:
        if needs_torch(item.path) or FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("torch")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what was marked by hand where torch is not installed."""
    if item.get_closest_marker("torch") and not _is_installed():
        _refuse()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Skip a test that meets another extra which is not installed."""
    try:
        yield
    except MissingExtraError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


class _LeftOut(pytest.Module):
    """A module of tests that are not wanted."""

    def collect(self) -> Iterator[pytest.Item]:
        return iter(())


class _Skipped(pytest.Module):
    """A module of tests that cannot be imported."""

    def collect(self) -> Iterator[pytest.Item]:
        _refuse()
        return iter(())


def _refuse() -> None:
    if os.environ.get("CI"):
        pytest.fail(REASON, pytrace=False)
    pytest.skip(REASON, allow_module_level=True)


@cache
def _is_installed() -> bool:
    return find_spec("torch") is not None


def needs_torch(path: Path) -> bool:
    """Whether importing or running the tests of a file imports torch, as far as its imports tell."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        for module in _imports(file):
            if module.partition(".")[0] in HEAVY:
                return True
            waiting += _files(module)
    return False


@cache
def _imports(path: Path) -> frozenset[str]:
    """The modules that a file imports: in a test those within functions too, because tests call them."""
    everywhere = path.is_relative_to(TESTS)
    modules: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif everywhere or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)
    return frozenset(modules)


@cache
def _files(module: str) -> tuple[Path, ...]:
    """The files of ours that importing a module runs: its packages' and its own."""
    parts = module.split(".")
    if parts[0] != "evenhand":
        own = [folder / f"{parts[0]}.py" for folder in (TESTS, *TESTS.iterdir())]
        return tuple(path for path in own if path.is_file())
    places = [SOURCES.joinpath(*parts[: count + 1]) for count in range(len(parts))]
    files = [place / "__init__.py" for place in places] + [places[-1].with_suffix(".py")]
    return tuple(path for path in files if path.is_file())
