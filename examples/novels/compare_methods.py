"""Mitigate the BERT of the novels both ways, mildly and strongly, and write down how bias and quality went.

    python examples/novels/compare_methods.py --folder runs/novels

Needs what ``train_bert.py`` left in the folder. Each training becomes a model folder in ``mitigated/`` and a file in
``trials/``; ``comparison.json`` has them all. Stopped and started again, it goes on where it was. Several can run
side by side, each with other trials for ``--only``.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.data.probes import load_probes
from evenhand.mitigation.counterfactual import COUNTERFACTUAL, CounterfactualOptions
from evenhand.mitigation.equalising.equalise import EQUALISE, EqualiseOptions
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigationData
from evenhand.mitigation.texts import text_sources
from evenhand.mitigation.training_mitigation import TrainingOptions
from evenhand.models.references import ModelRef
from evenhand.runs.mitigation_records import LearningCurve

HE_SHE = (Experiment.HE_SHE,)
ALL = TRAINED_EXPERIMENTS


@dataclass(frozen=True)
class Trial:
    """One training, named after what sets it apart."""

    name: str
    method: str
    options: TrainingOptions
    experiments: tuple[Experiment, ...]


def equalising(weight: float, experiments: tuple[Experiment, ...], *, margin: float, seed: int = 0) -> Trial:
    """Eight epochs; the weight says how much evening out counts."""
    recipe = EQUALISE.recipe.model_copy(
        update={"epochs": 8, "plateau": None, "quality_margin": margin, "seed": seed}
    )
    options = EqualiseOptions(balances=(weight,), recipe=recipe)
    return Trial(_name("equalise", experiments, weight, seed), "equalise", options, experiments)


def pretraining(rate: float, experiments: tuple[Experiment, ...], *, epochs: int, seed: int = 0) -> Trial:
    """Continued pre-training on pairs; the learning rate says how far the model goes."""
    recipe = COUNTERFACTUAL.recipe.model_copy(
        update={
            "epochs": epochs,
            "plateau": None,
            "learning_rate": rate,
            "quality_margin": 0.01,
            "seed": seed,
        }
    )
    options = CounterfactualOptions(recipe=recipe)
    return Trial(_name("counterfactual", experiments, rate, seed), "counterfactual", options, experiments)


def _name(method: str, experiments: tuple[Experiment, ...], strength: float, seed: int) -> str:
    name = f"{method}-{'all' if experiments == ALL else 'he-she'}-{strength:g}"
    return f"{name}-seed-{seed}" if seed else name


TRIALS = (
    *(equalising(weight, ALL, margin=0.01, seed=seed) for weight in (0.5, 1.0) for seed in range(3)),
    *(equalising(weight, HE_SHE, margin=0.005, seed=seed) for weight in (0.3, 0.5, 1.0) for seed in range(3)),
    *(equalising(weight, HE_SHE, margin=0.005) for weight in (0.1, 3.0)),
    *(pretraining(rate, HE_SHE, epochs=50) for rate in (5e-6, 2e-5, 1e-4, 3e-4)),
    *(pretraining(rate, ALL, epochs=30) for rate in (2e-5, 1e-4)),
)


def main() -> None:
    """Every trial that is not done yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument(
        "--only", nargs="*", choices=[trial.name for trial in TRIALS], help="Names of trials."
    )
    chosen = parser.parse_args()
    trials = chosen.folder / "trials"
    trials.mkdir(exist_ok=True)
    for trial in TRIALS:
        if not chosen.only or trial.name in chosen.only:
            write(trials / f"{trial.name}.json", run(trial, chosen.folder))
    files = {trial.name: trials / f"{trial.name}.json" for trial in TRIALS}
    results = {
        name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.exists()
    }
    write(chosen.folder / "comparison.json", results)


def write(file: Path, results: dict[str, object]) -> None:
    """As JSON."""
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def run(trial: Trial, folder: Path) -> dict[str, object]:
    """Mitigate, and say how it went."""
    began = time.perf_counter()

    def on_epoch(_: int, curve: LearningCurve) -> None:
        print(f"{trial.name} {curve.describe_last()} {time.perf_counter() - began:.0f} s", flush=True)

    data = MitigationData(
        sources=text_sources([folder / "train.txt"]),
        probes=load_probes("en"),
        experiments=trial.experiments,
        held_out=text_sources([folder / "held_out.txt"]),
    )
    record = mitigate(
        ModelRef(id=str(folder / "bert")),
        trial.method,
        data=data,
        out=folder / "mitigated" / trial.name,
        options=replace(trial.options, on_epoch=on_epoch),
    ).record
    if record.chosen is None or record.recipe is None or record.data is None:
        raise SystemExit(f"{trial.name} trained nothing.")
    return {
        "method": record.method,
        "settings": record.settings | {"learning_rate": record.recipe.learning_rate},
        "seed": record.recipe.seed,
        "experiments": record.experiments,
        "data": record.data.counts | {"examples": record.data.examples},
        "curve": [metrics.model_dump() for metrics in record.chosen.curve.epochs],
        "best": record.chosen.best.model_dump(),
        "keeps_quality": record.chosen.keeps_quality,
        "seconds": time.perf_counter() - began,
    }


if __name__ == "__main__":
    main()
