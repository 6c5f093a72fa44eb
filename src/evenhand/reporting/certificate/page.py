"""The page of a certificate: one HTML file that needs nothing else, for people who did not make it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.files import write_text
from evenhand.core.probes import GENDERS
from evenhand.reporting.certificate.baseline import BaselineRow, baseline_rows, baseline_words
from evenhand.reporting.certificate.bias_words import (
    MOVES,
    group_words,
    relative_words,
)
from evenhand.reporting.certificate.csv_tables import csv_tables
from evenhand.reporting.certificate.plots import (
    bias_plot,
    convergence_plot,
    curve_plot,
    difference_plot,
    frontier_plot,
    occupation_plot,
    perplexity_plot,
)
from evenhand.reporting.certificate.seeds import SEEDS_COLUMNS, seeds_rows, seeds_words
from evenhand.reporting.certificate.statements import IDEAL, TONES, statements_of
from evenhand.reporting.certificate.weights import weights_words
from evenhand.reporting.certificate.words import (
    change_words,
    definitions,
    figure_words,
    flipped_words,
    margin_words,
    quality_outcome,
    reported_words,
    turned_words,
    without_interval,
)
from evenhand.reporting.group_words import words_for
from evenhand.reporting.numbers import NOT_THERE, UNDEFINED, no_interval_words, unsigned
from evenhand.reporting.plotting import MOST_ROWS, SCORE, IntervalAxis, Mark, Plot
from evenhand.reporting.probes.words import EXPERIMENT_TITLES
from evenhand.reporting.rendering import render_page_template
from evenhand.reporting.words import language_name
from evenhand.store.certificate_bias import BiasRow, BiasVerdict
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.certificate_seeds import SeedsComparison
from evenhand.store.certificates import Certificate
from evenhand.triggers.tables import TRANSFER_COLUMNS, prefix_columns, prefix_rows, transfer_rows

_MALOR = IntervalAxis("Bits; 0 is neutral", neutral=0.0, step=0.5)
_ICAT = IntervalAxis("ICAT; 100 is ideal", neutral=IDEAL, step=5.0, lowest=0.0, highest=IDEAL)


def write_certificate_page(
    certificate: Certificate, path: str | Path, *, seeds: SeedsComparison | None = None
) -> Path:
    """Write the page of a certificate to a file."""
    target = Path(path)
    write_text(target, render_certificate_page(certificate, seeds=seeds))
    return target


def render_certificate_page(certificate: Certificate, *, seeds: SeedsComparison | None = None) -> str:
    """The page of a certificate as HTML.

    Args:
        certificate: Of one mitigated model.
        seeds: What the same mitigation does with other seeds, where several models were measured.
    """
    trained_title = "Trained on" if certificate.trained_known else "Judged"
    groups = [
        *_bias_plots("trained", certificate.trained, caption=trained_title),
        *_bias_plots("untrained", certificate.untrained, caption="Not trained on"),
    ]
    quality = Plot(
        id="quality-plot",
        spec=difference_plot(certificate.quality),
        label="Differences of quality against their margins.",
        caption="Differences, counted in margins; the shaded side is more than is tolerated",
    )
    experiments = _experiments(certificate)
    prefixes = certificate.mitigation.prefixes if certificate.mitigation else None
    transfer = certificate.mitigation.transfer if certificate.mitigation else ()
    training = _training(certificate)
    plots = [*groups, quality, *(view["plot"] for view in (*experiments, *training))]
    title = f"{certificate.after.id} against {certificate.before.id}"
    contents = [
        ("verdict", "Verdict"), ("done", "What was done"), ("bias", "Bias"),
        *([("baseline", "Trivial baseline")] if certificate.baseline else []), ("occupations", "Occupations"),
        ("quality", "Quality"), *([("prefixes", "Other prefixes")] if prefixes else []),
        *([("seeds", "Other seeds")] if seeds else []),
        *([("training", "Training")] if training else []), ("method", "Method"),
    ]  # fmt: skip
    return render_page_template(
        "certificate.html.j2",
        data={"plots": {plot.id: plot.spec for plot in plots if plot.spec}, "csv": csv_tables(certificate)},
        version=certificate.environment.evenhand,
        head_title=f"Certificate: {title}",
        title=title,
        kicker="Certificate of mitigation",
        facts=_facts(certificate),
        contents=contents,
        certificate=certificate,
        statements=statements_of(certificate),
        changed=certificate.verdict.bias is not BiasVerdict.NOTHING_CHANGED,
        flipped=flipped_words(certificate),
        definitions=definitions(certificate),
        weights=weights_words(certificate.weights),
        groups=groups,
        rows=[_bias_view(row, "yes") for row in certificate.trained]
        + [_bias_view(row, "no") for row in certificate.untrained]
        + [_bias_view(row, "in part") for row in certificate.whole],
        quality=quality,
        baseline=baseline_words(certificate),
        baseline_rows=[_baseline_view(row) for row in baseline_rows(certificate)],
        quality_rows=[_quality_view(row) for row in certificate.quality],
        reported=reported_words(certificate),
        prefix_columns=prefix_columns(prefixes) if prefixes else [],
        prefix_rows=list(prefix_rows(prefixes)) if prefixes else [],
        transfer_columns=TRANSFER_COLUMNS,
        transfer_rows=list(transfer_rows([prefixes, *transfer])) if prefixes and transfer else [],
        seeds=seeds_words(seeds) if seeds else "",
        seeds_columns=SEEDS_COLUMNS,
        seeds_rows=seeds_rows(seeds) if seeds else [],
        experiments=experiments,
        words=group_words(certificate),
        most=MOST_ROWS,
        training=training,
        settings=_flat(certificate.settings),
    )


def _facts(certificate: Certificate) -> list[tuple[str, str]]:
    trained = "; ".join(
        EXPERIMENT_TITLES.get(row.experiment, row.experiment) if row.experiment else row.measure
        for row in certificate.trained
        if row.part_of is None
    )
    facts = [
        ("Before", certificate.before.id),
        ("After", certificate.after.id),
        ("Language", language_name(certificate.language)),
        ("Method", certificate.mitigation.method if certificate.mitigation else ""),
        ("Trained on", trained if certificate.trained_known else "not known"),
    ]
    return [(name, value) for name, value in facts if value]


def _bias_plots(name: str, rows: Sequence[BiasRow], *, caption: str) -> list[Plot]:
    """Plots of measures that share a scale."""
    scales = (("bits", _MALOR, 0.0), ("scores", SCORE, 50.0), ("icat", _ICAT, IDEAL))
    plots = []
    for key, axis, neutral in scales:
        own = tuple(row for row in rows if row.neutral == neutral)
        if own:
            plots.append(
                Plot(
                    id=f"{name}-{key}",
                    spec=bias_plot(own, axis),
                    label="Measures of bias before and after.",
                    caption=caption,
                    notes=tuple(without_interval(own)),
                )
            )
    return plots


def _bias_view(row: BiasRow, trained: str) -> dict[str, Any]:
    return {
        "row": row,
        "trained": trained,
        "sides": [
            (
                _with_interval(value, interval.low, interval.high),
                no_interval_words(interval.low, interval.reason),
            )
            for value, interval in ((row.before, row.before_interval), (row.after, row.after_interval))
        ],
        "relative": relative_words(row),
        "no_interval": no_interval_words(row.difference.low, row.difference.reason),
        "moved": MOVES[row.movement],
    }


def _baseline_view(row: BaselineRow) -> dict[str, Any]:
    """The original, the baseline and the mitigated model, and what the interval between the last two says."""
    reached, against = row.reached, row.against
    return {
        "measure": reached.measure,
        "sides": [
            _with_interval(value, ends.low, ends.high)
            for value, ends in (
                (reached.before, reached.before_interval),
                (reached.after, reached.after_interval),
                (against.after, against.after_interval),
            )
        ],
        "difference": against.difference,
        "outcome": row.outcome,
    }


def _quality_view(row: QualityRow) -> dict[str, Any]:
    measured = row.difference.defined
    difference, outcome = row.difference, quality_outcome(row)
    return {
        "row": row,
        "tone": "open" if outcome != row.verdict.value else TONES[row.verdict],
        "before": figure_words(row.before) if measured else NOT_THERE,
        "after": figure_words(row.after) if measured else NOT_THERE,
        "change": change_words(row) if measured else NOT_THERE,
        "interval": _bracketed(difference.low, difference.high)
        or (no_interval_words(difference.low, difference.reason) if measured else ""),
        "margin": margin_words(row),
        "outcome": outcome,
    }


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{unsigned(value)} {_bracketed(low, high)}".strip() if math.isfinite(value) else UNDEFINED


def _bracketed(low: float, high: float) -> str:
    return f"[{unsigned(low)}, {unsigned(high)}]" if math.isfinite(low) else ""


def _experiments(certificate: Certificate) -> list[dict[str, Any]]:
    """The occupations of each experiment, those that were trained on first."""
    trained = {row.experiment for row in certificate.trained}
    names = dict.fromkeys(change.experiment for change in certificate.occupations)
    views = []
    for place, name in enumerate(sorted(names, key=lambda name: name not in trained)):
        changes = [change for change in certificate.occupations if change.experiment == name]
        flips = [row for row in certificate.flipped if row.experiment == name]
        title = EXPERIMENT_TITLES.get(name, name)
        words = words_for(certificate.groups.get(name, GENDERS))
        views.append(
            {
                "title": title,
                "sides": words.sides,
                "trained": name in trained and certificate.trained_known,
                "changes": sorted(changes, key=lambda change: -change.before.value),
                "flips": flips,
                "turned": turned_words(
                    sum(change.before.value * change.after.value < 0 for change in changes),
                    len(flips),
                    of=len(changes),
                ),
                "plot": Plot(
                    id=f"occupations-{place}",
                    spec=occupation_plot(changes, flips, axis=words.axis),
                    label=f"Lean of each occupation before and after: {title}.",
                ),
            }
        )
    return views


def _training(certificate: Certificate) -> list[dict[str, Any]]:
    """Learning curves and the frontier, where the record of the mitigation has them."""
    done = certificate.mitigation
    if done is None:
        return []
    names = list(dict.fromkeys(name for point in done.curve for name in point.malor))
    curves = {
        "curve-malor": ("Bias after each epoch", curve_plot(done.curve, kept=done.kept_epoch)),
        "curve-convergence": (
            "Convergence: how much bias still changed within five epochs; below the line the curve is flat",
            convergence_plot(done.curve, kept=done.kept_epoch),
        ),
        "curve-perplexity": (
            "Perplexity after each epoch",
            perplexity_plot(done.curve, kept=done.kept_epoch),
        ),
        "frontier": (
            "Bias against quality: what other settings would have given",
            frontier_plot(done.frontier),
        ),
    }
    return [
        {
            "plot": Plot(id=name, spec=spec, label=f"{title}.", caption=title),
            "legend": [(own, Mark.number(place)) for place, own in enumerate(names)]
            if name in ("curve-malor", "curve-convergence")
            else [],
        }
        for name, (title, spec) in curves.items()
        if spec
    ]


def _flat(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " "), ", ".join(f"{key.replace('_', ' ')} {own}" for key, own in value.items()))
        if isinstance(value, Mapping)
        else (name.replace("_", " "), str(value))
        for name, value in settings.items()
    ]
