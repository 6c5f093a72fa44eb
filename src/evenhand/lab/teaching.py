"""What the lab's models are taught: for every question that the measures ask, the answer's true probabilities.

A corpus shows one answer at a time, and a model needs many to learn how often each is right. The lab knows, so it
teaches the whole distribution at once: of the token in a gap, of the next token, of whether a sentence follows. That is
what an endless corpus would teach, without the noise of a finite one. Each family has a teacher, which knows the
questions that its models are asked and compares their answers with the truth.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from evenhand.core.items import Span
from evenhand.lab.corpus import Document, language
from evenhand.lab.grammar import Sentence
from evenhand.lab.world import World
from evenhand.models.families.sentinel import sentinel_id
from evenhand.models.objectives.objective import Batch, padded
from evenhand.models.references import ModelError
from evenhand.models.tokenised_text import prepare, tokenise

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of tokens; those not listed have none."""

    tokens: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lesson:
    """Input tokens, and the true distributions at some of their places."""

    ids: Tokens
    places: Tokens
    targets: tuple[Distribution, ...]
    source: Tokens = ()
    """What an encoder sees, where there is one."""


class Teacher(Protocol):
    """Gives lessons to one family of models."""

    def lessons(self, count: int, generator: np.random.Generator) -> Sequence[Any]:
        """So many lessons, drawn in proportion to how often a corpus would have them."""
        ...

    def collate(self, lessons: list[Any]) -> Batch:
        """Lessons as a batch."""
        ...

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """How far a model is from the truth."""
        ...


