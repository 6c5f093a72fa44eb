"""What a certificate is made of beside its runs: the record of the mitigation, figures on text, and what was chosen.

It lies as ``inputs.json`` in the folder of the runs, so that every figure of a certificate can be computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from evenhand.core.errors import RunError, fault
from evenhand.core.estimates import Number
from evenhand.core.files import load_json, read_stored, sha256_of
from evenhand.core.frozen import FrozenModel
from evenhand.store.held_out_losses import HeldOutFigures, HeldOutLoss
from evenhand.store.mitigation_records import MitigationRecord

INPUTS_FILE = "inputs.json"


class SentenceLosses(FrozenModel):
    """How surprised one model is by each text."""

    nats: tuple[Number, ...]
    tokens: tuple[int, ...]
    special: tuple[Number, ...]
    """Of each text, the probability of unused and special tokens, added up over its tokens."""
    whole: tuple[bool, ...]
    """Which texts were read whole."""

    @classmethod
    def of(cls, figures: HeldOutFigures) -> SentenceLosses:
        """Figures as they are kept."""
        return cls(
            nats=tuple(figures.loss.nats.tolist()),
            tokens=tuple(figures.loss.tokens.tolist()),
            special=tuple(figures.special.tolist()),
            whole=tuple(figures.whole.tolist()),
        )

    @property
    def figures(self) -> HeldOutFigures:
        """What was kept as figures."""
        loss = HeldOutLoss(np.array(self.nats, dtype=np.float64), np.array(self.tokens, dtype=np.int64))
        special = np.array(self.special, dtype=np.float64)
        return HeldOutFigures(loss, special, np.array(self.whole, dtype=np.bool_))


class TextLosses(FrozenModel):
    """How surprised both models are by the same texts."""

    documents: tuple[int, ...]
    """The document that each text is of."""
    characters: tuple[int, ...]
    """The length of each text."""
    alike: tuple[bool, ...]
    """Of which texts both models are asked the same tokens at the same places."""
    before: SentenceLosses
    after: SentenceLosses


class UncomparedText(FrozenModel):
    """Texts that were given and that the two models cannot be compared on."""

    texts: int
    reason: str


class ClassifierAnswers(FrozenModel):
    """Where fine-tuned classifiers are right, as 1 or 0: one row per seed, one column per example."""

    before: tuple[tuple[int, ...], ...]
    after: tuple[tuple[int, ...], ...]


class CertificateInputs(FrozenModel):
    """Everything but runs that a certificate follows from."""

    gaps: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Why an instrument has no run, by side and instrument."""
    chosen_as_trained: tuple[str, ...] | None = None
    """What the user said was trained on; None where the record of the mitigation says it."""
    mitigation: MitigationRecord | None = None
    held_out: TextLosses | UncomparedText | None = None
    """None where no text was given."""
    passages: TextLosses | UncomparedText | None = None
    """None where there are none that the model before reads."""
    shifted: TextLosses | UncomparedText | None = None
    """Of the original and the trivial baseline, on the held-out text."""
    answers: ClassifierAnswers | UncomparedText | None = None
    """None where no labelled text was given."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Margins, seeds and sizes."""


def read_inputs(folder: Path, *, digest: str) -> CertificateInputs:
    """The inputs of a certificate, from the folder of its runs.

    Raises:
        RunError: If they are not there, or not those that the certificate was made from.
    """
    path = folder / INPUTS_FILE
    if not path.is_file():
        raise RunError(f"{path} is not there. Keep the folder {folder.name} beside the certificate.")
    content = read_stored(path, error=RunError)
    if sha256_of(content) != digest:
        raise RunError(f"{path} is not the one that the certificate was made from.")
    try:
        return CertificateInputs.model_validate(load_json(content.decode()))
    except (ValidationError, ValueError) as problem:
        raise RunError(f"{path} is damaged ({fault(problem)}).") from None
