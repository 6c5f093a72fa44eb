"""Encoder-decoders: the engine's scores are those of the slow way, on every architecture."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import zoo
from engine_scores import Scores, assert_same, engine_scores
from slow_reference import Logs, mean_probability, two_to_the_mean_log2
from zoo_fixtures import Zoo
from zoo_items import inter_items, intra_items

from evenhand.models.families.denoiser import DENOISER
from evenhand.models.families.sentinel import SENTINEL

WITH_SENTINELS = zoo.names(SENTINEL)
WITH_A_MASK = zoo.names(DENOISER)
PUBLISHED = "multilingual-2023"


def blanks(read: Callable[[str, str], Logs]) -> Scores:
    return {
        candidate.id: mean_probability(read(item.context, str(candidate.word)))
        for item in intra_items()
        for candidate in item.candidates
    }


def continuations(read: Callable[[str, str], Logs]) -> Scores:
    return {
        candidate.id: two_to_the_mean_log2(read(item.context, candidate.text))
        for item in inter_items()
        for candidate in item.candidates
    }


@pytest.mark.parametrize("name", WITH_SENTINELS)
def test_a_blank_becomes_a_sentinel_that_the_decoder_continues(menagerie: Zoo, name: str) -> None:
    expected = blanks(menagerie.reference(name).sentinel_blank)
    assert_same(engine_scores(menagerie.model(name), intra_items()), expected)


@pytest.mark.parametrize("name", WITH_SENTINELS)
def test_the_published_code_lets_the_model_choose_the_first_decoder_token(menagerie: Zoo, name: str) -> None:
    expected = blanks(menagerie.reference(name).published_sentinel_blank)
    assert_same(engine_scores(menagerie.model(name), intra_items(), protocol=PUBLISHED), expected)


@pytest.mark.parametrize("name", WITH_SENTINELS)
def test_a_continuation_follows_the_sentinel_without_the_end_token(menagerie: Zoo, name: str) -> None:
    expected = continuations(menagerie.reference(name).sentinel_continuation)
    assert_same(engine_scores(menagerie.model(name), inter_items()), expected)


@pytest.mark.parametrize("name", WITH_SENTINELS)
def test_the_published_code_counts_the_end_token_of_a_continuation(menagerie: Zoo, name: str) -> None:
    expected = continuations(menagerie.reference(name).published_sentinel_continuation)
    assert_same(engine_scores(menagerie.model(name), inter_items(), protocol=PUBLISHED), expected)


@pytest.mark.parametrize("name", WITH_A_MASK)
def test_a_denoiser_writes_the_text_in_which_the_blank_was_masked(menagerie: Zoo, name: str) -> None:
    expected = blanks(menagerie.reference(name).denoised_blank)
    assert_same(engine_scores(menagerie.model(name), intra_items()), expected)


@pytest.mark.parametrize("name", WITH_A_MASK)
def test_a_denoiser_writes_the_sentence_after_the_context(menagerie: Zoo, name: str) -> None:
    expected = continuations(menagerie.reference(name).denoised_continuation)
    assert_same(engine_scores(menagerie.model(name), inter_items()), expected)
