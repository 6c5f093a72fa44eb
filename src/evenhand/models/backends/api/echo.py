"""Log-probabilities of a prompt, echoed by a server, and the self-test that shows whether they are right.

Not every server that accepts ``echo`` honours it. Some leave the prompt out, some give zeros, some give the
log-probabilities of what they wrote themselves. All of that looks like a score, so nothing is scored before the test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evenhand.models.backends.api.client import RequestRefusedError

Complete: TypeAlias = Callable[[dict[str, Any]], Any]
"""Sends a request for a completion, without the name of the model, and gives the one choice of the answer."""

TOLERANCE = 0.05
"""Natural logarithms: half precision and other batches move log-probabilities by a few hundredths."""

ALTERNATIVES = 5

_START_TOKEN = re.compile(r"<.+>|\[.+\]")

SENTENCES = (
    ("The children went to school in the morning.", "Morning the in school to went children the."),
    ("She opened the door and walked into the house.", "House the into walked and door the opened she."),
    ("It was a cold day, so we stayed at home.", "Home at stayed we so, day cold a was it."),
)
"""Sentences, each with a shuffled form of the same words."""


class EchoError(Exception):
    """An answer that is no echo with log-probabilities, and why."""


@dataclass(frozen=True, slots=True)
class EchoedText:
    """Tokens of a prompt with their log-probabilities; the first may have none, as nothing stands before it."""

    tokens: tuple[str, ...]
    log_probabilities: tuple[float | None, ...]
    alternatives: tuple[dict[str, float] | None, ...]
    """For each token the most probable ones in its place, where the server names them."""

    @property
    def total(self) -> float:
        """Log-probability of all tokens that have one."""
        return math.fsum(value for value in self.log_probabilities if value is not None)


def echo_request(text: str, *, new_tokens: int, alternatives: int = 1) -> dict[str, Any]:
    """A request for the log-probabilities of a text."""
    return {
        "prompt": text,
        "echo": True,
        "logprobs": alternatives,
        "max_tokens": new_tokens,
        "temperature": 1.0,
    }


def read_echo(choice: Any, text: str) -> EchoedText:
    """The echoed text of an answer, without tokens that the server wrote after it.

    Raises:
        EchoError: If the answer is not the echo of the text with a log-probability for every token but the first.
    """
    if not str(choice.get("text") or "").startswith(text):
        raise EchoError("it does not repeat the prompt, so it ignores echo")
    tokens, values, alternatives = _columns(choice)
    count = _tokens_of_prompt(tokens, text, (choice.get("logprobs") or {}).get("text_offset"))
    if not count:
        raise EchoError("the tokens of its log-probabilities are not those of the prompt")
    for value in values[1:count]:
        if not _is_log_probability(value):
            raise EchoError(f"a token of the prompt has the log-probability {value!r}")
    if values[0] is not None and not _is_log_probability(values[0]):
        raise EchoError(f"the first token has the log-probability {values[0]!r}")
    return EchoedText(tuple(tokens[:count]), tuple(values[:count]), tuple(alternatives[:count]))


def _columns(choice: Any) -> tuple[list[str], list[Any], list[Any]]:
    columns = choice.get("logprobs")
    if not isinstance(columns, dict):
        raise EchoError("it gives no log-probabilities")
    tokens, values = columns.get("tokens"), columns.get("token_logprobs")
    if (
        not isinstance(tokens, list)
        or not isinstance(values, list)
        or len(tokens) != len(values)
        or not tokens
    ):
        raise EchoError("it gives no log-probability for each token")
    alternatives = columns.get("top_logprobs")
    if not isinstance(alternatives, list) or len(alternatives) != len(tokens):
        alternatives = [None] * len(tokens)
    return [str(token) for token in tokens], values, alternatives


def _tokens_of_prompt(tokens: Sequence[str], text: str, offsets: Any) -> int:
    """How many tokens are the prompt's, a start token included; 0 if that cannot be told."""
    spelled = ""
    for count, token in enumerate(tokens, start=1):
        spelled += token
        if spelled.endswith(text):
            return count
    # Tokens that are parts of a character spell nothing, but they have a place.
    if not isinstance(offsets, list) or len(offsets) != len(tokens):
        return 0
    if not all(type(place) is int for place in offsets):
        return 0
    has_start = _START_TOKEN.fullmatch(tokens[0]) and not text.startswith(tokens[0]) and len(tokens) > 1
    origin = offsets[1] if has_start else offsets[0]
    return sum(place - origin < len(text) for place in offsets)


def _is_log_probability(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value <= 1e-6
    )


