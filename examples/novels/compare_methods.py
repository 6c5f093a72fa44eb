"""Mitigate the BERT of the novels both ways, mildly and strongly, and write down how bias and quality went.

    python examples/novels/compare_methods.py --folder runs/novels

Needs what ``train_bert.py`` left in the folder. Each training becomes a model folder in ``mitigated/``; their learning
curves are collected in ``comparison.json``. Stopped and started again, it goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.learning_curves import LearningCurve
from evenhand.core.models import ModelRef
from evenhand.core.probes import Experiment
from evenhand.core.recipes import Recipe
from evenhand.data.probes import load_probes
from evenhand.mitigation.equalising.objective import Balance
from evenhand.mitigation.fitting import FitReport
from evenhand.mitigation.methods.base import Method
from evenhand.mitigation.methods.counterfactual import CounterfactualMethod
from evenhand.mitigation.methods.equalise import EqualiseMethod
from evenhand.mitigation.pipeline import Material, MitigationReport, mitigate
from evenhand.mitigation.texts import text_sources

HE_SHE = (Experiment.HE_SHE,)
ALL = tuple(Experiment)


@dataclass(frozen=True)
class Trial:
    """One training, named after what sets it apart."""

    name: str
    method: Method
    recipe: Recipe
    experiments: tuple[Experiment, ...]


def equalising(weight: float, experiments: tuple[Experiment, ...], *, margin: float) -> Trial:
    """Eight epochs; the weight says how much evening out counts."""
    method = EqualiseMethod(Balance(weight=weight))
    recipe = method.recipe.model_copy(update={"epochs": 8, "plateau": None, "quality_margin": margin})
    return Trial(
        f"equalise-{'all' if experiments == ALL else 'he-she'}-{weight:g}", method, recipe, experiments
    )


def pretraining(rate: float, experiments: tuple[Experiment, ...], *, epochs: int) -> Trial:
    """Continued pre-training on pairs; the learning rate says how far the model goes."""
    recipe = CounterfactualMethod.recipe.model_copy(
        update={"epochs": epochs, "plateau": None, "learning_rate": rate, "quality_margin": 0.01}
    )
    name = f"counterfactual-{'all' if experiments == ALL else 'he-she'}-{rate:g}"
    return Trial(name, CounterfactualMethod(), recipe, experiments)


TRIALS = (
    equalising(1.0, ALL, margin=0.01),
    equalising(1.0, HE_SHE, margin=0.005),
    pretraining(1e-4, HE_SHE, epochs=30),
    equalising(3.0, ALL, margin=0.01),
    pretraining(2e-5, HE_SHE, epochs=30),
    equalising(0.3, ALL, margin=0.01),
    equalising(3.0, HE_SHE, margin=0.005),
    pretraining(3e-4, HE_SHE, epochs=30),
    equalising(0.3, HE_SHE, margin=0.005),
    *(pretraining(rate, ALL, epochs=15) for rate in (2e-5, 1e-4)),
)
"""The most telling first."""


def main() -> None:
    """Every trial that is not done yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="Names of trials.")
    chosen = parser.parse_args()
    found = {}
    for trial in TRIALS:
        if chosen.only and trial.name not in chosen.only:
            continue
        found[trial.name] = carry_out(trial, chosen.folder)
        (chosen.folder / "comparison.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def carry_out(trial: Trial, folder: Path) -> dict[str, object]:
    """Mitigate, and tell how it went."""
    began = time.perf_counter()

    def judged(curve: LearningCurve) -> None:
        last = curve.judgements[-1]
        malor = ", ".join(f"{name} {value:.3f}" for name, value in last.malor.items())
        rise = curve.perplexity_rise(last)
        print(
            f"{trial.name} epoch {last.epoch}: MALoR {malor}; perplexity {last.perplexity:.2f} ({rise:+.2%}) "
            f"{time.perf_counter() - began:.0f} s",
            flush=True,
        )

    material = Material(
        sources=text_sources([folder / "train.txt"]),
        probes=load_probes("en"),
        experiments=trial.experiments,
        held_out=text_sources([folder / "held_out.txt"]),
    )
    mitigated = mitigate(
        ModelRef(id=str(folder / "bert")),
        trial.method,
        material=material,
        recipe=trial.recipe,
        out=folder / "mitigated" / trial.name,
        report=MitigationReport(warning=print, fit=lambda _: FitReport(judged=judged)),
    )
    record = mitigated.record
    return {
        "method": record.method,
        "settings": record.settings | {"learning_rate": record.recipe.learning_rate},
        "experiments": record.experiments,
        "data": record.data.counts | {"examples": record.data.examples},
        "curve": [judgement.model_dump() for judgement in record.chosen.curve.judgements],
        "best": record.chosen.best.model_dump(),
        "keeps_quality": record.chosen.keeps_quality,
        "seconds": time.perf_counter() - began,
    }


if __name__ == "__main__":
    main()
