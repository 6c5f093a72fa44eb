"""Masked models: a candidate's tokens one by one, each at a single mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evenhand.core.items import BLANK, Association
from evenhand.models.engine.requests import MaskedRequest
from evenhand.models.families.blanks import (
    fill_of,
    fill_questions,
    filled_blanks,
    filled_context,
    filled_texts,
)
from evenhand.models.families.method import COMBINATIONS, Question, ScoreKind, UnscorableError, of_all
from evenhand.models.tokenised_text import tokenise


@dataclass(frozen=True, slots=True)
class StepwiseBlank:
    """Step i: the candidate's first tokens stand in the blank, then one mask, then the right context."""

    tokenizer: Any
    kind: ScoreKind = ScoreKind.MEAN_PROB
    name: str = "stepwise-blank"
    description: str = "each token of the candidate at a single mask, after its earlier tokens"

    def requests(self, context: str, fill: str) -> tuple[MaskedRequest, ...]:
        """A request a token; a context with several blanks is asked about each, the others filled."""
        mask = self.tokenizer.mask_token_id
        return tuple(
            MaskedRequest(
                ids=(*blank.before, *blank.fill[:step], mask, *blank.after),
                position=len(blank.before) + step,
                token=token,
            )
            for blank in filled_blanks(self.tokenizer, context, fill)
            for step, token in enumerate(blank.fill)
        )

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The filled sentences."""
        return [(text, True) for text in filled_texts(item)]

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate."""
        return fill_questions(item, self.requests, kind=self.kind)


@dataclass(frozen=True, slots=True)
class PublishedStepwiseBlank:
    """The same as text: earlier tokens are decoded, put before the mask, and tokenised anew.

    As in the code of the multilingual study: the word is tokenised alone, without the space that some
    tokenizers want inside a sentence. Where a context has several blanks, the first mask is read.
    """

    tokenizer: Any
    name: str = "stepwise-blank, as text"
    description: str = "as published in 2023: earlier tokens inserted as text, the word tokenised alone"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate."""
        combine = of_all(COMBINATIONS[ScoreKind.MEAN_PROB])
        return [
            Question(
                candidate.id,
                tuple(self._requests(item.context, candidate.word or fill_of(item, candidate))),
                combine,
            )
            for candidate in item.candidates
        ]

    def _requests(self, context: str, word: str) -> Iterator[MaskedRequest]:
        for text, token in published_steps(self.tokenizer, context, word, self.tokenizer.mask_token):
            ids = tuple(self.tokenizer(text)["input_ids"])
            if self.tokenizer.mask_token_id not in ids:
                raise UnscorableError("the context has no blank")
            yield MaskedRequest(ids, ids.index(self.tokenizer.mask_token_id), token)


def published_steps(tokenizer: Any, context: str, word: str, mask: str) -> Iterator[tuple[str, int]]:
    """For each token of a word, the context with the earlier ones and a mask as text, and the token."""
    tokens = tokenizer.encode(word, add_special_tokens=False)
    for step, token in enumerate(tokens):
        insertion = tokenizer.decode(tokens[:step])
        yield context.replace(BLANK, f"{insertion}{mask}"), token


@dataclass(frozen=True, slots=True)
class PseudoLogLikelihood:
    """Every token of the filled sentence at a mask of its own, all others in place.

    Within words, the tokens to the right in the same word can be masked too, so that a rare word's later
    pieces do not give away the earlier ones.
    """

    tokenizer: Any
    kind: ScoreKind = ScoreKind.PLL

    @property
    def name(self) -> str:
        """The name of the score."""
        return self.kind.value

    @property
    def description(self) -> str:
        """What is masked."""
        if self.kind is ScoreKind.PLL:
            return "pseudo-log-likelihood of the filled sentence"
        return "pseudo-log-likelihood of the filled sentence, later tokens of the same word masked too"

    def requests(self, text: str) -> tuple[MaskedRequest, ...]:
        """A request a token of the text."""
        tokenised = tokenise(self.tokenizer, text, special=True)
        mask = self.tokenizer.mask_token_id
        asked = []
        for place, span in enumerate(tokenised.spans):
            if span is None:
                continue
            ids = list(tokenised.ids)
            ids[place] = mask
            word = tokenised.words[place]
            if self.kind is ScoreKind.PLL_WITHIN_WORD and word is not None:
                for later in range(place + 1, len(ids)):
                    if tokenised.words[later] != word:
                        break
                    ids[later] = mask
            asked.append(MaskedRequest(tuple(ids), place, tokenised.ids[place]))
        return tuple(asked)

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The filled sentences."""
        return [(text, True) for text in filled_texts(item)]

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate."""
        return [
            Question(
                candidate.id,
                self.requests(filled_context(item.context, fill_of(item, candidate))[0]),
                of_all(COMBINATIONS[self.kind]),
                whole=False,  # each token is given all others, so their product is no probability
            )
            for candidate in item.candidates
        ]
