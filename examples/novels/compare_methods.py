"""Mitigate the BERT of the novels both ways, mildly and strongly, certify two of them, and write down how it went.

    python examples/novels/compare_methods.py --folder runs/novels --crows-pairs crows_pairs.csv --sst2 sst2/

Needs what ``train_bert.py`` left in the folder. Each training becomes a model folder in ``mitigated/`` and a file in
``trials/``; ``comparison.json`` has them all. Then two of the models are certified. Stopped and started again, it goes
on where it was. ``--at-once 6`` runs six side by side, if the GPU has room for them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.core.experiments import TRAINED_EXPERIMENTS
from evenhand.core.recipes import Precision, Recipe
from evenhand.data.probes import load_probes
from evenhand.mitigation.counterfactual import COUNTERFACTUAL, CounterfactualOptions
from evenhand.mitigation.equalising.equalise import EQUALISE, EqualiseOptions
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigationData
from evenhand.mitigation.texts import text_sources
from evenhand.mitigation.training_mitigation import TrainingOptions
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import LearningCurve

MARGIN = 0.01
"""By how much the perplexity of held-out sentences may rise."""

REPLAYED = 1_024
"""Hidden tokens of ordinary sentences that go with a batch of gaps: half of the default, for two cores."""


@dataclass(frozen=True)
class Trial:
    """One training of all experiments, named after what sets it apart."""

    name: str
    method: str
    options: TrainingOptions


def equalising(balance: float, *, seed: int = 0) -> Trial:
    """The balance says how much evening out counts."""
    recipe = _recipe(EQUALISE.recipe, epochs=4, seed=seed)
    options = EqualiseOptions(balances=(balance,), replayed=REPLAYED, recipe=recipe)
    return Trial(_name("equalise", balance, seed), "equalise", options)


def pretraining(rate: float, *, seed: int = 0) -> Trial:
    """Continued pre-training on pairs; the learning rate says how far the model goes."""
    recipe = _recipe(COUNTERFACTUAL.recipe, epochs=10, seed=seed, learning_rate=rate)
    return Trial(_name("counterfactual", rate, seed), "counterfactual", CounterfactualOptions(recipe=recipe))


def _recipe(usual: Recipe, **changes: float) -> Recipe:
    """Without an early end, and in bf16 on any device, so that two cores suffice."""
    same = {"plateau": None, "quality_margin": MARGIN, "precision": Precision.BF16}
    return usual.model_copy(update={**same, **changes})


def _name(method: str, strength: float, seed: int) -> str:
    return f"{method}-{strength:g}" + (f"-seed-{seed}" if seed else "")


TRIALS = (
    equalising(0.5),
    pretraining(2e-5),
    pretraining(1e-4),
    equalising(0.5, seed=1),
)
"""Those that are certified come first."""

CERTIFIED = ("equalise-0.5", "counterfactual-2e-05")

EXPECTED = (0, 5)
"""Exit codes: a certificate of lost quality is a result too."""


def main() -> None:
    """Every trial that is not done yet, then the certificates."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--crows-pairs", type=Path)
    parser.add_argument("--sst2", type=Path)
    parser.add_argument("--at-once", type=int, default=1, help="trials that run side by side")
    parser.add_argument("--trial", choices=[trial.name for trial in TRIALS], help="one trial alone")
    chosen = parser.parse_args()
    folder: Path = chosen.folder
    (folder / "trials").mkdir(exist_ok=True)
    if chosen.trial:
        trial = next(trial for trial in TRIALS if trial.name == chosen.trial)
        write(folder / "trials" / f"{trial.name}.json", run(trial, folder))
        return

    def finish(trial: Trial) -> None:
        in_a_process([__file__, "--folder", folder, "--trial", trial.name])
        if trial.name in CERTIFIED:
            certify(folder, trial.name, crows_pairs=chosen.crows_pairs, sst2=chosen.sst2)

    with ThreadPoolExecutor(chosen.at_once) as pool:
        done = [pool.submit(finish, trial) for trial in TRIALS]
    for future in done:
        future.result()
    results = {
        trial.name: json.loads((folder / "trials" / f"{trial.name}.json").read_text(encoding="utf-8"))
        for trial in TRIALS
    }
    write(folder / "comparison.json", results)


def certify(folder: Path, name: str, *, crows_pairs: Path | None, sst2: Path | None) -> None:
    """Certify a model against the original."""
    further: list[object] = [] if crows_pairs is None else ["--crows-pairs", crows_pairs]
    if sst2 is not None:
        further += [
            "--labelled",
            sst2,
            "--finetune-steps",
            250,
            "--finetune-rate",
            2e-4,
            "--finetune-seeds",
            3,
        ]
    in_a_process(
        [
            "-m", "evenhand", "certify", folder / "bert", folder / "mitigated" / name,
            "--held-out", folder / "held_out.txt", "--corpus", folder / "train.txt", "--sentences", 3000,
            "--language", "en", "--out", folder / f"certificate-{name}.html", *further,
        ]
    )  # fmt: skip


def in_a_process(words: Sequence[object]) -> None:
    """Run Python, and stop if it does not end as expected."""
    command = [sys.executable, *map(str, words)]
    print(*command[1:], flush=True)
    code = subprocess.run(command, check=False).returncode
    if code not in EXPECTED:
        raise SystemExit(f"{' '.join(command[1:])} ended with {code}.")


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
        experiments=TRAINED_EXPERIMENTS,
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
        "before": {key: estimate.model_dump(mode="json") for key, estimate in record.before.items()},
        "keeps_quality": record.chosen.keeps_quality,
    }


if __name__ == "__main__":
    main()
