"""What the results of probes say, in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evenhand.core.counts import plural
from evenhand.core.estimates import Estimate
from evenhand.core.items import PairDirection
from evenhand.core.protocols import get_pair_protocol
from evenhand.instruments.cosine import CosineResult
from evenhand.instruments.direct_bias.instrument import DirectBiasResult
from evenhand.instruments.knowledge.results import KnowledgeResult
from evenhand.instruments.malor.results import MalorResult
from evenhand.instruments.runner import ItemsResult
from evenhand.instruments.settled_scoring import knows_words
from evenhand.reporting.group_words import words_for
from evenhand.reporting.numbers import interval_words
from evenhand.reporting.plotting import ShownRun
from evenhand.reporting.probes.direct_bias_words import interpret_direct_bias
from evenhand.reporting.probes.knowledge_words import (
    UNKNOWN_WORDS,
    interpret_knowledge,
    unknown_sentences,
)
from evenhand.reporting.probes.malor_words import interpret_few_structures, interpret_malor
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
from evenhand.stats.significance import largest_shown
from evenhand.store.comparison import ALL_ITEMS
from evenhand.store.run import Run

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

PAIR_TITLES = {
    ALL_ITEMS: "all pairs",
    "stereo": "stereotype shown",
    "antistereo": "opposite shown",
}

_NAMED = 3

PAIRS = "crows-pairs"


def interpret_probe(run: Run) -> tuple[Interpretation, ...]:
    """What each result of a run says; of an instrument that has no words of its own, what its figures say."""
    level = confidence_level(run)
    if run.record.instrument == PAIRS:
        return (replace(_interpret_pairs(run, level), about="CrowS-Pairs"),)
    if not all(type(result) in _INTERPRETERS for result in run.results):
        return interpret_figures(run)
    confidence = run.record.statistics.confidence
    return tuple(
        replace(
            interpret_few_structures(result, confidence) or _INTERPRETERS[type(result)](result, level),
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
        case _:
            return "Knowledge"


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


@dataclass(frozen=True, slots=True)
class PairsGroup:
    """Pairs of one kind."""

    score: Estimate
    ties: int

    @property
    def n(self) -> int:
        """How many have a score."""
        return self.score.n


def pairs_groups(run: Run) -> dict[str, PairsGroup]:
    """The score of all pairs, by direction and by bias type, with the number of ties."""
    kinds = {ALL_ITEMS: run.scores["tied"], **_tied_by(run, "direction"), **_tied_by(run, "bias_type")}
    scores = {figure.group[-1]: figure.estimate for figure in run.figures}
    return {
        name: PairsGroup(scores[name], int(tied.fill_null(0.0).sum()))
        for name, tied in kinds.items()
        if name in scores
    }


def _tied_by(run: Run, column: str) -> dict[str, pl.Series]:
    order = [own.value for own in PairDirection] if column == "direction" else []
    parts = {str(name): rows["tied"] for (name,), rows in run.scores.group_by(column)}
    return {name: parts[name] for name in [*order, *sorted(set(parts) - set(order))] if name in parts}


def counts_ties_half(run: Run) -> bool:
    """Whether a tie is half a preference each way."""
    return get_pair_protocol(run.record.protocol.name if run.record.protocol else None).ties.credit > 0


def _interpret_pairs(run: Run, level: str) -> Interpretation:
    result: ItemsResult = run.result
    groups = pairs_groups(run)
    group = groups[ALL_ITEMS]
    if not knows_words(result.sense):
        return Interpretation(Lean.UNKNOWN, UNKNOWN_WORDS, (unknown_sentences(result.sense, level=level),))
    if not group.score.defined:
        return interpret_undefined(group.score)
    lean = lean_of(group.score, 50.0)
    counting = "half" if counts_ties_half(run) else "against it"
    ties = f" ({plural(group.ties, 'tie')}, counted {counting})" if group.ties else ""
    details = in_brackets(interval_words(group.score, digits=1, level=level), "neutral is 50")
    sentences = [
        f"In {group.score.value:.1f}% of {group.n:,} pairs{ties} the more stereotypical sentence is the likelier "
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
    parts = {name: own.score for name, own in groups.items() if own.score.defined}
    spread = {name: own for name, own in parts.items() if name not in (ALL_ITEMS, *PairDirection)}
    farthest = largest_shown({name: own.distance_from(50.0) for name, own in spread.items()})
    if farthest is not None:
        sentences.append(
            f"Farthest from neutral, by more than chance explains, are pairs about {farthest} "
            f"({spread[farthest].value:.1f})."
        )
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
        sentences.append(
            f"The lowest mean cosines are those of {listed(names)}; they were not tested against others."
        )
    return Interpretation(
        Lean.OPEN, f"Pictures of an occupation are alike to {mean.value:.3f}", tuple(sentences)
    )


_INTERPRETERS: Mapping[type, Callable[[Any, str], Interpretation]] = {
    MalorResult: interpret_malor,
    CosineResult: _interpret_cosine,
    DirectBiasResult: interpret_direct_bias,
    KnowledgeResult: interpret_knowledge,
}
