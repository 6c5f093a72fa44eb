"""Conformance of models: what instruments rely on, capability by capability."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from evenhand.core.errors import EvenhandError
from evenhand.core.items import BLANK, Span
from evenhand.models.capabilities import (
    CAPABILITIES,
    Embeds,
    FillsBlanks,
    Generates,
    JudgesNextSentence,
    Model,
    NotEmbedded,
    ScoresText,
    TextScore,
)
from evenhand.models.generation import GenerationOptions
from evenhand.testing.conformance import require

if TYPE_CHECKING:
    from collections.abc import Mapping

TOLERANCE = 1e-3
"""In log-probabilities, between two ways of asking the same: batches change the last digits in 32 bits."""

_SHORT = GenerationOptions(max_new_tokens=4)


@dataclass(frozen=True, slots=True)
class ModelSamples:
    """What a model is asked by ``check_model``; a model of one language or of few words needs samples of its own."""

    context: str = f"The baker was very {BLANK} this morning."
    words: tuple[str, ...] = ("quiet", "tired", "happy")
    texts: tuple[str, ...] = (
        "The baker likes fresh bread.",
        "She sold the old house near the river.",
        "Nobody knows.",
    )
    first: str = "The baker opens the shop."
    seconds: tuple[str, ...] = ("It smells of bread.", "The moon is far away.")


def check_model(model: Model, samples: ModelSamples | None = None) -> None:
    """Check that a model says what it can do, and does it as instruments expect.

    Args:
        model: Any model, loaded.
        samples: What it is asked.

    Raises:
        AssertionError: If the record changes from one call to the next; if the model lacks a method of a capability
            that it claims, or has another signature; if log-probabilities are not finite or above 0, probabilities not
            between 0 and 1, vectors of different lengths; if answers change when the same is asked again, alone, or in
            another order; if a text that is longer than the model takes is answered; if a capability that it does not
            claim is not refused, or an error is no ``EvenhandError``.
    """
    chosen = samples or ModelSamples()
    _check_identity(model)
    for capability in CAPABILITIES:
        if capability in model.capabilities:
            _check_signatures(model, capability)
        elif capability in _CALLS:
            _check_refusal(model, capability, chosen)
    for capability, check in _CHECKS.items():
        if capability in model.capabilities:
            check(model, chosen)


def _check_identity(model: Model) -> None:
    unknown = model.capabilities - set(CAPABILITIES)
    require(not unknown, f"{model.ref.id} claims {unknown}, which are no capabilities")
    first, second = model.record, model.record
    require(first == second, f"the record of {model.ref.id} changes from one call to the next")
    require(
        bool(first.id and first.weights), f"the record of {model.ref.id} does not say which weights it has"
    )
    require(bool(model.ref.short_name), f"{model.ref.id} has no short name")


def _check_signatures(model: Model, capability: type) -> None:
    require(
        isinstance(model, capability),
        f"{model.ref.id} claims {capability.__name__} and lacks something of it",
    )
    for name, wanted in vars(capability).items():
        if name.startswith("_") or not inspect.isfunction(wanted):
            continue
        parameters = [known for known in inspect.signature(wanted).parameters if known != "self"]
        own = inspect.signature(getattr(model, name)).parameters
        missing = [known for known in parameters if known not in own]
        require(not missing, f"{name} of {model.ref.id} takes no {', '.join(missing)}")


def _check_refusal(model: Model, capability: type, samples: ModelSamples) -> None:
    if not isinstance(model, capability):
        return
    problem = _problem(lambda: _CALLS[capability](model, samples))
    require(
        isinstance(problem, EvenhandError),
        f"{model.ref.id} does not claim {capability.__name__} and answers all the same, or fails with {problem!r}; an "
        "EvenhandError is needed",
    )


_CALLS: Mapping[type, Callable[[Any, ModelSamples], object]] = {
    FillsBlanks: lambda model, samples: model.score_fills(samples.context, samples.words),
    ScoresText: lambda model, samples: model.score_texts(samples.texts),
    JudgesNextSentence: lambda model, samples: model.score_followers(samples.first, samples.seconds),
    Embeds: lambda model, samples: model.embed_words(samples.texts[:1], [Span(0, len(samples.texts[0]))]),
    Generates: lambda model, samples: list(model.generate(samples.texts[:1], _SHORT)),
}


def _check_fills(model: Model, samples: ModelSamples) -> None:
    filling = cast("FillsBlanks", model)

    def ask(words: Sequence[str]) -> list[list[float]]:
        return _values(filling.score_fills(samples.context, words), len(words), "score_fills")

    _check_log_probabilities(ask, samples.words, "score_fills")
    blankless = samples.context.replace(BLANK, "")
    problem = _problem(lambda: filling.score_fills(blankless, samples.words))
    require(
        isinstance(problem, EvenhandError),
        f"score_fills of a context without {BLANK} gives {problem!r}; an EvenhandError is needed",
    )


def _check_texts(model: Model, samples: ModelSamples) -> None:
    scoring = cast("ScoresText", model)

    def ask(texts: Sequence[str]) -> list[list[float]]:
        return _values(scoring.score_texts(texts), len(texts), "score_texts")

    _check_log_probabilities(ask, samples.texts, "score_texts")
    longest = getattr(model, "longest_input", None)
    if longest is not None:
        problem = _problem(lambda: scoring.score_texts([" ".join(samples.texts) * (longest + 1)]))
        require(
            isinstance(problem, EvenhandError),
            f"score_texts of a text beyond the {longest:,} tokens that {model.ref.id} takes gives {problem!r}; an "
            "EvenhandError is needed",
        )


def _check_followers(model: Model, samples: ModelSamples) -> None:
    judging = cast("JudgesNextSentence", model)

    def ask(seconds: Sequence[str]) -> list[list[float]]:
        judged = judging.score_followers(samples.first, seconds)
        outside = [value for value in judged if not 0 <= value <= 1]
        require(not outside, f"score_followers gives {outside}; probabilities are from 0 to 1")
        return [[value] for value in judged]

    _check_invariance(ask, samples.seconds, "score_followers")


def _check_vectors(model: Model, samples: ModelSamples) -> None:
    embedding = cast("Embeds", model)

    def ask(texts: Sequence[str]) -> list[list[float]]:
        spans = [Span(0, len(text.split()[0])) for text in texts]
        vectors = [
            [] if isinstance(vector, NotEmbedded) else vector.tolist()
            for vector in embedding.embed_words(texts, spans)
        ]
        lengths = {len(vector) for vector in vectors if vector}
        require(len(lengths) <= 1, f"embed_words gives vectors of the lengths {sorted(lengths)}")
        require(
            all(math.isfinite(value) for vector in vectors for value in vector),
            "embed_words gives a vector that is not finite; NotEmbedded with a reason is needed",
        )
        return vectors

    _check_invariance(ask, samples.texts, "embed_words")


def _check_generation(model: Model, samples: ModelSamples) -> None:
    generating = cast("Generates", model)
    first, second = (list(generating.generate(samples.texts, _SHORT)) for _ in range(2))
    require(first == second, "generate gives other texts for the same seed")
    numbers = [text.prompt for text in first]
    require(
        numbers == list(range(len(samples.texts))),
        f"generate gives texts for the prompts {numbers}; one for each, in their order, is needed",
    )


_CHECKS: Mapping[type, Callable[[Model, ModelSamples], None]] = {
    FillsBlanks: _check_fills,
    ScoresText: _check_texts,
    JudgesNextSentence: _check_followers,
    Embeds: _check_vectors,
    Generates: _check_generation,
}


def _values(scores: Sequence[TextScore], count: int, name: str) -> list[list[float]]:
    require(len(scores) == count, f"{name} gives {len(scores)} scores for {count} texts")
    for score in scores:
        require(
            len(score.tokens) == len(score.log_probabilities) > 0,
            f"{name} gives {len(score.log_probabilities)} log-probabilities for {len(score.tokens)} tokens",
        )
    return [list(score.log_probabilities) for score in scores]


def _check_log_probabilities(
    ask: Callable[[Sequence[str]], list[list[float]]], texts: Sequence[str], name: str
) -> None:
    values = [value for answer in ask(texts) for value in answer]
    wrong = [value for value in values if not (math.isfinite(value) and value <= TOLERANCE)]
    require(not wrong, f"{name} gives {wrong}; log-probabilities are finite and at most 0")
    _check_invariance(ask, texts, name)


def _check_invariance(
    ask: Callable[[Sequence[str]], list[list[float]]], texts: Sequence[str], name: str
) -> None:
    usual = ask(texts)
    require(not ask([]), f"{name} of nothing gives something")
    _require_close(ask(texts), usual, f"{name} asked again")
    _require_close(ask(texts[::-1])[::-1], usual, f"{name} asked in another order")
    _require_close([ask([text])[0] for text in texts], usual, f"{name} asked one by one")


def _require_close(answers: Sequence[Sequence[float]], usual: Sequence[Sequence[float]], what: str) -> None:
    pairs = [
        (one, other)
        for answer, known in zip(answers, usual, strict=True)
        for one, other in zip(answer, known, strict=True)
    ]
    worst = max((abs(one - other) for one, other in pairs), default=0.0)
    require(worst <= TOLERANCE, f"{what} gives other values, by up to {worst:g}")


def _problem(call: Callable[[], object]) -> BaseException | None:
    """What a call raises, if anything."""
    try:
        call()
    except Exception as problem:
        return problem
    return None
