"""The bias of a model after an epoch as text: each figure, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping

_PARTS = {"base rate": "signed_mean", "spread": "spread"}
"""The parts of MALoR by what they are called, as keys of metrics end with them."""


def bias_figures(bias: Mapping[str, float], parts: Mapping[str, float]) -> list[str]:
    """The figures of each measure behind its name, each with its parts."""
    measures: dict[str, list[str]] = {}
    for key, value in bias.items():
        group, _, measure = key.rpartition(".")
        figure = f"{group.replace('.', ' ')} {value:.3f}".strip()
        measures.setdefault(measure, []).append(figure + _parts_of(group, parts))
    return [f"{measure} {', '.join(values)}" for measure, values in measures.items()]


def _parts_of(group: str, parts: Mapping[str, float]) -> str:
    keys = {name: f"{group}.{key}" for name, key in _PARTS.items()}
    own = [f"{name} {parts[key]:.3f}" for name, key in keys.items() if key in parts]
    return f" ({', '.join(own)})" if own else ""
