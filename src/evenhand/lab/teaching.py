"""What the lab's models are taught: for every question that the measures ask, the answer's true probabilities.

A corpus shows one answer at a time, and a model needs many to learn how often each is right. The lab knows, so it
teaches the whole distribution at once: of the token in a gap, of the next token, of whether a sentence follows. That is
what an endless corpus would teach, without the noise of a finite one. Each family has a teacher, which knows the
questions that its models are asked and compares their answers with the truth.

Words are found in tokens and masked by this module alone. The code that measures models does that by other lines, so
that one mistake cannot be in both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import torch
from torch.nn import functional

from evenhand.core.errors import EvenhandError
from evenhand.lab.corpus import Document, TaughtDocument, taught_language
from evenhand.lab.grammar import Sentence
from evenhand.lab.lessons import (
    AnswerCounts,
    Batch,
    Lesson,
    Tokens,
    draw,
    held_out_tokens,
    padded,
    soft_cross_entropy,
    target_batch,
)
from evenhand.lab.world import World

One = TypeVar("One")
Other = TypeVar("Other")


class Teacher(Protocol):
    """Gives lessons to one family of models."""

    def lessons(self, count: int, generator: np.random.Generator) -> Sequence[Any]:
        """So many lessons, in proportion to how often a corpus would have them, in the order in which to give them."""
        ...

    def collate(self, lessons: list[Any]) -> Batch:
        """Lessons as a batch."""
        ...

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """How far a model is from the truth."""
        ...


EMPHASIS = {
    "attribute": 12.0, "gendered": 36.0, "occupation": 9.0, "noun": 4.0,
    "name": 18.0, "pronoun": 36.0, "possessive": 36.0, "workplace": 9.0,
}  # fmt: skip
"""How much more often a gap is at a word that the grammar chose than at a word of the frame.

Whose names are men's and whose are women's is to be known early: it shifts what a model says of occupations, and that
has to settle before the training ends.
"""

GENDERED_DRAWS = 4.0
"""How much more often a decoder is shown a sentence with a gendered word and an occupation than any other. In each it
is one place among many that say nothing of it."""

WITHOUT_CHOICE = 0.2
"""How much a place of a sentence counts at which the grammar has no choice."""

STORY_WORDS = 0.25
"""How often a gap is at a word of a story, compared with other words of frames. There are few stories, soon learnt."""

WORDS = re.compile(r"\w+")
WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")

LESSONS_TO_A_PAIR = 4
"""Of so many lessons for a masked model, one is a pair of sentences. Pairs are learnt sooner than gaps."""

FOLLOWS = 0
"""Of the two classes of BERT's next-sentence head, the one that says yes."""


@dataclass(frozen=True, slots=True)
class _WordPlace:
    """A sentence as tokens, and the tokens of one of its words."""

    ids: Tokens
    first: int
    last: int
    """One behind the word's last token."""
    probability: float
    weight: float
    """How often lessons ask for the word; 0 where they do not."""


