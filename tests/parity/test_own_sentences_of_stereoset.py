"""StereoSet's own sentences under GPT-2's own vocabulary: decoders are given what the file has."""

from __future__ import annotations

from pathlib import Path

import published
import pytest
import zoo
from engine_scores import assert_same, engine_scores
from slow_reference import SlowReference, two_to_the_mean_log2
from transformers import GPT2Tokenizer

from evenhand.core.items import Association, Task
from evenhand.instruments.association.ways import filled_context
from evenhand.models.language_model import load_language_model

START = "<|endoftext|>"
ITEMS = 20


def in_other_words(item: Association) -> int:
    """How many candidates differ from their filled context."""
    return sum(filled_context(item, candidate) != candidate.text for candidate in item.candidates)


def test_how_many_english_sentences_are_not_their_filled_context(shared_data: Path) -> None:
    items = published.benchmark(shared_data, "en").of_task(Task.INTRASENTENCE)

    assert sum(map(in_other_words, items)) == 2379


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_decoder_scores_them_as_they_are(shared_data: Path, tmp_path: Path, name: str) -> None:
    vocabulary = shared_data / "tokenizer_gpt2"
    tokenizer = GPT2Tokenizer(
        vocab=str(vocabulary / "vocab.json"), merges=str(vocabulary / "merges.txt"), bos_token=START
    )
    tokenizer.save_pretrained(tmp_path)
    species = zoo.SPECIES[name]
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    zoo.new_model(species.model_class, len(tokenizer), **{**species.options, **ids}).save_pretrained(tmp_path)
    items = [
        item
        for item in published.benchmark(shared_data, "en").of_task(Task.INTRASENTENCE)
        if in_other_words(item)
    ][:ITEMS]
    reference = SlowReference(tmp_path, start=START)

    found = engine_scores(load_language_model(str(tmp_path), device="cpu"), items)

    assert_same(
        found,
        {
            candidate.id: two_to_the_mean_log2(reference.sentence(candidate.text))
            for item in items
            for candidate in item.candidates
        },
    )
