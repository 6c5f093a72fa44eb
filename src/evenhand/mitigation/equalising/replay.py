"""Ordinary sentences and passages that the model is to stay the same on, but for who they are about.

Where nothing has told a gender yet, the original's answer is the very lean that is to go: kept there, it would be
taught back as fast as the gaps take it away. So at such places the target is the original's distribution with the sides
made equal, as in a gap: in sentences without any gendered word, and for decoders at the first word of all.

Passages are there for what follows from earlier sentences. With single sentences alone a model would forget how to read
on: who *she* is has mostly been told before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from evenhand.mitigation.equalising.gaps import OrdinarySentence
from evenhand.mitigation.equalising.gendered_tokens import GenderedTokens, GenderedWordTokens
from evenhand.mitigation.equalising.term_trees import SETTLED_BITS, GenderedGroup
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import TokenRow
from evenhand.text.digests import LowestDigests, digest_of
from evenhand.training.pretraining import pretraining_objective

MOST_SENTENCES = 256
"""Ordinary sentences that go with a batch at most; of short ones, hardly a token each may be asked for."""

LEAST_LIKELY = 1e-3
"""Of both sides together, where their shares are compared by themselves: elsewhere nobody is spoken of."""

DRAWN_TOGETHER = 16
"""Ordinary sentences that are drawn at once, until they have tokens enough."""

SETTLING = 0.25
"""Share of them, at least, that tell a gender more than once: what settles a pronoun is rare in some texts, and the
first thing that evening out takes along."""

PASSAGE = 3_000
"""Characters of a passage at least, near 700 tokens of English: what is not replayed is not kept, the far end of a long
context neither."""


class Passages:
    """Sentences of a text, which are joined to passages as they are read."""

    def __init__(self, sentences: Iterable[str], *, most: int) -> None:
        self._sentences = sentences
        self._sample: LowestDigests[str] = LowestDigests(most, distinct=True)

    def __iter__(self) -> Iterator[str]:
        joined = ""
        for sentence in self._sentences:
            yield sentence
            joined = f"{joined} {sentence}".lstrip()
            if len(joined) >= PASSAGE:
                self._sample.offer(digest_of(joined), joined)
                joined = ""

    @property
    def kept(self) -> list[str]:
        """The passages, chosen by their digests, once all sentences are read."""
        return self._sample.by_digest()


@dataclass(frozen=True, slots=True)
class ReplayedRow(TokenRow):
    """An ordinary sentence, and at how many of its first places nobody's gender has been told."""

    open_places: int = 0
    settled: tuple[int, ...] = ()
    """Which of its places ask for a word that tells a gender, where another has told one already. Passages have none:
    there, many people are told of, and a word is settled by few of those before it."""
    settled_weight: float = 0.0
    """How much each of these counts: all of a draw count the same, and 1 together."""


class _Kind(Enum):
    """What the words of a sentence say about somebody's gender."""

    NEUTRAL = "nothing"
    SETTLING = "told more than once, so that one word settles another"
    OTHER = "something"


