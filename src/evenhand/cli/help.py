"""Help texts with the names that are registered when somebody asks, also by other packages.

``$instruments`` in the help of an option stands for the names of all instruments. The registries are imported when a
help text is shown, so that commands start fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from string import Template
from types import MappingProxyType
from typing import Any

from typer.core import TyperCommand


def _instruments() -> Iterable[str]:
    from evenhand.store.run import INSTRUMENTS

    return INSTRUMENTS.names()


def _layouts() -> Iterable[str]:
    from evenhand.data.layouts import DATASET_LAYOUTS

    return DATASET_LAYOUTS.names()


def _benchmark_layouts() -> Iterable[str]:
    from evenhand.core.items import Benchmark
    from evenhand.data.layouts import DATASET_LAYOUTS

    return (name for name, layout in DATASET_LAYOUTS.items() if issubclass(layout.kind, Benchmark))


def _annotation_layouts() -> Iterable[str]:
    from evenhand.data.annotation_files import ANNOTATION_LAYOUTS

    return ANNOTATION_LAYOUTS.names()


def _backends() -> Iterable[str]:
    from evenhand.models.backends import BACKENDS, LOCAL_NAME

    return (f"{name}:" for name in BACKENDS.names() if name != LOCAL_NAME)


def _measures() -> Iterable[str]:
    from evenhand.instruments.association.measures import MEASURES

    return MEASURES.names()


def _mitigations() -> Iterable[str]:
    from evenhand.mitigation.registry import MITIGATIONS

    return MITIGATIONS.names()


def _translators() -> Iterable[str]:
    from evenhand.translation.translators import TRANSLATORS

    return TRANSLATORS.names()


def _features() -> Iterable[str]:
    from evenhand.regard.features import FEATURES

    return (f"{name}:{kind.argument}" if kind.argument else name for name, kind in FEATURES.items())


def _heads() -> Iterable[str]:
    from evenhand.regard.heads import HEADS

    return HEADS.names()


REGISTERED: Mapping[str, Callable[[], Iterable[str]]] = MappingProxyType(
    {
        "instruments": _instruments,
        "layouts": _layouts,
        "benchmarks": _benchmark_layouts,
        "annotations": _annotation_layouts,
        "backends": _backends,
        "measures": _measures,
        "mitigations": _mitigations,
        "features": _features,
        "heads": _heads,
        "translators": _translators,
    }
)
"""What a ``$name`` in a help text is replaced by."""


class _Names(Mapping[str, str]):
    def __getitem__(self, name: str) -> str:
        return ", ".join(REGISTERED[name]())

    def __iter__(self) -> Iterable[str]:  # type: ignore[override] # never used, but a mapping has it
        return iter(REGISTERED)

    def __len__(self) -> int:
        return len(REGISTERED)


def filled(text: str) -> str:
    """A help text with the names in the place of ``$instruments`` and the like."""
    return Template(text).safe_substitute(_Names()) if "$" in text else text


class CommandWithNames(TyperCommand):
    """A command whose help names what is registered."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill the names in, then show the help as ever."""
        if self.help:
            self.help = filled(self.help)
        for parameter in self.params:
            text = getattr(parameter, "help", None)
            if text:
                parameter.help = filled(text)  # type: ignore[attr-defined] # options and Typer's arguments have one
        super().format_help(ctx, formatter)
