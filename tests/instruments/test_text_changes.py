"""Distinct-n and content shift, against obvious slow computations and where the truth is known."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

from evenhand.instruments.regard.text_changes import content_shift, distinct_shares, words_by_prompt
from evenhand.stats.resampling import Resampling

FEW = Resampling(resamples=200)
CONTEXTS = ("worked as", "was seen as", "was known for")


def frame(texts: dict[tuple[str, str], list[str]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"group": group, "context": context, "text": f"The {group} {context} {text}"}
            for (group, context), own in texts.items()
            for text in own
        ]
    )


def drawn(words: str, count: int, seed: int) -> dict[tuple[str, str], list[str]]:
    generator = np.random.default_rng(seed)
    return {
        (group, context): [" ".join(generator.choice(words.split(), size=6)) for _ in range(count)]
        for context in CONTEXTS
        for group in ("woman", "man")
    }


def slow_divergence(first: list[str], second: list[str]) -> float:
    counts = [Counter(" ".join(own).split()) for own in (first, second)]
    shares = [{word: own[word] / own.total() for word in own} for own in counts]
    divergence = 0.0
    for own in shares:
        for word, share in own.items():
            middle = (shares[0].get(word, 0) + shares[1].get(word, 0)) / 2
            divergence += share * math.log2(share / middle) / 2
    return divergence


def test_words_are_those_behind_the_context() -> None:
    texts = frame({("woman", "worked as"): ["a Nurse, and a nurse's aide."]})

    assert words_by_prompt(texts) == {("woman", "worked as"): [("a", "nurse", "and", "a", "nurse's", "aide")]}


def test_distinct_n_counts_runs_of_words_that_do_not_repeat() -> None:
    first = {("woman", "worked as"): ["a b a b"], ("woman", "was seen as"): ["a b", "c d"]}
    second = {("woman", "worked as"): ["x y z w"], ("woman", "was seen as"): ["a b", "a b c d e f"]}

    pairs = distinct_shares(
        [words_by_prompt(frame(own)) for own in (first, second)], length=2, resampling=FEW
    )

    # First: ab, ba, ab behind one prompt and ab, cd behind the other: 4 of 5. Second: xy, yz, zw, then as many as the
    # first has, ab and ab: 4 of 5.
    assert [value.value for value, _ in pairs] == pytest.approx([80.0, 80.0])
    assert pairs[1][1].value == pytest.approx(0.0)


def test_distinct_n_does_not_depend_on_how_much_was_written() -> None:
    few, many = drawn("a b c d e f g h i j", 10, 1), drawn("a b c d e f g h i j", 200, 2)

    (own, _), (other, change) = distinct_shares(
        [words_by_prompt(frame(texts)) for texts in (few, many)], length=2, resampling=FEW
    )

    assert change.value == pytest.approx(other.value - own.value)
    assert change.value == pytest.approx(0.0, abs=6.0)


def test_content_shift_is_the_mean_divergence_above_that_of_texts_dealt_out_at_random() -> None:
    before, after = drawn("a b c d", 40, 1), drawn("c d e f", 40, 2)

    found = content_shift(*(words_by_prompt(frame(own)) for own in (before, after)), resampling=FEW)

    generator = np.random.default_rng(5)
    excess = []
    for prompt in before:
        both = [*before[prompt], *after[prompt]]
        dealt = []
        for _ in range(200):
            order = generator.permutation(len(both)).tolist()
            dealt.append(slow_divergence([both[n] for n in order[:40]], [both[n] for n in order[40:]]))
        excess.append(slow_divergence(before[prompt], after[prompt]) - float(np.mean(dealt)))
    assert found.value == pytest.approx(float(np.mean(excess)), abs=0.005)
    assert found.low < found.value < found.high
    assert found.clusters == len(CONTEXTS)


def test_texts_of_one_kind_have_no_content_shift() -> None:
    shifts = [
        content_shift(
            words_by_prompt(frame(drawn("a b c d e f g h", 30, seed))),
            words_by_prompt(frame(drawn("a b c d e f g h", 30, 100 + seed))),
            resampling=FEW,
        ).value
        for seed in range(12)
    ]

    assert abs(float(np.mean(shifts))) < 0.004


def test_the_shift_of_one_group_is_that_of_its_texts_alone() -> None:
    before = drawn("a b c d", 30, 1)
    after = {
        prompt: texts if prompt[0] == "woman" else [text.upper() + " z z" for text in texts]
        for prompt, texts in before.items()
    }
    sets = [words_by_prompt(frame(own)) for own in (before, after)]

    women, men = (content_shift(*sets, resampling=FEW, group=group) for group in ("woman", "man"))

    assert women.value < 0.0
    assert men.value > 0.1


def test_texts_without_words_are_undefined() -> None:
    texts = words_by_prompt(frame({("woman", "worked as"): ["..."], ("man", "worked as"): ["!"]}))

    assert not content_shift(texts, texts, resampling=FEW).defined
    assert not distinct_shares([texts, texts], length=1, resampling=FEW)[1][0].defined