class Replay:
    """Ordinary sentences and passages in the model's own pre-training objective, drawn at random."""

    def __init__(
        self,
        sentences: Sequence[OrdinarySentence],
        model: LanguageModel,
        *,
        passages: Sequence[str] = (),
        words: GenderedWordTokens,
        max_tokens: int | None = None,
    ) -> None:
        """``words`` tell a gender."""
        texts: dict[_Kind, list[str]] = {kind: [] for kind in _Kind}
        for sentence in sentences:
            texts[_kind_of(sentence, words)].append(sentence.text)
        texts[_Kind.OTHER] += passages
        self._objectives = {
            kind: pretraining_objective(own, model, max_tokens=max_tokens) for kind, own in texts.items()
        }
        # Nothing stands before the first word, whatever the sentence.
        self._unseen = int(model.gap_contexts().sees_only_before)
        self._words = words
        self._telling = frozenset(words.tokens.all.tolist())
        self.examples = [
            (kind, example) for kind, objective in self._objectives.items() for example in objective.examples
        ]
        self._settling = np.flatnonzero([kind is _Kind.SETTLING for kind, _ in self.examples])

    def draw(self, tokens: int, generator: np.random.Generator) -> list[ReplayedRow]:
        """Sentences that ask for so many tokens, each of which counts the same.

        Marks of spans are kept where they were too, but the mean is over text, as that of perplexity is: marks are
        known almost surely, and where sentences are short there are three of them for one token of text.
        """
        rows: list[ReplayedRow] = []
        asked = 0
        while asked < tokens and len(rows) < MOST_SENTENCES:
            for row in self._some(generator):
                if asked < tokens:
                    rows.append(row)
                    asked += row.text_tokens
        settled = max(1, sum(len(row.settled) for row in rows))
        return [replace(row, weight=1 / max(1, asked), settled_weight=1 / settled) for row in rows]

    def _some(self, generator: np.random.Generator) -> list[ReplayedRow]:
        drawn = generator.integers(len(self.examples), size=DRAWN_TOGETHER)
        if len(self._settling):
            settles = generator.random(DRAWN_TOGETHER) < SETTLING
            drawn[settles] = self._settling[generator.integers(len(self._settling), size=settles.sum())]
        chosen = [self.examples[number] for number in drawn]
        rows: dict[int, ReplayedRow] = {}
        for kind, objective in self._objectives.items():
            turns = [turn for turn, (own, _) in enumerate(chosen) if own is kind]
            if turns:
                laid_out = objective.lay_out([chosen[turn][1] for turn in turns], generator)
                rows |= {turn: self._replayed(row, kind) for turn, row in zip(turns, laid_out, strict=True)}
        return [rows[turn] for turn in sorted(rows)]

    def _replayed(self, row: TokenRow, kind: _Kind) -> ReplayedRow:
        values = {field.name: getattr(row, field.name) for field in fields(row)}
        if kind is _Kind.NEUTRAL:
            return ReplayedRow(**values, open_places=len(row.places))
        settled = tuple(self._settled(row)) if kind is _Kind.SETTLING else ()
        return ReplayedRow(**values, open_places=self._unseen, settled=settled)

    def _settled(self, row: TokenRow) -> Iterator[int]:
        """Which places ask for a word that tells a gender where the model sees another one."""
        if self._telling.isdisjoint(row.targets):
            return
        if row.source:
            begins = next(self._words.places(row.source), None) is not None
            first = -1 if begins else len(row.ids)
            others = [first]
        else:
            others = [
                place for word in self._words.places(row.ids, begins=self._unseen) for place in word[-1:]
            ]
        for number, (place, target) in enumerate(zip(row.places, row.targets, strict=True)):
            if target in self._telling and any(
                own <= place if row.source or self._unseen else own != place for own in others
            ):
                yield number


def _kind_of(sentence: OrdinarySentence, words: GenderedWordTokens) -> _Kind:
    if sentence.is_neutral:
        return _Kind.NEUTRAL
    return _Kind.SETTLING if words.count(sentence.text) > 1 else _Kind.OTHER


