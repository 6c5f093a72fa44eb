"""What direct bias says, in plain words: along the gender direction, or between any two words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.core.probes import GENDERS
from evenhand.instruments.direct_bias.gender_direction import PRONOUNS
from evenhand.instruments.direct_bias.instrument import DirectBiasResult
from evenhand.reporting.group_words import MEN_AND_WOMEN, SEVERAL
from evenhand.reporting.numbers import has_interval, interval_words, signed
from evenhand.reporting.words import (
    VERDICTS,
    Interpretation,
    Lean,
    in_brackets,
    interpret_undefined,
    listed,
)

_NAMED = 3

_PRONOUNS = frozenset(own.both for own in PRONOUNS.values())


@dataclass(frozen=True, slots=True)
class DirectBiasWords:
    """Words for the directions of several results."""

    direction: str
    ends: tuple[str, str]
    """Where it leads to, and where it comes from."""
    lede: str
    avoided: str
    """What sentences about professions must not have."""
    limit: str


def direct_bias_words(results: Sequence[DirectBiasResult]) -> DirectBiasWords:
    """Words that hold for all of the results."""
    pairs = list(dict.fromkeys(words_of_result(result) for result in results))
    are_pronouns = all(pair in _PRONOUNS for pair in pairs)
    first, second = ("the first word", "the second word") if len(pairs) > 1 else map(repr, pairs[0])
    direction = f"the direction from {second} to {first}"
    sides = ("the male side", "the female one") if are_pronouns else (first, second)
    tell_gender = all(result.tells_gender for result in results)
    return DirectBiasWords(
        direction=direction,
        ends=(first, second),
        lede=f"In the model's space of meanings there is {direction.replace('the', 'a', 1)}. A bar shows how far a "
        f"profession points along it, over a corpus: to the right {sides[0]}, to the left {sides[1]}. The grey band is "
        "as wide as what a random direction gives on average.",
        avoided="gendered words" if tell_gender else "either word",
        limit=(MEN_AND_WOMEN if tell_gender else SEVERAL).limit,
    )


def words_of_result(result: DirectBiasResult) -> tuple[str, str]:
    """The two words that the direction of a result lies between; of runs that do not say it, the English pronouns."""
    words = tuple(result.pronouns)
    return (words[0], words[1]) if len(words) == 2 else PRONOUNS["en"].both


def ends_of_direction(result: DirectBiasResult) -> tuple[str, str]:
    """What direct bias lies between: the two genders where pronouns make the direction, else the two words."""
    words = words_of_result(result)
    return GENDERS if words in _PRONOUNS else words


def interpret_direct_bias(result: DirectBiasResult, level: str) -> Interpretation:
    """How far professions point along the direction, beside random ones, and which point farthest."""
    bias, chance = result.direct_bias, result.baseline
    if not bias.defined:
        return interpret_undefined(bias)
    details = in_brackets(interval_words(bias, digits=3, level=level))
    sentences = [
        f"Direct bias is {bias.value:.3f}{details} over {len(result.professions):,} professions and "
        f"{result.sentences:,} sentences."
    ]
    lean, verdict, ends = Lean.UNKNOWN, VERDICTS[Lean.UNKNOWN], ends_of_direction(result)
    if not chance.defined:
        sentences.append(f"There are no random directions to compare with: {chance.reason}.")
    else:
        reach = chance.high if not math.isnan(chance.high) else chance.value
        above = has_interval(bias) and bias.low > reach
        lean = Lean.TOWARDS if above else Lean.OPEN
        verdict = (
            f"Professions follow the {'gender ' if ends == GENDERS else ''}direction"
            if above
            else "Not shown to be more than random directions give"
        )
        says = (
            "The whole interval is above that, so chance directions are an unlikely explanation."
            if above
            else "The interval is not above that, so nothing more than chance is shown."
        )
        sentences.append(
            f"Random directions give {chance.value:.3f}{in_brackets(interval_words(chance, digits=3))}. {says}"
        )
    measured = sorted(
        (row for row in result.professions if not math.isnan(row.cosine)), key=lambda r: -r.cosine
    )
    first, second = (f"the {end} side" if ends == GENDERS else repr(end) for end in ends)
    for side, own in (
        (first, [row for row in measured if row.cosine > 0][:_NAMED]),
        (second, [row for row in reversed(measured) if row.cosine < 0][:_NAMED]),
    ):
        if own:
            names = listed([f"{row.profession} ({signed(row.cosine)})" for row in own])
            sentences.append(f"The largest cosines towards {side}, not tested against others: {names}.")
    return Interpretation(lean, verdict, tuple(sentences))
