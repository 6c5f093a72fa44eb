"""How often the ordinal mixed model of regard is right: studies that are simulated from the model itself.

python benchmarks/ordinal_coverage.py [--studies 400] [--seed 1] [--page docs/regard-analysis.md]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special
from simulation_tables import print_simulation

from evenhand.stats.ordinal import fit_ordinal
from evenhand.stats.resampling import Floats

SIDES = np.array([0.5, -0.5])
THRESHOLDS = np.array([-0.7, 0.9])

WORLDS = ((0.0, 0.4), (0.0, 0.0), (0.6, 0.4))
"""The effect, and the standard deviation of the gaps of contexts."""


def planted_labels(
    generator: np.random.Generator,
    *,
    contexts: int = 10,
    texts: int = 60,
    effect: float = 0.0,
    deviations: tuple[float, float] = (0.5, 0.4),
) -> Floats:
    """Texts by context, group and label, drawn from the model itself."""
    intercepts, slopes = (generator.normal(0, own, (contexts, 1)) for own in deviations)
    below = special.expit(THRESHOLDS - (SIDES * (effect + slopes) + intercepts)[..., None])
    shares = np.diff(below, prepend=0.0, append=1.0)
    return generator.multinomial(texts, shares).astype(float)


def table(studies: int, seed: int) -> Iterator[str]:
    """The table as Markdown, row by row."""
    yield "| effect | gaps of contexts, standard deviation | p below 5% | intervals that hold the effect |"
    yield "|---|---|---|---|"
    for place, (effect, deviation) in enumerate(WORLDS):
        generator = np.random.default_rng([seed, place])
        fits = [
            fit_ordinal(planted_labels(generator, effect=effect, deviations=(0.5, deviation)))
            for _ in range(studies)
        ]
        alarms = np.mean([own.p_value < 0.05 for own in fits])
        held = np.mean([own.interval(0.95)[0] <= effect <= own.interval(0.95)[1] for own in fits])
        yield f"| {effect:g} | {deviation:g} | {100 * alarms:.1f}% | {100 * held:.1f}% |"


if __name__ == "__main__":
    print_simulation(table, description=__doc__, marker="ordinal", studies=400)
