"""How candidates of association items are scored: what is requested of a model, and how the answers become scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeAlias, TypeVar

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Association, Candidate, Span, Task, filled_spans
from evenhand.core.protocols import (
    DEFAULT_PROTOCOL,
    EVENHAND_V2,
    MULTILINGUAL_2023,
    Protocol,
    SentenceScoring,
    get_protocol,
)
from evenhand.models.model import Model, missing_capability
from evenhand.models.references import ModelError, UnscorableError
from evenhand.models.requests import (
    Continue,
    Fill,
    Follow,
    Part,
    Recover,
    ScoringRequest,
    filled_text,
    with_final_punctuation,
)

LogProbabilities: TypeAlias = Sequence[float]
"""Natural logarithms."""

Combine: TypeAlias = Callable[[Sequence[LogProbabilities]], float]
"""From the answers to a candidate's requests to its score."""

PUBLISHED_FINAL_PUNCTUATION = ".!?"


class ScoreKind(StrEnum):
    """How the log-probabilities of a candidate's tokens become its score."""

    MEAN_PROB = "mean-prob"
    MEAN_LOG = "mean-log"
    SUM_LOG = "sum-log"
    PLL = "pll"
    PLL_WITHIN_WORD = "pll-within-word"


class Continuation(StrEnum):
    """How a sentence after a context is scored. The letters are those of the multilingual study."""

    NEXT_SENTENCE = "next-sentence"
    """By the model's next-sentence head; all others by token probabilities."""
    PSEUDO_LIKELIHOOD = "pll"
    """Masked models: the candidate's tokens, each at a mask of its own, given the context."""
    ALONE_PER_CONTEXT = "orig"
    GIVEN_CONTEXT_PER_FULL = "b"
    FULL = "c"
    GIVEN_CONTEXT = "d"
    GIVEN_CONTEXT_PER_ALONE = "e"
    FULL_PER_ALONE = "f"

    ORIG = "orig"
    B = "b"
    C = "c"
    D = "d"
    E = "e"
    F = "f"


def mean_probability(values: LogProbabilities) -> float:
    """Arithmetic mean of the tokens' probabilities."""
    return math.fsum(map(math.exp, values)) / len(values)


def geometric_mean(values: LogProbabilities) -> float:
    """2 to the power of the mean binary logarithm."""
    return math.exp(math.fsum(values) / len(values))


def sum_of_logs(values: LogProbabilities) -> float:
    """Sum of the binary logarithms."""
    return math.fsum(values) / math.log(2)


COMBINATIONS: dict[ScoreKind, Callable[[LogProbabilities], float]] = {
    ScoreKind.MEAN_PROB: mean_probability,
    ScoreKind.MEAN_LOG: geometric_mean,
    ScoreKind.SUM_LOG: sum_of_logs,
    ScoreKind.PLL: sum_of_logs,
    ScoreKind.PLL_WITHIN_WORD: sum_of_logs,
}


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """How candidates are to be scored; what is None suits the model."""

    protocol: Protocol = EVENHAND_V2
    inter: Continuation | None = None
    score: ScoreKind | None = None

    @classmethod
    def named(
        cls, protocol: str | Protocol, *, inter: str | None = None, score: str | None = None
    ) -> MethodOptions:
        """The options of these names.

        Raises:
            UnknownNameError: If an option has no such value.
        """
        return cls(
            get_protocol(protocol),
            inter=_parse(inter, Continuation, "way to score the inter-sentence task"),
            score=_parse(score, ScoreKind, "score"),
        )

    @property
    def as_published(self) -> bool:
        """Whether the methods of the multilingual study are asked for."""
        return self.protocol.name == MULTILINGUAL_2023.name


Choice = TypeVar("Choice", bound=StrEnum)


def _parse(text: str | None, choices: type[Choice], kind: str) -> Choice | None:
    """The choice of this value; names that explain themselves do as well as published letters."""
    if text is None:
        return None
    for name, choice in choices.__members__.items():
        if text in (choice.value, name.lower().replace("_", "-")):
            return choice
    raise UnknownNameError(kind, text, [choice.value for choice in choices])


AFTER_CONTEXT = "pseudo-log-likelihood after the context"


def choice_of(method: str) -> str | None:
    """The score or the way after a context that a method's name in a record stands for; None where it has neither."""
    if method.startswith("continuation "):
        return method.split()[1]
    if method.startswith(Continuation.NEXT_SENTENCE.value):
        return Continuation.NEXT_SENTENCE.value
    if method == AFTER_CONTEXT:
        return Continuation.PSEUDO_LIKELIHOOD.value
    kind = method.rpartition(", ")[2]
    return kind if kind in set(ScoreKind) else None


