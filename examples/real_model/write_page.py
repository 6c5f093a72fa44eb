"""Put what ``study.py`` found into ``docs/real-model.md`` and its picture.

    python examples/real_model/write_page.py --folder runs/real-model

The page's prose is written by hand; tables and samples stand between markers and are replaced. ``results.json`` beside
this file keeps the figures that the page shows.
"""

from __future__ import annotations

import argparse
import html
import json
import sys
from pathlib import Path
from typing import Any

import altair as alt

from evenhand.certificate.verification import read_certificate
from evenhand.reporting.tables import CERTIFICATE_COLUMNS, certificate_rows
from evenhand.runs.certificate_bias import BiasRow
from evenhand.runs.certificates import Certificate
from evenhand.runs.mitigation_records import PERPLEXITY, read_mitigation_record
from evenhand.runs.run import open_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_sections import replace_section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "real-model.md"
PICTURE = ROOT / "docs" / "images" / "real-model.png"
RESULTS = Path(__file__).with_name("results.json")
MALOR = "malor"
BEFORE, AFTER = "#b35806", "#2166ac"


def measured(folder: Path) -> list[dict[str, Any]]:
    """The headline figures of every run before the mitigation."""
    runs = (open_run(path) for path in sorted((folder / "runs").iterdir()) if path.is_dir())
    return [
        {
            "instrument": run.record.instrument,
            "measure": figure.key,
            "value": figure.estimate.value,
            "low": figure.estimate.low,
            "high": figure.estimate.high,
        }
        for run in runs
        for figure in run.figures
        if figure.is_headline
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
            "kept": metrics.epoch == training.best.epoch,
        }
        for record in records
        for training in record.seeds
        for metrics in training.curve.epochs
    ]


