"""Model references, families and capabilities: what a model is, without loading one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from evenhand.core.errors import EvenhandError
from evenhand.core.precision import Precision
from evenhand.core.spans import Span
from evenhand.models.embedded import embedded_folder, is_embedded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class ModelError(EvenhandError):
    """A model that cannot be loaded, or lacks what a task needs."""


class Family(StrEnum):
    """How a model predicts tokens."""

    MASKED = "masked"
    DECODER = "decoder"
    SENTINEL = "encoder-decoder with sentinels"
    """T5 and its kin: the decoder writes what a numbered gap stands for."""
    DENOISER = "encoder-decoder with a mask"
    """BART and its kin: the decoder writes the whole sentence anew."""


class ModelRef(BaseModel):
    """A model by name or folder, and how to load it."""

    model_config = ConfigDict(frozen=True)

    id: str
    revision: str | None = None
    precision: Precision = Precision.FP32
    device: str = "auto"
    allow_pickle_weights: bool = False
    trust_remote_code: bool = False

    @classmethod
    def parse(cls, text: str) -> tuple[str, str | None]:
        """Split ``id@revision``; a folder is itself, whatever its name."""
        if Path(text).is_dir():
            return text, None
        name, _, revision = text.partition("@")
        if not name.strip():
            raise ModelError(f"{text!r} names no model. Give a folder or an id such as bert-base-cased@main.")
        return name, revision or None

    @property
    def location(self) -> str:
        """Where it is loaded from: the name or folder itself, or the folder of an embedded model."""
        return str(embedded_folder(self.id)) if is_embedded(self.id) else self.id

    @property
    def short_name(self) -> str:
        """A name for folders and tables."""
        name = self.id.rstrip("/").replace("\\", "/").replace(":", "-")
        parts = [part for part in name.split("/") if part not in ("", ".", "..")]
        return "_".join(parts[-2:]) if not name.startswith(("/", ".")) else (parts[-1] if parts else "model")


def refuse_missing_folder(name: str) -> None:
    """Refuse what can only be a folder and is none, before the hub is asked for a model of that name."""
    path = Path(name)
    is_path = path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1 or path.is_file()
    if not is_path or path.is_dir():
        return
    if name.startswith("~/") and path.expanduser().is_dir():
        advice = f"Write {path.expanduser()}: only a shell reads ~ as the home folder."
    else:
        advice = (
            "Give the folder of a model, with its config.json, or an id such as bert-base-cased or ORG/NAME."
        )
    fault = f"{name} is a file." if path.is_file() else f"There is no folder {name}."
    raise ModelError(f"{fault} {advice}")


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
