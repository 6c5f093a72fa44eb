"""Which method scores which task, by family, protocol and wish."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Task
from evenhand.core.protocols import MULTILINGUAL_2023
from evenhand.models.families.decoder import (
    Continuation,
    ContinuationScore,
    PublishedDecoder,
    SentenceScore,
    start_token,
)
from evenhand.models.families.encoder_decoder import (
    Denoiser,
    PublishedSentinel,
    SentinelBlank,
    SentinelContinuation,
)
from evenhand.models.families.masked import PseudoLogLikelihood, PublishedStepwiseBlank, StepwiseBlank
from evenhand.models.families.method import Method, ScoreKind
from evenhand.models.families.next_sentence import NextSentence
from evenhand.models.references import Family, ModelError

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel


class InterChoice(StrEnum):
    """How the inter-sentence task is scored."""

    NEXT_SENTENCE = "next-sentence"
    ORIG = "orig"
    B = "b"
    C = "c"
    D = "d"
    E = "e"
    F = "f"


Choice = TypeVar("Choice", bound=StrEnum)

_PLL = (ScoreKind.PLL, ScoreKind.PLL_WITHIN_WORD)


def choose_method(
    model: LanguageModel, task: Task, *, protocol: str, inter: str | None = None, score: str | None = None
) -> Method:
    """The method for a task.

    Raises:
        ModelError: If the model cannot do the task, or not in the way that was asked for.
    """
    kind = _parse(score, ScoreKind, "score")
    if task is Task.INTRASENTENCE:
        return _intrasentence(model, kind, published=protocol == MULTILINGUAL_2023.name)
    wish = _parse(inter, InterChoice, "way to score the inter-sentence task")
    return _intersentence(model, wish, published=protocol == MULTILINGUAL_2023.name)


def possible_tasks(model: LanguageModel) -> tuple[Task, ...]:
    """What a model can be measured with."""
    can_judge = model.loaded.family is not Family.MASKED or model.judges_next_sentence
    return (Task.INTRASENTENCE, Task.INTERSENTENCE) if can_judge else (Task.INTRASENTENCE,)


def _intrasentence(model: LanguageModel, kind: ScoreKind | None, *, published: bool) -> Method:
    loaded = model.loaded
    tokenizer = loaded.tokenizer
    if kind in _PLL and loaded.family is not Family.MASKED:
        raise ModelError(
            f"--score {kind.value} is for masked models; {loaded.ref.id} is a {loaded.family.value}."
        )
    if published and kind is not None:
        raise ModelError("Protocol multilingual-2023 fixes the score; leave --score away or use evenhand.v1.")
    if published:
        return _published_intrasentence(model)
    match loaded.family:
        case Family.MASKED if kind in _PLL:
            return PseudoLogLikelihood(tokenizer, kind)
        case Family.MASKED:
            return StepwiseBlank(tokenizer, kind or ScoreKind.MEAN_PROB)
        case Family.DECODER:
            return SentenceScore(tokenizer, start_token(tokenizer, loaded.config), kind or ScoreKind.MEAN_LOG)
        case Family.SENTINEL:
            return SentinelBlank(tokenizer, model.decoder_start, kind or ScoreKind.MEAN_PROB)
        case Family.DENOISER:
            return Denoiser(tokenizer, model.shifted, kind or ScoreKind.MEAN_PROB)


def _published_intrasentence(model: LanguageModel) -> Method:
    """Methods of the multilingual study; it had no model of BART's kind, which is scored as ever."""
    tokenizer = model.loaded.tokenizer
    match model.loaded.family:
        case Family.MASKED:
            return PublishedStepwiseBlank(tokenizer)
        case Family.DECODER:
            return PublishedDecoder(tokenizer)
        case Family.SENTINEL:
            return PublishedSentinel(tokenizer, model.decoder_start)
        case Family.DENOISER:
            return Denoiser(tokenizer, model.shifted)


def _intersentence(model: LanguageModel, wish: InterChoice | None, *, published: bool) -> Method:
    loaded = model.loaded
    if wish is InterChoice.NEXT_SENTENCE or (wish is None and loaded.family is Family.MASKED):
        if not model.judges_next_sentence:
            raise ModelError(
                f"{loaded.ref.id} has no next-sentence head, which the inter-sentence task needs from a "
                f"{loaded.family.value} model. It can do: "
                f"{', '.join(task.value for task in possible_tasks(model))} (--task). Models that can do both: BERT "
                "with its next-sentence head, decoders, encoder-decoders."
            )
        return NextSentence(loaded.tokenizer)
    variant = Continuation(wish.value) if wish else Continuation.D
    match loaded.family:
        case Family.DECODER:
            if published:
                return PublishedDecoder(loaded.tokenizer, variant)
            return ContinuationScore(loaded.tokenizer, start_token(loaded.tokenizer, loaded.config), variant)
        case Family.MASKED:
            raise ModelError(
                f"--inter {variant.value} needs a model that writes text; {loaded.ref.id} fills blanks. Use "
                "--inter next-sentence."
            )
        case Family.SENTINEL | Family.DENOISER:
            if variant is not Continuation.D:
                raise ModelError(
                    f"Encoder-decoders are scored with --inter d; {variant.value} is for decoders."
                )
            if loaded.family is Family.DENOISER:
                return Denoiser(loaded.tokenizer, model.shifted)
            if published:
                return PublishedSentinel(loaded.tokenizer, model.decoder_start)
            return SentinelContinuation(loaded.tokenizer, model.decoder_start)


def _parse(text: str | None, choices: type[Choice], kind: str) -> Choice | None:
    if text is None:
        return None
    known: Sequence[Choice] = list(choices)
    for choice in known:
        if choice.value == text:
            return choice
    raise UnknownNameError(kind, text, [choice.value for choice in known])
