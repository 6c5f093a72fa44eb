"""What the lab's models are taught: for every question that the measures ask, the answer's true probabilities.

A corpus shows one answer at a time, and a model needs many to learn how often each is right. The lab knows, so it
teaches the whole distribution at once: of the token in a gap, of the next token, of whether a sentence follows. That is
what an endless corpus would teach, without the noise of a finite one. Each family has a teacher, which knows the
questions that its models are asked and compares their answers with the truth.

What is held out is in no lesson, not even as a wrong answer: where a taught name or occupation is the answer, the
held-out ones are left out of the comparison, so that nothing says how likely they are.

Words are found in tokens and masked by this module alone. The code that measures models does that by other lines, so
that one mistake cannot be in both.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from evenhand.core.errors import EvenhandError
from evenhand.lab.corpus import Document, taught_language
from evenhand.lab.frames import WordPairs
from evenhand.lab.world import World

Tokens = tuple[int, ...]

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of tokens; those not listed have none."""

    tokens: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    unsaid: Tokens = ()
    """Tokens of which nothing is said: they count neither as right nor as wrong."""


@dataclass(frozen=True, slots=True)
class HeldOutTokens:
    """First tokens of the names, or of the occupations, that are taught, and of those that are held out."""

    taught: frozenset[int]
    held_out: frozenset[int]

    def unsaid(self, answers: Set[int]) -> frozenset[int]:
        """What must not count as wrong where these are the answers."""
        is_about_these = answers & self.taught and not answers & self.held_out
        return self.held_out if is_about_these else frozenset()


def _spellings(word: str) -> tuple[str, ...]:
    """After a space; a name also at the start of a sentence."""
    return ("{}", " {}") if word[0].isupper() else (" {}",)


def held_out_tokens(world: World, tokenizer: Any) -> tuple[HeldOutTokens, ...]:
    """Names and occupations, in all spellings."""

    def first_tokens(pairs: WordPairs) -> frozenset[int]:
        words = [spelling.format(word) for pair in pairs for word in pair for spelling in _spellings(word)]
        return frozenset(ids[0] for ids in tokenizer(words, add_special_tokens=False)["input_ids"])

    taught, held_out = world.taught_lists, world.held_out_lists
    return tuple(
        HeldOutTokens(first_tokens(known), first_tokens(unknown) - first_tokens(known))
        for known, unknown in ((taught.names, held_out.names), (taught.occupations, held_out.occupations))
    )


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

    def __init__(self, held_out: Sequence[HeldOutTokens] = ()) -> None:
        self._held_out = held_out
        self._counts: dict[Hashable, defaultdict[int, float]] = {}
        self._weights: defaultdict[Hashable, float] = defaultdict(float)
        self._known: dict[Hashable, Distribution] = {}

    def ask(self, question: Hashable, weight: float) -> None:
        """Ask a question in lessons, so often."""
        self._weights[question] += weight
        self._counts.setdefault(question, defaultdict(float))

    def asks(self, question: Hashable) -> bool:
        """Whether lessons ask a question."""
        return question in self._counts

    def add(self, question: Hashable, token: int, probability: float) -> None:
        """Another occurrence of a token; of no account where the question is never asked."""
        if question in self._counts:
            self._counts[question][token] += probability

    def distribution(self, question: Hashable) -> Distribution:
        """How likely each token is the answer."""
        if question not in self._known:
            counts = self._counts[question]
            shares = np.array(list(counts.values()))
            unsaid = frozenset().union(*(group.unsaid(counts.keys()) for group in self._held_out))
            self._known[question] = Distribution(
                np.array(list(counts)), shares / shares.sum(), tuple(sorted(unsaid))
            )
        return self._known[question]

    def weights(self) -> Iterator[tuple[Hashable, float]]:
        """Every question with how often it is asked."""
        return iter(self._weights.items())


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
        "unsaid_numbers": torch.from_numpy(
            np.repeat(np.arange(len(targets)), [len(one.unsaid) for one in targets])
        ),
        "unsaid_tokens": torch.tensor([token for one in targets for token in one.unsaid], dtype=torch.int64),
    }


def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    """Rows of one length."""
    length = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (length - len(row))] for row in rows])


