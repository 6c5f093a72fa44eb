"""The page of a certificate: one HTML file that needs nothing else, for people who did not make it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.estimates import Estimate
from evenhand.core.files import write_text
from evenhand.report.certificate.facts import (
    definitions,
    no_interval_words,
    turned_words,
    weights_words,
    without_interval,
)
from evenhand.report.certificate.plots import bias_plot, difference_plot, occupation_plot
from evenhand.report.certificate.training_plots import curve_plot, frontier_plot, perplexity_plot
from evenhand.report.certificate.words import (
    BIAS_HEADLINES,
    QUALITY_HEADLINES,
    bias_detail,
    bias_scope,
    change_words,
    figure_words,
    flipped_words,
    margin_words,
    quality_detail,
    quality_scope,
    relative_words,
    towards_neutral,
    untrained_words,
)
from evenhand.report.interval_plots import SCORE, IntervalAxis
from evenhand.report.number_words import signed
from evenhand.report.probes.plots import MOST_BARS
from evenhand.report.probes.words import EXPERIMENT_TITLES
from evenhand.report.rendering import page_parts, template_environment
from evenhand.runs.certificates import BiasRow, BiasVerdict, Bounds, Certificate, QualityRow, QualityVerdict

TONES = {
    BiasVerdict.LOWERED: "good",
    BiasVerdict.NOT_LOWERED: "open",
    BiasVerdict.NOTHING_CHANGED: "open",
    QualityVerdict.KEPT: "good",
    QualityVerdict.LOST: "bad",
    QualityVerdict.UNDECIDED: "open",
    QualityVerdict.NOT_MEASURED: "open",
}
"""How a verdict is coloured; words say the same."""

_MALOR = IntervalAxis("MALoR in bits; 0 is neutral", neutral=0.0, step=0.5, lowest=0.0)
_ICAT = IntervalAxis("ICAT; 100 is ideal", neutral=100.0, step=5.0, lowest=0.0, highest=100.0)
_MOVES = {1: "closer to neutral", 0: "open", -1: "farther from neutral"}


def write_certificate_page(certificate: Certificate, path: str | Path) -> Path:
    """Write the page of a certificate to a file."""
    target = Path(path)
    write_text(target, render_certificate_page(certificate))
    return target


def render_certificate_page(certificate: Certificate) -> str:
    """The page of a certificate as HTML."""
    groups = [
        *_bias_groups("trained", certificate.trained),
        *_bias_groups("untrained", certificate.untrained),
    ]
    quality = {"id": "quality-plot", "spec": difference_plot(certificate.quality)}
    experiments = _experiments(certificate)
    training = _training(certificate)
    plots = [view for view in (*groups, quality, *experiments, *training) if view["spec"]]
    template = template_environment().get_template("certificate.html.j2")
    return template.render(
        certificate=certificate,
        title=f"{certificate.after.id} against {certificate.before.id}",
        statements=_statements(certificate),
        changed=certificate.verdict.bias is not BiasVerdict.NOTHING_CHANGED,
        untrained=untrained_words(certificate) if certificate.untrained else "",
        flipped=flipped_words(certificate),
        definitions=definitions(certificate),
        weights=weights_words(certificate.weights),
        groups=groups,
        rows=[_bias_view(row, "yes") for row in certificate.trained]
        + [_bias_view(row, "no") for row in certificate.untrained],
        quality=quality,
        quality_rows=[_quality_view(row) for row in certificate.quality],
        experiments=experiments,
        titles=EXPERIMENT_TITLES,
        most=MOST_BARS,
        training=training,
        settings=_flat(certificate.settings),
        **page_parts(
            styles=("page.css", "probes.css", "certificate.css"),
            script="probes.js",
            data={view["id"]: view["spec"] for view in plots},
        ),
    )


def _statements(certificate: Certificate) -> list[dict[str, Any]]:
    """The two big statements, each with its figures."""
    verdict = certificate.verdict
    return [
        {
            "about": "Bias",
            "tone": TONES[verdict.bias],
            "headline": BIAS_HEADLINES[verdict.bias],
            "scope": _as_sentence(bias_scope(certificate)),
            "figures": [
                (
                    row.measure,
                    relative_words(row) or signed(row.difference.value),
                    "" if relative_words(row) else row.unit,
                    f"{row.before:.2f} → {row.after:.2f} {row.unit}",
                )
                for row in certificate.trained
                if row.difference.defined
            ],
            "detail": bias_detail(certificate),
        },
        {
            "about": "Quality",
            "tone": TONES[verdict.quality],
            "headline": QUALITY_HEADLINES[verdict.quality],
            "scope": _as_sentence(quality_scope(certificate)),
            "figures": [
                (
                    row.measure,
                    f"{signed(row.difference.value)}{'%' if row.unit == '%' else ''}",
                    "" if row.unit == "%" else row.unit,
                    f"{row.verdict.value}; margin {margin_words(row)}",
                )
                for row in certificate.quality
                if row.verdict is not QualityVerdict.NOT_MEASURED
            ],
            "detail": quality_detail(certificate),
        },
    ]


def _as_sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _bias_groups(name: str, rows: Sequence[BiasRow]) -> list[dict[str, Any]]:
    """Plots of measures that share a scale."""
    scales = (("bits", _MALOR, 0.0), ("scores", SCORE, 50.0), ("icat", _ICAT, 100.0))
    views = []
    for key, axis, neutral in scales:
        own = tuple(row for row in rows if row.neutral == neutral)
        if own:
            views.append(
                {
                    "id": f"{name}-{key}",
                    "kind": name,
                    "spec": bias_plot(own, axis),
                    "without_interval": without_interval(own),
                }
            )
    return views


def _bias_view(row: BiasRow, trained: str) -> dict[str, Any]:
    return {
        "row": row,
        "trained": trained,
        "sides": [
            (_with_ends(value, ends.low, ends.high), no_interval_words(ends))
            for value, ends in ((row.before, row.before_interval), (row.after, row.after_interval))
        ],
        "relative": relative_words(row),
        "no_interval": no_interval_words(_ends(row.difference)),
        "moved": _MOVES[towards_neutral(row)],
    }


def _quality_view(row: QualityRow) -> dict[str, Any]:
    measured = row.verdict is not QualityVerdict.NOT_MEASURED
    return {
        "row": row,
        "tone": TONES[row.verdict],
        "before": figure_words(row.before) if measured else "–",
        "after": figure_words(row.after) if measured else "–",
        "change": change_words(row) if measured else "–",
        "ends": _ends_words(row.difference.low, row.difference.high)
        or (no_interval_words(_ends(row.difference)) if measured else ""),
        "margin": margin_words(row),
    }


def _ends(estimate: Estimate) -> Bounds:
    return Bounds(low=estimate.low, high=estimate.high, reason=estimate.reason)


def _with_ends(value: float, low: float, high: float) -> str:
    return f"{value:.2f} {_ends_words(low, high)}".strip() if math.isfinite(value) else "undefined"


def _ends_words(low: float, high: float) -> str:
    return f"[{signed(low)}, {signed(high)}]".replace("+", "") if math.isfinite(low) else ""


def _experiments(certificate: Certificate) -> list[dict[str, Any]]:
    """The occupations of each experiment, those that were trained on first."""
    trained = {row.experiment for row in certificate.trained}
    names = dict.fromkeys(change.experiment for change in certificate.occupations)
    views = []
    for place, name in enumerate(sorted(names, key=lambda name: name not in trained)):
        changes = [change for change in certificate.occupations if change.experiment == name]
        flips = [row for row in certificate.flipped if row.experiment == name]
        views.append(
            {
                "id": f"occupations-{place}",
                "name": name,
                "title": EXPERIMENT_TITLES.get(name, name),
                "trained": name in trained and certificate.trained_known,
                "changes": sorted(changes, key=lambda change: -change.before.value),
                "flips": flips,
                "turned": turned_words(
                    sum(change.before.value * change.after.value < 0 for change in changes),
                    len(flips),
                    of=len(changes),
                ),
                "spec": occupation_plot(changes, flips),
            }
        )
    return views


def _training(certificate: Certificate) -> list[dict[str, Any]]:
    """Learning curves and the frontier, where the record of the mitigation has them."""
    done = certificate.mitigation
    if done is None:
        return []
    names = list(dict.fromkeys(name for point in done.curve for name in point.malor))
    views = [
        {
            "id": "curve-malor",
            "title": "Bias after each epoch",
            "legend": names,
            "spec": curve_plot(done.curve, kept=done.kept_epoch),
        },
        {
            "id": "curve-perplexity",
            "title": "Perplexity after each epoch",
            "legend": [],
            "spec": perplexity_plot(done.curve, kept=done.kept_epoch),
        },
        {
            "id": "frontier",
            "title": "Bias against quality: what other settings would have given",
            "legend": [],
            "spec": frontier_plot(done.frontier),
        },
    ]
    return [view for view in views if view["spec"]]


def _flat(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " "), ", ".join(f"{key.replace('_', ' ')} {own}" for key, own in value.items()))
        if isinstance(value, Mapping)
        else (name.replace("_", " "), str(value))
        for name, value in settings.items()
    ]
