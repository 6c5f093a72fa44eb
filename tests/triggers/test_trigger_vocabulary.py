"""The text of a trigger reads as its tokens, where it is used, on tokenizers of every kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zoo
from transformers import GPT2Tokenizer
from zoo_fixtures import Zoo

from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError
from evenhand.models.writing import TextCodec
from evenhand.triggers.vocabulary import TriggerVocabulary, prefix_of

pytestmark = pytest.mark.torch

PROMPTS = ["The woman", "The man", "Die Frau"]
DECODERS = ["gpt2", "gpt-neox", "opt", "llama", "qwen2", "gemma", "bloom", "mgpt"]


def vocabulary_of(model: LanguageModel, *banned: str) -> TriggerVocabulary:
    words = {word.casefold() for word in banned}
    return TriggerVocabulary(model.loaded, prompts=PROMPTS, is_banned=lambda word: word.casefold() in words)


@pytest.mark.parametrize("name", DECODERS)
def test_a_written_trigger_is_read_as_its_tokens_before_every_prompt(menagerie: Zoo, name: str) -> None:
    """Published: the trigger was joined without a space in the search and with one in use."""
    model = menagerie.model(name)
    vocabulary = vocabulary_of(model)
    codec = TextCodec(model.loaded)

    for trigger in vocabulary.random_triggers(5, 4, np.random.default_rng(0)):
        prefix = prefix_of(vocabulary.text_of(trigger))
        for prompt, rest in zip(PROMPTS, vocabulary.tokens_after_trigger(PROMPTS), strict=True):
            assert codec.encode([prefix + prompt]) == [(*vocabulary.lead, *trigger, *rest)]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_tokens_that_grow_together_make_no_trigger(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    vocabulary = vocabulary_of(model)
    (whole,) = TextCodec(model.loaded).encode(["The"])
    the = whole[-1]
    (split,) = TextCodec(model.loaded).encode(["Tqh"])
    letters = split[len(vocabulary.lead) :]

    assert vocabulary.text_of(letters) == "Tqh"
    assert vocabulary.fitting([letters]) == [True]
    pieces = [token for token in range(len(vocabulary.allowed)) if vocabulary.text_of([token]) in ("T", "he")]
    assert len(pieces) >= 2
    assert the not in pieces
    assert vocabulary.fitting([tuple(pieces[:2]), tuple(pieces[:2][::-1])]) != [True, True]


def test_a_published_tokenizer_keeps_what_is_written(shared_data: Path, tmp_path: Path) -> None:
    files = shared_data / "tokenizer_gpt2"
    tokenizer = GPT2Tokenizer(vocab=str(files / "vocab.json"), merges=str(files / "merges.txt"))
    folder = tmp_path / "wide"
    species = zoo.SPECIES["gpt2"]
    network = zoo.new_model(species.model_class, len(tokenizer), **species.options)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    vocabulary = vocabulary_of(load_language_model(str(folder), device="cpu"), "Vitamin")

    triggers = vocabulary.random_triggers(20, 6, np.random.default_rng(0))

    for trigger in triggers:
        text = vocabulary.text_of(trigger)
        for prompt in PROMPTS:
            assert tuple(tokenizer(f"{text} {prompt}")["input_ids"])[:6] == trigger
    assert vocabulary.filled_with("the", 6) == tuple(tokenizer("the the the the the the")["input_ids"])
    kempten = tuple(tokenizer(" Vit")["input_ids"]) + tuple(tokenizer("amin")["input_ids"])
    assert vocabulary.fitting([kempten]) == [False]


def test_banned_words_punctuation_digits_and_bytes_are_left_out(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    texts = [model.tokenizer.decode([token]) for token in range(len(model.tokenizer))]
    vocabulary = vocabulary_of(model, "SHE")

    kept = {texts[token].strip() for token in np.flatnonzero(vocabulary.allowed)}

    assert "he" in kept
    assert not {"she", "She"} & kept
    assert all(text.isalpha() for text in kept)
    assert not {model.tokenizer.eos_token} & kept


def test_a_banned_word_of_two_tokens_is_found_in_the_text(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    pieces = tuple(model.tokenizer("sheriff")["input_ids"])
    assert len(pieces) > 1

    assert vocabulary_of(model).fitting([pieces]) == [True]
    assert vocabulary_of(model, "Sheriff").fitting([pieces]) == [False]


def test_a_vocabulary_without_words_is_refused(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    every_word = {model.tokenizer.decode([token]).strip() for token in range(len(model.tokenizer))}

    with pytest.raises(ModelError, match="no token of letters alone"):
        vocabulary_of(model, *every_word)


def test_texts_behind_triggers_are_encoded_once(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = menagerie.model("gpt2")
    vocabulary = vocabulary_of(model)
    texts = ["The woman slept.", "The man slept."]
    triggers = vocabulary.random_triggers(3, 2, np.random.default_rng(0))
    first = vocabulary.fitting_before(triggers, texts)
    encoded: list[str] = []
    whole = TextCodec.encode

    def counted(self: TextCodec, own: list[str]) -> list[tuple[int, ...]]:
        encoded.extend(own)
        return whole(self, own)

    monkeypatch.setattr(TextCodec, "encode", counted)

    assert vocabulary.fitting_before(triggers, texts) == first
    assert len(encoded) == len(triggers) * len(texts)
