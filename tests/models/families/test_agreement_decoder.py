"""Decoders: the engine's scores are those of the slow way, on every architecture."""

from __future__ import annotations

import pytest
import zoo
from engine_scores import assert_same, engine_scores
from slow_reference import CONTINUATIONS, two_to_the_mean_log2
from zoo_fixtures import Zoo
from zoo_items import UNALIGNED, inter_items, intra_items

from evenhand.core.items import Association
from evenhand.models.families.decoder import DECODER

MODELS = zoo.names(DECODER)
score = two_to_the_mean_log2


def items_with_sentences_of_their_own() -> tuple[Association, ...]:
    """Also some that no blank explains."""
    return (*intra_items(), *UNALIGNED)


@pytest.mark.parametrize("name", MODELS)
def test_the_candidates_own_sentence_is_read_from_the_start_token_on(menagerie: Zoo, name: str) -> None:
    reference = menagerie.reference(name)
    expected = {
        candidate.id: score(reference.sentence(candidate.text))
        for item in items_with_sentences_of_their_own()
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model(name), items_with_sentences_of_their_own()), expected)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_the_first_protocol_reads_the_filled_context(menagerie: Zoo, name: str) -> None:
    reference = menagerie.reference(name)
    expected = {
        candidate.id: score(reference.sentence(item.context.replace("BLANK", str(candidate.word))))
        for item in intra_items()
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model(name), intra_items(), protocol="evenhand.v1"), expected)


@pytest.mark.parametrize("name", MODELS)
def test_stereosets_code_reads_the_first_token_after_the_models_start(menagerie: Zoo, name: str) -> None:
    reference = menagerie.reference(name)
    expected = {
        candidate.id: score(reference.stereoset_sentence(candidate.text))
        for item in items_with_sentences_of_their_own()
        for candidate in item.candidates
    }
    found = engine_scores(
        menagerie.model(name), items_with_sentences_of_their_own(), protocol="stereoset-2021"
    )
    assert_same(found, expected)


@pytest.mark.parametrize("name", MODELS)
def test_the_published_code_reads_the_first_token_apart(menagerie: Zoo, name: str) -> None:
    reference = menagerie.reference(name)
    expected = {
        candidate.id: score(reference.published_sentence(candidate.text))
        for item in intra_items()
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model(name), intra_items(), protocol="multilingual-2023"), expected)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("protocol", ["evenhand.v2", "multilingual-2023"])
def test_continuations_divide_what_their_letter_says(menagerie: Zoo, name: str, protocol: str) -> None:
    reference = menagerie.reference(name)
    published = protocol == "multilingual-2023"
    read = reference.published_continuation if published else reference.continuation
    parts = {
        candidate.id: read(item.context, candidate.text)
        for item in inter_items()
        for candidate in item.candidates
    }
    model = menagerie.model(name)
    for letter, variant in CONTINUATIONS.items():
        expected = {candidate: variant(*logs) for candidate, logs in parts.items()}
        assert_same(engine_scores(model, inter_items(), protocol=protocol, inter=letter), expected)
    default = {candidate: CONTINUATIONS["d"](*logs) for candidate, logs in parts.items()}
    assert_same(engine_scores(model, inter_items(), protocol=protocol), default)
