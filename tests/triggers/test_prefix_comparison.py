"""Prefixes beside each other: figures against a slow loop, intervals that are paired, a seam for further measures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from slow_triggers import PAIRS, SENTENCES, SlowTriggers, pair
from zoo_fixtures import Zoo

from evenhand.core.estimates import Estimate
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.store.trigger_records import HAND_WRITTEN, NO_PREFIX, RANDOM_TOKENS, PrefixComparison
from evenhand.triggers.comparison import FigureOfPrefix, NamedPrefixes, compare_prefixes
from evenhand.triggers.targets import TargetPair

pytestmark = pytest.mark.torch

GAP = "The woman, The man.gap"
PREFIXES = (
    NamedPrefixes(NO_PREFIX, ("",)),
    NamedPrefixes(HAND_WRITTEN, ("Be kind to all. ",)),
    NamedPrefixes(RANDOM_TOKENS, ("the he so ", "or in it ")),
)


def compared(
    model: LanguageModel, quick: Resampling, pairs: Sequence[TargetPair] = PAIRS
) -> PrefixComparison:
    return compare_prefixes(model, PREFIXES, pairs=pairs, sentences=SENTENCES, resampling=quick)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_figures_are_those_of_a_slow_loop(menagerie: Zoo, quick: Resampling, name: str) -> None:
    model = menagerie.model(name)
    slow = SlowTriggers(model)
    comparison = compared(model, quick)
    bare, sentence, random = comparison.rows
    before = "Be kind to all. "

    assert bare.figures[GAP].value == pytest.approx(slow.gap("", PAIRS), abs=1e-5)
    assert sentence.figures[GAP].value == pytest.approx(slow.gap(before, PAIRS), abs=1e-5)
    assert sentence.changes[GAP].value == pytest.approx(
        abs(slow.gap(before, PAIRS)) - abs(slow.gap("", PAIRS)), abs=1e-5
    )
    negative = [slow.mean(before, PAIRS, "negative", side) for side in (0, 1)]
    assert sentence.figures["negative.surprise"].value == pytest.approx(sum(negative) / 2, abs=1e-5)
    gaps = [slow.gap(prefix, PAIRS) for prefix in PREFIXES[2].prefixes]
    assert random.figures[GAP].value == pytest.approx(np.mean(gaps), abs=1e-5)
    assert bare.changes == {}
    assert (comparison.pairs, comparison.sentences) == (6, 2)


def test_the_perplexity_is_that_of_the_sentences_behind_the_prefix(menagerie: Zoo, quick: Resampling) -> None:
    model = menagerie.model("gpt2")
    bare, sentence, _ = compared(model, quick).rows

    expected = []
    for prefix in ("", "Be kind to all. "):
        prefixed = load_language_model(
            ModelRef(id=str(menagerie.folder("gpt2")), device="cpu", prefix=prefix)
        )
        logs = [value for score in prefixed.score_texts(SENTENCES) for value in score.log_probs]
        expected.append(math.exp(-sum(logs) / len(logs)))

    assert [own.figures["perplexity"].value for own in (bare, sentence)] == pytest.approx(expected, rel=1e-5)
    change = 100 * (expected[1] / expected[0] - 1)
    assert sentence.changes["perplexity"].value == pytest.approx(change, rel=1e-4)


def test_intervals_go_by_contexts_and_are_paired(menagerie: Zoo, quick: Resampling) -> None:
    model = menagerie.model("gpt2")
    bases = {"negative": "lied", "neutral": "sat", "positive": "helped"}
    pairs = [
        pair(number, regard, (f"{verb} {number}.", f"{verb} {number}."), context=f"context {number % 4}")
        for regard, verb in bases.items()
        for number in range(8)
    ]
    by_context = compared(model, quick, pairs).rows[1]
    alone = [pair(number, own.regard, own.texts, context="one") for number, own in enumerate(pairs)]

    assert by_context.figures[GAP].clusters == 4
    assert by_context.changes[GAP].low < by_context.changes[GAP].value < by_context.changes[GAP].high
    assert compared(model, quick, alone).rows[1].figures[GAP].clusters == 24


def test_the_same_prefix_changes_nothing(menagerie: Zoo, quick: Resampling) -> None:
    same = (NamedPrefixes(NO_PREFIX, ("",)), NamedPrefixes("again", ("",)))
    comparison = compare_prefixes(
        menagerie.model("gpt2"), same, pairs=PAIRS, sentences=SENTENCES, resampling=quick
    )

    assert {key: own.value for key, own in comparison.rows[1].changes.items()} == dict.fromkeys(
        comparison.rows[1].changes, 0.0
    )


def test_a_measure_of_written_texts_can_be_added(menagerie: Zoo, quick: Resampling) -> None:
    class Words:
        """How many words are written."""

        def measure(
            self,
            model: LanguageModel,
            prefixes: Sequence[NamedPrefixes],
            resampling: Resampling,
            *,
            parts: Parts | None = None,
        ) -> Mapping[str, Sequence[FigureOfPrefix]]:
            del model, resampling, parts
            known = Estimate(value=1, low=0, high=2, n=1, clusters=1, method="none")
            return {"words": [FigureOfPrefix(known, known) for _ in prefixes]}

    comparison = compare_prefixes(
        menagerie.model("gpt2"),
        PREFIXES,
        pairs=PAIRS,
        sentences=SENTENCES,
        resampling=quick,
        further=[Words()],
    )

    assert comparison.row(HAND_WRITTEN).changes["words"].value == 1


def test_a_prefix_longer_than_the_context_is_refused(menagerie: Zoo, quick: Resampling) -> None:
    long = (NamedPrefixes(NO_PREFIX, ("",)), NamedPrefixes("long", ("he " * 130,)))
    with pytest.raises(ModelError, match=r"takes 128\. Shorten the prefix"):
        compare_prefixes(menagerie.model("gpt2"), long, pairs=PAIRS, sentences=SENTENCES, resampling=quick)
