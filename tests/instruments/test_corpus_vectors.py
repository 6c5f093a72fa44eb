"""Running means over a corpus: which sentences count for what, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.instruments.direct_bias import corpus_vectors
from evenhand.instruments.direct_bias.corpus_vectors import BESIDE_GENDERED, NOTHING_SOUGHT, CorpusVectors
from evenhand.models.requests import Answer, Embed, Request
from evenhand.store.jobs import Parts
from evenhand.testing import FakeModel
from evenhand.text.word_search import WordFinder

SENTENCES = [
    "He is a baker.",
    "The baker met a nurse; the nurse left.",
    "She and he left.",
    "It rained.",
    "The old nurse sang.",
    "A nurse is long.",
    "A baker saw her.",
]


class Places(FakeModel):
    """Gives each word its place and the length of its text as a vector; long texts have none."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked: list[int] = []

    def layer_number(self, layer: int) -> int:
        return layer

    def answer(self, requests: Sequence[Request], **_: Any) -> list[Answer]:
        self.asked.append(len(requests))
        return [
            Answer(problem="too long")
            if "long" in own.text
            else Answer(vector=np.array([own.span.start, len(own.text), own.layer], np.float32))
            for own in requests
            if isinstance(own, Embed)
        ]


def read(
    sentences: Iterable[str], model: Places | None = None, *, parts: Parts | None = None
) -> CorpusVectors:
    vectors = CorpusVectors(
        model or Places(),
        layer=3,
        pronouns=WordFinder({"he": "he", "He": "he", "she": "she", "She": "she"}),
        nouns=WordFinder.of_nouns(["baker", "nurse"]),
        gendered=frozenset({"he", "she", "her"}),
    )
    vectors.read(sentences, parts=parts)
    return vectors


def test_means_are_over_all_places_of_a_word() -> None:
    vectors = read(SENTENCES)

    he, she, baker, nurse = (vectors.means[word] for word in ("he", "she", "baker", "nurse"))
    np.testing.assert_allclose(he.vector, [(0 + 8) / 2, (14 + 16) / 2, 3])
    np.testing.assert_allclose(she.vector, [0, 16, 3])
    np.testing.assert_allclose(baker.vector, [4, 38, 3])
    np.testing.assert_allclose(nurse.vector, [(16 + 27 + 8) / 3, (38 + 38 + 19) / 3, 3])
    assert (nurse.occurrences, nurse.sentences) == (3, 2)
    assert (he.occurrences, he.sentences) == (2, 2)


def test_what_does_not_count_is_counted() -> None:
    vectors = read(SENTENCES)

    assert vectors.sentences == 7
    assert vectors.left_out == {NOTHING_SOUGHT: 1, BESIDE_GENDERED: 2, "too long": 1}
    assert vectors.beside_gendered == {"baker": 2}
    assert vectors.problems == {"nurse": "too long"}


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_how_many_words_are_asked_for_at_once_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(corpus_vectors, "WORDS_AT_ONCE", at_once)
    model = Places()
    found = read(SENTENCES * 5, model)
    monkeypatch.undo()
    expected = read(SENTENCES * 5)

    assert found.left_out == expected.left_out
    for word, mean in expected.means.items():
        np.testing.assert_allclose(found.means[word].vector, mean.vector)
        assert found.means[word].sentences == mean.sentences
    assert max(model.asked) <= at_once + 2


def test_an_empty_corpus_has_no_means() -> None:
    assert read([]).means == {}


def state(vectors: CorpusVectors) -> tuple[object, ...]:
    means = {
        word: (mean.total.tobytes(), mean.occurrences, mean.sentences) for word, mean in vectors.means.items()
    }
    return means, vectors.beside_gendered, vectors.left_out, vectors.problems, vectors.sentences


@pytest.mark.parametrize("broken_at", range(0, 7 * 30, 13))
def test_an_interrupted_reading_goes_on_and_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken_at: int
) -> None:
    monkeypatch.setattr(corpus_vectors, "WORDS_AT_ONCE", 5)
    monkeypatch.setattr(corpus_vectors, "BATCHES_BETWEEN_SAVES", 3)
    corpus = SENTENCES * 30
    whole = Places()
    undisturbed = read(corpus, whole)

    def until_broken() -> Iterator[str]:
        yield from corpus[:broken_at]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(until_broken(), parts=Parts(tmp_path))
    rest = Places()
    resumed = read(corpus, rest, parts=Parts(tmp_path))

    assert state(resumed) == state(undisturbed)
    assert sum(whole.asked) - sum(rest.asked) >= sum(whole.asked) * broken_at / len(corpus) - 5 * (3 + 1) - 5


def test_what_is_kept_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    sizes = []
    for repeats in (300, 3_000):
        parts = Parts(tmp_path / str(repeats))
        read(SENTENCES * repeats, parts=parts)
        sizes.append(sum(path.stat().st_size for path in parts.folder.iterdir()))

    assert sizes[1] < sizes[0] + 100


def test_a_corpus_that_was_read_to_its_end_is_not_asked_again(tmp_path: Path) -> None:
    first = read(SENTENCES, parts=Parts(tmp_path))
    again = Places()

    assert state(read(SENTENCES, again, parts=Parts(tmp_path))) == state(first)
    assert again.asked == []
