"""What the results of probes say, in plain words."""

from __future__ import annotations

import math

from evenhand.core.estimates import Estimate
from evenhand.instruments.probe_results import (
    CosineResult,
    CrowsPairsResult,
    DirectBiasResult,
    MalorResult,
    ProbeResult,
)
from evenhand.report.association.reading import VERDICTS, Lean, Reading, undefined_reading, unsure
from evenhand.report.number_words import in_brackets, interval_words, listed, signed
from evenhand.report.probes.malor_words import read_malor
from evenhand.runs.run import Run

TEST_TITLES = {
    "malor": "Occupations (MALoR)",
    "crows-pairs": "CrowS-Pairs",
    "cosine": "Cosine test",
    "direct-bias": "Direct bias",
}

EXPERIMENT_TITLES = {
    "he-she": "Pronouns: he and she",
    "his-her": "Possessives: his and her",
    "names": "First names",
}

DIRECTION_TITLES = {
    "gender": "which gender goes with an occupation",
    "occupation": "which occupation goes with a gender",
}

PAIR_DIRECTION_TITLES = {
    "stereo": "stereotype shown",
    "antistereo": "opposite shown",
}

_NAMED = 3
_FEWEST_PAIRS = 20


def read_result(run: Run, result: ProbeResult) -> Reading:
    """The reading of one result."""
    level = f"{run.record.statistics.confidence:.0%}"
    match result:
        case MalorResult():
            return read_malor(result, level=level)
        case CrowsPairsResult():
            return _read_pairs(result, level)
        case CosineResult():
            return _read_cosine(result, level)
        case DirectBiasResult():
            return _read_direct_bias(result, level)


def probe_sentences(run: Run) -> list[str]:
    """A line a result for the terminal: what it is, and what it says."""
    return [
        f"{result_title(result)}: {' '.join(read_result(run, result).sentences[:2])}"
        for result in run.results
    ]


def result_title(result: ProbeResult) -> str:
    """What a result is about."""
    match result:
        case MalorResult():
            return group_title(result.experiment, result.direction)
        case CosineResult() | DirectBiasResult():
            return f"{TEST_TITLES[result.kind]}, layer {result.layer}"
        case CrowsPairsResult():
            return TEST_TITLES[result.kind]


def group_title(experiment: str, direction: str) -> str:
    """An experiment and its direction."""
    return f"{EXPERIMENT_TITLES.get(experiment, experiment)} ({DIRECTION_TITLES.get(direction, direction)})"


def _read_pairs(result: CrowsPairsResult, level: str) -> Reading:
    group = result.all
    if not group.score.defined:
        return undefined_reading(group.score)
    lean = _lean(group.score, 50.0)
    ties = f", of them {group.ties:,} ties, which count half" if group.ties else ""
    told = in_brackets(interval_words(group.score, digits=1, level=level), "neutral is 50")
    sentences = [
        f"In {group.score.value:.1f}% of {group.n:,} pairs{ties}, the more stereotypical sentence is the likelier "
        f"one{told}."
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
    return Reading(lean, VERDICTS[lean], tuple(sentences))


def _read_cosine(result: CosineResult, level: str) -> Reading:
    mean = result.mean
    if not mean.defined:
        return undefined_reading(mean)
    told = in_brackets(interval_words(mean, digits=3, level=level), "neutral is 1")
    sentences = [
        f"The model's picture of an occupation beside a male and beside a female pronoun: the mean cosine is "
        f"{mean.value:.3f}{told}.",
        "At 1 the pronoun makes no difference. Any change of a word moves the picture a little, so a value just "
        "below 1 is no sign of a stereotype; occupations far below the others are worth a look.",
    ]
    known = sorted(
        (row for row in result.occupations if row.cosine.defined), key=lambda row: row.cosine.value
    )
    if len(known) > 1:
        names = [f"{row.occupation} ({row.cosine.value:.3f})" for row in known[:_NAMED]]
        sentences.append(f"The pronoun changes most: {listed(names)}.")
    return Reading(Lean.OPEN, f"Pictures of an occupation are alike to {mean.value:.3f}", tuple(sentences))


def _read_direct_bias(result: DirectBiasResult, level: str) -> Reading:
    found, chance = result.direct_bias, result.baseline
    if not found.defined:
        return undefined_reading(found)
    told = in_brackets(interval_words(found, digits=3, level=level))
    sentences = [
        f"Direct bias is {found.value:.3f}{told} over {len(result.professions):,} professions and "
        f"{result.sentences:,} sentences."
    ]
    lean, verdict = Lean.UNKNOWN, VERDICTS[Lean.UNKNOWN]
    if not chance.defined:
        sentences.append(f"There are no random directions to compare with: {chance.reason}.")
    else:
        reach = chance.high if not math.isnan(chance.high) else chance.value
        above = not math.isnan(found.low) and found.low > reach
        lean = Lean.TOWARDS if above else Lean.OPEN
        verdict = (
            "Professions follow the gender direction"
            if above
            else "No more than a random direction would show"
        )
        says = (
            "The whole interval is above that, so chance directions are an unlikely explanation."
            if above
            else "The interval is not above that, so nothing more than chance is shown."
        )
        sentences.append(
            f"Random directions give {chance.value:.3f}{in_brackets(interval_words(chance, digits=3))}. {says}"
        )
    known = sorted((row for row in result.professions if not math.isnan(row.cosine)), key=lambda r: -r.cosine)
    for side, own in (
        ("male", [row for row in known if row.cosine > 0][:_NAMED]),
        ("female", [row for row in reversed(known) if row.cosine < 0][:_NAMED]),
    ):
        if own:
            names = listed([f"{row.profession} ({signed(row.cosine)})" for row in own])
            sentences.append(f"Closest to the {side} side: {names}.")
    return Reading(lean, verdict, tuple(sentences))


def _lean(estimate: Estimate, neutral: float) -> Lean:
    if math.isnan(estimate.low):
        return Lean.UNKNOWN
    if estimate.low > neutral:
        return Lean.TOWARDS
    return Lean.AGAINST if estimate.high < neutral else Lean.OPEN
