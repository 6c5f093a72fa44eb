"""What MALoR says, in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterable

from evenhand.core.estimates import Estimate
from evenhand.instruments.probe_results import Correlation, MalorResult, OccupationLean
from evenhand.report.association.reading import VERDICTS, Lean, Reading, undefined_reading, unsure
from evenhand.report.number_words import clear_side, in_brackets, interval_words, listed, signed, times

_NAMED = 3


def read_malor(result: MalorResult, *, level: str) -> Reading:
    """How far gender and occupation are tied, to which side, and where most."""
    estimate = result.MALoR
    if not estimate.defined:
        return undefined_reading(estimate)
    shown = Lean.UNKNOWN if math.isnan(estimate.low) else Lean.TOWARDS if estimate.low > 0 else Lean.OPEN
    verdict = {
        Lean.TOWARDS: "Gender and occupation are tied",
        Lean.OPEN: "No tie of gender and occupation is shown",
    }.get(shown, VERDICTS[Lean.UNKNOWN])
    told = in_brackets(interval_words(estimate, level=level), "neutral is 0")
    sentences = [f"{_typical(result)} MALoR is {estimate.value:.2f} bits{told}."]
    if shown is Lean.OPEN:
        sentences.append(
            "The interval starts at 0: the leans differ from sentence to sentence as chance would have it. That is "
            f"not proof of neutrality; up to {estimate.high:.2f} bits would fit these answers too."
        )
    elif shown is Lean.UNKNOWN:
        sentences.append(unsure(estimate))
    sentences += [_on_the_whole(result.signed_mean), _strongest(result.occupations)]
    sentences += [correlation_verdict(correlation) for correlation in result.correlations]
    return Reading(shown, verdict, tuple(sentences))


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
    known = {"Pearson": correlation.pearson, "Spearman": correlation.spearman}
    told = [
        f"{name} {signed(own.value)}{in_brackets(interval_words(own))}"
        for name, own in known.items()
        if own.defined
    ]
    if not told:
        return ""
    return (
        f"Correlation over {correlation.n:,} occupations: {', '.join(told)}. At −1 the leans follow the real share "
        "exactly, at 0 not at all."
    )


def _typical(result: MalorResult) -> str:
    how = times(result.MALoR.value)
    if result.direction == "occupation":
        word = "name" if result.experiment == "names" else "pronoun"
        return f"A typical occupation is {how} as likely beside the {word} of one gender as beside that of the other."
    if result.experiment == "names":
        return (
            f"In a typical occupation names of the likelier gender are {how} as likely as those of the other."
        )
    return f"In a typical occupation the likelier pronoun is {how} as likely as the other."


def _on_the_whole(estimate: Estimate) -> str:
    if not estimate.defined:
        return f"To which side it leans on the whole cannot be said: {estimate.reason}."
    figure = f"the signed mean is {signed(estimate.value)} bits{in_brackets(interval_words(estimate))}"
    if math.isnan(estimate.low):
        return f"On the whole, {figure}; how sure that is cannot be said: {estimate.reason}."
    side = {1: "towards men", -1: "towards women"}.get(clear_side(estimate))
    if side:
        return f"On the whole it leans {side}: {figure}, on average {times(estimate.value)} as likely on that side."
    return (
        f"On the whole no side is shown to be favoured: {figure}, which includes 0. Leans to opposite sides cancel "
        "out there."
    )


def _strongest(leans: Iterable[OccupationLean]) -> str:
    known = [lean for lean in leans if lean.log2_ratio.defined]
    parts = []
    for side, sign in (("men", 1), ("women", -1)):
        own = [lean for lean in known if clear_side(lean.log2_ratio) == sign]
        own.sort(key=lambda lean: -abs(lean.log2_ratio.value))
        if own:
            names = [
                f"{lean.occupation} ({signed(lean.log2_ratio.value)}, {times(lean.log2_ratio.value)})"
                for lean in own[:_NAMED]
            ]
            parts.append(f"towards {side} {'is' if len(names) == 1 else 'are'} {listed(names)}")
    if not parts:
        return "No single occupation leans clearly to one side."
    return f"The strongest clear leans {'; '.join(parts)}."