@dataclass(frozen=True, slots=True)
class Method:
    """How the candidates of a task are scored."""

    name: str
    """Short, for records and tables."""
    description: str
    requests: Callable[[Association, Candidate], tuple[ScoringRequest, ...]]
    """What is requested for a candidate.

    Raises:
        UnscorableError: If the item cannot be asked about.
    """
    combine: Combine
    kind: ScoreKind | None = None
    """How the tokens become a score, where that can be chosen."""
    is_whole: bool = True
    """Whether the answers together are the candidate's probability; quotients are not."""

    @property
    def full_name(self) -> str:
        """The name with the kind of score."""
        return (
            self.name
            if self.kind is None or self.kind.value == self.name
            else f"{self.name}, {self.kind.value}"
        )


def choose_method(model: Model, task: Task, options: MethodOptions) -> Method:
    """How the candidates of a task are scored.

    Raises:
        ModelError: If the model cannot do the task, or not in the way that was asked for.
    """
    if options.as_published and model.tokenizer is None:
        raise ModelError(
            f"Protocol {options.protocol.name} scores the tokens of models in this process; {model.ref.id} is asked "
            f"about plain text. Use {DEFAULT_PROTOCOL}."
        )
    return _intra_method(model, options) if task is Task.INTRASENTENCE else _inter_method(model, options)


def tasks_of_model(model: Model) -> tuple[Task, ...]:
    """What a model can be measured with, as long as no other way is asked for by name."""
    intra = _answers(model, Fill) or _answers(model, Continue)
    inter = _answers(model, Continue) or model.has_capability(Follow)
    return tuple(task for task, able in zip(Task, (intra, inter), strict=True) if able)


def _answers(model: Model, request: type) -> bool:
    return model.has_capability(request) or request in model.also_answers


def fill_of(item: Association, candidate: Candidate) -> str:
    """What fills the blank, in the case it has in the candidate's sentence."""
    spans = filled_spans(item.context, candidate.text)
    if not spans:
        raise UnscorableError("the candidate cannot be aligned with its context")
    return spans[0].of(candidate.text)


def filled_context(item: Association, candidate: Candidate) -> str:
    """The context with the candidate in its blank."""
    return filled_text(item.context, fill_of(item, candidate))[0]


def _of_all(combine: Callable[[LogProbabilities], float]) -> Combine:
    """Combine the answers to all requests as one list."""
    return lambda answers: combine([value for answer in answers for value in answer])


def _intra_method(model: Model, options: MethodOptions) -> Method:
    if options.as_published and options.score is not None:
        raise ModelError(
            f"Protocol {options.protocol.name} fixes the score; leave out --score or use {DEFAULT_PROTOCOL}."
        )
    if options.score in (ScoreKind.PLL, ScoreKind.PLL_WITHIN_WORD):
        return _pseudo_likelihood(model, options.score)
    if _answers(model, Fill) and not model.fills_by_sentence:
        variant = _variant(model, Fill, options)
        kind = options.score or ScoreKind.MEAN_PROB
        name, description = model.way_of(Fill, variant) or (
            "blank in text",
            "the tokens of the candidate in the blank, as the model gives their probabilities",
        )
        if variant:
            return Method(name, description, partial(_published_fill, variant), _of_all(mean_probability))
        return Method(name, description, _fill, _of_all(COMBINATIONS[kind]), kind)
    if not _answers(model, Continue):
        raise missing_capability(model, Fill, Continue, purpose="do the intra-sentence task")
    return _sentence_method(model, options)


def _pseudo_likelihood(model: Model, kind: ScoreKind) -> Method:
    if not model.has_capability(Recover):
        about = "is asked about plain text" if model.tokenizer is None else f"is a {model.record.family}"
        raise ModelError(
            f"--score {kind.value} is for masked models in this process; {model.ref.id} {about}."
        )
    within = kind is ScoreKind.PLL_WITHIN_WORD
    masked_too = ", later tokens of the same word masked too" if within else ""
    return Method(
        kind.value,
        f"pseudo-log-likelihood of the filled sentence{masked_too}",
        lambda item, candidate: (Recover(filled_context(item, candidate), within_words=within),),
        _of_all(sum_of_logs),
    )


def _variant(model: Model, request: type, options: MethodOptions) -> str:
    """The published way of asking, of models that the study had."""
    name = options.protocol.name
    return name if options.as_published and model.way_of(request, name) else ""


def _fill(item: Association, candidate: Candidate) -> tuple[ScoringRequest, ...]:
    return (Fill(item.context, fill_of(item, candidate)),)


