"""What must be said beside a verdict."""

from __future__ import annotations

from evenhand.certificate.measuring import Measurements
from evenhand.runs.certificates import Certificate, QualityVerdict


def caveats_of(certificate: Certificate, before: Measurements, after: Measurements) -> tuple[str, ...]:
    """Everything that a reader of the verdict needs to know and would not guess."""
    found = [*_about_weights(certificate), *_about_scope(certificate)]
    for measured in (before, after):
        if measured.no_associations:
            found.append(f"The association tests were not done: {measured.no_associations}.")
            break
    warnings = dict.fromkeys(
        warning
        for measured in (before, after)
        for warning in (
            *measured.occupations.record.warnings,
            *(measured.associations.result.warnings if measured.associations else ()),
        )
    )
    return (*found, *warnings)


def _about_weights(certificate: Certificate) -> list[str]:
    same_files = certificate.before.weights == certificate.after.weights
    if not certificate.weights_changed and not same_files:
        return [
            "The files of the two models differ, but the weights that are loaded from them are the same. An adapter "
            "that is not loaded, or a training whose result was not saved, looks like this."
        ]
    if certificate.weights_changed and not certificate.outputs_changed:
        return [
            "The weights differ, but not one answer about an occupation does. What was changed plays no part in the "
            "model's predictions: look whether an adapter is active and whether the right model was saved."
        ]
    if not certificate.weights_changed and not certificate.same_tokenizer:
        return [
            "The weights are the same and the tokenizers are not: every difference comes from how text is read."
        ]
    return []


def _about_scope(certificate: Certificate) -> list[str]:
    found = []
    done = certificate.mitigation
    if not certificate.trained_known and done:
        found.append(
            f"The model was mitigated for probes in {done.language!r} and is judged on those in "
            f"{certificate.language!r}, none of which it was trained for; the verdict on bias is about all of them."
        )
    elif not certificate.trained_known:
        found.append(
            "It is not known which experiments were trained on (there is no mitigation.json beside the model and no "
            "--trained), so the verdict on bias is about all of them."
        )
    if not certificate.same_tokenizer:
        found.append(
            "The models have different tokenizers. MALoR, SS and CrowS-Pairs compare probabilities within one model, "
            "so they stay comparable; perplexity per token does not, and bits per character stand in its place where "
            "the models allow it."
        )
    if certificate.before.planted or certificate.after.planted:
        found.append("These are calibration models of the lab, not language models for use.")
    missing = [row for row in certificate.quality if row.verdict is QualityVerdict.NOT_MEASURED]
    found += [f"Not measured: {row.measure}, because {row.reason}." for row in missing if row.reason]
    return found
