"""The view of MALoR: for each experiment and direction the base rate, the spread, and where every occupation leans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.estimates import Estimate
from evenhand.core.probes import GENDERS
from evenhand.instruments.malor.results import MalorResult, OccupationLean
from evenhand.reporting.group_words import GroupWords, words_for, words_for_all
from evenhand.reporting.numbers import NOT_THERE, clear_side, number, signed
from evenhand.reporting.plotting import (
    BITS,
    MOST_ROWS,
    IntervalAxis,
    Plot,
    PlottedEstimate,
    ShownRun,
    interval_plot,
    left_out,
)
from evenhand.reporting.probes.malor_words import correlation_figures, correlation_verdict, spread_of
from evenhand.reporting.probes.plots import (
    NO_FIELD,
    NOTHING_PLANTED,
    change_plot,
    lean_plot,
    probability_plot,
    share_plot,
)
from evenhand.reporting.probes.views import FEWEST_TO_FOLD, skipped_table
from evenhand.reporting.probes.words import different_questions, interpret_probe, malor_title
from evenhand.reporting.rendering import render
from evenhand.reporting.views import Matrix, Section, View, estimate_columns, rows_csv
from evenhand.store.calibration import Calibration

_PAIR = 2
_SMALL = 0.0005

RunResults = Sequence[tuple[ShownRun, MalorResult]]

CERTAINTY = (
    "Both occupations and structures were chosen from many, so intervals of MALoR, base rate and spread resample both. "
    "Intervals of single occupations and fields are not adjusted for there being many: of twenty that do not lean, one "
    "may seem to.",
)
LIMITS = (
    "An absolute value cannot fall below 0, so noise alone makes MALoR and the spread positive. The interval of MALoR "
    "is corrected for that: it starts at 0 unless the leans are more consistent over sentences than chance allows.",
    "MALoR has no upper end, and values from other sentences, occupations or words are not comparable.",
)
SHARES_LIMIT = (
    "A model that follows the real share of women in each occupation leans too. Whether that is wanted is not for a "
    "measure to say."
)


def _measured(words: GroupWords) -> tuple[str, ...]:
    first, second = words.terms
    return (
        f"MALoR: for each occupation, the log2 of P({first}) / P({second}) is averaged over all sentence structures; "
        "the mean of the absolute values over occupations is MALoR. Where a side has several words, all of them count "
        "together.",
        "Base rate and spread: the base rate is the mean of the same log-ratios with their signs, so it is what all "
        "occupations share. The spread is the mean distance of occupations from that base rate.",
    )


def malor_view(runs: Sequence[ShownRun], *, calibration: Calibration | None = None) -> View:  # noqa: ARG001
    """The view of MALoR runs."""
    results = [(shown, result) for shown in runs for result in shown.run.results]
    keys = dict.fromkeys((result.experiment, result.direction) for _, result in results)
    groups = [
        _group(
            f"group-{place}",
            runs,
            [own for own in results if (own[1].experiment, own[1].direction) == key],
        )
        for place, key in enumerate(keys)
    ]
    words = words_for_all(result.groups for _, result in results)
    section = Section(
        id="occupations",
        title="Occupations",
        html=render("probes.html.j2", "occupations", groups=groups, several=len(runs) > 1, words=words),
        csv=_occupations_csv(results),
    )
    return View(
        interpretations=tuple(interpret_probe(shown.run) for shown in runs),
        sections=(section,),
        plots=tuple(plot for group in groups for plot in group["plots"]),
        matrices=tuple(_matrix(group["title"], runs, group["results"]) for group in groups)
        if len(runs) > 1
        else (),
        notices=different_questions(runs),
        planted=tuple((shown.label, said) for shown in runs if (said := _expected(shown))),
        quality=skipped_table(runs),
        explanations={
            "MALoR": f"How far occupations lean to one {words.attribute} on average, whichever it is. Each bit "
            "doubles; 0 is neutral."
        },
        measured=_measured(words),
        certainty=CERTAINTY,
        limits=(*LIMITS, *((SHARES_LIMIT,) if words.are_genders else ()), words.limit),
    )


def changed_sides(before: MalorResult, after: MalorResult) -> list[dict[str, Any]]:
    """Occupations that lean to the other side in the second run, surely or not, those that moved farthest first."""
    later = {lean.occupation: lean for lean in after.occupations}
    turned = [
        (lean, later[lean.occupation])
        for lean in before.occupations
        if lean.occupation in later and lean.log2_ratio.value * later[lean.occupation].log2_ratio.value < 0
    ]
    turned.sort(key=lambda pair: -abs(pair[1].log2_ratio.value - pair[0].log2_ratio.value))
    return [
        {
            "occupation": first.occupation,
            "before": first.log2_ratio,
            "after": second.log2_ratio,
            "clear_in_both": bool(clear_side(first.log2_ratio) and clear_side(second.log2_ratio)),
        }
        for first, second in turned
    ]


def _group(name: str, runs: Sequence[ShownRun], results: RunResults) -> dict[str, Any]:
    """One experiment and direction, with the runs that have it."""
    first = results[0][1]
    title = malor_title(first)
    parts = _parts(name, title, runs, results)
    change = _change(name, title, results) if len(results) == _PAIR else None
    leans = [
        Plot(
            id=f"{name}-leans-{place}",
            spec=lean_plot(result, shown.mark, planted=_planted(shown)),
            label=f"Lean of each occupation: {title}, {shown.label}.",
        )
        for place, (shown, result) in enumerate(results)
    ]
    probabilities = _probabilities(name, title, results) if change or len(results) == 1 else None
    fields = _fields(name, title, runs, results)
    correlations = _correlations(name, results)
    plots = [
        parts,
        *leans,
        *([change["plot"]] if change else []),
        *([probabilities] if probabilities else []),
        fields,
        *(own["plot"] for own in correlations),
    ]
    return {
        "title": title,
        "direction": first.direction,
        "words": words_for(first.groups),
        "results": results,
        "parts": parts,
        "spreads": [(shown, result, spread_of(result)) for shown, result in results],
        "leans": list(zip(results, leans, strict=True)),
        "has_leans": any(plot.spec for plot in leans),
        "has_planted": any(_planted(shown) for shown, _ in results),
        "change": change,
        "probabilities": probabilities,
        "fields": fields,
        "field_rows": _field_estimates(results),
        "correlations": correlations,
        "tables": [_table(shown, result) for shown, result in results],
        "most": MOST_ROWS if any(len(result.occupations) > MOST_ROWS for _, result in results) else None,
        "folds": len(results) >= FEWEST_TO_FOLD,
        "plots": [plot for plot in plots if plot.spec],
    }


def _parts(name: str, title: str, runs: Sequence[ShownRun], results: RunResults) -> Plot:
    plotted = [
        PlottedEstimate(shown.label, row, estimate)
        for row, of in (
            ("MALoR", lambda result: result.MALoR),
            ("Base rate", lambda result: result.signed_mean),
            ("Spread", spread_of),
        )
        for shown, result in results
        for estimate in [of(result)]
    ]
    drawn = [own.run for own in plotted if own.estimate.defined]
    return Plot(
        id=f"{name}-parts",
        spec=interval_plot(plotted, _axis(results), runs=[shown for shown, _ in results]),
        label=f"MALoR, base rate and spread: {title}.",
        runs=tuple(shown for shown, _ in results),
        left_out=left_out(runs, drawn, reason="it was not asked this, or nothing could be scored"),
    )


def _probabilities(name: str, title: str, results: RunResults) -> Plot | None:
    """The probabilities of both sides in one run, or before and after in two."""
    spec = probability_plot([(shown.label, result) for shown, result in results])
    if not spec:
        return None
    labels = " and ".join(shown.label for shown, _ in results)
    return Plot(
        id=f"{name}-probabilities", spec=spec, label=f"Probabilities of both sides: {title}, {labels}."
    )


def _change(name: str, title: str, results: RunResults) -> dict[str, Any] | None:
    (first, before), (second, after) = results
    spec = change_plot(before, after, marks=(first.mark, second.mark))
    if not spec:
        return None
    flips = changed_sides(before, after)
    return {
        "plot": Plot(
            id=f"{name}-change",
            spec=spec,
            label=f"Lean of each occupation in both runs: {title}.",
            runs=(first, second),
        ),
        "first": first.label,
        "second": second.label,
        "flips": flips,
        "clear_flips": sum(row["clear_in_both"] for row in flips),
    }


def _field_estimates(results: RunResults) -> list[PlottedEstimate]:
    order = sorted({field for _, result in results for field in result.by_field})
    return [
        PlottedEstimate(shown.label, field, result.by_field[field])
        for field in order
        for shown, result in results
        if field in result.by_field
    ]


def _fields(name: str, title: str, runs: Sequence[ShownRun], results: RunResults) -> Plot:
    plotted = _field_estimates(results)
    return Plot(
        id=f"{name}-fields",
        spec=interval_plot(plotted, _axis(results), runs=[shown for shown, _ in results]) if plotted else {},
        label=f"Signed mean of each field: {title}.",
        runs=tuple(shown for shown, _ in results),
        left_out=left_out(runs, [own.run for own in plotted], reason="its occupations have no fields"),
    )


def _correlations(name: str, results: RunResults) -> list[dict[str, Any]]:
    return [
        {
            "label": shown.label,
            "sentence": f"{correlation_verdict(correlation)} {correlation_figures(correlation)}".strip(),
            "plot": Plot(
                id=f"{name}-shares-{place}-{number_}",
                spec=share_plot(result, correlation, mark=shown.mark),
                label=f"Lean of each occupation against the real share of women in it, {correlation.source}.",
                caption=f"{shown.label}, {correlation.source}" if len(results) > 1 else correlation.source,
            ),
        }
        for place, (shown, result) in enumerate(results)
        for number_, correlation in enumerate(result.correlations)
    ]


def _axis(results: RunResults) -> IntervalAxis:
    """Bits between the two groups of an experiment."""
    return replace(BITS, title=words_for(results[0][1].groups).axis)


def _matrix(title: str, runs: Sequence[ShownRun], results: RunResults) -> Matrix:
    leans = {
        shown.label: {lean.occupation: lean.log2_ratio for lean in result.occupations}
        for shown, result in results
    }
    names = sorted({name for own in leans.values() for name in own}, key=lambda name: -_mean(leans, name))
    values = [abs(own.value) for by_name in leans.values() for own in by_name.values() if own.defined]
    sides = words_for(results[0][1].groups).sides
    return Matrix(
        id=f"matrix-{title}",
        title=f"Occupations: {title}",
        term="Occupation",
        neutral=0.0,
        reach=max(values, default=1.0) or 1.0,
        digits=1,
        rows=tuple((name, tuple(leans.get(shown.label, {}).get(name) for shown in runs)) for name in names),
        lede=f"Bits towards {sides[0]}; below 0 towards {sides[1]}.",
    )


def _mean(leans: Mapping[str, Mapping[str, Estimate]], name: str) -> float:
    values = [own[name].value for own in leans.values() if name in own and own[name].defined]
    return math.fsum(values) / len(values) if values else -math.inf


def _table(shown: ShownRun, result: MalorResult) -> dict[str, Any]:
    shares = [correlation for correlation in result.correlations if correlation.shares]
    planted = _planted(shown)
    base_rate = result.signed_mean.value
    return {
        "label": shown.label,
        "groups": result.groups,
        "planted": bool(planted),
        "sources": [correlation.source for correlation in shares],
        "rows": [
            {
                "lean": lean,
                "apart": signed(lean.log2_ratio.value - base_rate)
                if lean.log2_ratio.defined and math.isfinite(base_rate)
                else NOT_THERE,
                "planted": NOT_THERE
                if planted.get(lean.occupation) is None
                else f"{planted[lean.occupation]:+.2f}",
                "male": _probability(lean.p_male),
                "female": _probability(lean.p_female),
                "shares": [
                    NOT_THERE
                    if (share := correlation.shares.get(lean.occupation)) is None
                    else f"{share:.1f}%"
                    for correlation in shares
                ],
            }
            for lean in sorted(result.occupations, key=_from_first_to_second)
        ],
    }


def _from_first_to_second(lean: OccupationLean) -> float:
    return -lean.log2_ratio.value if lean.log2_ratio.defined else math.inf


def _probability(value: float) -> str:
    return number(value, 3) if math.isnan(value) or value >= _SMALL or value == 0 else f"{value:.1e}"


def _planted(shown: ShownRun) -> Mapping[str, float]:
    model = shown.run.record.model
    return model.planted.occupations if model and model.planted else NOTHING_PLANTED


def _expected(shown: ShownRun) -> str:
    """What was planted says what MALoR should be."""
    model = shown.run.record.model
    occupations = {
        lean.occupation
        for result in shown.run.results
        for lean in result.occupations
        if lean.log2_ratio.defined
    }
    bits = model.planted.malor(occupations) if model and model.planted else None
    if bits is None:
        return ""
    if not bits:
        return "Its lessons have no lean in these occupations, so MALoR should be about 0 in sentences of theirs."
    return f"Over these occupations MALoR should be {bits:.2f} bits."


def _occupations_csv(results: RunResults) -> str:
    kinds = {result.groups for _, result in results}
    sides = ("male", "female") if kinds == {GENDERS} else ("first", "second")
    return rows_csv(
        [
            {
                "run": shown.label,
                "experiment": result.experiment,
                "direction": result.direction,
                "occupation": lean.occupation,
                "field": lean.field or NO_FIELD,
                **estimate_columns(lean.log2_ratio),
                "from_offset": lean.log2_ratio.value - result.signed_mean.value,
                f"p_{sides[0]}": lean.p_male,
                f"p_{sides[1]}": lean.p_female,
            }
            for shown, result in results
            for lean in result.occupations
        ]
    )
