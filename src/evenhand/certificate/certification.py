"""Certify: two models to one certificate."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from evenhand.certificate.baseline import shifted_measurer, trivial_baseline
from evenhand.certificate.bias import bias_rows, refuse_unasked_experiments, refuse_unknown_figures
from evenhand.certificate.caveats import caveats_of
from evenhand.certificate.derivation import MALOR_INSTRUMENT, data_digests, derived_fields
from evenhand.certificate.kept_answers import MEASURE_ANEW
from evenhand.certificate.margins import wider_margins
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.model_pair import (
    ModelPair,
    measured_pair,
    refuse_nothing,
    refuse_same_answers,
)
from evenhand.certificate.plan import CertificatePlan
from evenhand.certificate.quality import classifier_answers, held_out_losses, passage_losses
from evenhand.certificate.quality_rows import quality_rows
from evenhand.certificate.verification import read_certificate
from evenhand.core.errors import RunError
from evenhand.core.files import sha256_of, sha256_of_file, write_text
from evenhand.core.progress import SILENT, Monitor
from evenhand.instruments.instrument import statistics_record
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelRef
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.store.certificate_bias import ALL_PROBES, BiasRow, bias_verdict
from evenhand.store.certificate_evidence import flattened_between
from evenhand.store.certificate_files import (
    equal_figures,
    fingerprint_of_certificate,
    plain_figures,
    runs_folder,
    sealed,
)
from evenhand.store.certificate_inputs import INPUTS_FILE, CertificateInputs, read_inputs
from evenhand.store.certificate_quality import QualityRow, quality_verdict
from evenhand.store.certificates import (
    AFTER,
    BASELINE,
    BEFORE,
    CERTIFICATE_SCHEMA_VERSION,
    Certificate,
    TakenOver,
    TrivialBaseline,
    Verdict,
)
from evenhand.store.jobs import open_job
from evenhand.store.mitigation_records import MitigationRecord, find_mitigation_record
from evenhand.store.records import RECORD_FILE, EnvironmentRecord


def certify(
    before: str | ModelRef | LanguageModel,
    after: str | ModelRef | LanguageModel,
    plan: CertificatePlan,
    *,
    place: Path,
    measured_now: Collection[Path] = (),
    monitor: Monitor = SILENT,
) -> Certificate:
    """Measure two models on the same questions and say what became of bias and quality.

    The certificate is written to ``place``, and the runs of both models to the folder beside it that has its name
    without the suffix. Called again with the same, it opens the certificate; if it was interrupted, it goes on. A
    certificate of other models or another plan is replaced, and what still fits of its runs is taken over. A sample of
    all answers that are taken over is asked again.

    Args:
        before: The original: a name or folder, a reference, or a model already loaded.
        after: The mitigated model.
        plan: What both are measured on, and the margins.
        place: The JSON file.
        measured_now: Runs that this very command let other processes measure.
        monitor: Told how it goes.

    Raises:
        RunError: If what is taken over is not what the models answer.
        ModelError: If the weights of the models differ, and not one answer does.
    """
    pair = ModelPair.of(before, after, plan)
    runs = runs_folder(place)
    taken_over: dict[str, TakenOver] = {}
    first, second = (
        ModelMeasurer(
            model,
            plan,
            folder=folder,
            original=pair.before,
            monitor=monitor,
            taken_over=taken_over,
            measured_now=measured_now,
        )
        for model, folder in ((pair.before, runs / BEFORE), (pair.after, runs / AFTER))
    )
    mitigation = find_mitigation_record(pair.after.ref.location)
    fingerprint = _fingerprint(plan, first, second, mitigation)

    def this_certificate(path: Path) -> str | None:
        return fingerprint if fingerprint_of_certificate(path) == fingerprint else None

    with open_job(place, fingerprint, fingerprint_at=this_certificate) as job:
        if job.is_done:
            certificate = read_certificate(place)
            _refuse_other_than_models(certificate, plan, pair, (first, second), mitigation, place=place)
            monitor.note(_opened_words(certificate, place, first.taken_over.values()))
            return certificate
        certificate, inputs = _certificate(plan, pair, (first, second), mitigation=mitigation)
        content = inputs.model_dump_json() + "\n"
        write_text(runs / INPUTS_FILE, content)
        known = {"fingerprint": fingerprint, "inputs": sha256_of(content.encode())}
        certificate = sealed(certificate.model_copy(update=known))
        with job.result_file() as stream:
            stream.write((certificate.model_dump_json(indent=1) + "\n").encode())
    return certificate


def rows_of(
    measurers: tuple[ModelMeasurer, ModelMeasurer],
    measured: tuple[Measurements, Measurements],
    plan: CertificatePlan,
) -> tuple[tuple[BiasRow, ...], tuple[QualityRow, ...]]:
    """What a certificate judges of two models: rows of bias, over what no training may see, and rows of quality."""
    bias = bias_rows(*measured, resampling=plan.resampling)
    inputs = _inputs(plan, measurers, measured, None)
    return (
        tuple(keyed.row for keyed in bias if keyed.row.sample != ALL_PROBES),
        _quality(plan, inputs, measured),
    )


def _certificate(
    plan: CertificatePlan,
    pair: ModelPair,
    measurers: tuple[ModelMeasurer, ModelMeasurer],
    *,
    mitigation: MitigationRecord | None,
) -> tuple[Certificate, CertificateInputs]:
    """The certificate, and what it was made from beside its runs."""
    plan, (ours, theirs), (before, after) = measured_pair(plan, pair, measurers)
    refuse_nothing(pair, before, after)
    rows = bias_rows(before, after, resampling=plan.resampling)
    if plan.trained and not (before.gaps or after.gaps):
        refuse_unknown_figures(rows, plan.trained)
    if mitigation and not plan.trained:
        refuse_unasked_experiments(rows, before, mitigation.experiments)
    inputs = _inputs(plan, (ours, theirs), (before, after), mitigation)
    refuse_same_answers(pair, before, after, inputs, taken_over=ours.taken_over)
    derived = derived_fields(rows, before, after, inputs, resampling=plan.resampling)
    quality = _quality(plan, inputs, (before, after))
    baseline, shifted = (
        trivial_baseline(ours, (before, after), plan, experiments=_experiments(derived["trained"]))
        if pair.differs
        else (None, None)
    )
    inputs = inputs.model_copy(update={"shifted": shifted})
    flattened = flattened_between(before.runs, after.runs, resampling=plan.resampling) if pair.differs else ()
    certificate = Certificate(
        **derived,
        verdict=Verdict(
            bias=bias_verdict(derived["trained"], changed=pair.differs, flattened=flattened),
            quality=quality_verdict(quality),
            wider_margins=wider_margins(asdict(plan.margins), of_lab=measurers[0].record.planted is not None),
        ),
        runs=_digests_of_runs({ours: before, theirs: after}) | _baseline_runs(ours.folder.parent, baseline),
        taken_over=tuple(own for _, own in sorted(ours.taken_over.items())),
        weights_changed=pair.weights.any,
        quality=quality,
        flattened=flattened,
        baseline=baseline,
        before=measurers[0].record,
        after=measurers[1].record,
        same_tokenizer=pair.same_tokenizer,
        weights=pair.weights,
        data=_digests(plan, before),
        statistics=statistics_record(plan.resampling),
        environment=EnvironmentRecord.current(),
    )
    certificate = certificate.model_copy(update={"caveats": caveats_of(certificate, before, after)})
    certificate = certificate.model_copy(update={"words": tuple(certificate_sentences(certificate))})
    return certificate, inputs


def _digests_of_runs(measured: Mapping[ModelMeasurer, Measurements]) -> dict[str, str]:
    return {
        f"{measurer.folder.name}/{name}": sha256_of_file(measurer.folder / name / RECORD_FILE)
        for measurer, own in measured.items()
        for name in own.runs
    }


def _refuse_other_than_models(
    certificate: Certificate,
    plan: CertificatePlan,
    pair: ModelPair,
    measurers: tuple[ModelMeasurer, ModelMeasurer],
    mitigation: MitigationRecord | None,
    *,
    place: Path,
) -> None:
    """Refuse a finished certificate that is not about these models: what lies beside it is asked of them again."""
    plan, sides, measured = measured_pair(plan, pair, measurers)
    if certificate.baseline and certificate.baseline.reached:
        shifted_measurer(sides[0], plan, certificate.baseline.shifts).measure()
    inputs = _inputs(plan, sides, measured, mitigation)
    kept = read_inputs(runs_folder(place), digest=certificate.inputs)
    stated = {
        "weights": (certificate.weights, pair.weights),
        "same_tokenizer": (certificate.same_tokenizer, pair.same_tokenizer),
        "runs": (
            {name: own for name, own in certificate.runs.items() if not name.startswith(f"{BASELINE}/")},
            _digests_of_runs(dict(zip(sides, measured, strict=True))),
        ),
        "inputs": (kept.model_copy(update={"shifted": None}), inputs),
    } | {
        side: tuple(own.model_dump(mode="json", exclude={"device"}) for own in records)
        for side, records in (
            (BEFORE, (certificate.before, measurers[0].record)),
            (AFTER, (certificate.after, measurers[1].record)),
        )
    }
    for name, (said, own) in stated.items():
        if not equal_figures(plain_figures(said), plain_figures(own)):
            raise RunError(f"{place} says something else under {name!r} than the two models. {MEASURE_ANEW}")


def _opened_words(certificate: Certificate, place: Path, taken_over: Iterable[TakenOver]) -> str:
    asked = sum(own.asked_again for own in taken_over)
    return (
        f"{place} was made on {certificate.created:%d %B %Y, %H:%M} UTC and is opened; {asked:,} of its "
        f"answers were asked again and are the same. {MEASURE_ANEW}"
    )


def _inputs(
    plan: CertificatePlan,
    measurers: tuple[ModelMeasurer, ModelMeasurer],
    measured: tuple[Measurements, Measurements],
    mitigation: MitigationRecord | None,
) -> CertificateInputs:
    """What the certificate is made from beside its runs; what is read of text is kept, and not read twice."""
    held_out = held_out_losses(*measurers, plan.held_out)
    passages = passage_losses(*measurers, plan.passages)
    return CertificateInputs(
        gaps={side: dict(own.gaps) for side, own in zip((BEFORE, AFTER), measured, strict=True)},
        chosen_as_trained=plan.trained,
        mitigation=mitigation,
        held_out=held_out,
        passages=passages,
        answers=classifier_answers(*measurers, plan),
        settings=_settings(plan),
    )


def _quality(
    plan: CertificatePlan, inputs: CertificateInputs, measured: tuple[Measurements, Measurements]
) -> tuple[QualityRow, ...]:
    return quality_rows(inputs, *measured, margins=asdict(plan.margins), resampling=plan.resampling)


def _experiments(rows: Sequence[BiasRow]) -> list[str]:
    return [row.experiment for row in rows if row.experiment]


def _baseline_runs(folder: Path, baseline: TrivialBaseline | None) -> dict[str, str]:
    if baseline is None or not baseline.reached:
        return {}
    name = f"{BASELINE}/{MALOR_INSTRUMENT}"
    return {name: sha256_of_file(folder / name / RECORD_FILE)}


def _fingerprint(
    plan: CertificatePlan,
    before: ModelMeasurer,
    after: ModelMeasurer,
    mitigation: MitigationRecord | None,
) -> str:
    """Digest of all that determines a certificate."""
    determinants = {
        "models": [side.record.model_dump(mode="json", exclude={"device"}) for side in (before, after)],
        "runs": [side.fingerprints for side in (before, after)],
        "held out": [plan.held_out.sha256, plan.held_out.seed, plan.held_out.documents]
        if plan.held_out
        else None,
        "passages": plan.passages.sha256 if plan.passages else None,
        "training text": sha256_of("\n".join(plan.training_text).encode()) if plan.training_text else None,
        "labelled": [plan.labelled.name, plan.labelled.sha256] if plan.labelled else None,
        "trained": plan.trained,
        "mitigation": mitigation.model_dump(mode="json") if mitigation else None,
        "settings": _settings(plan),
        "statistics": statistics_record(plan.resampling).model_dump(mode="json"),
        "evenhand": EnvironmentRecord.current().evenhand,
        "kept": INPUTS_FILE,
        "schema": CERTIFICATE_SCHEMA_VERSION,
    }
    return sha256_of(json.dumps(determinants, sort_keys=True).encode())


def _digests(plan: CertificatePlan, measurements: Measurements) -> dict[str, str]:
    digests = data_digests(measurements)
    if plan.held_out:
        digests["held-out text"] = plan.held_out.sha256
    if plan.passages:
        digests["held-out passages"] = plan.passages.sha256
    if plan.labelled:
        digests[f"labelled text {plan.labelled.name}"] = plan.labelled.sha256
    return digests


def _settings(plan: CertificatePlan) -> dict[str, object]:
    settings: dict[str, object] = {"margins": asdict(plan.margins)}
    if plan.held_out:
        settings["held_out"] = {
            "sentences": len(plan.held_out.sentences),
            "documents": len(set(plan.held_out.documents)) or 1,
            "passages": len(plan.passages.sentences) if plan.passages else 0,
            "seed": plan.held_out.seed,
        }
    if plan.labelled:
        settings["finetuning"] = asdict(plan.finetuning)
    return settings