def _new_tokens_needed(complete: Complete) -> int:
    """How many tokens a server must be allowed to write with an echo: none, or one where it insists.

    Raises:
        EchoError: If it refuses both.
    """
    for count in (0, 1):
        try:
            complete(echo_request(SENTENCES[0][0], new_tokens=count))
        except RequestRefusedError as problem:
            refusal = problem
        else:
            return count
    raise EchoError(f"it refuses the request: {refusal}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoVerdict:
    """What the self-test says of a server."""

    new_tokens: int = 0
    """Tokens that it must be allowed to write with an echo."""
    fault: str | None = None
    """Why its log-probabilities cannot be used; None if they can."""


def judge_echo(complete: Complete) -> EchoVerdict:
    """Try whether a server's echoed log-probabilities are right."""
    try:
        new_tokens = _new_tokens_needed(complete)
        _check_echo(complete, new_tokens)
    except EchoError as fault:
        return EchoVerdict(fault=str(fault))
    return EchoVerdict(new_tokens=new_tokens)


def _check_echo(complete: Complete, new_tokens: int) -> None:
    def echoed(text: str) -> EchoedText:
        request = echo_request(text, new_tokens=new_tokens, alternatives=ALTERNATIVES)
        return read_echo(complete(request), text)

    sensible = [echoed(sentence) for sentence, _ in SENTENCES]
    _check_variety(sensible)
    for text in sensible:
        _check_alternatives(text)
    for (sentence, _), whole in zip(SENTENCES, sensible, strict=True):
        _check_beginning(echoed(_beginning(sentence)), whole)
    _check_own_words(complete, echoed)
    shuffled = [echoed(text) for _, text in SENTENCES]
    if math.fsum(text.total for text in sensible) <= math.fsum(text.total for text in shuffled):
        raise EchoError("it gives sentences no higher probability than their words in disorder")


def _beginning(sentence: str) -> str:
    """All but the last word."""
    return sentence.rpartition(" ")[0]


def _check_variety(texts: Sequence[EchoedText]) -> None:
    values = {value for text in texts for value in text.log_probabilities if value is not None}
    if len(values) < 2:
        raise EchoError(f"all tokens have the same log-probability, {values or 'none'}")


def _check_alternatives(text: EchoedText) -> None:
    """The probabilities of different tokens in one place add up to 1 at most, and agree with the token's own."""
    for token, value, alternatives in zip(
        text.tokens, text.log_probabilities, text.alternatives, strict=True
    ):
        if value is None or not isinstance(alternatives, dict):
            continue
        shares = [float(share) for share in alternatives.values() if _is_log_probability(share)]
        total = math.fsum(math.exp(share) for share in shares)
        if len(shares) != len(alternatives) or total > 1 + TOLERANCE:
            raise EchoError(f"probabilities in one place add up to {total:.2f}")
        own = alternatives.get(token)
        if own is not None and abs(own - value) > TOLERANCE:
            raise EchoError(f"the token {token!r} has two log-probabilities in one place, {own} and {value}")


def _check_beginning(beginning: EchoedText, whole: EchoedText) -> None:
    """The tokens of a beginning have the log-probabilities that they have in the whole text."""
    count = len(beginning.tokens)
    if beginning.tokens != whole.tokens[:count] or len(whole.tokens) == count:
        raise EchoError("the tokens of a text are not those of its beginning and its end")
    for token, one, other in zip(
        beginning.tokens, beginning.log_probabilities, whole.log_probabilities, strict=False
    ):
        if (one is None) != (other is None) or abs((one or 0.0) - (other or 0.0)) > TOLERANCE:
            raise EchoError(
                f"the token {token!r} has the log-probability {one} at the end of a text, and {other} if the text goes "
                "on"
            )


def _check_own_words(complete: Complete, echoed: Callable[[str], EchoedText]) -> None:
    """A token that the server wrote with some log-probability has the same one when it is echoed.

    This is what notices log-probabilities that are moved by a place.
    """
    compared = 0
    for sentence, _ in SENTENCES:
        beginning = _beginning(sentence)
        choice = complete(
            {"prompt": beginning, "max_tokens": 1, "logprobs": 1, "temperature": 1.0, "seed": 1}
        )
        tokens, values, _ = _columns(choice)
        text = echoed(beginning + tokens[0])
        if text.tokens[-1] != tokens[0]:
            continue
        compared += 1
        if (
            not _is_log_probability(values[0])
            or abs(values[0] - (text.log_probabilities[-1] or 0.0)) > TOLERANCE
        ):
            raise EchoError(
                f"the token {tokens[0]!r} was written with the log-probability {values[0]}, and is echoed with "
                f"{text.log_probabilities[-1]}"
            )
    if not compared:
        raise EchoError("none of the tokens that it writes can be found again in an echo")
