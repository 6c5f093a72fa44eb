"""Words that tell a gender, as tokens: which of them there are, and where they stand in a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from evenhand.core.probes import TermPairs
from evenhand.models.engine.requests import Tokens

_WORD = re.compile(r"[^\W\d_]+")

WordTokens = Callable[[str, str], Tokens | None]
"""The tokens of a word behind a character; None if the tokenizer does not know it."""


@dataclass(frozen=True, slots=True)
class GenderedTokens:
    """Tokens that are words for men, and tokens that are words for women, wherever they stand."""

    male: Tensor
    female: Tensor

    @classmethod
    def of(cls, male: Iterable[int], female: Iterable[int]) -> GenderedTokens:
        """From token ids; one that is on both sides tells nothing."""
        sides = {*male}, {*female}
        both = sides[0] & sides[1]
        return cls(*(torch.tensor(sorted(side - both), dtype=torch.long) for side in sides))

    def to(self, device: torch.device) -> GenderedTokens:
        """The same on a device."""
        return GenderedTokens(self.male.to(device), self.female.to(device))

    @property
    def all(self) -> Tensor:
        """Of both sides."""
        return torch.cat([self.male, self.female])

    def among(self, tokens: Tensor) -> GenderedTokens:
        """Where they stand among tokens in rising order, all of theirs included."""
        return GenderedTokens(*(torch.searchsorted(tokens, side) for side in (self.male, self.female)))

    def odds(self, probabilities: Tensor) -> Tensor:
        """How much likelier a male token is than a female one, in nats."""
        tiny = torch.finfo(probabilities.dtype).tiny
        male, female = (
            probabilities[:, side].sum(dim=1).clamp_min(tiny).log() for side in (self.male, self.female)
        )
        return male - female

    def odds_from_logs(self, logs: Tensor) -> Tensor:
        """The same from logarithms of probabilities, with gradients that do not vanish."""
        if not (len(self.male) and len(self.female)):
            return logs.new_zeros(len(logs))
        return logs[:, self.male].logsumexp(dim=1) - logs[:, self.female].logsumexp(dim=1)


@dataclass(frozen=True)
class GenderedWordTokens:
    """Words that tell a gender, of one token or several."""

    tokens: GenderedTokens
    """Those of one token."""
    vocabulary: frozenset[str] = frozenset()
    """As they are written."""
    _within: dict[int, list[Tokens]] = field(default_factory=dict)
    _opening: dict[int, list[Tokens]] = field(default_factory=dict)

    @classmethod
    def of(cls, pairs: Iterable[TermPairs], tokens_of: WordTokens) -> GenderedWordTokens:
        """Words of both sides, with and without a capital."""
        known = list(pairs)
        sides = [
            {form for word in words for form in (word, word[:1].upper() + word[1:])}
            for words in (
                [word for own in known for word in own.male],
                [word for own in known for word in own.female],
            )
        ]
        within = [_known(tokens_of, side, " ") for side in sides]
        opening = [_known(tokens_of, side, "") for side in sides]
        single = ([own[0] for own in side if len(own) == 1] for side in within)
        return cls(
            GenderedTokens.of(*single),
            frozenset(sides[0] | sides[1]),
            _by_first(within[0] | within[1]),
            _by_first(opening[0] | opening[1]),
        )

    def count(self, text: str) -> int:
        """How many words of a text tell a gender."""
        return sum(word in self.vocabulary for word in _WORD.findall(text))

    def places(self, ids: Sequence[int], *, begins: int = 0) -> Iterator[range]:
        """Where words stand in a row whose text begins at some place."""
        for start, token in enumerate(ids):
            for word in (self._opening if start == begins else self._within).get(token, ()):
                if tuple(ids[start : start + len(word)]) == word:
                    yield range(start, start + len(word))


def _known(tokens_of: WordTokens, words: Collection[str], preceding: str) -> set[Tokens]:
    return {tokens for word in sorted(words) if (tokens := tokens_of(word, preceding))}


def _by_first(words: Iterable[Tokens]) -> dict[int, list[Tokens]]:
    found: dict[int, list[Tokens]] = {}
    for word in sorted(words):
        found.setdefault(word[0], []).append(word)
    return found
