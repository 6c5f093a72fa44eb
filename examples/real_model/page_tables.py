"""The tables of ``docs/real-model.md``, from the figures that ``write_page.py`` collects."""

from __future__ import annotations

import html
from pathlib import Path
from statistics import fmean
from typing import Any

from evenhand.reporting.certificate.seeds import SEEDS_COLUMNS, seeds_rows
from evenhand.reporting.numbers import unsigned
from evenhand.store.certificate_bias import BiasRow, Bounds
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.certificate_seeds import SeedsComparison


def signed(value: float, digits: int = 2) -> str:
    """With a true minus."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def seeds_table(results: dict[str, Any]) -> str:
    """One row per measure, over all mitigated models, and accuracy of the first."""
    comparison = SeedsComparison.model_validate(results["seeds"])
    row = QualityRow.model_validate(results["accuracy"])
    low, high = (signed(bound) for bound in (row.difference.low, row.difference.high))
    rows = [
        *seeds_rows(comparison),
        (
            f"{row.measure}, {Path(comparison.after[0]).name} alone", f"{row.before:.2f}", f"{row.after:.2f}",
            f"{signed(row.difference.value)} points", f"{low} to {high}", row.verdict.value,
        ),
    ]  # fmt: skip
    return "\n".join(
        f"| {' | '.join(cells)} |" for cells in (SEEDS_COLUMNS, ("---",) * len(SEEDS_COLUMNS), *rows)
    )


def certificate_block(results: dict[str, Any]) -> str:
    """The verdict in sentences, and what a mere shift of output biases would have reached."""
    found = results["certificate"]
    lines = [
        *found["words"],
        "",
        found["baseline_words"],
        "",
        "| measure | before | with the shift | mitigated | mitigated minus shift | the mitigated model is |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['measure']} | {unsigned(row['before'])} | {unsigned(row['reached'])} | {unsigned(row['mitigated'])} | "
        f"{signed(row['low'])} to {signed(row['high'])} | {row['outcome']} |"
        for row in found["baseline"]
    ]
    return "\n".join(lines)


def measured_table(figures: list[dict[str, Any]]) -> str:
    """One row per headline figure of the original."""
    lines = ["| instrument | figure | value | 95% interval |", "|---|---|---|---|"]
    lines += [
        f"| {row['instrument']} | {row['measure']} | {unsigned(row['value'])} | "
        f"{unsigned(row['low'])} to {unsigned(row['high'])} |"
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
        "perplexity of sentences | in passages |",
        f"|---|---|---|{'---|' * len(keys)}---|---|",
    ]
    for (balance, seed), rows in sorted(of_training.items()):
        original, kept = rows[0], next(row for row in rows if row["kept"])
        changes = " | ".join(
            f"{kept['bias'][key]:.3f} ({signed(100 * (kept['bias'][key] / original['bias'][key] - 1), 0)}%)"
            for key in keys
        )
        quality = " | ".join(
            f"{signed(100 * (kept[text] / original[text] - 1))}%" for text in ("perplexity", "in_passages")
        )
        lines.append(f"| {balance:g} | {seed} | {kept['epoch']} | {changes} | {quality} |")
    return "\n".join(lines)


def trained_rows(results: dict[str, Any], sample: str) -> list[list[BiasRow]]:
    """MALoR in the direction that was trained, of each mitigated model."""
    return [
        [
            row
            for row in map(BiasRow.model_validate, rows)
            if row.experiment
            and not (row.part_of or row.direction or row.untrained_pair)
            and row.sample == sample
        ]
        for rows in results["models"].values()
    ]


def models_table(results: dict[str, Any], sample: str) -> str:
    """MALoR of each model, before and after each training."""
    models = trained_rows(results, sample)
    lines = [
        f"| model | {' | '.join(str(row.experiment) for row in models[0])} |",
        f"|---|{'---|' * len(models[0])}",
        f"| original | {' | '.join(_with_interval(row.before, row.before_interval) for row in models[0])} |",
    ]
    for name, rows in zip(results["models"], models, strict=True):
        cells = [
            f"{_with_interval(row.after, row.after_interval)}, {signed(100 * (row.after / row.before - 1), 0)}%"
            for row in rows
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [
        signed(100 * (fmean(row.after for row in rows) / rows[0].before - 1), 1) + "%"
        for rows in zip(*models, strict=True)
    ]
    lines.append(f"| mean of {len(models)} | {' | '.join(means)} |")
    return "\n".join(lines)


def _with_interval(value: float, bounds: Bounds) -> str:
    return f"{value:.2f} [{bounds.low:.2f}, {bounds.high:.2f}]"


def samples_block(rows: list[dict[str, str]]) -> str:
    """What both models write, folded behind a notice."""
    cells = "\n".join(
        f"<tr><td>{html.escape(row['text'])}…</td><td>{html.escape(row['before'])}</td>"
        f"<td>{html.escape(row['after'])}</td></tr>"
        for row in rows
    )
    return (
        "<details><summary>Show the sentences. A language model wrote them; they may be untrue or hurtful.</summary>\n"
        "<table><thead><tr><th>beginning</th><th>before</th><th>after</th></tr></thead><tbody>\n"
        f"{cells}\n</tbody></table>\n</details>"
    )
