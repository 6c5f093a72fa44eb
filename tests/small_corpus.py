"""A few occupations, structures and names, and sentences with known twins, for tests of counterfactual data."""

from __future__ import annotations

from pathlib import Path

from plain_swapper import PlainSwapper

from evenhand.core.experiments import Experiment
from evenhand.core.probes import Occupation, OccupationForm, ProbeSet, Structure, TermPairs
from evenhand.mitigation.pairs.building import PairOptions

NAMES = TermPairs(("James", "Robert", "Michael"), ("Mary", "Patricia", "Jennifer"))

PROBES = ProbeSet(
    language="en",
    structures=(
        Structure(Experiment.HE_SHE, 1, "[MASK] is our [OCC]."),
        Structure(Experiment.HIS_HER, 1, "This is [MASK] work as [OCC]."),
        Structure(Experiment.NAMES, 1, "Our [OCC] is [MASK]."),
    ),
    occupations=tuple(
        Occupation(name, None, (OccupationForm(name),)) for name in ("doctor", "nurse", "police officer")
    ),
    terms={
        Experiment.HE_SHE: TermPairs(("he",), ("she",)),
        Experiment.HIS_HER: TermPairs(("his",), ("hers",)),
        Experiment.NAMES: NAMES,
    },
    warnings=(),
    sha256="of these probes",
)

TEXTS = {
    "a.txt": [
        "He was a doctor.",
        "she  was a Doctor.",  # the occupation has a capital that makes a name of it
        "She was a nurse and he her doctor.",
        "HE was a doctor.",
        "The doctor met the nurse.",
        "He slept.",
        "The nurse said it was theirs.",
        "Our dad is his own doctor.",
    ],
    "b.txt": [
        "She was a doctor.",
        "He is our nurse.",
        "This is hers work as police officer.",
        "Our mom is hers own doctor.",
        "James saw the nurse.",
        "Mary saw him, the police officer.",
        "James, Robert and the doctor met.",
        "Patricia saw the nurse.",
    ],
    "c.txt": ["He was a\tdoctor.", "Nobody came."],
}
"""Sentences by file. Each is a line of its own."""


def write_corpus(folder: Path) -> list[Path]:
    """The files of ``TEXTS``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, lines in TEXTS.items():
        paths.append(folder / name)
        paths[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def options(**changes: object) -> PairOptions:
    """The small probes with the plain swapper."""
    return PairOptions(**{"probes": PROBES, "make_swapper": PlainSwapper, **changes})  # type: ignore[arg-type]
