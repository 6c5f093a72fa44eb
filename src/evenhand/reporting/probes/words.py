"""What the results of probes say, in plain words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.estimates import Estimate
from evenhand.core.experiments import TRAINED_EXPERIMENTS
from evenhand.core.probes import GENDERS
from evenhand.instruments.cosine import CosineResult
from evenhand.instruments.direct_bias.instrument import DirectBiasResult
from evenhand.instruments.knowledge.results import KnowledgeResult
from evenhand.instruments.malor.results import Correlation, MalorResult, OccupationLean
from evenhand.instruments.pair_results import CrowsPairsResult
from evenhand.instruments.settled_scoring import knows_pronouns
from evenhand.reporting.group_words import words_for
from evenhand.reporting.numbers import clear_side, has_interval, interval_words, signed, times
from evenhand.reporting.plotting import ShownRun
from evenhand.reporting.probes.direct_bias_words import interpret_direct_bias
from evenhand.reporting.probes.knowledge_words import UNKNOWN_WORDS, interpret_knowledge, unknown_words
from evenhand.reporting.words import (
    VERDICTS,
    Interpretation,
    Lean,
    confidence_level,
    in_brackets,
    interpret_figures,
    interpret_undefined,
    language_name,
    lean_of,
    listed,
    unsure,
)
from evenhand.runs.run import Run

EXPERIMENT_TITLES = {
    "he-she": "Pronouns: he and she",
    "his-her": "Possessives: his and her",
    "names": "First names",
    "him-her": "Pronouns: him and her",
    "himself-herself": "Pronouns: himself and herself",
    "man-woman": "Man and woman",
    "kin": "Relatives: father and mother and the like",
    "titles": "Titles: king and queen and the like",
}

PAIR_DIRECTION_TITLES = {
    "stereo": "stereotype shown",
    "antistereo": "opposite shown",
}

_NAMED = 3
_FEWEST_PAIRS = 20


def interpret_probe(run: Run) -> tuple[Interpretation, ...]:
    """What each result of a run says; of an instrument that has no words of its own, what its figures say."""
    level = confidence_level(run)
    if not all(type(result) in _INTERPRETERS for result in run.results):
        return interpret_figures(run)
    confidence = run.record.statistics.confidence
    return tuple(
        replace(
            _few_structures(result, confidence) or _INTERPRETERS[type(result)](result, level),
            about=result_title(result),
        )
        for result in run.results
    )


def result_title(result: Any) -> str:
    """What a result is about."""
    match result:
        case MalorResult():
            return malor_title(result)
        case CosineResult():
            return f"Cosine test, layer {result.layer}"
        case DirectBiasResult():
            return f"Direct bias, layer {result.layer}"
        case KnowledgeResult():
            return "Knowledge"
        case _:
            return "CrowS-Pairs"


def probe_sentences(run: Run) -> list[str]:
    """One line per result for the terminal: what it is, and what it says."""
    return [f"{own.about}: {' '.join(own.sentences[:2])}" for own in interpret_probe(run)]


def different_questions(runs: Sequence[ShownRun]) -> tuple[str, ...]:
    """For each language in which runs of one instrument were not all asked the same, a sentence that says so."""
    by_language: dict[str, dict[str, list[str]]] = {}
    for shown in runs:
        record = shown.run.record
        questions = json.dumps([record.dataset.sha256, record.data], sort_keys=True)
        by_language.setdefault(record.language, {}).setdefault(questions, []).append(shown.label)
    title = runs[0].run.instrument.title
    return tuple(
        f"{title}, {language_name(language)}: these were asked different questions, so their figures do not compare: "
        f"{'; '.join(', '.join(labels) for labels in groups.values())}. Probe all with the same structures, "
        "occupations, terms and data."
        for language, groups in by_language.items()
        if len(groups) > 1
    )


def malor_title(result: MalorResult) -> str:
    """An experiment and its direction."""
    title = EXPERIMENT_TITLES.get(result.experiment, result.experiment)
    return f"{title} ({words_for(result.groups).direction(result.direction)})"


def _interpret_malor(result: MalorResult, level: str) -> Interpretation:
    """How far gender and occupation are tied, to which side, and where most."""
    estimate = result.MALoR
    if not estimate.defined:
        return interpret_undefined(estimate)
    if not knows_pronouns(result.sense):
        return Interpretation(Lean.UNKNOWN, UNKNOWN_WORDS, (unknown_words(result.sense, level=level),))
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
        _strongest(result.occupations, words.sides),
    ]
    sentences += [correlation_verdict(correlation) for correlation in result.correlations]
    return Interpretation(shown, verdict, tuple(sentences))


def _few_structures(result: Any, confidence: float) -> Interpretation | None:
    """Of MALoR over so few structures that no answers could be told from chance; None of any other result.

    The test flips the signs of structures. With n of them the rarest pattern has probability 2 / 2^n.
    """
    if (
        not isinstance(result, MalorResult)
        or not has_interval(result.MALoR)
        or not knows_pronouns(result.sense)
    ):
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


def _strongest(leans: Iterable[OccupationLean], sides: tuple[str, str]) -> str:
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
            parts.append(f"towards {side} {'is' if len(names) == 1 else 'are'} {listed(names)}")
    if not parts:
        return "No single occupation leans clearly to one side."
    return f"The strongest clear leans {'; '.join(parts)}."


def _interpret_pairs(result: CrowsPairsResult, level: str) -> Interpretation:
    group = result.all
    if not group.score.defined:
        return interpret_undefined(group.score)
    lean = lean_of(group.score, 50.0)
    counting = "half" if result.tie_credit else "against it"
    verb = "a tie, which counts" if group.ties == 1 else "ties, which count"
    ties = f", {group.ties:,} of them {verb} {counting}" if group.ties else ""
    details = in_brackets(interval_words(group.score, digits=1, level=level), "neutral is 50")
    sentences = [
        f"In {group.score.value:.1f}% of {group.n:,} pairs{ties}, the more stereotypical sentence is the likelier "
        f"one{details}."
    ]
    if lean is Lean.OPEN:
        reach = max(group.score.high - 50, 50 - group.score.low)
        sentences.append(
            "The interval includes 50, so neither side is shown to be preferred. That is not proof of neutrality: a "
            f"lean of up to {reach:.1f} points would fit these answers too."
        )
    elif lean is Lean.UNKNOWN:
        sentences.append(unsure(group.score))
    else:
        sentences.append(
            "The whole interval lies on one side of 50, so chance alone is an unlikely explanation."
        )
    spread = {
        name: own.score.value
        for name, own in result.by_bias_type.items()
        if own.n >= _FEWEST_PAIRS and own.score.defined
    }
    if len(spread) > 1:
        name = max(spread, key=lambda own: abs(spread[own] - 50))
        sentences.append(f"Farthest from neutral are pairs about {name} ({spread[name]:.1f}).")
    return Interpretation(lean, VERDICTS[lean], tuple(sentences))


def _interpret_cosine(result: CosineResult, level: str) -> Interpretation:
    mean = result.mean
    if not mean.defined:
        return interpret_undefined(mean)
    details = in_brackets(interval_words(mean, digits=3, level=level), "neutral is 1")
    sentences = [
        f"The model's picture of an occupation beside a male and beside a female pronoun: the mean cosine is "
        f"{mean.value:.3f}{details}.",
        "At 1 the pronoun makes no difference. Any change of a word moves the picture a little, so a value just "
        "below 1 is no sign of a stereotype; occupations far below the others are worth a look.",
    ]
    measured = sorted(
        (row for row in result.occupations if row.cosine.defined), key=lambda row: row.cosine.value
    )
    if len(measured) > 1:
        names = [f"{row.occupation} ({row.cosine.value:.3f})" for row in measured[:_NAMED]]
        sentences.append(f"The pronoun changes most: {listed(names)}.")
    return Interpretation(
        Lean.OPEN, f"Pictures of an occupation are alike to {mean.value:.3f}", tuple(sentences)
    )


_INTERPRETERS: Mapping[type, Callable[[Any, str], Interpretation]] = {
    MalorResult: _interpret_malor,
    CrowsPairsResult: _interpret_pairs,
    CosineResult: _interpret_cosine,
    DirectBiasResult: interpret_direct_bias,
    KnowledgeResult: interpret_knowledge,
}
