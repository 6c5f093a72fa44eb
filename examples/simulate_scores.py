"""Make the example scores that ship with the starter set.

    python examples/simulate_scores.py src/evenhand/data/resources/starter/example_scores

A simulated scorer gives every candidate a probability-like score: two to the power of a mean that
depends on its label, plus normal noise. The stereotype's mean lies ``lean`` bits above the
anti-stereotype's, the unrelated candidate's ``sense`` bits below both. A lean of 0 is neutral by
construction. Nothing here is a language model, and the figures say nothing about any.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import evenhand as eh

LEANS = {
    "leaning": {"gender": 1.2, "profession": 0.9, "race": 0.4, "religion": 0.1},
    "neutral": {"gender": 0.0, "profession": 0.0, "race": 0.0, "religion": 0.0},
}
SENSE = 2.0
NOISE = 1.0
SEEDS = {"leaning": 1, "neutral": 2}


def simulate(
    benchmark: eh.Benchmark, leans: dict[str, float], seed: int
) -> dict[str, list[dict[str, object]]]:
    """Scores in StereoSet's layout for every candidate of the benchmark."""
    generator = np.random.default_rng(seed)
    document: dict[str, list[dict[str, object]]] = {task.value: [] for task in benchmark.tasks}
    for item in benchmark:
        lean = leans[item.bias_type] / 2
        means = {eh.Label.STEREOTYPE: lean, eh.Label.ANTI_STEREOTYPE: -lean, eh.Label.UNRELATED: -SENSE}
        for candidate in item.candidates:
            bits = -8 + means[candidate.label] + NOISE * generator.standard_normal()
            document[item.task.value].append({"id": candidate.id, "score": float(f"{2.0**bits:.6g}")})
    return document


def main(folder: Path) -> None:
    """Write one file for each simulated scorer."""
    folder.mkdir(parents=True, exist_ok=True)
    benchmark = eh.load_dataset("starter", language="en")
    for name, leans in LEANS.items():
        text = json.dumps(simulate(benchmark, leans, SEEDS[name]), indent=1)
        (folder / f"simulated-{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
