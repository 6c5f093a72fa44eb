"""Capabilities: what a model can be asked, as structural types.

An instrument or a mitigation names the capability that it needs; a model says which it has. Nobody else asks how a
model is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from evenhand.core.items import Span
from evenhand.models.references import ModelError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evenhand.models.engine.memory import BatchMemory
    from evenhand.models.engine.positions import PositionReader
    from evenhand.models.generation import GeneratedText, GenerationOptions, TextProgress
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.held_out import HeldOutRows
    from evenhand.models.objectives.objective import PretrainingObjective, PretrainingOptions
    from evenhand.models.references import ModelRef
    from evenhand.runs.records import ModelRecord
    from evenhand.runs.store import Parts


class Model(Protocol):
    """What every model tells about itself, wherever it lives."""

    @property
    def ref(self) -> ModelRef:
        """What it was loaded from."""
        ...

    @property
    def record(self) -> ModelRecord:
        """What identifies it in records and fingerprints."""
        ...

    @property
    def capabilities(self) -> frozenset[type]:
        """The protocols of this module that it keeps."""
        ...


@runtime_checkable
class ExplainsAbsence(Protocol):
    """Knows why it lacks a capability that other models of its kind have."""

    def absence_reason(self, capability: type) -> str | None:
        """The reason, as a sentence without its full stop; None if there is nothing to say."""
        ...


@runtime_checkable
class EstimatesCost(Protocol):
    """Knows what it costs to be asked."""

    def describe_cost(self, texts: Iterable[str]) -> str:
        """What it takes to score texts, in a sentence.

        Raises:
            EvenhandError: If it is more than is allowed.
        """
        ...


@runtime_checkable
class EstimatesGenerationCost(Protocol):
    """Knows what it costs to let it write."""

    def describe_generation_cost(
        self, prompts: Iterable[str], options: GenerationOptions, *, parts: Parts | None = None
    ) -> str:
        """What it takes to write texts after prompts, in a sentence; those that ``parts`` hold cost nothing.

        Raises:
            EvenhandError: If it is more than is allowed.
        """
        ...


class TextScore(BaseModel):
    """Natural log-probabilities of the tokens that were scored."""

    model_config = ConfigDict(frozen=True)

    tokens: tuple[str, ...]
    log_probabilities: tuple[float, ...]

    @property
    def total(self) -> float:
        """Log-probability of all tokens together."""
        return sum(self.log_probabilities)


@runtime_checkable
class FillsBlanks(Protocol):
    """Gives the probability of words in a blank."""

    def score_fills(self, context: str, fills: Sequence[str]) -> list[TextScore]:
        """Token by token, each word in the ``BLANK`` of the context."""
        ...


@runtime_checkable
class ScoresText(Protocol):
    """Gives the probability of a text."""

    def score_texts(self, texts: Sequence[str]) -> list[TextScore]:
        """Token by token, each text from its start."""
        ...


@runtime_checkable
class JudgesNextSentence(Protocol):
    """Says how likely one sentence follows another."""

    def score_followers(self, first: str, seconds: Sequence[str]) -> list[float]:
        """Probability that each second sentence follows the first."""
        ...


@dataclass(frozen=True, slots=True)
class NotEmbedded:
    """Why a word has no vector."""

    reason: str


@runtime_checkable
class Embeds(Protocol):
    """Gives the contextual vectors of words."""

    @property
    def reads_left_to_right(self) -> bool:
        """Whether the vector of a word knows nothing of what comes after the word."""
        ...

    def layer_number(self, layer: int) -> int:
        """A layer counted from the embeddings, which are 0; a negative one is counted from the last, which is -1.

        Raises:
            ModelError: If there is no such layer.
        """
        ...

    def embed_words(
        self, texts: Sequence[str], spans: Sequence[Span], *, layer: int = -1
    ) -> list[npt.NDArray[np.float32] | NotEmbedded]:
        """The vector of a span of characters in each text, at a layer: 0 is the embeddings, -1 the last."""
        ...


class EmbeddingModel(Model, Embeds, Protocol):
    """A model that gives the contextual vectors of words."""


@runtime_checkable
class Generates(Protocol):
    """Writes texts after prompts."""

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions | None = None,
        *,
        parts: Parts | None = None,
        progress: TextProgress | None = None,
    ) -> Iterator[GeneratedText]:
        """The texts of each prompt, in the order of the prompts; nothing runs before the first is asked for.

        Args:
            prompts: Read as they are needed, so there may be any number.
            options: How texts are decoded; the defaults if not given.
            parts: Keep texts as they come, for one model; what they hold already is not generated again.
            progress: Called after every batch.
        """
        ...


@runtime_checkable
class LimitsPrompts(Protocol):
    """Writes texts, and knows beforehand which prompts it has no room for."""

    def overlong(self, prompts: Sequence[str], options: GenerationOptions) -> list[bool]:
        """Which prompts leave no room for the new tokens."""
        ...


@runtime_checkable
class Trains(Protocol):
    """Goes on learning from sentences: its weights are in this process, and it has an objective."""

    @property
    def loaded(self) -> Loaded:
        """Weights, tokenizer and configuration."""
        ...

    @property
    def position_reader(self) -> PositionReader:
        """What reads it, and copies of it, at chosen places."""
        ...

    @property
    def batch_memory(self) -> BatchMemory:
        """What fits into one batch."""
        ...

    def pretraining_objective(
        self, sentences: Sequence[str], options: PretrainingOptions
    ) -> PretrainingObjective:
        """The objective that it was first taught with, over other sentences."""
        ...

    def held_out_rows(self, sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """Sentences with some of their tokens hidden, chosen from a seed, which the model is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class _Capability:
    meaning: str
    models: str


