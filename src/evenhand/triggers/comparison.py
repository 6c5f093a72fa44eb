"""Prefixes beside each other on targets and text that no search saw: a trigger, random tokens, a sentence, nothing.

Everything is read off the text of a prefix, not its tokens, so that a trigger can be carried to another model. What is
measured is a list of ``PrefixMeasure``: here those that need no text to be written; ``written_texts`` has the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evenhand.core.estimates import Estimate
from evenhand.models.engine.requests import CausalRequest
from evenhand.models.engine.trees import shared_prefix
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.models.tokenised_text import start_token, tokenise
from evenhand.stats.intervals import cluster_interval
from evenhand.stats.resampling import Floats, Resampling, Statistic
from evenhand.store.jobs import Parts
from evenhand.store.trigger_records import PERPLEXITY, SURPRISE_GAP, PrefixComparison, PrefixFigures
from evenhand.triggers.targets import Sides, TargetPair, TargetRegard

FEWEST_CONTEXTS = 3
"""Clusters are contexts if there are so many, and each regard is in two of them; pairs otherwise."""


@dataclass(frozen=True, slots=True)
class NamedPrefixes:
    """A prefix, or several of a kind whose figures are averaged; the first of a comparison is what others change."""

    name: str
    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FigureOfPrefix:
    """A figure behind a prefix, and its paired change from the first prefix."""

    figure: Estimate
    change: Estimate
    unit: str = "nats"


class PrefixMeasure(Protocol):
    """Something that is measured behind prefixes."""

    def measure(
        self,
        model: Any,
        prefixes: Sequence[NamedPrefixes],
        resampling: Resampling,
        *,
        parts: Parts | None = None,
    ) -> Mapping[str, Sequence[FigureOfPrefix]]:
        """By key, one figure for each of the prefixes.

        Args:
            model: Without a prefix of its own.
            prefixes: The first is the one that others are compared with.
            resampling: Resamples, seed and confidence level.
            parts: Where what takes long is kept as it comes, for this model.
        """
        ...


def compare_prefixes(
    model: LanguageModel,
    prefixes: Sequence[NamedPrefixes],
    *,
    pairs: Sequence[TargetPair],
    sentences: Sequence[str],
    resampling: Resampling,
    further: Sequence[PrefixMeasure] = (),
    parts: Parts | None = None,
) -> PrefixComparison:
    """Measure a model behind each of some prefixes.

    Args:
        model: A decoder without a prefix of its own.
        prefixes: The first is the one that others are compared with: no prefix.
        pairs: Target pairs that no search saw.
        sentences: Ordinary ones that no search saw.
        resampling: Resamples, seed and confidence level.
        further: What is measured beside likelihoods and perplexity.
        parts: Where what takes long is kept as it comes.

    Raises:
        ModelError: If a text with a prefix is longer than the model takes.
    """
    scored: list[PrefixMeasure] = [TargetLikelihoods(pairs), TextPerplexity(sentences)]
    found = measure_prefixes(model, prefixes, (*further, *scored), resampling=resampling, parts=parts)
    contexts = len({pair.context for pair in pairs})
    return found.model_copy(update={"pairs": len(pairs), "contexts": contexts, "sentences": len(sentences)})


def measure_prefixes(
    model: Any,
    prefixes: Sequence[NamedPrefixes],
    measures: Sequence[PrefixMeasure],
    *,
    resampling: Resampling,
    parts: Parts | None = None,
) -> PrefixComparison:
    """Measure a model behind each of some prefixes, by some measures alone.

    Args:
        model: Without a prefix of its own.
        prefixes: The first is the one that others are compared with: no prefix.
        measures: What is measured.
        resampling: Resamples, seed and confidence level.
        parts: Where what takes long is kept as it comes.
    """
    model.ref.refuse_prefix()
    figures: dict[str, Sequence[FigureOfPrefix]] = {}
    for measure in measures:
        figures.update(measure.measure(model, prefixes, resampling, parts=parts))
    return PrefixComparison(
        model=model.record.id,
        pairs=0,
        contexts=0,
        sentences=0,
        units={key: values[0].unit for key, values in figures.items()},
        rows=tuple(
            PrefixFigures(
                name=own.name,
                prefixes=own.prefixes,
                figures={key: values[number].figure for key, values in figures.items()},
                changes={key: values[number].change for key, values in figures.items()} if number else {},
            )
            for number, own in enumerate(prefixes)
        ),
    )


@dataclass(frozen=True, slots=True)
class _Totals:
    """Nats and tokens of texts, one entry per cluster."""

    nats: Floats
    tokens: Floats

    def mean(self, weights: Floats) -> Floats:
        """Nats per token under weights of clusters; where no text is drawn, that of all texts."""
        tokens = weights @ self.tokens
        means = np.full(len(weights), self.nats.sum() / self.tokens.sum())
        np.divide(weights @ self.nats, tokens, out=means, where=tokens > 0)
        return means


class TargetLikelihoods:
    """How likely targets are: surprise by regard, and the gap between groups as the objective of a search has it."""

    def __init__(self, pairs: Sequence[TargetPair]) -> None:
        self._pairs = pairs
        self._clusters = _clusters_of(pairs)
        self._count = int(self._clusters.max()) + 1

    def measure(
        self,
        model: LanguageModel,
        prefixes: Sequence[NamedPrefixes],
        resampling: Resampling,
        *,
        parts: Parts | None = None,  # noqa: ARG002 # it takes moments
    ) -> Mapping[str, Sequence[FigureOfPrefix]]:
        """See ``PrefixMeasure``."""
        read = [self._read(model, own.prefixes) for own in prefixes]
        found: dict[str, Sequence[FigureOfPrefix]] = {}
        for groups in dict.fromkeys(pair.prompts for pair in self._pairs):
            gaps = [self._gap(totals, groups) for totals in read]
            if all(gap is not None for gap in gaps):
                known = [gap for gap in gaps if gap is not None]
                found[f"{', '.join(groups)}.{SURPRISE_GAP}"] = self._estimates(
                    known, resampling, distance=np.abs
                )
        for regard in TargetRegard:
            means = [self._surprise(totals, regard) for totals in read]
            found[f"{regard}.surprise"] = self._estimates(means, resampling, distance=np.asarray)
        return found

    def _estimates(
        self, statistics: Sequence[Statistic], resampling: Resampling, *, distance: Statistic
    ) -> list[FigureOfPrefix]:
        return [
            FigureOfPrefix(
                _estimated(own, self._count, resampling, n=len(self._pairs)),
                _estimated(_rise(own, statistics[0], distance), self._count, resampling, n=len(self._pairs)),
            )
            for own in statistics
        ]

    def _gap(self, read: Floats, groups: Sides) -> Statistic | None:
        """How much more the first group is expected to be spoken well of than the second."""
        totals = [
            self._totals(
                read, [number for number, pair in enumerate(self._pairs) if _is(pair, regard, groups)], side
            )
            for regard in (TargetRegard.NEGATIVE, TargetRegard.POSITIVE)
            for side in (0, 1)
        ]
        if any(own is None for own in totals):
            return None
        negative_first, negative_second, positive_first, positive_second = (
            own for own in totals if own is not None
        )

        def gap(weights: Floats) -> Floats:
            first = negative_first.mean(weights) - positive_first.mean(weights)
            return first - (negative_second.mean(weights) - positive_second.mean(weights))

        return gap

    def _surprise(self, read: Floats, regard: TargetRegard) -> Statistic:
        """The mean over both sides."""
        numbers = [number for number, pair in enumerate(self._pairs) if pair.regard is regard]
        sides = [totals for side in (0, 1) if (totals := self._totals(read, numbers, side)) is not None]
        return lambda weights: np.mean([totals.mean(weights) for totals in sides], axis=0)

    def _totals(self, read: Floats, numbers: Sequence[int], side: int) -> _Totals | None:
        if not numbers:
            return None

        def summed(column: int) -> Floats:
            values = read[numbers, side, column]
            return np.bincount(self._clusters[numbers], values, self._count).astype(np.float64)

        return _Totals(summed(0), summed(1))

    def _read(self, model: LanguageModel, prefixes: Sequence[str]) -> Floats:
        """Nats and tokens of each text of each pair, of several prefixes their mean: (pairs, sides, 2)."""
        texts = [
            (prefix, pair.prompts[side], pair.whole(side))
            for prefix in prefixes
            for pair in self._pairs
            for side in (0, 1)
        ]
        codec = model.writer.codec
        prompts = codec.encode([prefix + prompt for prefix, prompt, _ in texts])
        whole = codec.encode([prefix + text for prefix, _, text in texts])
        requests = [
            CausalRequest(ids, shared_prefix(prompt, ids), prefix)
            for (prefix, _, _), prompt, ids in zip(texts, prompts, whole, strict=True)
        ]
        read: Floats = _surprises(model, requests).reshape(len(prefixes), len(self._pairs), 2, 2).mean(axis=0)
        return read


class TextPerplexity:
    """Perplexity of ordinary sentences."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._sentences = sentences

    def measure(
        self,
        model: LanguageModel,
        prefixes: Sequence[NamedPrefixes],
        resampling: Resampling,
        *,
        parts: Parts | None = None,  # noqa: ARG002 # it takes moments
    ) -> Mapping[str, Sequence[FigureOfPrefix]]:
        """The perplexity, and its change in percent."""
        count = len(self._sentences)
        totals = [
            _Totals(read[:, 0], read[:, 1]) for read in (self._read(model, own.prefixes) for own in prefixes)
        ]

        def rise(own: _Totals) -> Statistic:
            return lambda weights: 100 * np.expm1(own.mean(weights) - totals[0].mean(weights))

        def perplexity(own: _Totals) -> Statistic:
            return lambda weights: np.exp(own.mean(weights))

        return {
            PERPLEXITY: [
                FigureOfPrefix(
                    _estimated(perplexity(own), count, resampling, n=count),
                    _estimated(rise(own), count, resampling, n=count),
                    unit="percent",
                )
                for own in totals
            ]
        }

    def _read(self, model: LanguageModel, prefixes: Sequence[str]) -> Floats:
        start = start_token(model.tokenizer, model.loaded.config)
        lead = () if start is None else (start,)
        requests = []
        for prefix in prefixes:
            for sentence in self._sentences:
                tokenised = tokenise(model.tokenizer, prefix + sentence, special=False)
                skipped = (tokenised.first_from(len(prefix)) or 0) if prefix else 0
                first = max(1, len(lead) + skipped)
                requests.append(CausalRequest((*lead, *tokenised.ids), first, prefix))
        read: Floats = (
            _surprises(model, requests).reshape(len(prefixes), len(self._sentences), 2).mean(axis=0)
        )
        return read


