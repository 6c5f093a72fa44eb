"""Tables that are made from the package itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Any

import evenhand as eh
from evenhand.core.planted_bias import ProbePart
from evenhand.core.protocols import SentenceScoring
from evenhand.data.datasets import bundled_calibration
from evenhand.data.defects import DEFECT_CLASSES
from evenhand.data.pair_inspection import PAIR_DEFECT_CLASSES
from evenhand.store.calibration import MeasureCalibration


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """A Markdown table, with the named columns aligned to the right."""
    rules = ["---:" if name in right else "---" for name in header]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rules, *escaped))


def pair_defects_table() -> str:
    """Every class of defects of sentence pairs that the data check knows."""
    return markdown_table(
        ["defect", "flagged", "what it is"],
        [
            [
                f"`{defect.name}`",
                "yes" if defect.flagged else "no",
                defect.description
                + (f" (checked in {', '.join(defect.languages)})" if defect.languages else ""),
            ]
            for defect in PAIR_DEFECT_CLASSES
        ],
    )


def defects_table() -> str:
    """Every class of defects that the data check knows."""
    return markdown_table(
        ["defect", "task", "counted in", "flagged", "what it is"],
        [
            [
                f"`{defect.name}`",
                "both" if len(defect.tasks) > 1 else defect.tasks[0].value,
                defect.unit.value,
                "yes" if defect.flagged else "no",
                defect.description
                + (f" (checked in {', '.join(defect.languages)})" if defect.languages else ""),
            ]
            for defect in DEFECT_CLASSES
        ],
    )


_SENTENCES = {
    SentenceScoring.OWN_SENTENCE: "the candidate's own",
    SentenceScoring.AS_STEREOSET: "the candidate's own, first token apart",
    SentenceScoring.FILLED_CONTEXT: "the filled context",
}


def protocols_table() -> str:
    """What the protocols do differently."""
    return markdown_table(
        [
            "protocol",
            "whole sentences",
            "equal scores count as",
            "LMS stands for",
            "SS stands for",
            "ICAT stands for",
        ],
        [
            [
                f"`{protocol.name}`",
                _SENTENCES[protocol.sentences],
                "half a preference each way" if protocol.ties.credit else "no preference",
                *(f"`{protocol.headline[name]}`" for name in ("LMS", "SS", "ICAT")),
            ]
            for protocol in eh.PROTOCOLS.values()
        ],
    )


def public_names_table() -> str:
    """Everything in ``evenhand.__all__``: constants, classes, functions."""
    names = sorted(dir(eh), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    return markdown_table(
        ["name", "what it is"],
        [[f"`{_call(name, getattr(eh, name))}`", _summary(name, getattr(eh, name))] for name in names],
    )


_CONSTANTS = {
    "MEASURES": "Every measure by name; a measure computes, and carries its own documentation.",
    "PROTOCOLS": "Every protocol by name.",
}


def _call(name: str, value: Any) -> str:
    if inspect.isclass(value) or not callable(value):
        return name
    parameters = inspect.signature(value).parameters.values()
    shown: list[str] = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(parameter.name)
    return f"{name}({', '.join(shown)})"


def _summary(name: str, value: Any) -> str:
    text = _CONSTANTS.get(name) or inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split())


HELD_OUT_DOSE = 2.0
"""Bits, of the table of held-out probes."""


def held_out_probes_table() -> str:
    """MALoR on what was taught and on what was not, by family and experiment; the mean over models of a calibration."""
    parts = list(ProbePart)
    if not _has_held_out_parts():
        return _OF_AN_EARLIER_LAB
    return markdown_table(
        ["family", "experiment", *parts],
        [
            [
                family,
                experiment,
                *(_shown_mean(own[part], HELD_OUT_DOSE) if part in own else "–" for part in parts),
            ]
            for (family, experiment), own in _malor_by_part().items()
        ],
        right=parts,
    )


def neutral_probes_table() -> str:
    """MALoR of the calibration's neutral models on what they were taught."""
    if not _has_held_out_parts():
        return _OF_AN_EARLIER_LAB
    rows = []
    for (family, experiment), own in _malor_by_part().items():
        readings = [point.estimate for point in own[ProbePart.TAUGHT].points if point.strength == 0]
        largest = max(estimate.value for estimate in readings)
        above = sum(estimate.low > 0 for estimate in readings)
        rows.append([family, experiment, f"{largest:.3f}", f"{above} of {len(readings)}"])
    return markdown_table(
        ["family", "experiment", "largest reading", "intervals above 0"],
        rows,
        right=["largest reading", "intervals above 0"],
    )


_OF_AN_EARLIER_LAB = markdown_table(
    ["MALoR"], [["not known: the calibration that ships is of an earlier lab"]]
)


def _has_held_out_parts() -> bool:
    return any(len(own) > 1 for own in _malor_by_part().values())


def _malor_by_part() -> dict[tuple[str, str], dict[ProbePart, MeasureCalibration]]:
    found: dict[tuple[str, str], dict[ProbePart, MeasureCalibration]] = {}
    for entry in bundled_calibration().measures:
        if entry.measure == "MALoR":
            found.setdefault((entry.family, entry.task), {})[entry.part] = entry
    return found


def _shown_mean(entry: MeasureCalibration, strength: float) -> str:
    return f"{fmean(point.estimate.value for point in entry.points if point.strength == strength):.2f}"


TABLES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "defects": defects_table,
        "held-out probes": held_out_probes_table,
        "neutral probes": neutral_probes_table,
        "pair defects": pair_defects_table,
        "protocols": protocols_table,
        "public names": public_names_table,
    }
)