@dataclass(frozen=True)
class OpenPlaces:
    """Makes the sides of groups equally likely in distributions, where nothing has settled the matter."""

    tokens: Tensor
    """Of all sides, none of them twice."""
    side_of_token: Tensor
    """Which side each is of: the male and the female one of the first group, of the second, and so on."""
    tokens_of_side: Tensor
    """Numbers of tokens, one row for each side; as many as there are tokens where a side has fewer than others."""

    @classmethod
    def of(cls, groups: Sequence[GenderedGroup], device: torch.device) -> OpenPlaces:
        """From words of one token each."""
        sides = [
            [token for word in side for token in word]
            for group in groups
            for side in (group.male, group.female)
        ]
        count, longest = sum(map(len, sides)), max(map(len, sides), default=0)
        numbers = torch.split(torch.arange(count), [len(side) for side in sides]) if sides else ()
        tokens_of_side = torch.full((len(sides), longest), count)
        for row, own in zip(tokens_of_side, numbers, strict=True):
            row[: len(own)] = own
        side_of_token = [number for number, side in enumerate(sides) for _ in side]
        return cls(
            torch.tensor([token for side in sides for token in side], dtype=torch.long, device=device),
            torch.tensor(side_of_token, dtype=torch.long, device=device),
            tokens_of_side.to(device),
        )

    def among(self, tokens: Tensor) -> OpenPlaces:
        """The same for distributions over tokens in rising order, all of these included."""
        return replace(self, tokens=torch.searchsorted(tokens, self.tokens))

    def even_out(self, distributions: Tensor, is_open: Tensor) -> Tensor:
        """Change the distributions, (places, vocabulary), at the places that are open.

        Returns:
            Which groups are open and likely enough to be looked at by themselves, (places, groups).
        """
        own = distributions[:, self.tokens]
        shares = own.new_zeros(len(own), len(self.tokens_of_side)).index_add(1, self.side_of_token, own)
        shares = shares.reshape(len(own), -1, 2)
        logs = shares.log2()
        evens = is_open[:, None] & ((logs[:, :, 0] - logs[:, :, 1]).abs() <= SETTLED_BITS)
        factors = torch.where(evens[:, :, None], shares.mean(dim=2, keepdim=True) / shares, 1.0)
        distributions[:, self.tokens] = own * factors.flatten(start_dim=1)[:, self.side_of_token]
        return evens & (shares.sum(dim=2) > LEAST_LIKELY)

    def unevenness(self, logs: Tensor, flags: Tensor) -> Tensor:
        """KL(half and half || shares of the sides), summed over the groups that are flagged, of each place."""
        never = logs.new_full((len(logs), 1), -math.inf)
        own = torch.cat([logs[:, self.tokens], never], dim=1)[:, self.tokens_of_side].logsumexp(dim=2)
        shares = functional.log_softmax(own.reshape(len(logs), -1, 2), dim=2).mean(dim=2)
        return torch.where(flags, -math.log(2) - shares, 0.0).sum(dim=1)


@dataclass(frozen=True)
class ReplayTokens:
    """The few tokens that are looked at by themselves in ordinary text, on a device."""

    telling: GenderedTokens
    """Those that tell a gender."""
    open_places: OpenPlaces

    @classmethod
    def of(
        cls, telling: GenderedTokens, open_groups: Sequence[GenderedGroup], device: torch.device
    ) -> ReplayTokens:
        """On a device."""
        return cls(telling.to(device), OpenPlaces.of(open_groups, device))

    @cached_property
    def all(self) -> Tensor:
        """All of them, in rising order."""
        tokens: Tensor = torch.unique(torch.cat([self.telling.all, self.open_places.tokens]))
        return tokens

    @cached_property
    def among_all(self) -> ReplayTokens:
        """The same for distributions over ``all``."""
        return ReplayTokens(self.telling.among(self.all), self.open_places.among(self.all))


def open_flags(rows: Sequence[ReplayedRow]) -> Tensor:
    """Whether each place that rows ask at is open, row after row."""
    flags = [np.arange(len(row.places)) < row.open_places for row in rows]
    return torch.from_numpy(np.concatenate([np.zeros(0, dtype=bool), *flags]))


def settled_weights(rows: Sequence[ReplayedRow]) -> Tensor:
    """How much each place that rows ask at counts as one where a gender has been told, row after row."""
    weights = [np.zeros(len(row.places), dtype=np.float32) for row in rows]
    for row, own in zip(rows, weights, strict=True):
        own[list(row.settled)] = row.settled_weight
    return torch.from_numpy(np.concatenate([np.zeros(0, dtype=np.float32), *weights]))
