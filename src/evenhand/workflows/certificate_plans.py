"""What two models are certified on: what was asked for, or what suits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.certificate import CertificatePlan, Finetuning, HeldOutText, Margins, Measurement
from evenhand.certificate.recipe import read_mitigation
from evenhand.core.planted_bias import PlantedBias
from evenhand.data.corpora import sentences
from evenhand.data.crows_pairs import load_pairs
from evenhand.data.labelled import load_labelled
from evenhand.data.layouts import load_dataset
from evenhand.data.probes import load_probes
from evenhand.data.stereoset import LAB, STARTER
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.lab.items import lab_probes
from evenhand.mitigation.texts import kept_back
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelRef
from evenhand.runs.mitigation_records import planted_bias_of
from evenhand.stats.resampling import Resampling
from evenhand.workflows.mitigation_data import DEFAULT_LANGUAGE, LAB_QUALITY_MARGIN, lab_text


@dataclass(frozen=True, slots=True)
class CertifyWishes:
    """What was asked for on the command line."""

    trained: tuple[str, ...] | None
    margins: Margins
    held_out: tuple[Path, ...]
    sentences: int
    data: str | None
    crows_pairs: str | None
    labelled: Path | None
    finetuning: Finetuning
    language: str | None
    resampling: Resampling
    mitigated: ModelRef | None = None
    """The model that is certified, whose own record says in which language it was mitigated."""


def certificate_plan(before: LanguageModel, wishes: CertifyWishes) -> CertificatePlan:
    """The plan for an original model; one of the lab is measured on the lab's own probes, items and text."""
    planted = planted_bias_of(before.loaded.ref.location)
    language = wishes.language or _mitigated_in(wishes.mitigated) or _spoken(planted)
    return CertificatePlan(
        measurements=tuple(_measurements(planted, language, wishes)),
        held_out=_held_out(planted, language, wishes),
        labelled=load_labelled(wishes.labelled) if wishes.labelled else None,
        trained=wishes.trained,
        margins=wishes.margins,
        finetuning=wishes.finetuning,
        resampling=wishes.resampling,
    )


def margins_for(before: ModelRef, texts: Sequence[str]) -> Margins:
    """Margins as they are written on the command line; those not named are the usual ones, or the lab's."""
    in_lab = planted_bias_of(before.location) is not None
    return Margins.parse(texts, perplexity=100 * LAB_QUALITY_MARGIN if in_lab else None)


def _mitigated_in(ref: ModelRef | None) -> str | None:
    done = read_mitigation(ref) if ref else None
    return done.language if done else None


def _spoken(planted: PlantedBias | None) -> str:
    return planted.language if planted else DEFAULT_LANGUAGE


def _measurements(planted: PlantedBias | None, language: str, wishes: CertifyWishes) -> Iterator[Measurement]:
    probes = lab_probes(language) if planted else load_probes(language)
    yield Measurement("malor", MalorOptions(data=probes))
    benchmark = load_dataset(wishes.data or (LAB if planted else STARTER).name, language=language)
    yield Measurement("association", AuditOptions(data=benchmark))
    if wishes.crows_pairs:
        pairs = load_pairs(wishes.crows_pairs, language=wishes.language)
        yield Measurement("crows-pairs", InstrumentOptions(data=pairs))


def _held_out(planted: PlantedBias | None, language: str, wishes: CertifyWishes) -> HeldOutText | None:
    """The text that was given; for a lab model what mitigations keep back of the lab's own."""
    if wishes.held_out:
        return HeldOutText.sample(sentences(wishes.held_out), most=wishes.sentences)
    if planted is None:
        return None
    return HeldOutText.sample(kept_back((lab_text(planted, language),)).sentences, most=wishes.sentences)
