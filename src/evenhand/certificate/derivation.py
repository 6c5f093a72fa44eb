"""Fields of a certificate that follow from the runs of both models and from its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.certificate.bias import (
    KeyedRow,
    flipped_occupations,
    groups_of,
    lean_changes,
    split_by_training,
)
from evenhand.certificate.knowledge import reported_rows
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.mitigated import summarise, trained_figures
from evenhand.certificate.regard import trigger_figures
from evenhand.instruments.regard.results import NAME as REGARD
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import ALL_PROBES
from evenhand.store.certificate_inputs import CertificateInputs
from evenhand.store.mitigation_records import MitigationRecord

MALOR_INSTRUMENT = "malor"


def derived_fields(
    rows: Sequence[KeyedRow],
    before: Measurements,
    after: Measurements,
    inputs: CertificateInputs,
    *,
    resampling: Resampling,
) -> dict[str, Any]:
    """Everything in a certificate that is computed from runs and inputs alone, by field.

    Args:
        rows: What the runs of both models give, of every instrument.
        before: Runs of the original.
        after: Runs of the mitigated model; those of the original where both are the same.
        inputs: What else the certificate is made from.
        resampling: Resamples, seed and confidence level.
    """
    language = next(iter(before.runs.values())).record.language
    trained = inputs.chosen_as_trained or _trained_for(inputs.mitigation, language, before)
    judged, others = split_by_training([keyed for keyed in rows if keyed.row.sample != ALL_PROBES], trained)
    probes = [side.runs[MALOR_INSTRUMENT] for side in (before, after) if MALOR_INSTRUMENT in side.runs]
    both_probed = len(probes) == 2
    return {
        "language": language,
        "trained": tuple(judged),
        "untrained": tuple(others),
        "whole": tuple(keyed.row for keyed in rows if keyed.row.sample == ALL_PROBES),
        "trained_known": trained is not None,
        "reported": reported_rows(before, after, resampling=resampling),
        "flipped": tuple(flipped_occupations(*probes, confidence=resampling.confidence))
        if both_probed
        else (),
        "occupations": tuple(lean_changes(*probes)) if both_probed else (),
        "groups": groups_of(probes[0]) if probes else {},
        "outputs_changed": outputs_differ(before, after),
        "mitigation": summarise(inputs.mitigation) if inputs.mitigation else None,
        "settings": inputs.settings,
    }


def outputs_differ(before: Measurements, after: Measurements) -> bool:
    """Whether any answer to any question differs."""
    return any(
        name not in after.runs or not run.scores.equals(after.runs[name].scores)
        for name, run in before.runs.items()
    )


def data_digests(measured: Measurements) -> dict[str, str]:
    """SHA-256 of what runs were measured on, by name."""
    return {run.record.dataset.name: run.record.dataset.sha256 for run in measured.runs.values()}


def _trained_for(
    mitigation: MitigationRecord | None, language: str, measured: Measurements
) -> tuple[str, ...] | None:
    """What a mitigation was trained on, if that is known of these very weights and of this language."""
    if mitigation is None or mitigation.language not in (None, language):
        return None
    if mitigation.trigger is not None:
        return trigger_figures(mitigation.trigger) if REGARD in measured.runs else None
    return trained_figures(mitigation) or None
