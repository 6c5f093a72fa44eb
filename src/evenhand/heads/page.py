"""The page of a next-sentence head: how it learned, how often it is right, and how it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.errors import RunError
from evenhand.reporting.numbers import show
from evenhand.reporting.plotting import COLOURS, Plot, specification
from evenhand.reporting.rendering import render_page_template
from evenhand.reporting.views import rows_csv
from evenhand.store.head_records import HeadKind, HeadRecord, HeadTraining, NextSentenceCurve

SMOOTHING = 0.92
"""Weight of what was before in the smoothed loss, as published."""

ACCURACY_SMOOTHING = 0.32
"""The same for accuracy: its points are few, and each is a mean over many pairs already."""

MOST_POINTS = 1_000
"""Points of a drawn curve; the file of the curve has all."""

CHANCE = 0.5

_HEIGHT = 240

_KINDS = {
    HeadKind.OWN: "the model's own",
    HeadKind.POOLED: "linear layers over the mean state",
    HeadKind.LABELS: "a label in text",
}


def smoothed(values: Sequence[float], weight: float = SMOOTHING) -> list[float]:
    """The exponential moving average, without the pull of its start."""
    average, total = 0.0, 0.0
    result = []
    for value in values:
        average = weight * average + (1 - weight) * value
        total = weight * total + 1 - weight
        result.append(average / total)
    return result


def render_head_page(record: HeadRecord, curve: NextSentenceCurve, *, name: str) -> str:
    """The page of a head that was trained."""
    if record.training is None or record.test_accuracy is None:
        raise RunError("A head that was not trained here has no learning curve, so it has no page.")
    training, accuracy = record.training, record.test_accuracy
    plots = {"loss": loss_plot(curve), "accuracy": accuracy_plot(curve), "rates": rate_plot(curve)}
    return render_page_template(
        "head.html.j2",
        data={
            "plots": {plot.id: plot.spec for plot in plots.values()},
            "csv": {
                "loss": rows_csv([point.model_dump() for point in curve.losses]),
                "accuracy": rows_csv([point.model_dump() for point in curve.checkpoints]),
            },
        },
        version=training.environment.evenhand,
        head_title="",
        title=name,
        kicker="Next-sentence head",
        facts=[
            ("Head", _KINDS[record.kind]),
            ("Languages", ", ".join(used.language for used in training.pairs)),
            ("Pairs", f"{sum(used.train_pairs for used in training.pairs):,}"),
            ("Test accuracy", show(accuracy, digits=3)),
        ],
        contents=[
            ("reading", "Reading"),
            ("loss", "Loss"),
            ("accuracy", "Accuracy"),
            ("rates", "Learning rates"),
            ("limits", "Limits"),
            ("method", "Method"),
        ],
        reading=reading(record),
        plots=plots,
        checkpoints=[
            (
                f"{point.pairs:,}",
                f"{point.accuracy:.3f}",
                "" if point.low is None else f"{point.low:.3f} to {point.high:.3f}",
            )
            for point in curve.checkpoints
        ],
        window=training.recipe.report_steps * training.recipe.batch_size,
        record=record,
        training=training,
        recipe=_recipe_facts(training),
    )


def reading(record: HeadRecord) -> list[str]:
    """What the figures say, in sentences."""
    accuracy, training = record.test_accuracy, record.training
    if accuracy is None or training is None:
        return []
    sentences = [
        f"Of {accuracy.n:,} pairs from articles that training never saw, it judges {accuracy.value:.1%} correctly "
        f"({accuracy.low:.1%} to {accuracy.high:.1%}); guessing gets 50%."
    ]
    if accuracy.high < CHANCE:
        sentences.append("It is right less often than guessing: its judgements say nothing yet.")
    elif accuracy.low <= CHANCE:
        sentences.append("That cannot be told from guessing: its judgements say nothing yet.")
    if record.without_label:
        labels = " nor ".join(record.labels)
        sentences.append(
            f"For {record.without_label:,} of the {accuracy.n:,} pairs it wrote neither {labels}, which counts as "
            "wrong. A higher learning rate or more pairs may teach it to write them."
        )
    sentences.append(
        f"Class {record.follows_class} means that the second sentence follows. {record.accuracy_by}"
    )
    return sentences


def loss_plot(curve: NextSentenceCurve) -> Plot:
    """The loss, raw and smoothed."""
    values = [point.loss for point in curve.losses]
    rows = [
        {"pairs": point.pairs, "loss": value, "curve": kind}
        for kind, series in (("raw", values), (f"smoothed ({SMOOTHING:g})", smoothed(values)))
        for point, value in _thinned(list(zip(curve.losses, series, strict=True)))
    ]
    return Plot(id="loss", spec=_lines(rows, "loss", "Loss, in nats"), label="Loss by pairs seen.")


def accuracy_plot(curve: NextSentenceCurve) -> Plot:
    """The accuracy at every checkpoint with its interval, and smoothed."""
    values = [point.accuracy for point in curve.checkpoints]
    rows = [
        {"pairs": point.pairs, "accuracy": value, "curve": kind}
        for kind, series in (
            ("test pairs", values),
            (f"smoothed ({ACCURACY_SMOOTHING:g})", smoothed(values, ACCURACY_SMOOTHING)),
        )
        for point, value in zip(curve.checkpoints, series, strict=True)
    ]
    band = [
        {"pairs": point.pairs, "low": point.low, "high": point.high}
        for point in curve.checkpoints
        if point.low is not None and point.high is not None
    ]
    spec = _lines(rows, "accuracy", "Share that is right", domain=(0.0, 1.0), band=band)
    return Plot(
        id="accuracy",
        spec=spec,
        label="Share of test pairs that are right, by pairs seen, with its interval.",
    )


def rate_plot(curve: NextSentenceCurve) -> Plot:
    """Both learning rates."""
    rows = [
        {"pairs": point.pairs, "rate": getattr(point, f"{part}_rate"), "curve": part}
        for part in ("body", "head")
        for point in _thinned(curve.losses)
    ]
    return Plot(id="rates", spec=_lines(rows, "rate", "Learning rate"), label="Learning rates by pairs seen.")


def _thinned(points: Sequence[Any]) -> Sequence[Any]:
    step = max(1, -(-len(points) // MOST_POINTS))
    return points[::step]


def _lines(
    rows: Sequence[dict[str, Any]],
    field: str,
    title: str,
    *,
    domain: tuple[float, float] | None = None,
    band: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    if not rows:
        return {}
    names = list(dict.fromkeys(row["curve"] for row in rows))
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=False)
    chart = (
        alt.Chart(pl.DataFrame(list(rows)))
        .mark_line(strokeWidth=2, point=len(rows) < 60)
        .encode(
            alt.X("pairs:Q", title="Pairs seen"),
            alt.Y(f"{field}:Q", title=title, scale=scale),
            alt.Color(
                "curve:N", title=None, scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)]))
            ),
            alt.StrokeDash("curve:N", title=None, scale=alt.Scale(domain=names)),
            tooltip=[alt.Tooltip("pairs:Q", format=","), alt.Tooltip(f"{field}:Q", format=".4g"), "curve:N"],
        )
    )
    if not band:
        return specification(alt.layer(chart), height=_HEIGHT)
    area = (
        alt.Chart(pl.DataFrame(list(band)))
        .mark_area(opacity=0.2, color=COLOURS[0])
        .encode(alt.X("pairs:Q"), alt.Y("low:Q", title=title, scale=scale), alt.Y2("high:Q"))
    )
    return specification(alt.layer(area, chart), height=_HEIGHT)


def _recipe_facts(training: HeadTraining) -> list[tuple[str, str]]:
    recipe = training.recipe
    return [
        ("learning rates", f"{recipe.body_rate:g} (body), {recipe.head_rate:g} (head)"),
        (
            "schedule",
            f"cosine with hard restarts, {recipe.restarts} in all, after {training.steps // 100 + 1:,} steps",
        ),
        ("batch", f"{recipe.batch_size} pairs"),
        ("steps", f"{training.steps:,}"),
        ("pairs seen", f"{training.seen_pairs:,}"),
        ("passes", f"{recipe.passes}"),
        ("longest pair", f"{recipe.max_tokens} tokens"),
        ("gradients clipped at", f"{recipe.clip:g}"),
        ("computed in", training.precision.value),
        ("seed", f"{recipe.seed}"),
    ]