def _estimated(statistic: Statistic, clusters: int, resampling: Resampling, *, n: int) -> Estimate:
    value = float(statistic(np.ones((1, clusters)))[0])
    return cluster_interval(statistic, clusters, resampling=resampling).around(value, n=n, clusters=clusters)


def _rise(own: Statistic, first: Statistic, distance: Statistic) -> Statistic:
    """How much larger one statistic is than another, both as distances."""
    return lambda weights: distance(own(weights)) - distance(first(weights))


def _surprises(model: LanguageModel, requests: Sequence[CausalRequest]) -> Floats:
    """Nats and number of the tokens of each request."""
    longest = max(len(request.ids) for request in requests)
    if longest > model.longest_input:
        raise ModelError(
            f"A prefix and the longest text behind it have {longest:,} tokens together; {model.ref.id} takes "
            f"{model.longest_input:,}. Shorten the prefix or the texts."
        )
    answers = model.answer_tokens(requests)
    values = (answers.of(number) for number in range(len(requests)))
    return np.array([(-sum(own), len(own)) for own in values], dtype=np.float64)


def _is(pair: TargetPair, regard: TargetRegard, groups: Sides) -> bool:
    return pair.regard is regard and pair.prompts == groups


def _clusters_of(pairs: Sequence[TargetPair]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The cluster of each pair: its context, or the pair itself where contexts are too few to tell anything."""
    contexts = {
        context: number for number, context in enumerate(dict.fromkeys(pair.context for pair in pairs))
    }
    spread = min(len({pair.context for pair in pairs if pair.regard is regard}) for regard in TargetRegard)
    if len(contexts) < FEWEST_CONTEXTS or spread < 2:
        return np.arange(len(pairs))
    return np.array([contexts[pair.context] for pair in pairs])
