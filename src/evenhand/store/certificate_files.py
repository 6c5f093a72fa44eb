"""Certificates on disk: written with hashes of what they are made of, and verified when they are read.

A certificate stands for the runs behind it, which lie in a folder of its name beside it. Reading it makes sure that

- nothing in it was changed since it was written;
- its verdicts follow from its rows;
- the runs are the ones that it was made from and of the models that it names, and its rows of bias, LMS and knowledge
  are what they give.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from evenhand.core.errors import EvenhandError, RunError, fault
from evenhand.core.files import load_json, read_stored, sha256_of
from evenhand.core.frozen import FrozenModel
from evenhand.core.inputs import checked_path
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import ALL_PROBES, BiasRow
from evenhand.store.certificate_evidence import flattened_between
from evenhand.store.certificate_quality import QualityRow, QualityVerdict, judged_quality
from evenhand.store.certificates import (
    AFTER,
    BASELINE,
    BEFORE,
    CERTIFICATE_SCHEMA_VERSION,
    Certificate,
    verdict_of,
)
from evenhand.store.records import RECORD_FILE, ModelRecord, StatisticsRecord, refuse_other_format
from evenhand.store.run import INSTRUMENTS, Run, open_run

_DIGEST = "sha256"
MAKE_ANEW = "Make it anew: evenhand certify BEFORE AFTER --fresh."


def runs_folder(place: Path) -> Path:
    """Where the runs of both models lie, beside the certificate at a place."""
    return place.with_suffix("")


def sealed(certificate: Certificate) -> Certificate:
    """A certificate with the digest of all that is in it."""
    document = json.loads(certificate.model_dump_json())
    return certificate.model_copy(update={_DIGEST: _digest_of(document)})


def fingerprint_of_certificate(path: Path) -> str | None:
    """The fingerprint of the certificate at a place; None if there is no file."""
    return _parsed(path)[0].fingerprint if path.exists() else None


def read_against_runs(path: str | Path) -> Certificate:
    """A certificate from its JSON file, verified against the runs beside it, but not against its other inputs.

    Raises:
        RunError: If it is no certificate, was changed, or is not what its runs give.
    """
    place = checked_path(path, error=RunError)
    certificate, document = _parsed(place)
    if _digest_of(document) != certificate.sha256:
        raise RunError(f"{place} was changed after it was made. {MAKE_ANEW}")
    _refuse_other_verdicts(certificate, place)
    _refuse_other_runs(certificate, place)
    return certificate


def _parsed(place: Path) -> tuple[Certificate, dict[str, Any]]:
    if not place.exists():
        raise RunError(f"There is no certificate {place}. Make one with: evenhand certify BEFORE AFTER.")
    try:
        document = load_json(read_stored(place, error=RunError).decode())
        refuse_other_format(document, CERTIFICATE_SCHEMA_VERSION, place, advice=MAKE_ANEW)
        return Certificate.model_validate(document), document
    except (ValidationError, ValueError) as problem:
        raise RunError(f"{place} is no certificate of this version ({fault(problem)}).") from None


def _digest_of(document: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in document.items() if name != _DIGEST}
    return sha256_of(json.dumps(rest, sort_keys=True).encode())


def _refuse_other_verdicts(certificate: Certificate, place: Path) -> None:
    for row in certificate.quality:
        if row.verdict not in (QualityVerdict.NOT_MEASURED, judged_quality(row.difference, row.margin)):
            raise RunError(
                f"{place} calls {row.measure} {row.verdict}, which its interval does not show. {MAKE_ANEW}"
            )
    verdict = verdict_of(certificate)
    if certificate.verdict != verdict:
        raise RunError(
            f"{place} says that bias was {certificate.verdict.bias} and quality {certificate.verdict.quality}; its "
            f"rows say {verdict.bias} and {verdict.quality}. {MAKE_ANEW}"
        )


def _refuse_missing_sides(certificate: Certificate, place: Path) -> None:
    """Refuse a certificate that names no run of a model: nothing that it says of the model could be verified."""
    sides = {name.partition("/")[0] for name in certificate.runs}
    for side in (BEFORE, AFTER) if certificate.models_differ else (BEFORE,):
        if side not in sides:
            raise RunError(
                f"{place} names no run of the model {side} the mitigation, so it cannot be verified. {MAKE_ANEW}"
            )


def _refuse_other_runs(certificate: Certificate, place: Path) -> None:
    _refuse_missing_sides(certificate, place)
    folder = runs_folder(place)
    for name, digest in certificate.runs.items():
        record = folder / name / RECORD_FILE
        if not record.is_file():
            raise RunError(
                f"{place} was made from the run {folder / name}, which is not there. Keep the folder {folder.name} "
                "beside the certificate."
            )
        if sha256_of(read_stored(record, error=RunError)) != digest:
            raise RunError(f"{folder / name} is not the run that {place} was made from. {MAKE_ANEW}")
    try:
        sides = opened_runs(certificate, folder)
        _refuse_other_models(certificate, sides)
        rows = _rows_between(certificate, sides[BEFORE], sides[AFTER])
        baseline = certificate.baseline
        for stated, pair in (
            (baseline.reached if baseline else (), (BEFORE, BASELINE)),
            (baseline.against if baseline else (), (BASELINE, AFTER)),
        ):
            given = _rows_between(certificate, *(sides[side] for side in pair))
            if not _are_the_rows(stated, [row for row in given if row.sample != ALL_PROBES]):
                raise RunError(f"{place} states another trivial baseline than its runs give. {MAKE_ANEW}")
        _refuse_other_quality(certificate, place, sides)
        _refuse_other_flattening(certificate, place, sides)
    except EvenhandError as problem:
        raise RunError(f"{place} cannot be verified: {problem}") from None
    own = (*certificate.trained, *certificate.untrained, *certificate.whole)
    if not _are_the_rows(own, rows):
        raise RunError(f"{place} states other figures of bias than its runs give. {MAKE_ANEW}")


def _refuse_other_models(certificate: Certificate, sides: Mapping[str, Mapping[str, Run]]) -> None:
    """Refuse models that are not those of the runs; a side that was not measured has the runs of the other."""
    measured = {name.partition("/")[0] for name in certificate.runs}
    models = ((BEFORE, certificate.before), (AFTER, certificate.after), (BASELINE, certificate.before))
    for side, stated in models:
        for run in sides[side].values() if side in measured else ():
            model = run.record.model
            if model is not None and _identity(model) != _identity(stated):
                raise RunError(
                    f"it names the model {stated.id} {side} the mitigation, and its runs were made with {model.id} or "
                    f"with other weights. {MAKE_ANEW}"
                )


def _identity(model: ModelRecord) -> dict[str, Any]:
    return model.model_dump(exclude={"device"})  # it may be measured on another one


def is_certificate(path: Path) -> bool:
    """Whether a file says that it is a certificate, true or not."""
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        document = load_json(read_stored(path, error=RunError).decode())
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("kind") == "certificate"


@runtime_checkable
class JudgesQuality(Protocol):
    """An instrument that measures what must not be lost."""

    quality_measures: tuple[str, ...]
    """The names of its rows in a certificate."""

    def quality_rows(
        self, before: Run, after: Run, *, margins: Mapping[str, float], resampling: Resampling
    ) -> tuple[QualityRow, ...]:
        """What a certificate says of it, against margins by measure."""
        ...


def _refuse_other_quality(
    certificate: Certificate, place: Path, sides: Mapping[str, Mapping[str, Run]]
) -> None:
    """Refuse rows of quality that are not what runs give; text and labels behind the others lie in no run."""
    resampling = resampling_of(certificate.statistics)
    stated = {row.measure: row for row in certificate.quality}
    for name, run in sides[BEFORE].items():
        instrument = INSTRUMENTS.get(run.record.instrument)
        if name not in sides[AFTER] or not isinstance(instrument, JudgesQuality):
            continue
        own = {measure: stated.get(measure) for measure in instrument.quality_measures}
        margins = {measure: row.margin if row else -math.inf for measure, row in own.items()}
        given = {
            row.measure: row
            for row in instrument.quality_rows(
                run, sides[AFTER][name], margins=margins, resampling=resampling
            )
        }
        for measure, row in own.items():
            rows = [side.model_dump() if side else None for side in (row, given.get(measure))]
            if not equal_figures(*rows):
                raise RunError(f"{place} states another {measure} than its runs give. {MAKE_ANEW}")


def _refuse_other_flattening(
    certificate: Certificate, place: Path, sides: Mapping[str, Mapping[str, Run]]
) -> None:
    """Refuse a verdict that rests on other evidence than that of the runs."""
    given = (
        flattened_between(sides[BEFORE], sides[AFTER], resampling=resampling_of(certificate.statistics))
        if certificate.models_differ
        else ()
    )
    if not equal_figures(
        {row.measure: row.model_dump() for row in certificate.flattened},
        {row.measure: row.model_dump() for row in given},
    ):
        raise RunError(f"{place} states other evidence than its runs give. {MAKE_ANEW}")


def opened_runs(certificate: Certificate, folder: Path) -> dict[str, dict[str, Run]]:
    """The runs of each side, by instrument."""
    sides: dict[str, dict[str, Run]] = {BEFORE: {}, AFTER: {}, BASELINE: {}}
    for name in certificate.runs:
        side, _, instrument = name.partition("/")
        sides[side][instrument] = open_run(folder / name)
    sides[AFTER] = sides[AFTER] or sides[BEFORE]  # a model that is the same was not measured twice
    return sides


def _rows_between(
    certificate: Certificate, before: Mapping[str, Run], after: Mapping[str, Run]
) -> list[BiasRow]:
    """What runs give: one row per figure of every instrument that measured both models."""
    return [
        row
        for name, run in before.items()
        if name in after
        for row in INSTRUMENTS.get(run.record.instrument)
        .bias_rows(run, after[name], resampling=resampling_of(certificate.statistics))
        .values()
    ]


def _are_the_rows(stated: Sequence[BiasRow], rows: Sequence[BiasRow]) -> bool:
    """Whether the rows that are stated are those that runs give, in whatever order."""
    given = [row.model_dump() for row in rows]
    return sorted(row.measure for row in stated) == sorted(row.measure for row in rows) and all(
        any(equal_figures(row.model_dump(), other) for other in given) for row in stated
    )


def resampling_of(statistics: StatisticsRecord) -> Resampling:
    """How figures were resampled."""
    return Resampling(statistics.resamples, statistics.seed, statistics.confidence)


def equal_figures(one: Any, other: Any) -> bool:
    """Whether two values are the same but for the last digits, in which other machines may compute differently."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal_figures(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal_figures, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def plain_figures(value: Any) -> Any:
    """A field as JSON has it, where an undefined figure is none."""
    if isinstance(value, FrozenModel):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [plain_figures(entry) for entry in value]
    if isinstance(value, dict):
        return {name: plain_figures(entry) for name, entry in value.items()}
    return value
