"""Capabilities: what a model can be asked, as structural types.

An instrument or a mitigation names the capability that it needs; a model says which it has. Nobody else asks how a
model is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from evenhand.core.spans import Span

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evenhand.models.generation import GeneratedText, GenerationOptions, TextProgress
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

    def embed_words(
        self, texts: Sequence[str], spans: Sequence[Span], *, layer: int = -1
    ) -> list[npt.NDArray[np.float32] | NotEmbedded]:
        """The vector of a span of characters in each text, at a layer: 0 is the embeddings, -1 the last."""
        ...


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
