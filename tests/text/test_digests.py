"""Samples by digest: the same whatever the order of the stream."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.text.digests import LowestDigests, digest_of

SENTENCES = [f"Sentence {number} of many." for number in range(200)]


def sampled(stream: list[str], most: int, *, distinct: bool) -> LowestDigests[str]:
    sample: LowestDigests[str] = LowestDigests(most, distinct=distinct)
    for sentence in stream:
        sample.offer(digest_of(sentence), sentence)
    return sample


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [1, 30, 500])
def test_the_lowest_digests_are_kept_each_once(seed: int, most: int) -> None:
    stream = np.random.default_rng(seed).permutation(SENTENCES * 2).tolist()
    sample = sampled(stream, most, distinct=True)
    assert sample.by_digest() == sorted(SENTENCES, key=digest_of)[:most]
    assert len(sample) == min(most, len(SENTENCES))


@pytest.mark.parametrize("seed", range(5))
def test_what_comes_twice_is_kept_twice_if_not_distinct(seed: int) -> None:
    stream = np.random.default_rng(seed).permutation(SENTENCES * 2).tolist()
    assert sampled(stream, 30, distinct=False).by_digest() == sorted(SENTENCES * 2, key=digest_of)[:30]
    assert sampled(stream, 500, distinct=False).as_offered() == stream


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("most", [0, 1, 30, 31, 500])
def test_what_is_kept_is_known_by_its_digest(most: int, *, distinct: bool) -> None:
    for seed in range(5):
        sample = sampled(
            np.random.default_rng(seed).permutation(SENTENCES * 2).tolist(), most, distinct=distinct
        )
        kept = set(sample.by_digest())
        assert len(sample) == min(most, len(SENTENCES) if distinct else 2 * len(SENTENCES))
        assert [sentence for sentence in SENTENCES if digest_of(sentence) in sample] == [
            sentence for sentence in SENTENCES if sentence in kept
        ]


def test_the_order_of_the_stream_can_be_had() -> None:
    kept = set(sorted(SENTENCES, key=digest_of)[:30])
    in_order = [sentence for sentence in SENTENCES if sentence in kept]
    assert sampled(SENTENCES, 30, distinct=True).as_offered() == in_order
