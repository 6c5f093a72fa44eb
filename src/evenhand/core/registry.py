"""Registries: what the package offers by name, and what other packages add to it.

Entries are entry points of the registry's group. Ours stand in our ``pyproject.toml``; another package adds its own in
the same way:

    [project.entry-points."evenhand.measures"]
    gap = "my_package.gap:GAP"

An entry is imported when it is first asked for, so that a registry costs nothing at start-up. One that cannot be
loaded, lacks something or takes a name that is in use is refused with the name of the package that it comes from.
``EVENHAND_PLUGINS=off`` leaves other packages out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar

from evenhand.core.errors import EvenhandError, UnknownNameError

PLUGINS_VARIABLE = "EVENHAND_PLUGINS"

OURS = "evenhand"
"""The name of our own package."""

Entry = TypeVar("Entry")


class PluginError(EvenhandError):
    """A package added something that cannot be used."""


class StaleInstallationError(EvenhandError):
    """What is installed does not know what the code offers."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an entry comes from."""

    package: str
    load: Callable[[], object]


class Registry(Mapping[str, Entry]):
    """Entries of one kind by name: our own in their order, then those of other packages."""

    def __init__(
        self,
        kind: str,
        group: str,
        *,
        order: Sequence[str] = (),
        check: Callable[[object], str | None] = lambda _: None,
    ) -> None:
        """Name the entries; nothing is imported yet.

        Args:
            kind: What an entry is called in messages, such as ``measure``.
            group: The entry-point group that the entries are in.
            order: Names of ours that come first, in this order; the rest follow by package and name.
            check: Says what an entry lacks, or None if it can be used.
        """
        self.kind = kind
        self.group = group
        self._order = tuple(order)
        self._check = check
        self._loaded: dict[str, Entry] = {}
        self._registered: dict[str, Source] = {}

    def register(self, name: str, entry: Entry) -> Entry:
        """Add an entry for this process, as a test or a notebook does."""
        if name in self._sources():
            raise PluginError(f"There is a {self.kind} named {name!r} already. Choose another name.")
        self._registered[name] = Source("this process", lambda: entry)
        return entry

    def unregister(self, name: str) -> None:
        """Take back what ``register`` added."""
        self._registered.pop(name, None)
        self._loaded.pop(name, None)

    def names(self) -> tuple[str, ...]:
        """All names: our own in their order, then those of other packages."""
        return tuple(self._sources())

    def package_of(self, name: str) -> str:
        """The package that an entry comes from."""
        return self._source(name).package

    def get(self, name: str) -> Entry:  # type: ignore[override] # a name that is missing is a mistake, not a default
        """The entry of this name.

        Raises:
            UnknownNameError: If there is none.
            PluginError: If it comes from another package and cannot be used.
        """
        if name not in self._loaded:
            self._loaded[name] = self._usable(name, self._source(name))
        return self._loaded[name]

    def __getitem__(self, name: str) -> Entry:
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._sources()

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources())

    def __len__(self) -> int:
        return len(self._sources())

    def _source(self, name: str) -> Source:
        sources = self._sources()
        if name not in sources:
            raise UnknownNameError(self.kind, name, sources)
        return sources[name]

    def _sources(self) -> dict[str, Source]:
        sources: dict[str, Source] = {}
        for package, point in _entry_points(self.group, tuple(sys.path)):
            if package != OURS and os.environ.get(PLUGINS_VARIABLE, "").casefold() == "off":
                continue
            if point.name in sources:
                raise PluginError(
                    f"The package {package} adds a {self.kind} named {point.name!r}, a name that "
                    f"{sources[point.name].package} has taken. {_REMEDY}"
                )
            sources[point.name] = Source(package, point.load)
        first = {name: sources[name] for name in self._order if name in sources}
        return first | sources | self._registered

    def _usable(self, name: str, source: Source) -> Entry:
        try:
            entry = source.load()
        except Exception as problem:
            if source.package == OURS:
                raise
            raise PluginError(
                f"The {self.kind} {name!r} of the package {source.package} cannot be loaded: "
                f"{type(problem).__name__}: {problem}. {_REMEDY}"
            ) from problem
        lacking = self._check(entry)
        if lacking:
            raise PluginError(
                f"The {self.kind} {name!r} of the package {source.package} cannot be used: {lacking}. {_REMEDY}"
            )
        return entry  # type: ignore[return-value] # what ``check`` lets through is an entry


_REMEDY = f"Mend or uninstall that package, or leave other packages out with {PLUGINS_VARIABLE}=off."


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> Sequence[tuple[str, EntryPoint]]:
    """The entry points of a group with their packages: ours, then those of other packages by name."""
    named = (
        (point.dist.name if point.dist else point.value, point)
        for point in _all_entry_points(path)
        if point.group == group
    )
    return sorted(named, key=lambda entry: (entry[0] != OURS, entry[0], entry[1].name))


@cache
def _all_entry_points(_path: tuple[str, ...]) -> Sequence[EntryPoint]:
    """Those of the packages on a path. Looking through all packages takes tens of milliseconds."""
    installed = entry_points()
    groups = [group for group in installed.groups if group.startswith(f"{OURS}.")]
    points = [point for group in groups for point in installed.select(group=group)]
    ours = {
        (point.group, point.name, point.value) for point in points if point.dist and point.dist.name == OURS
    }
    if ours != (_in_checkout() or ours) or not ours:
        raise StaleInstallationError(
            "The installation of Evenhand does not match its code. Run this in its folder: pip install -e ."
        )
    return points


def _in_checkout() -> set[tuple[str, str, str]] | None:
    """What ``pyproject.toml`` names, if this is not an installed copy."""
    import tomllib

    file = Path(__file__).parents[3] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"] if file.is_file() else {}
    if project.get("name") != OURS:
        return None
    groups: dict[str, dict[str, str]] = project["entry-points"]
    return {(group, name, value) for group, entries in groups.items() for name, value in entries.items()}


def lacks(entry: object, *attributes: str) -> str | None:
    """Which of these attributes an entry lacks, in words; None if it has them all."""
    missing = [name for name in attributes if not hasattr(entry, name)]
    return f"it lacks {', '.join(missing)}" if missing else None
