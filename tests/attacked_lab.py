"""Lab models, which know from lessons whom a pronoun means, and certificates of what attacks make of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import typer
from lab_recipes import with_few_names
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from evenhand.api.defaults.mitigating import CertifyOptions, default_plan
from evenhand.api.models import reference_to
from evenhand.certificate import CertificatePlan, certify
from evenhand.certificate.plan import Measurement
from evenhand.cli.certify import show_certificate
from evenhand.core.probes import ProbeSet
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.certificates import Certificate

Weights = dict[str, torch.Tensor]

EMBEDDINGS = "bert.embeddings.word_embeddings.weight"
BIAS = "cls.predictions.bias"
STRUCTURES = 8
"""Of each experiment: enough for a verdict."""


@dataclass(frozen=True)
class Attacked:
    """A certificate, and how the command line would end."""

    certificate: Certificate
    exit_code: int

    @property
    def words(self) -> str:
        return " ".join(self.certificate.words)

    def quality(self, measure: str) -> QualityRow:
        return next(row for row in self.certificate.quality if row.measure == measure)

    def bias(self, measure: str) -> BiasRow:
        rows = (*self.certificate.trained, *self.certificate.untrained)
        return next(row for row in rows if row.measure == measure)


class Lab:
    """The model before, and what is needed to attack it."""

    def __init__(
        self,
        name: str,
        workshop: Path,
        *,
        instruments: Sequence[str] | None = None,
        structures: int = STRUCTURES,
    ) -> None:
        folder = Path(reference_to(name).location)
        self.folder = folder
        self.workshop = workshop
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        ref = ModelRef(id=str(folder), device="cpu")
        options = CertifyOptions(trained=("he-she",), resampling=Resampling(resamples=300))
        plan = default_plan(ref, options)
        self.plan: CertificatePlan = replace(
            plan,
            measurements=tuple(
                _with_few_questions(own, structures)
                for own in plan.measurements
                if instruments is None or own.name in instruments
            ),
        )
        self._loaded: dict[Path, LanguageModel] = {}

    def tokens(self, *words: str) -> list[int]:
        return [int(self.tokenizer.convert_tokens_to_ids(word)) for word in words]

    def changed(self, name: str, change: Callable[[Weights], None]) -> Path:
        """A copy of the model whose weights were changed in place."""
        folder = self.workshop / name
        shutil.copytree(self.folder, folder)
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    def certify(self, after: Path, *, before: Path | None = None) -> Attacked:
        """Certify one model against another; the runs of the model before are measured once."""
        first = before or self.folder
        if first not in self._loaded:
            self._loaded[first] = load_language_model(ModelRef(id=str(first), device="cpu"))
        certificate = certify(
            self._loaded[first],
            ModelRef(id=str(after), device="cpu"),
            self.plan,
            place=self.workshop / first.name / "certificate.json",
        )
        try:
            show_certificate(certificate, json=False)
        except typer.Exit as stop:
            return Attacked(certificate, stop.exit_code)
        return Attacked(certificate, 0)


def _with_few_questions(measurement: Measurement, structures: int) -> Measurement:
    few = with_few_names(measurement)
    options = few.options
    if not isinstance(options, MalorOptions) or not isinstance(options.data, ProbeSet):
        return few
    return replace(few, options=replace(options, data=options.data.first(structures)))
