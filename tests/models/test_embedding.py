"""Contextual vectors: those of the slow way, on every architecture and layer, and what has none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import zoo
from allocations import peak_of
from slow_vectors import slow_vector
from zoo_fixtures import Zoo

from evenhand.core.items import Span
from evenhand.models import embedding
from evenhand.models.embedding import WordEmbedder
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.engine.runners import padded
from evenhand.models.families import FAMILIES, Family
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError
from evenhand.models.requests import Answer, Embed

WORDS = [
    ("The librarian was very quiet.", "librarian"),
    ("The librarian was very quiet.", "quiet"),
    ("Nurse, come quickly, the old engineer fell down the stairs of the house again!", "engineer"),
    ("Nurse, come quickly, the old engineer fell down the stairs of the house again!", "Nurse"),
    ("Die Köchin half dem jungen Mann.", "Köchin"),
    ("He left.", "He"),
]


def span_of(text: str, word: str) -> Span:
    start = text.index(word)
    return Span(start, start + len(word))


def requests(words: list[tuple[str, str]], *, layer: int = -1) -> list[Embed]:
    return [Embed(text, span_of(text, word), layer) for text, word in words]


def vectors(model: LanguageModel, words: list[tuple[str, str]], *, layer: int = -1) -> list[Any]:
    return [answer.vector for answer in model.answer(requests(words, layer=layer))]


def embedded(embedder: WordEmbedder, words: list[tuple[str, str]] = WORDS) -> list[Any]:
    """The vectors that an embedder reads, or the reason for each that has none."""
    positions = [own for own in embedder.positions(requests(words)) if not isinstance(own, str)]
    assert len(positions) == len(words)
    answers = embedder.vectors(positions)
    return [
        answer.problem if answer.vector is None else answer.vector
        for answer in (answers[position] for position in positions)
    ]


@pytest.mark.parametrize("name", zoo.names())
@pytest.mark.parametrize("layer", [-1, 0, 1])
def test_vectors_are_those_of_one_sentence_at_a_time(menagerie: Zoo, name: str, layer: int) -> None:
    model = menagerie.model(name)
    reference = menagerie.reference(name)

    found = vectors(model, WORDS, layer=layer)

    for vector, (text, word) in zip(found, WORDS, strict=True):
        expected = slow_vector(reference, model.family, text, word, layer=layer)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_the_last_layer_can_be_named_from_both_ends(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)

    assert model.embedder.layers == zoo.LAYERS
    for layer in range(zoo.LAYERS + 1):
        assert (
            model.embedder.layer_number(layer) == model.embedder.layer_number(layer - zoo.LAYERS - 1) == layer
        )
    np.testing.assert_array_equal(
        vectors(model, WORDS[:1], layer=-1)[0], vectors(model, WORDS[:1], layer=zoo.LAYERS)[0]
    )


@pytest.mark.parametrize("layer", [3, -4, 99])
def test_a_layer_that_does_not_exist_is_refused_with_the_range(menagerie: Zoo, layer: int) -> None:
    with pytest.raises(
        ModelError, match=rf"Layer {layer} was asked for.* 0 \(the embeddings\) to 2\..*-1 to -3"
    ):
        vectors(menagerie.model("bert"), WORDS, layer=layer)


@pytest.mark.parametrize("name", ["bert", "gpt2", "roberta", "t5"])
def test_the_size_of_batches_does_not_matter(menagerie: Zoo, name: str) -> None:
    loaded = menagerie.model(name).loaded

    alone = embedded(WordEmbedder(loaded, max_tokens=1))
    together = embedded(WordEmbedder(loaded, max_tokens=10_000))

    np.testing.assert_allclose(np.array(alone), np.array(together), rtol=1e-4, atol=1e-5)


def test_batches_keep_to_the_budget_and_run_a_text_once(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []

    def counting(rows: Any, device: torch.device, **options: int) -> Any:
        if options:  # The places of words are padded too, without a fill.
            seen.append((len(rows), max(map(len, rows))))
        return padded(rows, device, **options)

    model = menagerie.model("bert")
    embedder = WordEmbedder(model.loaded, max_tokens=60)
    assert embedder.layers == zoo.LAYERS
    monkeypatch.setattr(embedding, "padded", counting)

    embedded(embedder)

    assert sum(rows for rows, _ in seen) == len({text for text, _ in WORDS})
    assert all(rows == 1 or rows * width <= 60 for rows, width in seen)
    assert len(seen) > 1


def test_a_batch_that_does_not_fit_into_memory_is_halved(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = WordEmbedder(menagerie.model("bert").loaded, max_tokens=10_000)
    expected = np.array(embedded(embedder))
    plain = WordEmbedder._vectors
    sizes: list[int] = []

    def cramped(self: WordEmbedder, batch: Any) -> Any:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError
        return plain(self, batch)

    monkeypatch.setattr(WordEmbedder, "_vectors", cramped)

    np.testing.assert_allclose(np.array(embedded(embedder)), expected, rtol=1e-4, atol=1e-5)
    assert sizes == [6, 3, 1, 2, 3, 1, 2]


def test_a_text_that_does_not_fit_alone_has_a_reason_and_the_others_their_vectors(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = WordEmbedder(menagerie.model("bert").loaded)
    expected = embedded(embedder)
    (impossible,) = embedder.positions(requests([WORDS[3]]))
    plain = WordEmbedder._vectors

    def cramped(self: WordEmbedder, batch: Any) -> Any:
        if impossible in batch:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return plain(self, batch)

    monkeypatch.setattr(WordEmbedder, "_vectors", cramped)

    found = embedded(embedder)
    assert found.pop(3) == NOT_ENOUGH_MEMORY
    expected.pop(3)
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-4, atol=1e-5)


def test_vectors_stay_within_the_budget_of_memory(menagerie: Zoo) -> None:
    """All layers are kept; a hundred texts at once would take ten times as much."""
    loaded = menagerie.model("gpt2").loaded
    texts = [
        f"The nurse number {number} said that nobody knew what the others had done." for number in range(100)
    ]
    words = [(text, "nurse") for text in texts]
    embedder = WordEmbedder(loaded, MemoryBudget(2**19), max_tokens=10_000)
    assert embedder.layers == zoo.LAYERS
    found: list[Any] = []
    taken = peak_of(lambda: found.extend(embedded(embedder, words)))
    together = WordEmbedder(loaded, MemoryBudget(2**30), max_tokens=10_000)
    assert peak_of(lambda: embedded(together, words)) > 2**20
    assert taken < 2**19 + np.array(found).nbytes
    np.testing.assert_allclose(np.array(found), np.array(embedded(together, words)), rtol=1e-4, atol=1e-5)


def test_a_decoder_knows_only_what_comes_before_and_others_know_all(menagerie: Zoo) -> None:
    pair = [("The nurse said he left.", "nurse"), ("The nurse said she left.", "nurse")]
    for name, is_blind in [("gpt2", True), ("llama", True), ("bert", False), ("t5", False)]:
        one, other = vectors(menagerie.model(name), pair)
        assert np.allclose(one, other, atol=1e-6) is is_blind


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_text_that_is_too_long_has_a_reason_and_the_others_their_vectors(menagerie: Zoo, name: str) -> None:
    long = "The librarian was quiet. " * 60
    one, other = menagerie.model(name).answer(requests([(long, "librarian"), WORDS[0]]))

    longest = menagerie.model(name).longest_input
    assert one == Answer(problem=f"the text is longer than the {longest} tokens that the model takes")
    assert other.vector is not None
    assert other.vector.shape == (zoo.WIDTH,)


def test_a_word_that_the_tokenizer_does_not_know_has_a_reason(menagerie: Zoo) -> None:
    unknown, known = menagerie.model("bert").answer(
        requests([("It was 𓀀 there.", "𓀀"), ("It was 𓀀 there.", "there")])
    )

    assert unknown == Answer(problem="the tokenizer does not know the word")
    assert known.vector is not None
    assert known.vector.shape == (zoo.WIDTH,)


def test_characters_without_a_token_have_a_reason(menagerie: Zoo) -> None:
    model = menagerie.model("bert")

    assert model.answer([Embed("a  b", Span(1, 2))]) == [Answer(problem="no token stands for the word")]


@pytest.mark.parametrize("span", [Span(0, 0), Span(3, 2), Span(-1, 2), Span(0, 9)])
def test_a_place_outside_the_text_is_a_mistake_of_the_caller(menagerie: Zoo, span: Span) -> None:
    with pytest.raises(ValueError, match="the text has 3 characters, and no word at"):
        menagerie.model("bert").answer([Embed("abc", span)])


def test_nothing_asked_is_nothing_answered(menagerie: Zoo) -> None:
    assert menagerie.model("bert").answer([]) == []


def test_values_that_are_no_numbers_have_a_reason(menagerie: Zoo, tmp_path: Path) -> None:
    model = load_language_model(str(zoo.build("bert", tmp_path / "broken")), device="cpu")
    with torch.no_grad():
        model.loaded.model.bert.encoder.layer[1].output.dense.bias.fill_(torch.nan)  # type: ignore[union-attr, index]

    assert model.answer(requests(WORDS[:1])) == [Answer(problem="the model gave NaN or infinite values")]
    assert vectors(model, WORDS[:1], layer=1)[0].shape == (zoo.WIDTH,)
    assert vectors(menagerie.model("bert"), WORDS[:1])[0].shape == (zoo.WIDTH,)


@pytest.mark.parametrize(
    "output", [lambda: SimpleNamespace(hidden_states=None), lambda: (torch.zeros(1, 2, 3),)]
)
def test_a_model_without_hidden_states_is_refused(tmp_path: Path, output: Any) -> None:
    model = load_language_model(str(zoo.build("bert", tmp_path / "plain")), device="cpu")
    model.loaded.model.bert.forward = lambda **_: output()  # type: ignore[union-attr]

    with pytest.raises(
        ModelError, match=r"plain \(BertForMaskedLM\) gives no hidden states, so words have no"
    ):
        vectors(model, WORDS)


def test_a_model_that_cannot_be_asked_for_hidden_states_is_refused(tmp_path: Path) -> None:
    model = load_language_model(str(zoo.build("bert", tmp_path / "plain")), device="cpu")
    model.loaded.model.bert.forward = lambda input_ids: input_ids  # type: ignore[union-attr]

    with pytest.raises(ModelError, match=r"gives no hidden states: .*unexpected keyword argument"):
        vectors(model, WORDS)


@pytest.mark.parametrize("family", list(FAMILIES.values()), ids=list(FAMILIES))
def test_every_family_embeds(menagerie: Zoo, family: Family) -> None:
    assert menagerie.model(zoo.names(family)[0]).has_capability(Embed)


def test_half_precision_gives_single_precision_vectors(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("bert")), device="cpu", precision="bf16")
    (found,) = vectors(model, WORDS[:1])
    (exact,) = vectors(menagerie.model("bert"), WORDS[:1])

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, atol=0.2)