def _published_fill(variant: str, item: Association, candidate: Candidate) -> tuple[ScoringRequest, ...]:
    return (Fill(item.context, candidate.word or fill_of(item, candidate), variant),)


def _sentence_method(model: Model, options: MethodOptions) -> Method:
    """The whole sentence with the candidate in place, from its start."""
    sentences = options.protocol.sentences
    kind = options.score or ScoreKind.MEAN_LOG
    _check_no_prefix(model, options)
    if _reads_first_token_apart(model, options):
        variant = options.protocol.name
        name, description = model.way_of(Continue, variant) or ("sentence", "the whole sentence")
        if not options.as_published:
            _check_start(model, options)
        return Method(
            name,
            description,
            lambda _, candidate: (Continue("", candidate.text, variant=variant),),
            _of_all(COMBINATIONS[kind]),
            None if options.as_published else kind,
        )
    filled = sentences is SentenceScoring.FILLED_CONTEXT
    what = "the whole sentence with the candidate in place" if filled else "the candidate's own sentence"
    how = "as the model gives its probability" if model.tokenizer is None else _AFTER_START
    return Method(
        "sentence" if filled else "own sentence",
        f"{what}, {how}",
        lambda item, candidate: (
            Continue("", filled_context(item, candidate) if filled else candidate.text),
        ),
        _of_all(COMBINATIONS[kind]),
        kind,
    )


_AFTER_START = "the first token after the start token"


def _reads_first_token_apart(model: Model, options: MethodOptions) -> bool:
    apart = options.as_published or options.protocol.sentences is SentenceScoring.AS_STEREOSET
    return apart and model.tokenizer is not None


def _check_no_prefix(model: Model, options: MethodOptions) -> None:
    """Refuse a prefix where a published protocol scores the first token apart: it has no place before both."""
    if model.ref.prefix and _reads_first_token_apart(model, options):
        raise ModelError(
            f"{model.ref.id} has the prefix {model.ref.prefix!r}, and protocol {options.protocol.name} scores the "
            f"first token of a sentence without what stands before it. Use {DEFAULT_PROTOCOL}."
        )


def _check_start(model: Model, options: MethodOptions) -> None:
    if model.record.start_token is None:
        raise ModelError(
            f"Protocol {options.protocol.name} reads the first token of a sentence after a start token; the tokenizer "
            f"of {model.ref.id} has neither a start nor an end token. Use {DEFAULT_PROTOCOL}."
        )


def _inter_method(model: Model, options: MethodOptions) -> Method:
    wanted = options.inter
    can_continue, can_recover = _answers(model, Continue), model.has_capability(Recover)
    if wanted is Continuation.PSEUDO_LIKELIHOOD:
        return _recovered_continuation(model)
    if wanted is None and model.tokenizer is None and model.has_capability(Follow):
        wanted = Continuation.NEXT_SENTENCE
    if wanted is Continuation.NEXT_SENTENCE or (wanted is None and can_recover):
        return _next_sentence(model)
    if wanted is not None and can_recover and not can_continue:
        raise ModelError(
            f"--inter {wanted.value} needs a model that writes text; {model.ref.id} fills blanks. Use --inter "
            "next-sentence or --inter pll."
        )
    if not can_continue:
        raise missing_capability(model, Follow, Continue, purpose="do the inter-sentence task")
    return _continuation(model, options)


def _next_sentence(model: Model) -> Method:
    if not model.has_capability(Follow):
        if model.tokenizer is None:
            raise missing_capability(model, Follow, purpose="judge next sentences")
        advice = (
            "Use --inter pll to score candidates by the probability of their tokens."
            if model.has_capability(Recover)
            else "Leave out --inter to score candidates by the probability of their tokens."
        )
        raise ModelError(
            f"{model.ref.id} has no next-sentence head. It can do: "
            f"{', '.join(task.value for task in tasks_of_model(model))} (--task). {advice} Train a head with: evenhand "
            "train next-sentence."
        )
    name, description = model.way_of(Follow) or (
        "next-sentence in text",
        "the probability that the candidate follows the context, as the model gives it",
    )
    return Method(
        name,
        description,
        lambda item, candidate: (Follow(item.context, candidate.text),),
        lambda answers: math.exp(answers[0][0]),
    )


