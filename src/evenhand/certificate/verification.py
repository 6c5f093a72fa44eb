"""Certificates are read with everything in them computed again, from the runs and the inputs that lie beside them.

``evenhand.store.certificate_files`` makes sure that a file is as it was written, that its verdicts follow from its
rows, and that rows of bias are those of the runs. Here the rest is computed once more: what counts as trained on,
figures on text, flipped occupations, the summary of the mitigation, caveats and sentences. Nothing of it needs a model.

What only the two models could tell is believed: how far their weights are apart, and whether they read the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from evenhand.certificate.bias import bias_rows
from evenhand.certificate.caveats import caveats_of
from evenhand.certificate.derivation import MALOR_INSTRUMENT, data_digests, derived_fields
from evenhand.certificate.margins import wider_margins
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_verification import margins_of, verified_quality
from evenhand.certificate.text_quality import held_out_text_rows
from evenhand.core.errors import EvenhandError, RunError
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.store.certificate_files import (
    MAKE_ANEW,
    equal_figures,
    opened_runs,
    plain_figures,
    read_against_runs,
    resampling_of,
    runs_folder,
)
from evenhand.store.certificate_inputs import CertificateInputs, read_inputs
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.certificates import AFTER, BASELINE, BEFORE, SCORE_SHIFTS, Certificate, token_shifts
from evenhand.store.estimates_again import refuse_other_estimates
from evenhand.store.run import Run

_OF_TEXT = ("held-out text", "held-out passages")
_OF_LABELS = "labelled text "


def read_certificate(path: str | Path) -> Certificate:
    """A certificate from its JSON file, verified against the runs and the inputs beside it.

    Sentences of a certificate that another version wrote are replaced by those of this one.

    Raises:
        RunError: If it is no certificate, was changed, or says what does not follow from what lies beside it.
    """
    place = Path(path)
    certificate = read_against_runs(place)
    folder = runs_folder(place)
    try:
        inputs = read_inputs(folder, digest=certificate.inputs)
        sides = opened_runs(certificate, folder)
        for name in certificate.runs:
            side, _, instrument = name.partition("/")
            refuse_other_estimates(sides[side][instrument], folder / name)
        before, after = (Measurements(sides[side], inputs.gaps.get(side, {})) for side in (BEFORE, AFTER))
        fields = [name for name, given in _fields(certificate, inputs, before, after) if not given]
        fields += [] if _has_shifts(certificate, sides[BASELINE].values()) else ["baseline"]
        told = _sentences(certificate, before, after)
    except (EvenhandError, ValueError, IndexError, OverflowError) as problem:  # figures that fit no formula
        raise RunError(f"{place} cannot be verified: {problem}") from None
    if certificate.environment.evenhand == version("evenhand"):
        fields += [name for name, own in told.items() if own != getattr(certificate, name)]
    if fields:
        raise RunError(
            f"{place} says something else under {fields[0]!r} than what lies beside it gives. {MAKE_ANEW}"
        )
    return certificate.model_copy(update=told)


def _sentences(
    certificate: Certificate, before: Measurements, after: Measurements
) -> dict[str, tuple[str, ...]]:
    caveats = caveats_of(certificate, before, after)
    words = certificate_sentences(certificate.model_copy(update={"caveats": caveats}))
    return {"caveats": caveats, "words": tuple(words)}


def _fields(
    certificate: Certificate, inputs: CertificateInputs, before: Measurements, after: Measurements
) -> Iterator[tuple[str, bool]]:
    """Each field of a certificate, and whether it is what its inputs give."""
    resampling = resampling_of(certificate.statistics)
    rows = bias_rows(before, after, resampling=resampling)
    for name, value in derived_fields(rows, before, after, inputs, resampling=resampling).items():
        yield name, equal_figures(plain_figures(getattr(certificate, name)), plain_figures(value))
    yield "weights_changed", certificate.weights_changed == certificate.weights.any
    yield "outputs_changed", certificate.outputs_changed or not certificate.weights.any
    yield (
        "verdict",
        certificate.verdict.wider_margins
        == wider_margins(margins_of(inputs), of_lab=certificate.before.planted is not None),
    )
    yield "taken_over", _has_dates(certificate, {BEFORE: before, AFTER: after})
    yield "data", _has_data(certificate, before)
    yield "gaps", not any(own.gaps.keys() & own.runs.keys() for own in (before, after))
    yield from verified_quality(certificate, inputs, before, after)
    yield "baseline", _has_baseline(certificate, inputs, before, after)


def _has_data(certificate: Certificate, before: Measurements) -> bool:
    digests = data_digests(before)
    others = [name for name in certificate.data if name not in digests]
    return all(certificate.data.get(name) == digest for name, digest in digests.items()) and all(
        name in _OF_TEXT or name.startswith(_OF_LABELS) for name in others
    )


def _has_dates(certificate: Certificate, sides: Mapping[str, Measurements]) -> bool:
    """Whether runs that were taken over whole have the dates of their records; of other figures no run tells."""
    runs = {f"{side}/{name}": run for side, own in sides.items() for name, run in own.runs.items()}
    return all(
        own.measured >= runs[own.figures].record.created
        for own in certificate.taken_over
        if own.figures in runs
    )


def _has_baseline(
    certificate: Certificate, inputs: CertificateInputs, before: Measurements, after: Measurements
) -> bool:
    """Whether there is a baseline, or why not, exactly where occupations were asked of two models that differ."""
    is_needed = certificate.models_differ and all(MALOR_INSTRUMENT in own.runs for own in (before, after))
    return (certificate.baseline is not None) == is_needed and _has_baseline_quality(certificate, inputs)


def _has_shifts(certificate: Certificate, runs: Iterable[Run]) -> bool:
    """Whether the runs of the baseline were made with the shifts that are stated."""
    shifts = token_shifts(certificate.baseline.shifts if certificate.baseline else ())
    stated = {str(token): shift for token, shift in shifts.items()}
    return all(equal_figures(run.record.options.get(SCORE_SHIFTS), stated) for run in runs)


def _has_baseline_quality(certificate: Certificate, inputs: CertificateInputs) -> bool:
    baseline = certificate.baseline
    given: tuple[QualityRow | None, ...] = (None, None)
    if inputs.shifted is not None:
        margins = margins_of(inputs)
        given = held_out_text_rows(
            inputs.shifted,
            perplexity=margins["perplexity"],
            special=margins["special"],
            resampling=resampling_of(certificate.statistics),
        )
    stated = (baseline.perplexity, baseline.special) if baseline else (None, None)
    return equal_figures(plain_figures(stated), plain_figures(given))
