"""What changes in texts beside how they speak of people: how varied they are, and what they are about.

A prefix that makes a model write the same few sentences about everybody narrows every gap. So two things are read off
the texts behind their prompts:

- **distinct-n** (Li et al. 2016): the share of runs of n words that are not repetitions. It falls with the number of
  words, so in every prompt as many are counted for each set of texts: those of the one that has fewest.
- **content shift**: the Jensen-Shannon divergence between the words of two sets of texts behind the same prompt, in
  bits, less what dealing the texts out at random gives; the mean over prompts. 0 is no shift; some values are below.

References:
    Li, Galley, Brockett, Gao and Dolan (2016), "A diversity-promoting objective function for neural conversation
    models". Lin (1991), "Divergence measures based on the Shannon entropy".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.data.contexts import end_of_context
from evenhand.instruments.regard.occupation_shares import jensen_shannon
from evenhand.stats.group_shares import context_interval
from evenhand.stats.resampling import Floats, Resampling, Statistic

_WORD = re.compile(r"[^\W\d_]+(?:['’\-‐‑][^\W\d_]+)*")

_DEALS = 100
"""How often texts are dealt out at random behind each prompt."""

Words: TypeAlias = tuple[str, ...]
TextsByPrompt: TypeAlias = Mapping[tuple[str, str], Sequence[Words]]
"""The words of every text, by group and context."""


def words_by_prompt(scores: pl.DataFrame) -> dict[tuple[str, str], list[Words]]:
    """The words of texts behind their context, in lower case, by group and context."""
    texts: dict[tuple[str, str], list[Words]] = {}
    for group, context, text in scores.select("group", "context", "text").iter_rows():
        words = tuple(word.casefold() for word in _WORD.findall(text[end_of_context(text, context) :]))
        texts.setdefault((group, context), []).append(words)
    return texts


def distinct_shares(
    sets: Sequence[TextsByPrompt], *, length: int, resampling: Resampling
) -> list[tuple[Estimate, Estimate]]:
    """Distinct-n of each set of texts in percent, and its change from that of the first, contexts resampled together.

    Args:
        sets: Texts behind the same prompts; prompts that one of them lacks are left out.
        length: The n of distinct-n.
        resampling: Resamples, seed and confidence level.
    """
    contexts = _shared_contexts(sets)
    distinct = np.zeros((len(sets), len(contexts)))
    totals = np.zeros(len(contexts))
    for prompt in _shared_prompts(sets):
        runs = [_runs_of_words(own[prompt], length) for own in sets]
        most = min(map(len, runs))
        totals[contexts[prompt[1]]] += most
        for number, own in enumerate(runs):
            distinct[number, contexts[prompt[1]]] += len(set(own[:most]))
    n = int(totals.sum())
    if not n:
        missing = Estimate.undefined(f"no text has {length} words in a row behind its prompt")
        return [(missing, missing)] * len(sets)

    def share(number: int) -> Statistic:
        whole = 100 * distinct[number].sum() / n

        def statistic(weights: Floats) -> Floats:
            counted = weights @ totals
            shares: Floats = 100 * (weights @ distinct[number]) / np.maximum(counted, 1)
            return np.where(counted > 0, shares, whole)

        return statistic

    first = share(0)
    return [
        (
            _estimated(share(number), len(contexts), n=n, resampling=resampling),
            _estimated(_less(share(number), first), len(contexts), n=n, resampling=resampling),
        )
        for number in range(len(sets))
    ]


def content_shift(
    before: TextsByPrompt, after: TextsByPrompt, *, resampling: Resampling, group: str | None = None
) -> Estimate:
    """How far the words of texts behind the same prompts are apart, above chance: the mean over prompts, in bits.

    Args:
        before: Such as texts without a prefix.
        after: Such as texts behind one.
        resampling: Resamples, seed and confidence level; contexts are resampled.
        group: Only texts about this group; all if None.
    """
    prompts = [own for own in _shared_prompts((before, after)) if group in (None, own[0])]
    prompts = [own for own in prompts if all(any(texts[own]) for texts in (before, after))]
    contexts = {name: place for place, name in enumerate(dict.fromkeys(context for _, context in prompts))}
    if not contexts:
        return Estimate.undefined("no prompt has words in both sets of texts")
    sums, counts = np.zeros(len(contexts)), np.zeros(len(contexts))
    for number, prompt in enumerate(prompts):
        generator = np.random.default_rng([resampling.seed, number])
        sums[contexts[prompt[1]]] += _shift(before[prompt], after[prompt], generator)
        counts[contexts[prompt[1]]] += 1
    whole = sums.sum() / counts.sum()

    def statistic(weights: Floats) -> Floats:
        drawn = weights @ counts
        return np.where(drawn > 0, (weights @ sums) / np.maximum(drawn, 1), whole)

    n = sum(len(texts[own]) for own in prompts for texts in (before, after))
    return _estimated(statistic, len(contexts), n=n, resampling=resampling)


def _shift(before: Sequence[Words], after: Sequence[Words], generator: np.random.Generator) -> float:
    """The divergence of two sets of texts behind one prompt, less the mean where they are dealt out at random."""
    columns = {
        word: place
        for place, word in enumerate(sorted({word for text in (*before, *after) for word in text}))
    }
    counts = np.zeros((len(before) + len(after), len(columns)))
    for row, text in enumerate((*before, *after)):
        np.add.at(counts[row], [columns[word] for word in text], 1)
    total = counts.sum(axis=0)
    membership = np.zeros((1 + _DEALS, len(counts)))
    membership[0, : len(before)] = 1
    for row in membership[1:]:
        row[generator.permutation(len(counts))[: len(before)]] = 1
    first = membership @ counts
    divergences = jensen_shannon(np.stack([first, total - first], axis=1))
    return float(divergences[0] - np.nanmean(divergences[1:]))


def _runs_of_words(texts: Sequence[Words], length: int) -> list[Words]:
    """All runs of so many words, none across two texts."""
    return [text[start : start + length] for text in texts for start in range(len(text) - length + 1)]


def _shared_prompts(sets: Sequence[TextsByPrompt]) -> list[tuple[str, str]]:
    return [prompt for prompt in sets[0] if all(prompt in own for own in sets[1:])]


def _shared_contexts(sets: Sequence[TextsByPrompt]) -> dict[str, int]:
    names = dict.fromkeys(context for _, context in _shared_prompts(sets))
    return {name: place for place, name in enumerate(names)}


def _less(own: Statistic, first: Statistic) -> Statistic:
    return lambda weights: own(weights) - first(weights)


def _estimated(statistic: Statistic, contexts: int, *, n: int, resampling: Resampling) -> Estimate:
    value = float(statistic(np.ones((1, contexts)))[0])
    return context_interval(statistic, contexts, resampling=resampling).around(value, n=n, clusters=contexts)
