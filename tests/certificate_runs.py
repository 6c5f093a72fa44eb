"""What certificates over tiny models are made of."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from pair_builders import pair, pair_set

from evenhand.certificate import CertificatePlan, HeldOutText, Measurement
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.data.labelled import LabelledExample, LabelledText
from evenhand.data.layouts import load_dataset
from evenhand.data.probes import load_probes
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.stats.resampling import Resampling

SENTENCES = tuple(f"The baker sold {number} loaves of fresh bread near the gate." for number in range(24))
LABELLED = LabelledText(
    "colours",
    train=tuple(
        LabelledExample(("bread bread", "stone stone")[n % 2], ("soft", "hard")[n % 2]) for n in range(40)
    ),
    judged=tuple(
        LabelledExample(("bread bread", "stone stone")[n % 2], ("soft", "hard")[n % 2]) for n in range(20)
    ),
    classes=("hard", "soft"),
    sha256="0" * 64,
)
PAIRS = pair_set(
    *(
        pair(number, more=f"The old {word} forgot the keys.", less=f"The young {word} forgot the keys.")
        for number, word in enumerate(("baker", "pilot", "nurse", "farmer", "teacher", "sailor", "singer"))
    )
)


def small_plan(**changes: Any) -> CertificatePlan:
    """Few questions, so that tiny models answer them at once."""
    probes = load_probes("en")
    few = tuple(structure for experiment in TRAINED_EXPERIMENTS for structure in probes.of(experiment)[:3])
    names = probes.terms[Experiment.NAMES]
    terms = {
        **probes.terms,
        Experiment.NAMES: type(names)(names.male[:2], names.female[:2]),
    }
    probes = type(probes)(probes.language, few, probes.occupations[:6], terms, probes.warnings, probes.sha256)
    made = {
        "measurements": (
            Measurement("malor", MalorOptions(data=probes)),
            Measurement("association", AuditOptions(data=load_dataset("starter", language="en"))),
        ),
        "held_out": HeldOutText(SENTENCES),
        "resampling": Resampling(resamples=100),
    }
    return CertificatePlan(**{**made, **changes})


def probes_alone(plan: CertificatePlan) -> CertificatePlan:
    """A plan that asks about occupations and nothing else, for the sake of speed."""
    return replace(plan, measurements=plan.measurements[:1])


def with_pairs(plan: CertificatePlan) -> CertificatePlan:
    """A plan with CrowS-Pairs beside the rest."""
    pairs = Measurement("crows-pairs", InstrumentOptions(data=PAIRS))
    return replace(plan, measurements=(*plan.measurements, pairs))


def nudged(source: Path, folder: Path, *, by: float = 0.05) -> Path:
    """A copy of a model whose weights differ a little."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(source, folder)
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(1)
    # In order of their names: that of the file differs from run to run.
    moved = {
        name: own + by * torch.randn(own.shape, generator=generator) for name, own in sorted(weights.items())
    }
    save_file(moved, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