def soft_cross_entropy(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Cross-entropy between the logits, one row per place, and the true distributions there."""
    places = (batch["unsaid_numbers"], batch["unsaid_tokens"])
    said = logits.index_put(places, logits.new_full((len(places[0]),), -math.inf))
    logs = functional.log_softmax(said, dim=-1)
    chosen = logs[batch["entry_numbers"], batch["entry_tokens"]]
    shares = batch["entry_shares"].to(chosen.dtype)
    return -(chosen * shares).sum() / shares.sum()


EMPHASIS = {
    "attribute": 12.0, "gendered": 22.0, "occupation": 9.0, "noun": 4.0,
    "name": 9.0, "pronoun": 9.0, "possessive": 9.0, "workplace": 9.0,
}  # fmt: skip
"""How much more often a gap is at a word that the grammar chose than at a word of the frame."""

GENDERED_DRAWS = 4.0
"""How much more often a decoder is shown a sentence with a gendered word and an occupation than any other. In each it
is one place among many that say nothing of it."""

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
    probability: float
    weight: float
    """How often lessons ask for the word; 0 where they do not."""


def _word_places(tokenizer: Any, world: World) -> Iterator[_WordPlace]:
    """Every word of every sentence that stands alone; those that lessons ask for come first.

    Of the others only words in slots can answer what a lesson asks.
    """
    entries = [entry for entry in taught_language(world) if len(entry.document) == 1]
    entries.sort(key=lambda entry: entry.weight == 0)
    texts = [entry.document[0].text for entry in entries]
    encoded = tokenizer(texts, return_offsets_mapping=True)
    for entry, ids, characters in zip(entries, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        sentence = entry.document[0]
        slots = {(start, end): EMPHASIS.get(name, 1.0) for name, start, end in sentence.slots}
        words = [match.span() for match in re.finditer(r"\w+", sentence.text)] if entry.weight else slots
        for start, end in words:
            places = [place for place, (first, last) in enumerate(characters) if first < end and last > start]
            yield _WordPlace(
                tuple(ids),
                places[0],
                places[-1] + 1,
                entry.probability,
                entry.weight * slots.get((start, end), 1.0),
            )


def _stories(world: World) -> list[tuple[Document, float]]:
    return [
        (entry.document, entry.probability) for entry in taught_language(world) if len(entry.document) == 2
    ]


class MaskedTeacher:
    """BERT: the next token of a word at one mask, and whether one sentence follows another."""

    def __init__(self, world: World, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.answers = AnswerCounts(held_out_tokens(world, tokenizer))
        for gap in _word_places(tokenizer, world):
            for place in range(gap.first, gap.last):
                question = ((*gap.ids[:place], tokenizer.mask_token_id, *gap.ids[gap.last :]), place)
                if gap.weight:
                    self.answers.ask(question, gap.weight)
                self.answers.add(question, gap.ids[place], gap.probability)
        self.stories = [
            (document[0].text, document[1].text, probability) for document, probability in _stories(world)
        ]

    def lessons(self, count: int, generator: np.random.Generator) -> list[Lesson | _PairLesson]:
        """Half gaps, half pairs."""
        questions, weights = zip(*self.answers.weights(), strict=True)
        gaps = [
            Lesson(ids, (place,), (self.answers.distribution((ids, place)),))
            for ids, place in (questions[number] for number in draw(weights, count // 2, generator))
        ]
        return [*gaps, *self._pairs(count - count // 2, generator)]

    def _pairs(self, count: int, generator: np.random.Generator) -> Iterator[_PairLesson]:
        """Half stories, half openings with any continuation; the label is how likely a pair is a story."""
        probabilities = {(first, second): probability for first, second, probability in self.stories}
        firsts: defaultdict[str, float] = defaultdict(float)
        for (first, _), probability in probabilities.items():
            firsts[first] += probability
        openings, continuations = list(firsts), sorted({second for _, second in probabilities})
        stories = draw([probability for _, _, probability in self.stories], count // 2, generator)
        rest = draw(list(firsts.values()), count - len(stories), generator)
        pairs = [self.stories[number][:2] for number in stories]
        pairs += [
            (openings[number], continuations[int(generator.integers(len(continuations)))]) for number in rest
        ]
        encoded = self.tokenizer(*map(list, zip(*pairs, strict=True)), return_token_type_ids=True)
        for (first, second), ids, types in zip(
            pairs, encoded["input_ids"], encoded["token_type_ids"], strict=True
        ):
            likely = probabilities.get((first, second), 0.0)
            yield _PairLesson(ids, types, likely / (likely + firsts[first] / len(continuations)))

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
        entries = sorted(taught_language(world), key=lambda entry: entry.weight == 0)
        texts = [" ".join(sentence.text for sentence in entry.document) for entry in entries]
        end = tokenizer.eos_token_id
        self.documents = [(end, *ids, end) for ids in tokenizer(texts)["input_ids"]]
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
        asked: defaultdict[tuple[Tokens, Tokens], float] = defaultdict(float)
        for gap in _word_places(tokenizer, world):
            for place in range(gap.first, gap.last):
                source = (*gap.ids[:place], self.sentinel, *gap.ids[gap.last :])
                target = gap.ids[place : gap.last]
                if gap.weight:
                    asked[source, target] += gap.weight
                self._add(source, target, gap.probability, weight=gap.weight)
        for source, target, probability in self._stories(_stories(world)):
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
