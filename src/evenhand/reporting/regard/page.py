"""The page of a regard classifier: how well it labels, where it errs, and what more texts would bring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.labels import LabelScheme
from evenhand.reporting.numbers import has_interval, show, signed
from evenhand.reporting.plotting import COLOURS, Plot, specification, without_nan
from evenhand.reporting.regard.checks import bias_warning, check_rows
from evenhand.reporting.rendering import render_page_template
from evenhand.reporting.views import rows_csv
from evenhand.reporting.words import language_name
from evenhand.stats.significance import largest_shown
from evenhand.store.classifier_records import (
    ClassifierCheck,
    ClassifierEvaluation,
    ClassifierRecord,
    ClassifierReport,
    ReliabilityBin,
    TrainingSizePoint,
    worst_verdict,
)

FIGURES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "macro_f1": "Macro-F1",
    "calibration_error": "Calibration error",
}
"""Figures of an evaluation and their titles."""

_HEIGHT = 280
_DIGITS = 3


def evaluations(report: ClassifierReport) -> dict[str, ClassifierEvaluation]:
    """What was evaluated, by title."""
    parts = {"Folds": report.folds, "Test": report.test}
    return parts | ({"Test, unanimous": report.unanimous} if report.unanimous else {})


def render_classifier_page(
    record: ClassifierRecord,
    report: ClassifierReport,
    *,
    scheme: LabelScheme,
    checks: Sequence[ClassifierCheck] = (),
) -> str:
    """The page of a classifier as HTML, with what checks found about its own bias."""
    titles = [scheme.option(code).title_in("en") for code in record.classes]
    parts = evaluations(report)
    plots = [_reliability(report.test.reliability), _sizes(report.sizes)]
    return render_page_template(
        "classifier.html.j2",
        data={
            "plots": {plot.id: plot.spec for plot in plots},
            "csv": {
                "figures": rows_csv(figure_rows(report)),
                "classes": rows_csv(class_rows(report, titles)),
            },
        },
        version=record.environment.evenhand,
        head_title="",
        title=record.name,
        kicker="Regard classifier",
        facts=_facts(record),
        contents=[
            ("reading", "Reading"),
            ("figures", "Figures"),
            ("classes", "By class"),
            ("reliability", "Probabilities"),
            *([("sizes", "More texts")] if report.sizes else []),
            ("bias", "Its own bias"),
            ("limits", "Limits"),
            ("method", "Method"),
        ],
        record=record,
        report=report,
        reading=reading(record, report, titles),
        figures=[
            (title, [show(getattr(part, name), digits=_DIGITS) for part in parts.values()])
            for name, title in FIGURES.items()
        ],
        parts=[(title, f"{part.rows:,}") for title, part in parts.items()],
        ceiling=[
            ("Accuracy", show(report.human_ceiling.accuracy, digits=_DIGITS)),
            ("Balanced accuracy", show(report.human_ceiling.balanced_accuracy, digits=_DIGITS)),
        ]
        if report.human_ceiling.accuracy.defined
        else [],
        class_tables=[(title, _class_table(part, titles)) for title, part in parts.items()],
        confusions=[(title, _confusion(part, titles)) for title, part in parts.items()],
        titles=titles,
        reliability=plots[0],
        bins=[
            (
                f"{own.low:.1f} to {own.high:.1f}",
                f"{own.accuracy.n:,}",
                f"{own.confidence:.3f}",
                show(own.accuracy, digits=3),
            )
            for own in report.test.reliability
        ],
        sizes=plots[1],
        size_rows=[
            (
                f"{own.rows:,}",
                show(own.balanced_accuracy, digits=3),
                ", ".join(f"{value:.3f}" for value in own.by_seed),
            )
            for own in report.sizes
        ],
        options=[(name.replace("_", " "), _plain(value)) for name, value in record.options.items()],
        settings=[(name.replace("_", " "), _plain(value)) for name, value in record.settings.items()],
        counts=list(record.counts.items()),
        checks=check_rows(checks),
        verdict=worst_verdict(checks),
        bias_warning=bias_warning(checks, record.name),
    )


def reading(record: ClassifierRecord, report: ClassifierReport, titles: Sequence[str]) -> list[str]:
    """What the figures say, in sentences."""
    test = report.test.balanced_accuracy
    chance = 1 / len(titles)
    sentences = [
        f"On {report.test.rows:,} texts that it never saw, it finds {_percent(test)} of each class on average; "
        f"guessing would find {chance:.0%}."
    ]
    human = report.human_ceiling.balanced_accuracy
    if human.defined:
        sentences.append(
            f"People agree with the majority of the others on {_percent(human)}; a classifier cannot be shown to do "
            "better than that."
        )
    found = {own.label: own.recall for own in report.test.classes if own.recall.defined}
    worst = largest_shown({label: recall.distance_from(1.0) for label, recall in found.items()})
    if worst is not None:
        title = titles[record.classes.index(worst)]
        sentences.append(f"It is worst at {title} texts, of which it finds {_percent(found[worst])}.")
    if len(report.sizes) > 1:
        sentences.append(_size_sentence(report.sizes))
    return sentences


def _size_sentence(sizes: Sequence[TrainingSizePoint]) -> str:
    last, before = sizes[-1], sizes[-2]
    gained = last.balanced_accuracy.value - before.balanced_accuracy.value
    spread = max(max(own.by_seed) - min(own.by_seed) for own in (last, before))
    if gained > spread:
        return (
            f"The last {last.rows - before.rows:,} training texts brought {100 * gained:.1f} points; more texts are "
            "likely to help."
        )
    return (
        f"The last {last.rows - before.rows:,} training texts changed it by {signed(100 * gained, 1)} points, no more "
        "than the draw of the texts does; there is no sign that more texts would help."
    )


def _percent(estimate: Estimate) -> str:
    if not has_interval(estimate):
        return f"{estimate.value:.0%}"
    return f"{estimate.value:.0%} ({estimate.low:.0%} to {estimate.high:.0%})"


def _facts(record: ClassifierRecord) -> list[tuple[str, str]]:
    return [
        ("Classifier", record.options["classifier"]),
        ("Features", record.options["features"]),
        ("Labels", record.options["labels"]),
        ("Texts", f"{record.counts.get('texts', 0):,}"),
        ("Language", language_name(record.dataset.language)),
    ]


def figure_rows(report: ClassifierReport) -> list[dict[str, Any]]:
    """One row per part and figure."""
    rows = [
        _row(title, FIGURES[name], getattr(part, name))
        for title, part in evaluations(report).items()
        for name in FIGURES
    ]
    ceiling = report.human_ceiling
    return [
        *rows,
        _row("Annotators", "Accuracy", ceiling.accuracy),
        _row("Annotators", "Balanced accuracy", ceiling.balanced_accuracy),
    ]


def class_rows(report: ClassifierReport, titles: Sequence[str]) -> list[dict[str, Any]]:
    """One row per part, class and figure."""
    return [
        {"class": label, **_row(title, name, getattr(own, name))}
        for title, part in evaluations(report).items()
        for label, own in zip(titles, part.classes, strict=True)
        for name in ("precision", "recall", "f1")
    ]


def _row(part: str, figure: str, estimate: Estimate) -> dict[str, Any]:
    return {
        "part": part,
        "figure": figure,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
    }


def _class_table(part: ClassifierEvaluation, titles: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    return [
        (
            title,
            f"{own.rows:,}",
            [show(estimate, digits=_DIGITS) for estimate in (own.precision, own.recall, own.f1)],
        )
        for title, own in zip(titles, part.classes, strict=True)
    ]


def _confusion(
    part: ClassifierEvaluation, titles: Sequence[str]
) -> list[tuple[str, list[tuple[int, float]]]]:
    """For each true class, how many texts are given each label, and their share in percent."""
    return [
        (title, [(count, 100 * count / max(1, sum(row))) for count in row])
        for title, row in zip(titles, part.confusion, strict=True)
    ]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(own)}" for name, own in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value[:12])) + (
            f" and {len(value) - 12:,} more" if len(value) > 12 else ""
        )
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value is None else str(value)


def _reliability(bins: Sequence[ReliabilityBin]) -> Plot:
    rows = [{"confidence": own.confidence, **_bounds(own.accuracy), "n": own.accuracy.n} for own in bins]
    spec: dict[str, Any] = {}
    if rows:
        base = alt.Chart(without_nan(rows))
        scale = alt.Scale(domain=[0, 1], nice=False)
        x = alt.X("confidence:Q", title="Probability of the likeliest label", scale=scale)
        y = alt.Y("value:Q", title="Share that is right", scale=scale)
        tips = [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("confidence", "value", "low", "high")]
        spec = specification(
            alt.layer(
                _diagonal(scale),
                base.mark_rule(color=COLOURS[0], strokeWidth=3, opacity=0.5).encode(
                    x, alt.Y("low:Q", scale=scale), alt.Y2("high:Q")
                ),
                base.mark_point(color=COLOURS[0], filled=True, size=70, opacity=1).encode(
                    x, y, tooltip=[*tips, alt.Tooltip("n:Q", title="Texts")]
                ),
            ),
            height=_HEIGHT,
        )
    return Plot(id="reliability", spec=spec, label="Share of labels that are right, by their probability.")


def _diagonal(scale: alt.Scale) -> alt.Chart:
    ends = pl.DataFrame({"confidence": [0.0, 1.0], "value": [0.0, 1.0]})
    line: alt.Chart = alt.Chart(ends).mark_line(color="@ink", strokeDash=[5, 4], strokeWidth=1.4)
    drawn: alt.Chart = line.encode(alt.X("confidence:Q", scale=scale), alt.Y("value:Q", scale=scale))
    return drawn


def _sizes(points: Sequence[TrainingSizePoint]) -> Plot:
    spec: dict[str, Any] = {}
    if points:
        means = [{"rows": own.rows, **_bounds(own.balanced_accuracy)} for own in points]
        seeds = [{"rows": own.rows, "value": value} for own in points for value in own.by_seed]
        lowest = min(
            value for own in [*means, *seeds] if math.isfinite(value := own.get("low", own["value"]))
        )
        scale = alt.Scale(domain=[math.floor(10 * lowest) / 10, 1.0], nice=False)
        x = alt.X("rows:Q", title="Texts trained on", scale=alt.Scale(domainMin=0))
        y = alt.Y("value:Q", title="Balanced accuracy on the test rows", scale=scale)
        base = alt.Chart(without_nan(means))
        spec = specification(
            alt.layer(
                base.mark_rule(color=COLOURS[0], strokeWidth=3, opacity=0.5).encode(
                    x, alt.Y("low:Q", scale=scale), alt.Y2("high:Q")
                ),
                base.mark_line(color=COLOURS[0], strokeWidth=2.5).encode(x, y),
                alt.Chart(pl.DataFrame(seeds))
                .mark_point(color=COLOURS[0], filled=True, size=42, opacity=0.55)
                .encode(
                    x, y, tooltip=[alt.Tooltip("rows:Q", title="Texts"), alt.Tooltip("value:Q", format=".3f")]
                ),
            ),
            height=_HEIGHT,
        )
    return Plot(id="sizes", spec=spec, label="Balanced accuracy by the number of texts trained on.")


def _bounds(estimate: Estimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
