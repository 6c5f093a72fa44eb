"""Sentences as tokens, with the characters that each token stands for, and parted at a blank."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from evenhand.core.errors import fault
from evenhand.core.items import Span
from evenhand.models.engine.requests import Tokens
from evenhand.models.model import NO_CHAT_TEMPLATE
from evenhand.models.references import UnscorableError
from evenhand.models.requests import Messages, filled_text

Characters: TypeAlias = tuple[int, int]
"""Start and end (exclusive). A plain pair, because there is one for every token."""


class TokenisedText:
    """Token ids of a text, each with its characters; special tokens have none."""

    def __init__(
        self,
        ids: Tokens,
        spans: Callable[[], tuple[Characters | None, ...]],
        words: Callable[[], tuple[int | None, ...]],
        *,
        token_at: Callable[[int], int | None] | None = None,
    ) -> None:
        self.ids = ids
        self._spans = spans
        self._words = words
        self._token_at = token_at

    @cached_property
    def spans(self) -> tuple[Characters | None, ...]:
        """The characters of each token."""
        return self._spans()

    @cached_property
    def words(self) -> tuple[int | None, ...]:
        """For each token the number of its word, where the tokenizer says."""
        return self._words()

    def overlapping(self, span: Span) -> tuple[int, ...]:
        """Places of the tokens that stand for any of these characters."""
        return tuple(
            place
            for place, own in enumerate(self.spans)
            if own is not None and own[0] < span.end and own[1] > span.start
        )

    def first_from(self, character: int) -> int | None:
        """The place of the first token that stands for this character or, where it has none, for the next."""
        if self._token_at is not None:
            place = self._token_at(character)
            return place if place is not None else self._token_at(character + 1)
        return next(
            (place for place, own in enumerate(self.spans) if own is not None and own[1] > character), None
        )


LONGEST_TEXT = 1_000_000
"""Of a text that a model is asked about. No model takes as many, and to count the tokens of more takes long."""

_MOST_SEARCHED = 100_000
"""Characters of a text whose tokens have to be found in it one after the other."""

_PREPARED: WeakKeyDictionary[Any, dict[tuple[str, bool], Any]] = WeakKeyDictionary()
"""Texts that were tokenised ahead, until they are asked for."""


def prepare(tokenizer: Any, texts: Iterable[str], *, special: bool) -> None:
    """Tokenise texts ahead, all in one go, which is faster than one by one.

    Without a tokenizer, as of a model that is asked about plain text, there is nothing to do.
    """
    if tokenizer is None:
        return
    distinct = [text for text in dict.fromkeys(texts) if len(text) <= LONGEST_TEXT]
    if tokenizer.is_fast and distinct:
        prepared = _PREPARED.setdefault(tokenizer, {})
        for text, encoding in zip(distinct, _encodings(tokenizer, distinct, special), strict=True):
            prepared[text, special] = encoding


def tokenise(tokenizer: Any, text: str, *, special: bool) -> TokenisedText:
    """Token ids and characters of a text.

    Raises:
        UnscorableError: If it is too long for any model.
    """
    check_text_length(text)
    if tokenizer.is_fast:
        encoding = _PREPARED.get(tokenizer, {}).pop((text, special), None)
        if encoding is None:
            (encoding,) = _encodings(tokenizer, [text], special)
        return TokenisedText(
            tuple(encoding.ids),
            partial(_spans_of, text, encoding),
            lambda: tuple(encoding.word_ids),
            token_at=encoding.char_to_token,
        )
    if len(text) > _MOST_SEARCHED:
        raise UnscorableError("the text is too long for a tokenizer that does not say where its tokens stand")
    ids = tuple(tokenizer(text, add_special_tokens=special)["input_ids"])
    plain = tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
    offset = _where(ids, plain)
    own = _spans_by_spelling(tokenizer, text, plain) or _spans_by_growing(tokenizer, text, plain)
    spans = (None,) * offset + own + (None,) * (len(ids) - offset - len(plain))
    words = tuple(None if span is None else len(text[: span[0] + 1].split()) for span in spans)
    return TokenisedText(ids, lambda: spans, lambda: words)


def check_text_length(text: str) -> None:
    """Refuse a text that is too long for any model, without tokenising it."""
    if len(text) > LONGEST_TEXT:
        raise UnscorableError(f"the text is longer than {LONGEST_TEXT:,} characters")


def _encodings(tokenizer: Any, texts: Sequence[str], special: bool) -> Any:
    return tokenizer(list(texts), add_special_tokens=special, return_attention_mask=False).encodings


def _spans_of(text: str, encoding: Any) -> tuple[Characters | None, ...]:
    return tuple(
        None if is_special else _visible(text, start, end)
        for (start, end), is_special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
    )


def _visible(text: str, start: int, end: int) -> Characters:
    """Characters of a token without the white space before it, which some tokenizers count in.

    A token that is white space alone goes with the word that comes after it: the two are that word with its
    leading space.
    """
    while start < len(text) and text[start].isspace():
        start += 1
    return (start, end) if end > start else (start, start + 1)


def _where(ids: Sequence[int], part: Sequence[int]) -> int:
    return next(
        start
        for start in range(len(ids) - len(part) + 1)
        if tuple(ids[start : start + len(part)]) == tuple(part)
    )


_MARKS = re.compile(r"^(##|▁|Ġ)|(@@|</w>)$")
"""How tokens tell that they start, continue or end a word."""


def _spans_by_spelling(tokenizer: Any, text: str, ids: Tokens) -> tuple[Characters | None, ...] | None:
    """Characters of tokens that spell out the text one after the other; None if they do not.

    An unknown token is taken for one character; where it stands for more, what follows does not fit.
    """
    spans = []
    position = 0
    for token in tokenizer.convert_ids_to_tokens(ids):
        while position < len(text) and text[position].isspace():
            position += 1
        unknown = token == tokenizer.unk_token
        spelling = text[position : position + 1] if unknown else _MARKS.sub("", token)
        end = position + len(spelling)
        if not spelling or text[position:end].casefold() != spelling.casefold():
            return None
        spans.append((position, end))
        position = end
    return None if text[position:].strip() else tuple(spans)


def _spans_by_growing(tokenizer: Any, text: str, ids: Tokens) -> tuple[Characters | None, ...]:
    """Characters of tokens for a tokenizer that does not tell them.

    Words are tokenised one after the other: the tokens of the text up to a word, less those of the text before
    it, are the word's.
    """
    spans: list[Characters | None] = []
    position = 0
    for word in _words(text):
        upto = len(tokenizer(text[: word[1]], add_special_tokens=False)["input_ids"])
        spans += [word] * (min(upto, len(ids)) - len(spans))
        position = word[1]
    spans += [(position, len(text)) if position < len(text) else None] * (len(ids) - len(spans))
    return tuple(spans[: len(ids)])


def _words(text: str) -> list[Characters]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def start_token(tokenizer: Any, config: Any) -> int | None:
    """What stands before the first token of a text: the start token, or the end of the text before.

    A number in the configuration counts only if the tokenizer has a special token there: models made from
    another's configuration keep a number that is some word of their own vocabulary.
    """
    configured = getattr(config, "bos_token_id", None)
    for candidate in (
        tokenizer.bos_token_id,
        configured if configured in tokenizer.all_special_ids else None,
        tokenizer.eos_token_id,
    ):
        if isinstance(candidate, int) and 0 <= candidate < config.vocab_size:
            return candidate
    return None


def chat_text(tokenizer: Any, messages: Messages) -> str:
    """Messages as the template of a tokenizer writes them, up to where the model's reply begins.

    Raises:
        UnscorableError: If there is no template, or it does not take these messages.
    """
    if tokenizer.chat_template is None:
        raise UnscorableError(NO_CHAT_TEMPLATE)
    turns = [{"role": role, "content": content} for role, content in messages]
    try:
        text: str = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    except Exception as problem:  # a template raises whatever it likes
        raise UnscorableError(f"the chat template does not take the messages ({fault(problem)})") from problem
    return text


MAX_SHOWN_TOKENS = 2**26
"""Tokens of all inputs that one text is asked about with: each of 8,192 tokens with all others."""


def check_token_budget(tokens: int, *, inputs: int) -> None:
    """Refuse a text whose inputs would fill the memory before the model could refuse their length.

    Args:
        tokens: In each input.
        inputs: How many there would be, one for each token that is asked for.

    Raises:
        UnscorableError: If they are too many.
    """
    if tokens * inputs > MAX_SHOWN_TOKENS:
        raise UnscorableError("the text is too long to ask about its tokens one by one")


@dataclass(frozen=True, slots=True)
class FilledBlank:
    """The tokens of a filled text, parted at one of its blanks."""

    before: Tokens
    word: Tokens
    after: Tokens


def filled_blanks(tokenizer: Any, text: str, word: str) -> list[FilledBlank]:
    """The filled text as tokens, once for each blank.

    The whole sentence is tokenised, and the word's tokens are those that stand for its characters: so a word inside a
    sentence gets its leading space where the tokenizer has such a thing, and none at the start.
    """
    filled, spans = filled_text(text, word)
    tokenised = tokenise(tokenizer, filled, special=True)
    blanks = []
    for span in spans:
        places = tokenised.overlapping(span)
        if not places:
            raise UnscorableError("the fill has no token of its own")
        first, last = places[0], places[-1] + 1
        blanks.append(FilledBlank(tokenised.ids[:first], tokenised.ids[first:last], tokenised.ids[last:]))
    check_token_budget(len(tokenised.ids), inputs=sum(len(blank.word) for blank in blanks))
    return blanks
