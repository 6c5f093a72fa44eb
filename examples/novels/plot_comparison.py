"""Draw learning curves and the frontier of bias against quality from ``comparison.json``.

python examples/novels/plot_comparison.py comparison.json --out novels.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import altair as alt

from evenhand.store.mitigation_records import PERPLEXITY, EpochMetrics

MARGIN = 1.0
"""Percent of perplexity that the trials were allowed to lose."""

STRENGTHS = {
    "equalise": ("weight", "equalising, balance"),
    "counterfactual": ("learning_rate", "twins, rate"),
}
SHADES = {
    "equalise": ("#6baed6", "#08306b"),
    "counterfactual": ("#fdae6b", "#a63603"),
}
"""From mild to strong."""


def trials_by_strength(comparison: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Trials with the first seed, by method and strength, under the names that are shown."""
    chosen = [
        (trial["method"], trial["settings"][STRENGTHS[trial["method"]][0]], trial)
        for trial in comparison.values()
        if trial["seed"] == 0
    ]
    ordered = sorted(chosen, key=lambda trial: (trial[0] != "equalise", trial[1]))
    return {f"{STRENGTHS[method][1]} {strength:g}": trial for method, strength, trial in ordered}


def rows(trials: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per epoch of a trial."""
    points = []
    for name, trial in trials.items():
        curve = [EpochMetrics.model_validate(metrics) for metrics in trial["curve"]]
        original = curve[0].quality[PERPLEXITY]
        points += [
            {
                "trial": name,
                "epoch": metrics.epoch,
                "MALoR": fmean(metrics.bias.values()),
                "perplexity": 100 * (metrics.quality[PERPLEXITY] / original - 1),
            }
            for metrics in curve
        ]
    return points


def colours(trials: dict[str, dict[str, Any]]) -> list[str]:
    """A shade for each trial: one hue per method, darker where it is stronger."""
    shades = {method: iter(hues) for method, hues in SHADES.items()}
    return [next(shades[trial["method"]]) for trial in trials.values()]


def chart(comparison: dict[str, Any]) -> Any:
    """Learning curves beside the frontier."""
    trials = trials_by_strength(comparison)
    shared = alt.Chart(alt.InlineData(values=rows(trials))).encode(
        color=alt.Color(
            "trial:N",
            title=None,
            scale=alt.Scale(domain=list(trials), range=colours(trials)),
            legend=alt.Legend(orient="bottom", columns=5, labelLimit=300, symbolType="stroke"),
        )
    )
    malor = alt.Y(
        "MALoR:Q",
        title="MALoR in bits, mean of three experiments; 0 is neutral",
        scale=alt.Scale(domain=[0, 1.2]),
    )
    curves = shared.mark_line(strokeWidth=2).encode(x=alt.X("epoch:Q", title="epoch"), y=malor)
    places = shared.mark_point(size=26, filled=True, opacity=0.9).encode(
        x=alt.X(
            "perplexity:Q",
            title="change of held-out perplexity in percent (to the right: worse)",
            scale=alt.Scale(type="symlog", constant=1, domain=[-0.5, 100], nice=False),
            axis=alt.Axis(values=[0, 0.5, 1, 2, 5, 10, 20, 50, 100], labelExpr="datum.value"),
        ),
        y=malor,
    )
    margin = (
        alt.Chart(alt.InlineData(values=[{"margin": MARGIN}]))
        .mark_rule(strokeDash=[4, 3], color="#555")
        .encode(x="margin:Q")
    )
    size = {"width": 400, "height": 300}
    return (
        alt.hconcat(
            curves.properties(title="Learning curves", **size),
            (margin + places).properties(
                title=f"Bias against quality, one point per epoch; dashed: +{MARGIN:g}%", **size
            ),
        )
        .resolve_scale(color="shared")
        .configure(background="white")
    )


def main() -> None:
    """Write the image."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("comparison", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    chart(json.loads(chosen.comparison.read_text(encoding="utf-8"))).save(chosen.out, scale_factor=1.5)


if __name__ == "__main__":
    main()