def probed(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """MALoR over all probes, by model and experiment."""
    runs = [open_run(path) for path in sorted((folder / "after").iterdir()) if path.is_dir()]
    original = next(
        run for path in (folder / "runs").iterdir() if (run := open_run(path)).record.instrument == MALOR
    )
    return {
        run.record.name: {
            figure.key: {
                "value": figure.estimate.value, "low": figure.estimate.low, "high": figure.estimate.high,
            }
            for figure in run.figures
            if figure.key.endswith(".gender.MALoR")
        }
        for run in (original, *runs)
    }  # fmt: skip


def collect(folder: Path) -> dict[str, Any]:
    """All figures of the page."""
    certificate = read_certificate(folder / "certificate.json")
    data = read_mitigation_record(next(path for path in folder.glob("even-*") if path.is_dir())).data
    return {
        "before": measured(folder),
        "certificate": certificate.model_dump(
            mode="json",
            include={"verdict", "words", "trained", "untrained", "whole", "quality", "reported", "settings"},
        ),
        "trainings": trainings(folder),
        "probed": probed(folder),
        "data": data.counts if data else {},
        "samples": json.loads((folder / "samples.json").read_text(encoding="utf-8")),
    }


def signed(value: float, digits: int = 2) -> str:
    """With a true minus."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def certified_table(certificate: Certificate) -> str:
    """One row per measure, as the command prints them, without the parts of what was not trained on."""
    parts = {row.measure for row in certificate.untrained if row.part_of is not None}
    rows = [row for row in certificate_rows(certificate) if row[0] not in parts]
    return "\n".join(
        f"| {' | '.join(cells)} |"
        for cells in (CERTIFICATE_COLUMNS, ("---",) * len(CERTIFICATE_COLUMNS), *rows)
    )


def measured_table(figures: list[dict[str, Any]]) -> str:
    """One row per headline figure of the original."""
    lines = ["| instrument | figure | value | 95% interval |", "|---|---|---|---|"]
    lines += [
        f"| {row['instrument']} | {row['measure']} | {row['value']:.2f} | {row['low']:.2f} to {row['high']:.2f} |"
        for row in figures
    ]
    return "\n".join(lines)


def trainings_table(results: dict[str, Any]) -> str:
    """The kept epoch of every training, as change from the original."""
    of_training: dict[tuple[float, int], list[dict[str, Any]]] = {}
    for row in results["trainings"]:
        of_training.setdefault((row["balance"], row["seed"]), []).append(row)
    keys = sorted(results["trainings"][0]["bias"])
    lines = [
        f"| balance | seed | kept epoch | {' | '.join(key.replace('.', ', ') for key in keys)} | "
        "perplexity, WikiText-2 valid |",
        f"|---|---|---|{'---|' * len(keys)}---|",
    ]
    for (balance, seed), rows in sorted(of_training.items()):
        original, kept = rows[0], next(row for row in rows if row["kept"])
        changes = " | ".join(
            f"{kept['bias'][key]:.3f} ({signed(100 * (kept['bias'][key] / original['bias'][key] - 1), 0)}%)"
            for key in keys
        )
        quality = 100 * (kept["perplexity"] / original["perplexity"] - 1)
        lines.append(f"| {balance:g} | {seed} | {kept['epoch']} | {changes} | {signed(quality)}% |")
    return "\n".join(lines)


def probed_table(models: dict[str, dict[str, dict[str, float]]]) -> str:
    """One row per model, before and after each training."""
    (_, original), *_ = models.items()
    lines = [
        f"| model | {' | '.join(key.split('.')[0] for key in original)} |",
        f"|---|{'---|' * len(original)}",
    ]
    for name, figures in models.items():
        cells = [
            f"{figure['value']:.2f} [{figure['low']:.2f}, {figure['high']:.2f}]"
            + (
                ""
                if figures is original
                else f", {signed(100 * (figure['value'] / original[key]['value'] - 1), 0)}%"
            )
            for key, figure in figures.items()
        ]
        lines.append(f"| {name.removesuffix('_en_malor')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def samples_block(samples: dict[str, list[dict[str, str]]]) -> str:
    """What both models write, folded behind a notice."""
    rows = "\n".join(
        f"<tr><td>{html.escape(before['prompt'])} …</td><td>{html.escape(before['text'])}</td>"
        f"<td>{html.escape(after['text'])}</td></tr>"
        for before, after in zip(samples["before"], samples["after"], strict=True)
    )
    return (
        "<details><summary>Show the sentences. A language model wrote them; they may be untrue or hurtful.</summary>\n"
        "<table><thead><tr><th>beginning</th><th>before</th><th>after</th></tr></thead><tbody>\n"
        f"{rows}\n</tbody></table>\n</details>"
    )


def picture(certificate: Certificate) -> Any:
    """MALoR before and after beside what was not trained on."""
    panels = [
        _panel(
            tuple(row for row in certificate.trained if row.part_of is None), "Trained on: MALoR in bits", 0.0
        ),
        _panel(
            tuple(row for row in certificate.untrained if row.neutral == 50.0),
            "Not trained on: shares in percent",
            50.0,
        ),
    ]
    return (
        alt.vconcat(*panels, spacing=24)
        .resolve_scale(color="shared")
        .configure(background="white", font="sans-serif")
        .configure_view(stroke=None)
    )


def _panel(rows: tuple[BiasRow, ...], title: str, neutral: float) -> Any:
    values = [
        {"measure": row.title, "model": name, "value": value, "low": bounds.low, "high": bounds.high}
        for row in rows
        for name, value, bounds in (
            ("before", row.before, row.before_interval),
            ("after", row.after, row.after_interval),
        )
    ]
    shared = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("measure:N", title=None, sort=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False)),
        yOffset=alt.YOffset("model:N", sort=["before", "after"]),
        color=alt.Color(
            "model:N",
            title=None,
            scale=alt.Scale(domain=["before", "after"], range=[BEFORE, AFTER]),
            legend=alt.Legend(orient="top", direction="horizontal"),
        ),
    )
    x = alt.X("value:Q", title=None, scale=alt.Scale(zero=neutral == 0.0, padding=12))
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
        height=alt.Step(17),
    )


def main() -> None:
    """Write page, picture and results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    folder = parser.parse_args().folder
    results, certificate = collect(folder), read_certificate(folder / "certificate.json")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    for name, content in (
        ("measured", measured_table(results["before"])),
        ("trainings", trainings_table(results)),
        ("probed", probed_table(results["probed"])),
        ("certified", certified_table(certificate)),
        ("words", "\n".join(f"> {sentence}\n>" for sentence in certificate.words).removesuffix("\n>")),
        ("samples", samples_block(results["samples"])),
    ):
        text = replace_section(text, name, content)
    PAGE.write_text(text, encoding="utf-8")
    picture(certificate).save(PICTURE, scale_factor=1.6)


if __name__ == "__main__":
    main()
