"""Draw learning curves and the frontier of bias against quality from ``comparison.json``.

python examples/novels/plot_comparison.py comparison.json --out novels.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import altair as alt

EXPERIMENT = "he-she"


def rows(comparison: dict[str, Any]) -> list[dict[str, Any]]:
    """One row an epoch of a trial."""
    found = []
    for name, trial in comparison.items():
        original = trial["curve"][0]["perplexity"]
        found += [
            {
                "trial": name,
                "method": trial["method"],
                "epoch": judgement["epoch"],
                "MALoR": judgement["malor"][EXPERIMENT],
                "perplexity": 100 * (judgement["perplexity"] / original - 1),
            }
            for judgement in trial["curve"]
        ]
    return found


def chart(comparison: dict[str, Any]) -> Any:
    """Learning curves beside the frontier."""
    shared = alt.Chart(alt.InlineData(values=rows(comparison))).encode(
        color=alt.Color("trial:N", title=None, legend=alt.Legend(orient="bottom", columns=2, labelLimit=300)),
        shape=alt.Shape("method:N", title=None, legend=None),
    )
    malor = alt.Y("MALoR:Q", title=f"MALoR {EXPERIMENT} in bits; 0 is neutral", scale=alt.Scale(domainMin=0))
    curves = shared.mark_line(point=True).encode(x=alt.X("epoch:Q", axis=alt.Axis(tickMinStep=1)), y=malor)
    frontier = shared.mark_line(point=True).encode(
        x=alt.X("perplexity:Q", title="change of held-out perplexity in percent"), y=malor, order="epoch:Q"
    )
    size = {"width": 330, "height": 280}
    return alt.hconcat(
        curves.properties(title="Learning curves", **size),
        frontier.properties(title="Bias against quality, an epoch a point", **size),
    ).configure(background="white")


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