class AnswerCounts:
    """Which token answers which question how often."""

    def __init__(self) -> None:
        self._counts: defaultdict[Hashable, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
        self._known: dict[Hashable, Distribution] = {}

    def add(self, question: Hashable, token: int, probability: float) -> None:
        """Another occurrence of a token."""
        self._counts[question][token] += probability

    def distribution(self, question: Hashable) -> Distribution:
        """How likely each token is the answer."""
        if question not in self._known:
            counts = self._counts[question]
            shares = np.array(list(counts.values()))
            self._known[question] = Distribution(np.array(list(counts)), shares / shares.sum())
        return self._known[question]

    def weights(self) -> Iterator[tuple[Hashable, float]]:
        """Every question with how often it is asked."""
        return ((question, sum(counts.values())) for question, counts in self._counts.items())


def draw(weights: Sequence[float], count: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """So many places, in proportion to weights, as evenly as whole numbers allow, in random order."""
    edges = np.cumsum(weights)
    points = (np.arange(count) + generator.random()) / count * edges[-1]
    return generator.permutation(np.minimum(np.searchsorted(edges, points, side="right"), len(edges) - 1))


def target_batch(lessons: Sequence[Lesson], *, without_choice: float = 1.0) -> Batch:
    """Places and true distributions of many lessons as flat tensors.

    ``without_choice`` says how much a place counts at which only one token is possible: there is little to learn
    there, and in whole sentences most places are of this kind.
    """
    targets = [distribution for lesson in lessons for distribution in lesson.targets]
    sizes = [len(distribution.tokens) for distribution in targets]
    return {
        "target_rows": torch.from_numpy(
            np.repeat(np.arange(len(lessons)), [len(lesson.places) for lesson in lessons])
        ),
        "target_places": torch.tensor([place for lesson in lessons for place in lesson.places]),
        "entry_numbers": torch.from_numpy(np.repeat(np.arange(len(targets)), sizes)),
        "entry_tokens": torch.from_numpy(np.concatenate([one.tokens for one in targets])),
        "entry_shares": torch.from_numpy(
            np.concatenate(
                [one.shares if len(one.shares) > 1 else one.shares * without_choice for one in targets]
            )
        ),
    }


def soft_cross_entropy(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Cross-entropy between the logits, one row per place, and the true distributions there."""
    logs = functional.log_softmax(logits, dim=-1)
    chosen = logs[batch["entry_numbers"], batch["entry_tokens"]]
    shares = batch["entry_shares"].to(chosen.dtype)
    return -(chosen * shares).sum() / shares.sum()


EMPHASIS = {"attribute": 12.0, "gendered": 22.0, "occupation": 9.0, "noun": 4.0}
"""How much more often a gap is at a word that the grammar chose than at a word of the frame."""

WITHOUT_CHOICE = 0.2
"""How much a place of a sentence counts at which the grammar has no choice."""

FOLLOWS = 0
"""Of the two classes of BERT's next-sentence head, the one that says yes."""


@dataclass(frozen=True, slots=True)
class _WordPlace:
    """A sentence as tokens, and the tokens of one of its words."""

    ids: Tokens
    first: int
    last: int
    """One behind the word's last token."""
    weight: float


def _word_places(tokenizer: Any, documents: Sequence[tuple[Document, float]]) -> Iterator[_WordPlace]:
    """Every word of every sentence that stands alone."""
    single = [(document[0], probability) for document, probability in documents if len(document) == 1]
    prepare(tokenizer, (sentence.text for sentence, _ in single), special=True)
    for sentence, probability in single:
        tokenised = tokenise(tokenizer, sentence.text, special=True)
        for start, end, emphasis in _words(sentence):
            places = tokenised.overlapping(Span(start, end))
            yield _WordPlace(tokenised.ids, places[0], places[-1] + 1, probability * emphasis)


def _words(sentence: Sentence) -> Iterator[tuple[int, int, float]]:
    slots = {(start, end): EMPHASIS.get(name, 1.0) for name, start, end in sentence.slots}
    for match in re.finditer(r"\w+", sentence.text):
        yield *match.span(), slots.get(match.span(), 1.0)


Story: TypeAlias = tuple[str, str, float]
"""An opening, its continuation, and how often both are told."""


def stories_of(documents: Iterable[tuple[Document, float]]) -> list[Story]:
    """The documents of two sentences."""
    return [
        (document[0].text, document[1].text, probability)
        for document, probability in documents
        if len(document) == 2
    ]


def story_pairs(stories: Sequence[Story], count: int, generator: np.random.Generator) -> list[Story]:
    """Half stories, half openings with any continuation, each with how likely the pair is a story."""
    probabilities = {(first, second): probability for first, second, probability in stories}
    firsts: defaultdict[str, float] = defaultdict(float)
    for (first, _), probability in probabilities.items():
        firsts[first] += probability
    openings, continuations = list(firsts), sorted({second for _, second in probabilities})
    drawn = draw([probability for _, _, probability in stories], count // 2, generator)
    rest = draw(list(firsts.values()), count - len(drawn), generator)
    pairs = [stories[number][:2] for number in drawn]
    pairs += [
        (openings[number], continuations[int(generator.integers(len(continuations)))]) for number in rest
    ]
    likely = [probabilities.get(pair, 0.0) for pair in pairs]
    return [
        (first, second, own / (own + firsts[first] / len(continuations)))
        for (first, second), own in zip(pairs, likely, strict=True)
    ]


class MaskedTeacher:
    """BERT: the next token of a word at one mask, and whether one sentence follows another."""

    def __init__(self, world: World, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        documents = list(language(world))
        self.answers = AnswerCounts()
        for gap in _word_places(tokenizer, documents):
            for place in range(gap.first, gap.last):
                ids = (*gap.ids[:place], tokenizer.mask_token_id, *gap.ids[gap.last :])
                self.answers.add((ids, place), gap.ids[place], gap.weight)
        self.stories = stories_of(documents)

    def lessons(self, count: int, generator: np.random.Generator) -> list[Lesson | _PairLesson]:
        """Half gaps, half pairs."""
        questions, weights = zip(*self.answers.weights(), strict=True)
        gaps = [
            Lesson(ids, (place,), (self.answers.distribution((ids, place)),))
            for ids, place in (questions[number] for number in draw(weights, count // 2, generator))
        ]
        return [*gaps, *self._pairs(count - count // 2, generator)]

    def _pairs(self, count: int, generator: np.random.Generator) -> Iterator[_PairLesson]:
        pairs = story_pairs(self.stories, count, generator)
        firsts, seconds, follows = (list(column) for column in zip(*pairs, strict=True))
        encoded = self.tokenizer(firsts, seconds, return_token_type_ids=True)
        return map(_PairLesson, encoded["input_ids"], encoded["token_type_ids"], follows)

    def collate(self, lessons: list[Lesson | _PairLesson]) -> Batch:
        """Gaps and pairs apart, because pairs are longer."""
        gaps = [lesson for lesson in lessons if isinstance(lesson, Lesson)]
        pairs = [lesson for lesson in lessons if isinstance(lesson, _PairLesson)]
        batch: Batch = {}
        if gaps:
            batch |= {"gap_ids": padded([gap.ids for gap in gaps], self.tokenizer.pad_token_id)}
            batch |= target_batch(gaps)
        if pairs:
            batch |= {
                "pair_ids": padded([pair.ids for pair in pairs], self.tokenizer.pad_token_id),
                "pair_types": padded([pair.types for pair in pairs], 0),
                "follows": torch.tensor([pair.follows for pair in pairs], dtype=torch.float64),
            }
        return batch

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Both heads count alike."""
        losses = []
        if "gap_ids" in batch:
            hidden = model.bert(
                batch["gap_ids"], attention_mask=self._mask(batch["gap_ids"])
            ).last_hidden_state
            at_places = hidden[batch["target_rows"], batch["target_places"]]
            losses.append(soft_cross_entropy(model.cls.predictions(at_places), batch))
        if "pair_ids" in batch:
            pooled = model.bert(
                batch["pair_ids"],
                attention_mask=self._mask(batch["pair_ids"]),
                token_type_ids=batch["pair_types"],
            ).pooler_output
            logits = model.cls.seq_relationship(pooled)
            says_yes = logits[:, FOLLOWS] - logits[:, 1 - FOLLOWS]
            truth = batch["follows"].to(says_yes.dtype)
            losses.append(functional.binary_cross_entropy_with_logits(says_yes, truth))
        total: torch.Tensor = torch.stack(losses).sum()
        return total

    def _mask(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.ne(ids, self.tokenizer.pad_token_id).long()


@dataclass(frozen=True, slots=True)
class _PairLesson:
    """Two sentences, and how likely the second follows the first in a story."""

    ids: Sequence[int]
    types: Sequence[int]
    follows: float


class DecoderTeacher:
    """GPT-2: the next token after every beginning of a document."""

    def __init__(self, world: World, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        documents = list(language(world))
        texts = [" ".join(sentence.text for sentence in document) for document, _ in documents]
        end = tokenizer.eos_token_id
        self.documents = [(end, *ids, end) for ids in tokenizer(texts)["input_ids"]]
        self.weights = [probability for _, probability in documents]
        self.answers = AnswerCounts()
        for ids, weight in zip(self.documents, self.weights, strict=True):
            for place in range(1, len(ids)):
                self.answers.add(ids[:place], ids[place], weight)

    def lessons(self, count: int, generator: np.random.Generator) -> list[Lesson]:
        """Documents, with what may come at each place."""
        return [self._lesson(self.documents[number]) for number in draw(self.weights, count, generator)]

    def _lesson(self, ids: Tokens) -> Lesson:
        places = tuple(range(len(ids) - 1))
        return Lesson(
            ids[:-1], places, tuple(self.answers.distribution(ids[: place + 1]) for place in places)
        )

    def collate(self, lessons: list[Lesson]) -> Batch:
        """Rows of one length; what fills them up comes after all that counts."""
        return {
            "ids": padded([lesson.ids for lesson in lessons], self.tokenizer.eos_token_id),
            **target_batch(lessons, without_choice=WITHOUT_CHOICE),
        }

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """All places count alike."""
        everything = torch.ones_like(batch["ids"])
        hidden = model.transformer(batch["ids"], attention_mask=everything).last_hidden_state
        at_places = hidden[batch["target_rows"], batch["target_places"]]
        return soft_cross_entropy(model.lm_head(at_places), batch)


class EncoderDecoderTeacher:
    """T5: the rest of a word at a sentinel, and the continuation of an opening."""

    def __init__(self, world: World, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        sentinel = sentinel_id(tokenizer)
        if sentinel is None:
            raise ModelError("The lab's encoder-decoder needs a tokenizer with sentinels.")
        self.sentinel = sentinel
        documents = list(language(world))
        weights: defaultdict[tuple[Tokens, Tokens], float] = defaultdict(float)
        for gap in _word_places(tokenizer, documents):
            for place in range(gap.first, gap.last):
                source = (*gap.ids[:place], sentinel, *gap.ids[gap.last :])
                weights[source, gap.ids[place : gap.last]] += gap.weight
        for source, target, probability in self._stories(documents):
            weights[source, target] += probability * EMPHASIS["attribute"]
        self.answers = AnswerCounts()
        self.questions = list(weights)
        self.weights = list(weights.values())
        for (source, target), weight in weights.items():
            ids = self._decoder_ids(target)
            for place in range(1, len(ids)):
                self.answers.add((source, ids[:place]), ids[place], weight)

    def _stories(self, documents: Sequence[tuple[Document, float]]) -> Iterator[tuple[Tokens, Tokens, float]]:
        stories = [(document, probability) for document, probability in documents if len(document) == 2]
        openings = self.tokenizer([f"{document[0].text} <extra_id_0>" for document, _ in stories])[
            "input_ids"
        ]
        continuations = self.tokenizer(
            [document[1].text for document, _ in stories], add_special_tokens=False
        )
        for source, target, (_, probability) in zip(
            openings, continuations["input_ids"], stories, strict=True
        ):
            yield tuple(source), tuple(target), probability

    def _decoder_ids(self, target: Tokens) -> Tokens:
        return (self.tokenizer.pad_token_id, self.sentinel, *target, self.tokenizer.eos_token_id)

    def lessons(self, count: int, generator: np.random.Generator) -> list[Lesson]:
        """Gaps and openings with what the decoder may write at each place."""
        return [self._lesson(*self.questions[number]) for number in draw(self.weights, count, generator)]

    def _lesson(self, source: Tokens, target: Tokens) -> Lesson:
        ids = self._decoder_ids(target)
        places = tuple(range(len(ids) - 1))
        targets = tuple(self.answers.distribution((source, ids[: place + 1])) for place in places)
        return Lesson(ids[:-1], places, targets, source)

    def collate(self, lessons: list[Lesson]) -> Batch:
        """Encoder and decoder rows of one length each."""
        pad = self.tokenizer.pad_token_id
        return {
            "source": padded([lesson.source for lesson in lessons], pad),
            "ids": padded([lesson.ids for lesson in lessons], pad),
            **target_batch(lessons, without_choice=WITHOUT_CHOICE),
        }

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """All places count alike."""
        mask = (batch["source"] != self.tokenizer.pad_token_id).long()
        logits = model(
            input_ids=batch["source"], attention_mask=mask, decoder_input_ids=batch["ids"], use_cache=False
        ).logits
        return soft_cross_entropy(logits[batch["target_rows"], batch["target_places"]], batch)
