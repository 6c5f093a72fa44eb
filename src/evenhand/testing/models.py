"""Conformance of models: what instruments rely on, capability by capability."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import EvenhandError
from evenhand.core.items import BLANK, Span
from evenhand.models.model import CAPABILITIES, Model
from evenhand.models.requests import (
    Answer,
    Continue,
    Embed,
    Fill,
    Follow,
    GenerationOptions,
    Recover,
    Request,
    ScoringRequest,
    Train,
    Write,
)
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
        AssertionError: If the record changes from one call to the next; if a method takes other arguments than those of
            ``Model``; if the model does not answer what it claims to; if log-probabilities are not finite or above 0,
            or vectors of different lengths; if answers change when the same is asked again, alone, or in another order;
            if a text that is longer than the model takes is answered; if a capability that it does not claim is not
            refused, or an error is no ``EvenhandError``.
    """
    chosen = samples or ModelSamples()
    _check_identity(model)
    _check_signatures(model)
    for capability in CAPABILITIES:
        if capability in _CALLS and capability not in model.capabilities:
            _check_refusal(model, capability, chosen)
    for capability, check in _CHECKS.items():
        if capability in model.capabilities:
            try:
                check(model, chosen)
            except EvenhandError as problem:
                raise AssertionError(
                    f"{model.ref.id} claims {capability.__name__} and does not answer: {problem}"
                ) from problem


def _check_identity(model: Model) -> None:
    unknown = model.capabilities - set(CAPABILITIES)
    require(not unknown, f"{model.ref.id} claims {unknown}, which are no capabilities")
    first, second = model.record, model.record
    require(first == second, f"the record of {model.ref.id} changes from one call to the next")
    require(
        bool(first.id and first.weights), f"the record of {model.ref.id} does not say which weights it has"
    )
    require(bool(model.ref.short_name), f"{model.ref.id} has no short name")


def _check_signatures(model: Model) -> None:
    for name, wanted in inspect.getmembers(Model, inspect.isfunction):
        if not name.startswith("_"):
            own = inspect.signature(getattr(model, name)).parameters
            missing = [known for known in inspect.signature(wanted).parameters if known not in {"self", *own}]
            require(not missing, f"{name} of {model.ref.id} takes no {', '.join(missing)}")


def _check_refusal(model: Model, capability: type, samples: ModelSamples) -> None:
    problem = _problem(lambda: _CALLS[capability](model, samples))
    require(
        isinstance(problem, EvenhandError),
        f"{model.ref.id} does not claim {capability.__name__} and answers all the same, or fails with {problem!r}; an "
        "EvenhandError is needed",
    )


_CALLS: Mapping[type, Callable[[Model, ModelSamples], object]] = {
    Fill: lambda model, samples: model.score_fills(samples.context, samples.words),
    Continue: lambda model, samples: model.answer([Continue("", samples.texts[0])]),
    Follow: lambda model, samples: model.score_followers(samples.first, samples.seconds),
    Embed: lambda model, samples: model.answer([Embed(samples.texts[0], Span(0, len(samples.texts[0])))]),
    Write: lambda model, samples: model.answer([Write(samples.texts[0], _SHORT)]),
}


def _requests(capability: type, samples: ModelSamples) -> list[ScoringRequest]:
    if capability is Fill:
        return [Fill(samples.context, word) for word in samples.words]
    if capability is Recover:
        return [Recover(text) for text in samples.texts]
    if capability is Follow:
        return [Follow(samples.first, second) for second in samples.seconds]
    texts: list[ScoringRequest] = [Continue("", text) for text in samples.texts]
    return [*texts, *(Continue(samples.first, second) for second in samples.seconds)]


def _check_answers(model: Model, capability: type, samples: ModelSamples) -> None:
    name = capability.__name__

    def ask(requests: Sequence[ScoringRequest]) -> list[list[float]]:
        answers = _answers(model, requests, f"{name} requests")
        for answer in answers:
            require(bool(answer.log_probs), f"a {name} request gets no log-probability")
        return [list(answer.log_probs) for answer in answers]

    requests = _requests(capability, samples)
    values = [value for answer in ask(requests) for value in answer]
    wrong = [value for value in values if not (math.isfinite(value) and value <= TOLERANCE)]
    require(not wrong, f"{name} requests give {wrong}; log-probabilities are finite and at most 0")
    _check_invariance(ask, requests, f"{name} requests")


