"""Put what ``study.py`` found into ``docs/real-model.md`` and its picture.

    python examples/real_model/write_page.py --folder runs/real-model

The page's prose is written by hand; tables and samples stand between markers and are replaced. ``results.json`` beside
this file keeps the figures that the page shows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl
from page_tables import (
    certificate_block,
    measured_table,
    models_table,
    samples_block,
    seeds_table,
    trained_rows,
    trainings_table,
)

from evenhand.certificate.bias import bias_rows
from evenhand.certificate.margins import Margins
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.measuring import FIGURES_FOLDER
from evenhand.certificate.quality_figures import accuracy_of_answers
from evenhand.reporting.certificate.baseline import baseline_rows, baseline_words
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import ALL_PROBES, HELD_OUT, BiasRow, Bounds
from evenhand.store.certificate_files import read_against_runs
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.certificate_seeds import SeedsComparison
from evenhand.store.jobs import Parts
from evenhand.store.mitigation_records import PERPLEXITY, PERPLEXITY_IN_PASSAGES, read_mitigation_record
from evenhand.store.run import open_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_sections import replace_section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "real-model.md"
PICTURE = ROOT / "docs" / "images" / "real-model.png"
RESULTS = Path(__file__).with_name("results.json")
CERTIFICATE = "certificate"
MALOR = "malor"
KNOWLEDGE = "knowledge"
JUDGED = 2_000
"""Sentences of SST-2 that classifiers are judged by."""
SHOWN = 12
"""Sentences that both models go on with."""
SHARE_NEUTRAL = 50.0
BEFORE, AFTER = "#b35806", "#2166ac"


def measured(folder: Path, rows: Sequence[BiasRow]) -> list[dict[str, Any]]:
    """The headline figures of every run before the mitigation, and MALoR over all probes from rows of bias."""
    runs = (open_run(path) for path in sorted((folder / "runs").iterdir()) if path.is_dir())
    figures = [
        (run.record.instrument, figure.key, figure.estimate.value, Bounds.of(figure.estimate))
        for run in runs
        if run.record.instrument != MALOR
        for figure in run.figures
        if figure.is_headline
    ]
    figures += [
        (MALOR, row.measure.removesuffix(f", {ALL_PROBES}"), row.before, row.before_interval)
        for row in rows
        if row.sample == ALL_PROBES and not row.untrained_pair
    ]
    return [
        {"instrument": instrument, "measure": measure, "value": value, "low": bounds.low, "high": bounds.high}
        for instrument, measure, value, bounds in figures
    ]


def trainings(folder: Path) -> list[dict[str, Any]]:
    """Every epoch of every training."""
    records = [read_mitigation_record(path) for path in sorted(folder.glob("even-*")) if path.is_dir()]
    return [
        {
            "balance": record.settings["weight"],
            "seed": training.seed,
            "epoch": metrics.epoch,
            "bias": dict(metrics.bias),
            "perplexity": metrics.quality[PERPLEXITY],
            "in_passages": metrics.quality[PERPLEXITY_IN_PASSAGES],
            "kept": metrics.epoch == training.best.epoch,
        }
        for record in records
        for training in record.seeds
        for metrics in training.curve.epochs
    ]


def measurements(folder: Path, role: str) -> Measurements:
    """The runs of one model."""
    runs = folder / CERTIFICATE / role
    return Measurements(
        {path.name: open_run(path) for path in sorted(runs.iterdir()) if path.name != FIGURES_FOLDER}, {}
    )


def compared_models(folder: Path, roles: Sequence[str]) -> list[list[BiasRow]]:
    """Every measure of bias, before and after, of each mitigated model."""
    before = measurements(folder, "before")
    return [
        [keyed.row for keyed in bias_rows(before, measurements(folder, role), resampling=Resampling())]
        for role in roles
    ]


def accuracy(folder: Path) -> QualityRow:
    """Of classifiers that start from the original and from the first mitigated model."""

    def answers(role: str) -> npt.NDArray[np.float64]:
        parts = Parts(folder / CERTIFICATE / role / FIGURES_FOLDER)
        found = [parts.get_array(key, (JUDGED,)) for key in parts if key.startswith("answers-")]
        return np.array(found)

    margin = -Margins().accuracy
    return accuracy_of_answers(answers("before"), answers("after"), margin=margin, confidence=0.95)


def certified(folder: Path) -> dict[str, Any]:
    """What the certificate of the first mitigated model says in sentences, and its trivial baseline."""
    certificate = read_against_runs(folder / f"{CERTIFICATE}.json")
    return {
        "words": list(certificate.words),
        "baseline_words": baseline_words(certificate),
        "baseline": [
            {
                "measure": row.reached.measure,
                "before": row.reached.before,
                "reached": row.reached.after,
                "mitigated": row.against.after,
                "low": row.against.difference.low,
                "high": row.against.difference.high,
                "outcome": row.outcome,
            }
            for row in baseline_rows(certificate)
        ],
    }


def samples(folder: Path) -> list[dict[str, str]]:
    """How the original and the first mitigated model go on with some sentences of the package."""
    tables = [
        pl.read_parquet(folder / CERTIFICATE / role / KNOWLEDGE / "scores.parquet")
        for role in ("before", "after")
    ]
    rows = [
        {
            "text": first["text"].partition("BLANK")[0],
            "before": first["continuation"],
            "after": second["continuation"],
        }
        for first, second in zip(*(table.iter_rows(named=True) for table in tables), strict=True)
        if not first["sentence"].startswith("text ") and first["continuation"] and second["continuation"]
    ]
    return [rows[place] for place in np.linspace(0, len(rows) - 1, SHOWN).round().astype(int)]


def collect(folder: Path) -> dict[str, Any]:
    """All figures of the page."""
    comparison = SeedsComparison.model_validate_json((folder / f"{CERTIFICATE}.seeds.json").read_bytes())
    roles = ["after", *(f"after-{number}" for number in range(2, len(comparison.after) + 1))]
    record = read_mitigation_record(next(path for path in folder.glob("even-*") if path.is_dir()))
    models = compared_models(folder, roles)
    return {
        "before": measured(folder, models[0]),
        "models": {
            Path(name).name: [row.model_dump(mode="json") for row in rows]
            for name, rows in zip(comparison.after, models, strict=True)
        },
        "seeds": comparison.model_dump(mode="json"),
        "accuracy": accuracy(folder).model_dump(mode="json"),
        "certificate": certified(folder),
        "trainings": trainings(folder),
        "recipe": record.recipe.model_dump(mode="json") if record.recipe else {},
        "data": record.data.counts if record.data else {},
        "samples": samples(folder),
    }


def picture(results: dict[str, Any]) -> Any:
    """MALoR before and after beside what was not trained on; every mitigated model is a mark of its own."""
    shares = [
        [row for row in map(BiasRow.model_validate, rows) if row.neutral == SHARE_NEUTRAL]
        for rows in results["models"].values()
    ]
    panels = [
        _panel(trained_rows(results, HELD_OUT), "Trained on: MALoR in bits", 0.0),
        _panel(shares, "Not trained on: shares in percent", SHARE_NEUTRAL),
    ]
    return (
        alt.vconcat(*panels, spacing=24)
        .resolve_scale(color="shared")
        .configure(background="white", font="sans-serif")
        .configure_view(stroke=None)
    )


def _panel(models: list[list[BiasRow]], title: str, neutral: float) -> Any:
    values = [
        {
            "measure": row.title,
            "model": name,
            "kind": kind,
            "value": value,
            "low": bounds.low,
            "high": bounds.high,
        }
        for number, rows in enumerate(models, start=1)
        for row in rows
        for name, kind, value, bounds in (
            *((("0", "before", row.before, row.before_interval),) if number == 1 else ()),
            (str(number), "after, one mark per seed", row.after, row.after_interval),
        )
    ]
    shared = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("measure:N", title=None, sort=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False)),
        yOffset=alt.YOffset("model:N", sort=None),
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=["before", "after, one mark per seed"], range=[BEFORE, AFTER]),
            legend=alt.Legend(orient="top", direction="horizontal", labelLimit=300),
        ),
    )
    scale = alt.Scale(domainMin=0) if neutral == 0.0 else alt.Scale(zero=False, padding=12)
    x = alt.X("value:Q", title=None, scale=scale)
    rule = (
        alt.Chart(alt.InlineData(values=[{"neutral": neutral}]))
        .mark_rule(color="#444", strokeDash=[4, 3])
        .encode(x="neutral:Q")
    )
    bars = shared.mark_rule(strokeWidth=3, opacity=0.5).encode(x=alt.X("low:Q", title=None), x2="high:Q")
    points = shared.mark_point(filled=True, size=90, opacity=1).encode(x=x)
    return (rule + bars + points).properties(
        title={"text": title, "subtitle": f"dashed: neutral ({neutral:g}); bars: 95% intervals"},
        width=460,
        height=alt.Step(13),
    )


def main() -> None:
    """Write page, picture and results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    folder = parser.parse_args().folder
    results = collect(folder)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    for name, content in (
        ("measured", measured_table(results["before"])),
        ("trainings", trainings_table(results)),
        ("probed", models_table(results, ALL_PROBES)),
        ("held out", models_table(results, HELD_OUT)),
        ("certificate", certificate_block(results)),
        ("seeds", seeds_table(results)),
        ("samples", samples_block(results["samples"])),
    ):
        text = replace_section(text, name, content)
    PAGE.write_text(text, encoding="utf-8")
    picture(results).save(PICTURE, scale_factor=1.6)


if __name__ == "__main__":
    main()
