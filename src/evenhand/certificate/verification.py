"""Certificates are read with everything in them computed again, from the runs and the inputs that lie beside them.

``evenhand.runs.certificate_files`` makes sure that a file is as it was written, that its verdicts follow from its rows,
and that rows of bias are those of the runs. Here the rest is computed once more: what counts as trained on, figures on
text, flipped occupations, the summary of the mitigation, caveats and sentences. Nothing of it needs a model.

What only the two models could tell is believed: how far their weights are apart, and whether they read the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.certificate.bias import bias_rows
from evenhand.certificate.caveats import caveats_of
from evenhand.certificate.derivation import data_digests, derived_fields
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_figures import (
    ACCURACY,
    BITS,
    accuracy_of_answers,
    held_out_text_row,
    passages_text_row,
    perplexity_row,
)
from evenhand.certificate.regard import regard_quality_rows
from evenhand.core.errors import EvenhandError, RunError
from evenhand.core.frozen import FrozenModel
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.runs.certificate_files import (
    MAKE_ANEW,
    equal_figures,
    opened_runs,
    read_against_runs,
    resampling_of,
    runs_folder,
)
from evenhand.runs.certificate_inputs import CertificateInputs, TextLosses, read_inputs
from evenhand.runs.certificate_quality import QualityRow, QualityVerdict
from evenhand.runs.certificates import AFTER, BEFORE, Certificate
from evenhand.runs.mitigation_records import PERPLEXITY, PERPLEXITY_IN_PASSAGES

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
    if certificate.schema_version == 1:
        return certificate  # it has no inputs
    folder = runs_folder(place)
    try:
        inputs = read_inputs(folder, digest=certificate.inputs)
        sides = opened_runs(certificate, folder)
        before, after = (Measurements(sides[side], inputs.gaps.get(side, {})) for side in (BEFORE, AFTER))
        fields = [name for name, given in _fields(certificate, inputs, before, after) if not given]
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
        yield name, equal_figures(_plain(getattr(certificate, name)), _plain(value))
    yield "weights_changed", certificate.weights_changed == certificate.weights.any
    yield "data", _has_data(certificate, before)
    yield "gaps", not any(own.gaps.keys() & own.runs.keys() for own in (before, after))
    for row in _text_rows(certificate, inputs, before, after):
        yield row.measure, _states(certificate, row)
    yield "quality", _measured_without_inputs(certificate, inputs) is None
    yield "baseline", _has_baseline_perplexity(certificate, inputs)


def _has_data(certificate: Certificate, before: Measurements) -> bool:
    digests = data_digests(before)
    others = [name for name in certificate.data if name not in digests]
    return all(certificate.data.get(name) == digest for name, digest in digests.items()) and all(
        name in _OF_TEXT or name.startswith(_OF_LABELS) for name in others
    )


def _text_rows(
    certificate: Certificate, inputs: CertificateInputs, before: Measurements, after: Measurements
) -> Iterator[QualityRow]:
    """Rows of quality that no instrument gives."""
    resampling = resampling_of(certificate.statistics)
    margins = _margins(inputs)
    if inputs.held_out:
        yield held_out_text_row(
            inputs.held_out,
            same_tokens=certificate.same_tokenizer,
            margin=margins["perplexity"],
            resampling=resampling,
        )
    if inputs.passages:
        yield passages_text_row(inputs.passages, margin=margins["perplexity"], resampling=resampling)
    if inputs.answers:
        yield accuracy_of_answers(
            np.array(inputs.answers.before, dtype=np.float64),
            np.array(inputs.answers.after, dtype=np.float64),
            margin=-margins["accuracy"],
            confidence=resampling.confidence,
        )
    yield from regard_quality_rows(
        before, after, distinct=margins["distinct"], content=margins["content"], resampling=resampling
    )


def _margins(inputs: CertificateInputs) -> Mapping[str, float]:
    margins = inputs.settings.get("margins")
    if not isinstance(margins, dict) or not all(isinstance(value, int | float) for value in margins.values()):
        raise RunError("its inputs have no margins")
    missing = {"perplexity", "accuracy", "distinct", "content"} - margins.keys()
    if missing:
        raise RunError(f"its inputs have no margin of {min(missing)}")
    return margins


def _states(certificate: Certificate, row: QualityRow) -> bool:
    own = [stated for stated in certificate.quality if stated.measure == row.measure]
    return len(own) == 1 and equal_figures(_plain(own[0]), _plain(row))


def _measured_without_inputs(certificate: Certificate, inputs: CertificateInputs) -> QualityRow | None:
    """A row that is said to be measured, and of which there are no figures."""
    missing = {
        measure
        for measures, figures in (
            ((PERPLEXITY, BITS), inputs.held_out),
            ((PERPLEXITY_IN_PASSAGES,), inputs.passages),
            ((ACCURACY,), inputs.answers),
        )
        if figures is None
        for measure in measures
    }
    return next(
        (
            row
            for row in certificate.quality
            if row.measure in missing and row.verdict is not QualityVerdict.NOT_MEASURED
        ),
        None,
    )


def _has_baseline_perplexity(certificate: Certificate, inputs: CertificateInputs) -> bool:
    stated = certificate.baseline.perplexity if certificate.baseline else None
    if stated is None or stated.verdict is QualityVerdict.NOT_MEASURED:
        return inputs.shifted is None
    text: TextLosses | None = inputs.held_out
    if inputs.shifted is None or text is None:
        return False
    row = perplexity_row(
        text.before.figures.loss,
        inputs.shifted.figures.loss,
        margin=_margins(inputs)["perplexity"],
        resampling=resampling_of(certificate.statistics),
        documents=np.array(text.documents),
    )
    return equal_figures(_plain(stated), _plain(row))


def _plain(value: Any) -> Any:
    """A field as JSON has it: an undefined figure is none there, and other machines may differ in the last digits."""
    if isinstance(value, FrozenModel):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return value
