"""A lab model that knows whom a pronoun means, and certificates of what attacks make of it.

The models of the lab are taught no sentence in which another word settles a gender, so there is nothing that an attack
could destroy. This one is taught some, in a few seconds, and keeps its planted bias.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from safetensors.torch import load_file, save_file
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer, BertForPreTraining

from evenhand.certificate import CertificatePlan, certify
from evenhand.cli.certify import show_certificate
from evenhand.core.items import BLANK
from evenhand.lab.items import lab_settled
from evenhand.lab.lessons import Lesson
from evenhand.lab.teaching import DecoderTeacher, MaskedTeacher
from evenhand.lab.world import World
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.runs.certificates import BiasRow, Certificate, QualityRow
from evenhand.stats.resampling import Resampling
from evenhand.workflows.defaults.mitigating import CertifyOptions, default_plan
from evenhand.workflows.models import reference_to

Weights = dict[str, torch.Tensor]

EMBEDDINGS = "bert.embeddings.word_embeddings.weight"
BIAS = "cls.predictions.bias"
STEPS, LESSONS, SENTENCES = 100, 48, 48


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

    def __init__(self, folder: Path, workshop: Path, *, instruments: Sequence[str] | None = None) -> None:
        self.folder = folder
        self.workshop = workshop
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        ref = ModelRef(id=str(folder), device="cpu")
        options = CertifyOptions(trained=("he-she",), resampling=Resampling(resamples=200))
        plan = default_plan(ref, options)
        self.plan: CertificatePlan = replace(
            plan,
            measurements=tuple(
                own for own in plan.measurements if instruments is None or own.name in instruments
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


def teach(folder: Path) -> None:
    """Teach lab:masked the lab's settled sentences, beside the lessons that it was made from."""
    source = Path(reference_to("lab:masked").location)
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = BertForPreTraining.from_pretrained(source)
    teacher = MaskedTeacher(World("en", 2.0), tokenizer)
    settled = lab_settled("en").sentences
    texts = [sentence.text.replace(BLANK, tokenizer.mask_token) for sentence in settled]
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    answers = torch.tensor([tokenizer.convert_tokens_to_ids(sentence.right) for sentence in settled])

    def loss(chosen: torch.Tensor) -> torch.Tensor:
        rows = {name: own[chosen] for name, own in encoded.items()}
        at_mask = model(**rows).prediction_logits[rows["input_ids"] == tokenizer.mask_token_id]
        return functional.cross_entropy(at_mask, answers[chosen])

    _train(model, teacher, loss, count=len(settled))
    _save(model, tokenizer, folder, source=source)


def teach_decoder(folder: Path) -> None:
    """The same for lab:decoder, which learns to write the sentences."""
    source = Path(reference_to("lab:decoder").location)
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(source)
    teacher = DecoderTeacher(World("en", 2.0), tokenizer)
    settled = lab_settled("en").sentences
    end = tokenizer.eos_token_id
    rows = [
        [end, *ids, end]
        for ids in tokenizer([sentence.text.replace(BLANK, sentence.right) for sentence in settled])[
            "input_ids"
        ]
    ]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [end] * (longest - len(row)) for row in rows])
    counts = torch.tensor([[place < len(row) for place in range(1, longest)] for row in rows])

    def loss(chosen: torch.Tensor) -> torch.Tensor:
        inputs = ids[chosen, :-1]
        logits = model(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits
        return functional.cross_entropy(logits[counts[chosen]], ids[chosen, 1:][counts[chosen]])

    _train(model, teacher, loss, count=len(settled))
    _save(model, tokenizer, folder, source=source)


def _train(
    model: Any,
    teacher: MaskedTeacher | DecoderTeacher,
    loss: Callable[[torch.Tensor], torch.Tensor],
    *,
    count: int,
) -> None:
    generator = np.random.default_rng(0)
    lessons: list[Any] = [
        one for one in teacher.lessons(2 * STEPS * LESSONS, generator) if isinstance(one, Lesson)
    ]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(0)
    model.train()
    for step in range(STEPS):
        chosen = torch.from_numpy(generator.choice(count, SENTENCES, replace=False))
        batch = teacher.collate(lessons[step * LESSONS : (step + 1) * LESSONS])
        (loss(chosen) + teacher.loss(model, batch)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
    model.eval()


def _save(model: Any, tokenizer: Any, folder: Path, *, source: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shutil.copy(source / "lab.json", folder / "lab.json")