def _recovered_continuation(model: Model) -> Method:
    """Context and candidate are one text, so that no segment has to mean anything to the model."""
    if not model.has_capability(Recover):
        about = "is asked about plain text" if model.tokenizer is None else f"is a {model.record.family}"
        raise ModelError(
            f"--inter {Continuation.PSEUDO_LIKELIHOOD.value} is for masked models in this process; {model.ref.id} "
            f"{about}. Leave it out."
        )

    def requests(item: Association, candidate: Candidate) -> tuple[ScoringRequest, ...]:
        text = f"{with_final_punctuation(item.context)} {candidate.text}"
        return (Recover(text, Span(len(text) - len(candidate.text), len(text))),)

    return Method(
        AFTER_CONTEXT,
        "geometric mean over the candidate's tokens, each at a mask of its own, given all others",
        requests,
        _of_all(geometric_mean),
    )


_DESCRIPTIONS = {
    Continuation.ALONE_PER_CONTEXT: "candidate alone / context",
    Continuation.GIVEN_CONTEXT_PER_FULL: "candidate given context / context and candidate",
    Continuation.FULL: "context and candidate",
    Continuation.GIVEN_CONTEXT: "candidate given context",
    Continuation.GIVEN_CONTEXT_PER_ALONE: "candidate given context / candidate alone",
    Continuation.FULL_PER_ALONE: "context and candidate / candidate alone",
}


def _continuation(model: Model, options: MethodOptions) -> Method:
    wanted = options.inter or Continuation.GIVEN_CONTEXT
    variant = _variant(model, Continue, options)
    marks = PUBLISHED_FINAL_PUNCTUATION if variant else None
    _check_no_prefix(model, options)
    if not model.has_capability(
        Continue
    ):  # an encoder-decoder, which gives a text after a prefix and nothing else
        if wanted is not Continuation.GIVEN_CONTEXT:
            raise ModelError(f"Encoder-decoders are scored with --inter d; {wanted.value} is for decoders.")
        name, description = model.way_of(Continue, variant) or ("continuation d", "candidate given context")
        return Method(name, description, _parts(variant, marks, text=True), _of_all(geometric_mean))
    needed = _NEEDED[wanted]
    name, description = f"continuation {wanted.value}", _DESCRIPTIONS[wanted]
    if variant:
        name, description = model.way_of(Continue, variant) or (name, description)
    elif model.tokenizer is None:
        name = f"{name} in text"
    return Method(
        name,
        description,
        _parts(variant, marks, **needed),
        partial(_combine_parts, wanted, needed),
        is_whole=wanted in (Continuation.FULL, Continuation.GIVEN_CONTEXT),
    )


_NEEDED: dict[Continuation, dict[str, bool]] = {
    Continuation.ALONE_PER_CONTEXT: {"prefix": True, "alone": True},
    Continuation.GIVEN_CONTEXT_PER_FULL: {"prefix": True, "text": True},
    Continuation.FULL: {"prefix": True, "text": True},
    Continuation.GIVEN_CONTEXT: {"text": True},
    Continuation.GIVEN_CONTEXT_PER_ALONE: {"text": True, "alone": True},
    Continuation.FULL_PER_ALONE: {"prefix": True, "text": True, "alone": True},
}
"""Which of the parts a score is made of: the context, the candidate after it, the candidate alone."""


def _parts(
    variant: str, marks: str | None, *, prefix: bool = False, text: bool = False, alone: bool = False
) -> Callable[[Association, Candidate], tuple[ScoringRequest, ...]]:
    def requests(item: Association, candidate: Candidate) -> tuple[ScoringRequest, ...]:
        context = (
            with_final_punctuation(item.context, marks) if marks else with_final_punctuation(item.context)
        )
        asked = (
            (prefix, Continue(context, candidate.text, Part.PREFIX, variant)),
            (text, Continue(context, candidate.text, variant=variant)),
            (alone, Continue("", candidate.text, variant=variant)),
        )
        return tuple(request for is_needed, request in asked if is_needed)

    return requests


def _combine_parts(
    wanted: Continuation, needed: dict[str, bool], answers: Sequence[LogProbabilities]
) -> float:
    given = dict(zip(needed, answers, strict=True))
    full = [*given.get("prefix", ()), *given.get("text", ())]
    match wanted:
        case Continuation.ALONE_PER_CONTEXT:
            return geometric_mean(given["alone"]) / geometric_mean(given["prefix"])
        case Continuation.GIVEN_CONTEXT_PER_FULL:
            return geometric_mean(given["text"]) / geometric_mean(full)
        case Continuation.FULL:
            return geometric_mean(full)
        case Continuation.GIVEN_CONTEXT_PER_ALONE:
            return geometric_mean(given["text"]) / geometric_mean(given["alone"])
        case Continuation.FULL_PER_ALONE:
            return geometric_mean(full) / geometric_mean(given["alone"])
    return geometric_mean(given["text"])
