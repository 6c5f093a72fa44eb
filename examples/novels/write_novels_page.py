"""Put what ``compare_methods.py`` found into ``docs/novels.md``, and draw its picture.

    python examples/novels/write_novels_page.py --folder runs/novels

The page's prose is written by hand; tables stand between markers and are replaced. ``results.json`` beside this file
keeps the figures that the page shows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from compare_methods import CERTIFIED
from plot_comparison import chart

from evenhand.reporting.certificate.bias_words import MOVES
from evenhand.reporting.numbers import unsigned
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_files import read_against_runs
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.certificates import Certificate
from evenhand.store.mitigation_records import BASE_RATE, MALOR, PERPLEXITY, SPREAD, EpochMetrics

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_sections import replace_section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "novels.md"
PICTURE = ROOT / "docs" / "images" / "novels.png"
RESULTS = Path(__file__).with_name("results.json")

Trial = Mapping[str, Any]
METHODS = {
    "equalise": ("equalising", "balance", "weight"),
    "counterfactual": ("twins", "rate", "learning_rate"),
}
PARTS = {MALOR: "MALoR", BASE_RATE: "base rate", SPREAD: "spread"}


def signed(value: float, digits: int = 2) -> str:
    """With a true minus."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the header."""
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([lines[0], f"|{'---|' * len(rows[0])}", *lines[1:]])


def before_table(results: Mapping[str, Trial]) -> str:
    """MALoR of the original and its parts, over the probes that a training may see."""
    trial = next(iter(results.values()))
    rows = [["in bits", *trial["experiments"]]]
    for part, title in PARTS.items():
        estimates = [trial["before"][f"{experiment}.{part}"] for experiment in trial["experiments"]]
        rows.append(
            [
                title,
                *(
                    f"{unsigned(own['value'])} [{unsigned(own['low'])}, {unsigned(own['high'])}]"
                    for own in estimates
                ),
            ]
        )
    return table(rows)


def _kept(trial: Trial) -> tuple[EpochMetrics, EpochMetrics]:
    return tuple(EpochMetrics.model_validate(own) for own in (trial["curve"][0], trial["best"]))  # type: ignore[return-value]


def _lean(trial: Trial, experiment: str) -> str:
    original, kept = _kept(trial)
    value, first = (metrics.bias[f"{experiment}.{MALOR}"] for metrics in (kept, original))
    base, spread = (kept.parts[f"{experiment}.{part}"] for part in (BASE_RATE, SPREAD))
    return f"{value:.3f} ({signed(100 * (value / first - 1), 0)}%): {signed(base)}, {spread:.2f}"


def _perplexity(trial: Trial) -> float:
    original, kept = _kept(trial)
    return 100 * (kept.quality[PERPLEXITY] / original.quality[PERPLEXITY] - 1)


def _strength(trial: Trial) -> str:
    _, name, setting = METHODS[trial["method"]]
    return f"{name} {trial['settings'][setting]:g}, seed {trial['seed']}"


def trials_table(results: Mapping[str, Trial]) -> str:
    """The kept epoch of every trial, and the mean where a setting has several seeds."""
    experiments = next(iter(results.values()))["experiments"]
    rows = [
        [
            "method",
            "strength",
            "kept epoch",
            *(f"{name}, MALoR: base rate, spread" for name in experiments),
            "perplexity",
        ]
    ]
    for method, (title, _, setting) in METHODS.items():
        trials = sorted(
            (trial for trial in results.values() if trial["method"] == method),
            key=lambda trial: (trial["settings"][setting], trial["seed"]),
        )
        for trial in trials:
            best = trial["best"]["epoch"]
            within = "" if trial["keeps_quality"] else ", not within the margin"
            rows.append(
                [
                    title,
                    _strength(trial),
                    f"{best} of {len(trial['curve']) - 1}{within}",
                    *(_lean(trial, name) for name in experiments),
                    f"{signed(_perplexity(trial))}%",
                ]
            )
        rows += _means(title, trials, experiments)
    return table(rows)


def _means(title: str, trials: Sequence[Trial], experiments: Sequence[str]) -> Iterator[list[str]]:
    strengths: dict[str, list[Trial]] = {}
    for trial in trials:
        strengths.setdefault(_strength(trial).partition(", seed")[0], []).append(trial)
    for strength, own in strengths.items():
        if len(own) > 1:
            leans = [[_kept(trial)[1].bias[f"{name}.{MALOR}"] for trial in own] for name in experiments]
            losses = [_perplexity(trial) for trial in own]
            yield [
                title,
                f"{strength}, mean ± deviation",
                "",
                *(f"{fmean(values):.3f} ± {stdev(values):.3f}" for values in leans),
                f"{signed(fmean(losses))} ± {stdev(losses):.2f}%",
            ]


def _bias_cell(row: BiasRow) -> str:
    if math.isnan(row.difference.low):
        return f"{unsigned(row.before)} → {unsigned(row.after)}, no interval: {row.difference.reason}"
    low, high = (signed(bound) for bound in (row.difference.low, row.difference.high))
    return f"{unsigned(row.before)} → {unsigned(row.after)}, {low} to {high}: {MOVES[row.movement]}"


def _quality_cell(row: QualityRow) -> str:
    if row.reason:
        return f"not measured: {row.reason}"
    low, high = (signed(bound) for bound in (row.difference.low, row.difference.high))
    return f"{unsigned(row.before)} → {unsigned(row.after)}, {low} to {high}: {row.verdict.value}"


def certificates_table(certificates: Mapping[str, Certificate]) -> str:
    """Every measure of both, before and after, with the interval of the difference."""
    cells: dict[str, dict[str, str]] = {}
    for name, certificate in certificates.items():
        for row in (*certificate.trained, *certificate.untrained):
            cells.setdefault(row.measure, {})[name] = _bias_cell(row)
        for quality in certificate.quality:
            cells.setdefault(quality.measure, {})[name] = _quality_cell(quality)
    rows = [["measure", *certificates]]
    rows += [[measure, *(own.get(name, "–") for name in certificates)] for measure, own in cells.items()]
    return table(rows)


def certificates_words(certificates: Mapping[str, Certificate]) -> str:
    """What each says in sentences, its trivial baseline among them."""
    return "\n\n".join(
        "\n".join([f"**{name}**", "", *(f"- {sentence}" for sentence in certificate.words)])
        for name, certificate in certificates.items()
    )


def main() -> None:
    """Write page, picture and results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args()
    results = json.loads((chosen.folder / "comparison.json").read_text(encoding="utf-8"))
    certificates = {name: read_against_runs(chosen.folder / f"certificate-{name}.json") for name in CERTIFIED}
    text = chosen.page.read_text(encoding="utf-8")
    for name, content in (
        ("before", before_table(results)),
        ("trials", trials_table(results)),
        ("certificates", certificates_table(certificates)),
        ("verdicts", certificates_words(certificates)),
    ):
        text = replace_section(text, name, content)
    chosen.page.write_text(text, encoding="utf-8")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    chart(results).save(PICTURE, scale_factor=1.5)


if __name__ == "__main__":
    main()
