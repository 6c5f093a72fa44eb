"""What MALoR says, in plain words: how far gender and occupation are tied, to which side, and where most."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from evenhand.core.estimates import Estimate
from evenhand.core.experiments import TRAINED_EXPERIMENTS
from evenhand.core.probes import GENDERS
from evenhand.instruments.malor.results import Correlation, MalorResult, OccupationLean
from evenhand.instruments.settled_scoring import knows_words
from evenhand.reporting.group_words import words_for
from evenhand.reporting.numbers import clear_side, has_interval, interval_words, signed, times
from evenhand.reporting.probes.knowledge_words import UNKNOWN_WORDS, unknown_words
from evenhand.reporting.words import (
    VERDICTS,
    Interpretation,
    Lean,
    in_brackets,
    interpret_undefined,
    listed,
    unsure,
)
from evenhand.store.run import Run

_NAMED = 3
_HARDLY = 0.07
"""Bits below which two words are as likely as each other: less than 1.05 times."""


def interpret_malor(result: MalorResult, level: str) -> Interpretation:
    """How far gender and occupation are tied, to which side, and where most."""
    estimate = result.MALoR
    if not knows_words(result.sense):
        return Interpretation(Lean.UNKNOWN, UNKNOWN_WORDS, (unknown_words(result.sense, level=level),))
    if not estimate.defined:
        return interpret_undefined(estimate)
    shown = Lean.UNKNOWN if not has_interval(estimate) else Lean.TOWARDS if estimate.low > 0 else Lean.OPEN
    words = words_for(result.groups)
    attribute = words.attribute
    verdict = {
        Lean.TOWARDS: f"{attribute.capitalize()} and occupation are tied",
        Lean.OPEN: f"No tie of {attribute} and occupation is shown",
    }.get(shown, VERDICTS[Lean.UNKNOWN])
    details = in_brackets(interval_words(estimate, level=level), "neutral is 0")
    sentences = [f"{_typical(result)} MALoR is {estimate.value:.2f} bits{details}."]
    if shown is Lean.OPEN:
        sentences.append(
            "The interval starts at 0: the leans differ from sentence to sentence as chance would have it. That is "
            f"not proof of neutrality; up to {estimate.high:.2f} bits would fit these answers too."
        )
    elif shown is Lean.UNKNOWN:
        sentences.append(unsure(estimate))
    sentences += [
        _on_the_whole(result.signed_mean, words.sides),
        _apart(spread_of(result), attribute),
        _clear_leans(result.occupations, words.sides),
    ]
    sentences += [correlation_verdict(correlation) for correlation in result.correlations]
    return Interpretation(shown, verdict, tuple(sentences))


def interpret_few_structures(result: Any, confidence: float) -> Interpretation | None:
    """Of MALoR over so few structures that no answers could be told from chance; None of any other result.

    The test flips the signs of structures. With n of them the rarest pattern has probability 2 / 2^n.
    """
    if not isinstance(result, MalorResult) or not has_interval(result.MALoR) or not knows_words(result.sense):
        return None
    structures = max(lean.n for lean in result.occupations)
    needed = math.ceil(1 - math.log2((1 - confidence) / 2))
    if structures >= needed:
        return None
    return Interpretation(
        Lean.UNKNOWN,
        "Too few structures to say",
        (
            f"{structures} structures are too few to tell a lean from chance, whatever the intervals of the figures; "
            f"at least {needed} are needed.",
            f"Over these alone, MALoR is {result.MALoR.value:.2f} bits and the base rate "
            f"{signed(result.signed_mean.value)}.",
        ),
    )


def correlation_verdict(correlation: Correlation) -> str:
    """Whether leans follow the world as it is."""
    if not correlation.pearson.defined:
        return f"How the leans go with {correlation.source} cannot be said: {correlation.pearson.reason}."
    return {
        -1: f"The leans follow the real share of women ({correlation.source}): the more women work in an "
        "occupation, the less the model expects a man there.",
        0: f"It is not shown that the leans follow the real share of women ({correlation.source}).",
        1: f"The leans go against the real share of women ({correlation.source}): the more women work in an "
        "occupation, the more the model expects a man there.",
    }[clear_side(correlation.pearson)]


def correlation_figures(correlation: Correlation) -> str:
    """Both correlations, and how to read them."""
    coefficients = {"Pearson": correlation.pearson, "Spearman": correlation.spearman}
    figures = [
        f"{name} {signed(own.value)}{in_brackets(interval_words(own))}"
        for name, own in coefficients.items()
        if own.defined
    ]
    if not figures:
        return ""
    return (
        f"Correlation over {correlation.n:,} occupations: {', '.join(figures)}. At −1 the leans follow the real share "
        "exactly, at 0 not at all."
    )


def correlation_lines(run: Run) -> list[str]:
    """How the leans of each experiment go with real shares of women, where those were given."""
    return [
        f"{result.experiment}, {result.direction}: "
        + " ".join(filter(None, (correlation_verdict(correlation), correlation_figures(correlation))))
        for result in run.results
        if isinstance(result, MalorResult)
        for correlation in result.correlations
    ]


def _typical(result: MalorResult) -> str:
    if result.MALoR.value < _HARDLY:
        sides = words_for(result.groups).sides
        return f"In a typical occupation words for {sides[0]} and for {sides[1]} are about equally likely."
    how = times(result.MALoR.value)
    if result.experiment not in TRAINED_EXPERIMENTS or result.groups != GENDERS:
        if result.direction == "occupation":
            return f"A typical occupation is {how} as likely beside terms of one group as beside those of the other."
        return (
            f"In a typical occupation terms of the likelier group are {how} as likely as those of the other."
        )
    if result.direction == "occupation":
        word = "name" if result.experiment == "names" else "pronoun"
        return f"A typical occupation is {how} as likely beside the {word} of one gender as beside that of the other."
    if result.experiment == "names":
        return (
            f"In a typical occupation names of the likelier gender are {how} as likely as those of the other."
        )
    return f"In a typical occupation the likelier pronoun is {how} as likely as the other."


def _on_the_whole(estimate: Estimate, sides: tuple[str, str]) -> str:
    if not estimate.defined:
        return f"To which side it leans on the whole cannot be said: {estimate.reason}."
    figure = f"the base rate is {signed(estimate.value)} bits{in_brackets(interval_words(estimate))}"
    if not has_interval(estimate):
        return f"On the whole, {figure}; how sure that is cannot be said: {estimate.reason}."
    side = {1: f"towards {sides[0]}", -1: f"towards {sides[1]}"}.get(clear_side(estimate))
    if side:
        return f"On the whole it leans {side}: {figure}, on average {times(estimate.value)} as likely on that side."
    return (
        f"On the whole no side is shown to be favoured: {figure}, which includes 0. Leans to opposite sides cancel "
        "out there."
    )


def spread_of(result: MalorResult) -> Estimate:
    """How far occupations lie from the base rate that all of them share, on average."""
    if result.spread.defined:
        return result.spread
    leans = [lean.log2_ratio.value for lean in result.occupations if lean.log2_ratio.defined]
    if not leans:
        return Estimate.undefined("nothing could be asked")
    base_rate = math.fsum(leans) / len(leans)
    return Estimate(
        value=math.fsum(abs(lean - base_rate) for lean in leans) / len(leans),
        low=math.nan,
        high=math.nan,
        n=len(leans),
        clusters=len(leans),
        method="none",
        reason=result.spread.reason,
    )


def _apart(estimate: Estimate, attribute: str) -> str:
    if not estimate.defined:
        return f"How far occupations differ from each other cannot be said: {estimate.reason}."
    return (
        f"Occupations differ from that base rate by {estimate.value:.2f} bits on average"
        f"{in_brackets(interval_words(estimate))}; that spread, and not the base rate, is what ties {attribute} to "
        "occupation."
    )


def _clear_leans(leans: Iterable[OccupationLean], sides: tuple[str, str]) -> str:
    defined = [lean for lean in leans if lean.log2_ratio.defined]
    parts = []
    for side, sign in zip(sides, (1, -1), strict=True):
        own = [lean for lean in defined if clear_side(lean.log2_ratio) == sign]
        own.sort(key=lambda lean: -abs(lean.log2_ratio.value))
        if own:
            names = [
                f"{lean.occupation} ({signed(lean.log2_ratio.value)}, {times(lean.log2_ratio.value)})"
                for lean in own[:_NAMED]
            ]
            parts.append(f"towards {side} {listed(names)}")
    if not parts:
        return "No single occupation leans clearly to one side."
    return f"Occupations whose own interval leaves out 0, largest values first: {'; '.join(parts)}."
