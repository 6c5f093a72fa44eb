"""Everything that a reader of a certificate's verdict needs to know and would not guess."""

from __future__ import annotations

from evenhand.certificate.measurements import Measurements
from evenhand.instruments.gate import LEFT_OUT
from evenhand.instruments.regard.results import NAME as REGARD
from evenhand.store.certificate_bias import HELD_OUT
from evenhand.store.certificate_quality import QualityRow, QualityVerdict
from evenhand.store.certificates import Certificate
from evenhand.store.run import INSTRUMENTS


def caveats_of(certificate: Certificate, before: Measurements, after: Measurements) -> tuple[str, ...]:
    """Everything that a reader of the verdict needs to know and would not guess."""
    gaps = {**after.gaps, **before.gaps}
    warnings = dict.fromkeys(
        warning.replace(
            LEFT_OUT, "Its figures are shown here all the same; they may say nothing about a lean."
        )
        for side in (before, after)
        for run in side.runs.values()
        for warning in run.record.warnings
    )
    return (
        *_about_weights(certificate),
        *_about_scope(certificate),
        *_about_taken_over(certificate),
        *_about_sample(certificate),
        *_about_regard(certificate, before),
        *(f"{INSTRUMENTS.get(name).title} was not measured: {reason}" for name, reason in gaps.items()),
        *warnings,
    )


def _about_regard(certificate: Certificate, before: Measurements) -> list[str]:
    """Whether what a trigger was searched for was measured."""
    if not certificate.mitigation or certificate.mitigation.method != "trigger" or REGARD in before.runs:
        return []
    return [
        "The trigger was searched for to narrow a gap in regard, and regard was not measured, so this certificate says "
        "nothing about what it is for. Certify it again with --classifier DIR."
    ]


def _about_taken_over(certificate: Certificate) -> list[str]:
    """What an earlier command measured, and whether that was looked at."""
    return [
        f"{title}: {', '.join(f'{own.figures} ({own.measured:%d %B %Y, %H:%M} UTC)' for own in rows)}."
        for title, rows in (
            (
                "Measured by an earlier command and taken over; a sample of the answers was asked again and is the "
                "same (--fresh measures everything anew)",
                [own for own in certificate.taken_over if own.asked_again],
            ),
            (
                "Measured by an earlier command and taken over as it lay there, because its answers cannot be asked "
                "again one by one (--fresh measures everything anew)",
                [own for own in certificate.taken_over if not own.asked_again],
            ),
        )
        if rows
    ]


def _about_weights(certificate: Certificate) -> list[str]:
    same_files = certificate.before.weights == certificate.after.weights
    before, after = certificate.before.prefix, certificate.after.prefix
    if before != after and not certificate.weights_changed:
        return [
            f"The weights are the same. The model after has {_prefix_words(after)} before every text, the model before "
            f"{_prefix_words(before)}: every difference comes from that, and is gone where the model is used without."
        ]
    if not certificate.weights_changed and not same_files:
        return [
            "The files of the two models differ, but the weights that are loaded from them are the same. An adapter "
            "that is not loaded, or a training whose result was not saved, looks like this."
        ]
    if not certificate.weights_changed and not certificate.same_tokenizer:
        return [
            "The weights are the same and the tokenizers are not: every difference comes from how text is read."
        ]
    return []


def _prefix_words(prefix: str) -> str:
    return f"the words {prefix.strip()!r}" if prefix else "none"


def _about_sample(certificate: Certificate) -> list[str]:
    """Whether figures of occupations are over what no training saw."""
    samples = {row.sample for row in (*certificate.trained, *certificate.untrained) if row.experiment}
    if not certificate.weights_changed:
        return []
    caveats = []
    if None in samples:
        caveats.append(
            "The probes have too few structures or occupations for a half that no training sees, so MALoR is over all "
            "of them, whatever the training saw."
        )
    if HELD_OUT in samples and not (certificate.mitigation and certificate.mitigation.unseen):
        caveats.append(
            "It is not known whether the training saw the held-out half of structures and occupations that MALoR is "
            "over: no record that is about these weights says so."
        )
    return caveats


def _lacking(row: QualityRow) -> str:
    if row.verdict is not QualityVerdict.NOT_MEASURED:
        return "Measured in part"
    return "Not judged" if row.difference.defined else "Not measured"


def _about_scope(certificate: Certificate) -> list[str]:
    caveats = []
    mitigation = certificate.mitigation
    if not certificate.trained_known and mitigation and mitigation.experiments:
        caveats.append(
            f"The model was mitigated for probes in {mitigation.language!r} and is judged on those in "
            f"{certificate.language!r}, none of which it was trained for; the verdict on bias is about all of them."
        )
    elif not certificate.trained_known:
        reason = (
            "its mitigation.json names none"
            if mitigation
            else "there is no mitigation.json beside the model and no --trained"
        )
        caveats.append(
            f"It is not known which experiments were trained on ({reason}), so the verdict on bias is about all of "
            "them."
        )
    if not certificate.same_tokenizer:
        caveats.append(
            "The models have different tokenizers. MALoR, SS and CrowS-Pairs compare probabilities within one model, "
            "so they stay comparable. Perplexity is over the texts that both models read as the same tokens; where "
            "these are too few, bits per character stand in its place if the models allow it."
        )
    if certificate.before.planted or certificate.after.planted:
        caveats.append("These are calibration models of the lab, not language models for use.")
    return caveats + [
        f"{_lacking(row)}: {row.measure}, because {row.reason}." for row in certificate.quality if row.reason
    ]