CAPABILITIES: Mapping[type, _Capability] = {
    FillsBlanks: _Capability(
        "gives the probability of words in a blank", "masked models and T5-style models, such as lab:masked"
    ),
    ScoresText: _Capability(
        "gives the probability of a text", "decoders and masked models, such as lab:decoder"
    ),
    JudgesNextSentence: _Capability(
        "says whether a sentence follows another", "BERT with its next-sentence head, such as bert-base-cased"
    ),
    Embeds: _Capability(
        "gives the contextual vectors of words", "models that are loaded from a folder or the hub"
    ),
    Generates: _Capability("writes texts", "decoders and encoder-decoders, such as lab:decoder"),
    Trains: _Capability(
        "goes on learning from sentences",
        "masked models, decoders and T5-style models that are loaded from a folder or the hub",
    ),
}


def missing_capability(model: Model, *capabilities: type, purpose: str) -> ModelError:
    """The error for a model that lacks what a purpose needs.

    Args:
        model: The model.
        capabilities: Protocols of which one would do.
        purpose: What it was to do, after "cannot".
    """
    own = ", ".join(known.__name__ for known in CAPABILITIES if known in model.capabilities) or "nothing"
    needed = " or ".join(f"{CAPABILITIES[known].meaning} ({known.__name__})" for known in capabilities)
    others = "; or ".join(CAPABILITIES[known].models for known in capabilities)
    reasons = [
        f"{reason}. "
        for known in capabilities
        if isinstance(model, ExplainsAbsence) and (reason := model.absence_reason(known))
    ]
    return ModelError(
        f"{model.ref.id} ({model.record.family}) cannot {purpose}. That needs a model that {needed}; this one has "
        f"{own}. {''.join(reasons)}Use {others}."
    )


def require(model: Model, capability: type, *, purpose: str) -> None:
    """Refuse a model without a capability.

    Raises:
        ModelError: If the model lacks it.
    """
    if not has_capability(model, capability):
        raise missing_capability(model, capability, purpose=purpose)


def has_capability(model: Model, capability: type) -> bool:
    """Whether a model has a capability.

    A model that has to load more weights to know all of its capabilities may have a method ``has_capability`` that
    tells about one.
    """
    tells = getattr(model, "has_capability", None)
    return bool(tells(capability)) if tells is not None else capability in model.capabilities


def refuse_single_text(texts: Iterable[str], *, argument: str) -> None:
    """Refuse a text where several are needed, for taken one by one they would be its letters, and what is no list.

    Args:
        texts: What was given.
        argument: Its name, for the message.

    Raises:
        ModelError: If it is a single text, or nothing that holds texts.
    """
    if isinstance(texts, str):
        raise ModelError(
            f"{argument} is the text {texts[:40]!r}; a list of texts is needed. Put it into one: [...]."
        )
    if not isinstance(texts, Iterable):
        raise ModelError(f"{argument} is {texts!r}; a list of texts is needed.")


def refuse_unfit_texts(texts: Sequence[str], *, argument: str) -> None:
    """Refuse a text where several are needed, and in their list what is no text or cannot be written down.

    Raises:
        ModelError: With the place in the list.
    """
    refuse_single_text(texts, argument=argument)
    for _ in fit_texts(texts, argument=argument):
        pass


def fit_texts(texts: Iterable[str], *, argument: str) -> Iterator[str]:
    """The texts one by one, as they are needed; what is no text or cannot be written down is refused at its place."""
    refuse_single_text(texts, argument=argument)
    return _fit_texts(texts, argument)


def _fit_texts(texts: Iterable[str], argument: str) -> Iterator[str]:
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise ModelError(f"{argument}[{place}] is {text!r}; a text is needed.")
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            raise ModelError(
                f"{argument}[{place}] has half of a surrogate pair at character {problem.start}, which is no "
                "character. Remove it, or read the text with the right encoding."
            ) from None
        yield text
