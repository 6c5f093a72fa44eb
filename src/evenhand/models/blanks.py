"""Where a candidate stands in its context: tokens before, of and after the fill, for each blank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evenhand.core.items import BLANK, Association, Candidate
from evenhand.core.spans import Span, filled_spans
from evenhand.models.engine.requests import Request, Tokens
from evenhand.models.questions import COMBINATIONS, Question, ScoreKind, UnscorableError, of_all
from evenhand.models.tokenised_text import TokenisedText, tokenise


@dataclass(frozen=True, slots=True)
class FilledBlank:
    """The tokens of a filled context, parted at one of its blanks."""

    before: Tokens
    fill: Tokens
    after: Tokens


def fill_of(item: Association, candidate: Candidate) -> str:
    """What fills the blank, in the case it has in the candidate's sentence."""
    spans = filled_spans(item.context, candidate.text)
    if not spans:
        raise UnscorableError("the candidate cannot be aligned with its context")
    return spans[0].of(candidate.text)


def filled_context(context: str, fill: str) -> tuple[str, list[Span]]:
    """The context with every blank filled, and where the fills stand."""
    pieces = context.split(BLANK)
    if len(pieces) < 2:
        raise UnscorableError("the context has no blank")
    text = pieces[0]
    spans = []
    for piece in pieces[1:]:
        spans.append(Span(len(text), len(text) + len(fill)))
        text += fill + piece
    return text, spans


def filled_texts(item: Association) -> list[str]:
    """The context filled with each candidate; none where a candidate cannot be aligned."""
    try:
        return [filled_context(item.context, fill_of(item, candidate))[0] for candidate in item.candidates]
    except UnscorableError:
        return []


def fill_questions(
    item: Association, requests: Callable[[str, str], tuple[Request, ...]], *, kind: ScoreKind
) -> list[Question]:
    """One question for each candidate: what is requested, from the context and what fills its blank."""
    combine = of_all(COMBINATIONS[kind])
    return [
        Question(candidate.id, requests(item.context, fill_of(item, candidate)), combine)
        for candidate in item.candidates
    ]


def filled_blanks(tokenizer: Any, context: str, fill: str) -> list[FilledBlank]:
    """The filled context as tokens, once for each blank.

    The whole sentence is tokenised, and the fill's tokens are those that stand for its characters: so a word
    inside a sentence gets its leading space where the tokenizer has such a thing, and none at the start.
    """
    text, spans = filled_context(context, fill)
    tokenised = tokenise(tokenizer, text, special=True)
    return [_parted(tokenised, span) for span in spans]


def _parted(tokenised: TokenisedText, span: Span) -> FilledBlank:
    places = tokenised.overlapping(span)
    if not places:
        raise UnscorableError("the fill has no token of its own")
    first, last = places[0], places[-1]
    return FilledBlank(tokenised.ids[:first], tokenised.ids[first : last + 1], tokenised.ids[last + 1 :])