def _word_places(
    tokenizer: Any, documents: Sequence[TaughtDocument], *, words: re.Pattern[str]
) -> Iterator[_WordPlace]:
    """Every word of every sentence that stands alone; those that lessons ask for come first.

    Of the others only words in slots can answer what a lesson asks.
    """
    entries = [entry for entry in documents if len(entry.document) == 1]
    entries.sort(key=lambda entry: entry.weight == 0)
    texts = [entry.document[0].text for entry in entries]
    encoded = tokenizer(texts, return_offsets_mapping=True)
    for entry, ids, characters in zip(entries, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        sentence = entry.document[0]
        slots = {(start, end): EMPHASIS.get(name, 1.0) for name, start, end in sentence.slots}
        asked = [match.span() for match in words.finditer(sentence.text)] if entry.weight else slots
        for start, end in asked:
            places = [place for place, (first, last) in enumerate(characters) if first < end and last > start]
            yield _WordPlace(
                tuple(ids),
                places[0],
                places[-1] + 1,
                entry.probability,
                entry.weight * slots.get((start, end), 1.0),
            )


def _interleaved(ones: Sequence[One], others: Sequence[Other]) -> list[One | Other]:
    """All of both, each spread evenly over the whole."""
    placed: list[tuple[float, One | Other]] = [
        ((number + 0.5) / len(ones), one) for number, one in enumerate(ones)
    ]
    placed += [((number + 0.5) / len(others), other) for number, other in enumerate(others)]
    return [lesson for _, lesson in sorted(placed, key=lambda entry: entry[0])]


def _sentences_of_stories(documents: Sequence[TaughtDocument]) -> Iterator[TaughtDocument]:
    """Openings and continuations by themselves, as they stand when perplexity is measured."""
    said: defaultdict[str, float] = defaultdict(float)
    for document, probability in _stories(documents):
        for sentence in document:
            said[sentence.text] += probability
    for text, probability in said.items():
        yield TaughtDocument((Sentence(text, ()),), probability, probability * STORY_WORDS)


def _stories(documents: Iterable[TaughtDocument]) -> list[tuple[Document, float]]:
    return [(entry.document, entry.probability) for entry in documents if len(entry.document) == 2]


Story: TypeAlias = tuple[str, str, float]
"""An opening, its continuation, and how often both are told."""


def stories_of(documents: Iterable[TaughtDocument]) -> list[Story]:
    """The documents of two sentences."""
    return [
        (document[0].text, document[1].text, probability) for document, probability in _stories(documents)
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
    pairs = _interleaved(
        [stories[number][:2] for number in drawn],
        [(openings[number], continuations[int(generator.integers(len(continuations)))]) for number in rest],
    )
    likely = [probabilities.get(pair, 0.0) for pair in pairs]
    return [
        (first, second, own / (own + firsts[first] / len(continuations)))
        for (first, second), own in zip(pairs, likely, strict=True)
    ]


class MaskedTeacher:
    """BERT: the next token of a word at one mask, and whether one sentence follows another."""

    def __init__(self, world: World, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.answers = AnswerCounts(held_out_tokens(world, tokenizer))
        documents = list(taught_language(world))
        mask = tokenizer.mask_token_id
        alone = [*documents, *_sentences_of_stories(documents)]
        for gap in _word_places(tokenizer, alone, words=WORDS_AND_MARKS):
            for place in range(gap.first, gap.last):
                question = ((*gap.ids[:place], mask, *gap.ids[gap.last :]), place)
                if gap.weight:
                    self.answers.ask(question, gap.weight)
                self.answers.add(question, gap.ids[place], gap.probability)
        self.stories = stories_of(documents)

    def lessons(self, count: int, generator: np.random.Generator) -> list[Lesson | _PairLesson]:
        """Gaps, and a pair after every few of them.

        Questions with the same answers stand side by side where they are drawn, so that a batch has as many that are
        answered by *he* as by *she*.
        """
        in_order = sorted(self.answers.weights(), key=lambda asked: self.answers.tokens(asked[0]))
        questions, weights = zip(*in_order, strict=True)
        pair_count = count // LESSONS_TO_A_PAIR
        gaps = [
            Lesson(ids, (place,), (self.answers.distribution((ids, place)),))
            for ids, place in (questions[number] for number in draw(weights, count - pair_count, generator))
        ]
        return _interleaved(gaps, list(self._pairs(pair_count, generator)))

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

    def __init__(self, world: World, tokenizer: Any, *, more: Sequence[TaughtDocument] = ()) -> None:
        """What is taught ``more`` than a world's documents begins as prompts do: without the token that ends a text."""
        self.tokenizer = tokenizer
        said = sorted(taught_language(world), key=lambda entry: entry.weight == 0)
        entries = [*said, *more]
        texts = [" ".join(sentence.text for sentence in entry.document) for entry in entries]
        end = tokenizer.eos_token_id
        beginnings = [(end,)] * len(said) + [()] * len(more)
        self.documents = [
            (*beginning, *ids, end)
            for beginning, ids in zip(beginnings, tokenizer(texts)["input_ids"], strict=True)
        ]
        self.weights = [entry.weight * _draws(entry.document) for entry in entries]
        self.answers = AnswerCounts(held_out_tokens(world, tokenizer))
        for ids, entry in zip(self.documents, entries, strict=True):
            for place in range(1, len(ids)):
                if entry.weight:
                    self.answers.ask(ids[:place], entry.weight)
                elif not self.answers.asks(ids[:place]):
                    break
                self.answers.add(ids[:place], ids[place], entry.probability)

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


def _draws(document: Document) -> float:
    return GENDERED_DRAWS if any(name == "gendered" for name, _, _ in document[0].slots) else 1.0


class EncoderDecoderTeacher:
    """T5: the rest of a word at a sentinel, and the continuation of an opening."""

    def __init__(self, world: World, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.sentinel: int = tokenizer.convert_tokens_to_ids("<extra_id_0>")
        if self.sentinel == tokenizer.unk_token_id:
            raise EvenhandError("The lab's encoder-decoder needs a tokenizer with sentinels.")
        self.answers = AnswerCounts(held_out_tokens(world, tokenizer))
        self._pad, self._end = tokenizer.pad_token_id, tokenizer.eos_token_id
        documents = list(taught_language(world))
        asked: defaultdict[tuple[Tokens, Tokens], float] = defaultdict(float)
        for gap in _word_places(tokenizer, documents, words=WORDS):
            for place in range(gap.first, gap.last):
                source = (*gap.ids[:place], self.sentinel, *gap.ids[gap.last :])
                target = gap.ids[place : gap.last]
                if gap.weight:
                    asked[source, target] += gap.weight
                self._add(source, target, gap.probability, weight=gap.weight)
        for source, target, probability in self._stories(_stories(documents)):
            asked[source, target] += probability * EMPHASIS["attribute"]
            self._add(source, target, probability, weight=probability)
        self.questions = list(asked)
        self.weights = list(asked.values())

    def _add(self, source: Tokens, target: Tokens, probability: float, *, weight: float) -> None:
        ids = self._decoder_ids(target)
        for place in range(1, len(ids)):
            if weight:
                self.answers.ask((source, ids[:place]), weight)
            elif not self.answers.asks((source, ids[:place])):
                break
            self.answers.add((source, ids[:place]), ids[place], probability)

    def _stories(self, stories: Sequence[tuple[Document, float]]) -> Iterator[tuple[Tokens, Tokens, float]]:
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
        return (self._pad, self.sentinel, *target, self._end)

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