def _check_fills(model: Model, samples: ModelSamples) -> None:
    _check_answers(model, Fill, samples)
    blankless = samples.context.replace(BLANK, "")
    problem = _problem(lambda: model.score_fills(blankless, samples.words))
    require(
        isinstance(problem, EvenhandError),
        f"score_fills of a context without {BLANK} gives {problem!r}; an EvenhandError is needed",
    )


def _check_texts(model: Model, samples: ModelSamples) -> None:
    _check_answers(model, Continue, samples)
    longest = model.longest_input
    if longest is not None:
        (answer,) = model.answer([Continue("", " ".join(samples.texts) * (longest + 1))])
        require(
            answer.problem is not None,
            f"a text beyond the {longest:,} tokens that {model.ref.id} takes is answered; a problem is needed",
        )


def _answers(model: Model, requests: Sequence[Request], name: str) -> list[Answer]:
    answers = model.answer(requests)
    require(len(answers) == len(requests), f"{len(requests)} {name} get {len(answers)} answers")
    for answer in answers:
        require(answer.problem is None, f"one of the {name} is not answered: {answer.problem}")
    return answers


def _check_vectors(model: Model, samples: ModelSamples) -> None:
    def ask(texts: Sequence[str]) -> list[list[float]]:
        answers = model.answer([Embed(text, Span(0, len(text.split()[0]))) for text in texts])
        vectors = [[] if answer.vector is None else answer.vector.tolist() for answer in answers]
        lengths = {len(vector) for vector, answer in zip(vectors, answers, strict=True) if not answer.problem}
        require(len(lengths) <= 1, f"Embed requests get vectors of the lengths {sorted(lengths)}")
        require(0 not in lengths, "an Embed request gets no vector, and no reason why")
        require(
            all(math.isfinite(value) for vector in vectors for value in vector),
            "an Embed request gets a vector that is not finite; a problem is needed",
        )
        return vectors

    _check_invariance(ask, samples.texts, "Embed requests")


def _check_generation(model: Model, samples: ModelSamples) -> None:
    requests = [Write(text, _SHORT, number) for number, text in enumerate(samples.texts)]
    first, second = (_answers(model, requests, "Write requests") for _ in range(2))
    require(first == second, "Write requests get other texts for the same seed")
    texts = [[(text.prompt, text.sample) for text in answer.texts] for answer in first]
    wanted = [[(number, 0)] for number in range(len(requests))]
    require(
        texts == wanted, f"Write requests get texts for the prompts and samples {texts}; needed are {wanted}"
    )
    _check_problem_of_messages(model, samples)


def _check_problem_of_messages(model: Model, samples: ModelSamples) -> None:
    """A model that takes no messages says so as a problem, and answers nothing in their place."""
    (answer,) = model.answer([Write(decoding=_SHORT, messages=(("user", samples.texts[0]),))])
    require(
        model.takes_messages or (answer.problem is not None and not answer.texts),
        f"{model.ref.id} takes no messages and answers them all the same; a problem is needed",
    )


_TRAINED = ("loaded", "position_reader", "batch_memory", "pretraining_objective", "held_out_rows")
"""What training reads of a model."""


def _check_training(model: Model, _samples: ModelSamples) -> None:
    missing = [name for name in _TRAINED if inspect.getattr_static(model, name, None) is None]
    require(not missing, f"{model.ref.id} claims Train and lacks {', '.join(missing)}")


_CHECKS: Mapping[type, Callable[[Model, ModelSamples], None]] = {
    Fill: _check_fills,
    Continue: _check_texts,
    Recover: lambda model, samples: _check_answers(model, Recover, samples),
    Follow: lambda model, samples: _check_answers(model, Follow, samples),
    Embed: _check_vectors,
    Write: _check_generation,
    Train: _check_training,
}


def _check_invariance(
    ask: Callable[[Sequence[Any]], list[list[float]]], texts: Sequence[Any], name: str
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
