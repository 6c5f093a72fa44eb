"""Regard classifiers as folders: safetensors and JSON, each file with its hash. Nothing in them can run code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import ValidationError

from evenhand.core.errors import EvenhandError, RunError, fault
from evenhand.core.files import is_file_name, load_json, read_stored, sha256_of, write_bytes, write_text
from evenhand.core.labels import LabelScheme
from evenhand.core.tables import parquet_bytes
from evenhand.regard.features import FEATURES, ComponentState, MissingEmbeddings, TextRows, split_name
from evenhand.regard.fitting import FittedClassifier
from evenhand.regard.heads import HEADS
from evenhand.regard.persons import PersonTreatment, person_words
from evenhand.reporting.regard.checks import bias_warning
from evenhand.reporting.regard.page import render_classifier_page
from evenhand.stats.classification import Integers
from evenhand.stats.resampling import Floats
from evenhand.store.classifier_records import (
    CHECK_FILE,
    CLASSIFIER_FORMAT,
    CheckVerdict,
    ClassifierCheck,
    ClassifierRecord,
    ClassifierReport,
    KeptChecks,
    worst_verdict,
)
from evenhand.store.jobs import Job
from evenhand.store.records import ESTIMATES_FILE, PAGE_FILE, RECORD_FILE

SCHEME_FILE = "scheme.json"
PREDICTIONS_TABLE = "predictions.parquet"

_FEATURES, _HEAD = "features", "head"

_LABELLED_TOGETHER = 10_000
"""Texts at a time, so that memory stays small."""


@dataclass(frozen=True, slots=True, eq=False)
class TextLabels:
    """The label of each text, and the probabilities behind it."""

    scheme: LabelScheme
    indices: Integers
    probabilities: Floats

    @property
    def codes(self) -> list[str]:
        """The codes of the labels."""
        return [self.scheme.codes[index] for index in self.indices]

    def to_frame(self, texts: Sequence[str]) -> pl.DataFrame:
        """One row per text: the text, its label and the probability of each."""
        columns: dict[str, Any] = {"text": list(texts), "label": self.codes}
        for number, code in enumerate(self.scheme.codes):
            columns[f"p({code})"] = self.probabilities[:, number]
        return pl.DataFrame(columns)


@dataclass(frozen=True, slots=True, eq=False)
class RegardClassifier:
    """A classifier with its record, its figures and what is known about its own bias.

    Attributes:
        fitted: Features and head.
        scheme: The labels.
        record: How it was trained.
        report: Its figures.
        checks: Of its own bias, one for each set of texts and persons.
        place: The folder that it was opened from; None while it is being made.
    """

    fitted: FittedClassifier
    scheme: LabelScheme
    record: ClassifierRecord
    report: ClassifierReport
    checks: tuple[ClassifierCheck, ...] = ()
    place: Path | None = None

    @property
    def verdict(self) -> CheckVerdict | None:
        """The worst verdict of its checks; None if it was never checked."""
        return worst_verdict(self.checks)

    def label(self, texts: Sequence[str], *, embeddings: str | Path | None = None) -> TextLabels:
        """Label texts.

        Args:
            texts: Any texts; each needs at least one character that is no space.
            embeddings: For a classifier over embeddings that were computed elsewhere: those of the texts.
        """
        for number, text in enumerate(texts):
            if not text.strip():
                raise EvenhandError(
                    f"Text {number + 1:,} of {len(texts):,} is empty. Remove it: there is nothing to label."
                )
        rows = TextRows.of(texts)
        fitted = self.fitted
        if embeddings is not None:
            if not isinstance(fitted.features, MissingEmbeddings):
                raise EvenhandError(
                    f"The classifier {self.record.name} makes its own features. Leave out --embeddings."
                )
            fitted = replace(fitted, features=fitted.features.given(Path(embeddings), rows))
        if not len(rows):
            empty = np.empty((0, len(self.scheme.codes)))
            return TextLabels(self.scheme, np.empty(0, dtype=np.int64), empty)
        starts = range(0, len(rows), _LABELLED_TOGETHER)
        probabilities = np.concatenate(
            [
                fitted.probabilities(rows.take(np.arange(start, min(start + _LABELLED_TOGETHER, len(rows)))))
                for start in starts
            ]
        )
        return TextLabels(self.scheme, probabilities.argmax(axis=1), probabilities)

    @property
    def bias_warning(self) -> str | None:
        """What every analysis with this classifier has to say about its own bias; None if checks found none."""
        return bias_warning(self.checks, str(self.place or self.record.name))

    def save(self, job: Job, *, predictions: pl.DataFrame, page: str) -> Path:
        """Write the folder whole.

        Args:
            job: The job that makes it.
            predictions: Rows that were not trained on, with their probabilities.
            page: The page, as HTML.
        """
        files = self._component_files() | {
            SCHEME_FILE: self.scheme.model_dump_json(indent=1).encode(),
            ESTIMATES_FILE: self.report.model_dump_json(indent=1).encode(),
            PREDICTIONS_TABLE: parquet_bytes(predictions),
            PAGE_FILE: page.encode(),
        }
        hashes = {name: sha256_of(content) for name, content in files.items()}
        record = self.record.model_copy(update={"files": hashes})
        with job.result_folder() as scratch:
            for name, content in files.items():
                (scratch / name).write_bytes(content)
            (scratch / RECORD_FILE).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
        return job.place

    def _component_files(self) -> dict[str, bytes]:
        return _written(_FEATURES, self.fitted.features.state()) | _written(_HEAD, self.fitted.head.state())


def open_classifier(folder: str | Path, *, device: str = "auto") -> RegardClassifier:
    """A classifier from its folder, every file of which is checked against its hash.

    Args:
        folder: Of the classifier.
        device: Where networks among its parts run: cpu, cuda, or auto for a GPU where there is one.

    Raises:
        RunError: If the folder is not a classifier's, is damaged, or is of another version.
    """
    place = Path(folder)
    record = read_classifier_record(place)
    contents = {name: _verified(place, name, digest) for name, digest in record.files.items()}
    try:
        scheme = LabelScheme.model_validate_json(contents[SCHEME_FILE])
        report = ClassifierReport.model_validate_json(contents[ESTIMATES_FILE])
        _refuse_other_classes(record, scheme, report)
        fitted = _restored(record, contents, device=device)
        _refuse_parts_that_do_not_fit(fitted, classes=len(record.classes))
    except KeyError as problem:
        raise RunError(f"{place} lacks {problem}. Train the classifier again.") from None
    except (
        ValueError,
        TypeError,
        RuntimeError,
    ) as problem:  # torch and XGBoost refuse weights in their own ways
        raise RunError(f"{place} is damaged ({fault(problem)}). Train the classifier again.") from None
    return RegardClassifier(
        fitted, scheme, record, report, checks=_read_checks(place, record).checks, place=place
    )


def _refuse_other_classes(record: ClassifierRecord, scheme: LabelScheme, report: ClassifierReport) -> None:
    """Refuse parts of a folder that are about other classes than its record."""
    parts = (report.folds, report.test, *((report.unanimous,) if report.unanimous else ()))
    told = [tuple(scheme.codes), *(tuple(own.label for own in part.classes) for part in parts)]
    if any(classes != record.classes for classes in told):
        raise ValueError("its parts are about different classes")


def _refuse_parts_that_do_not_fit(fitted: FittedClassifier, *, classes: int) -> None:
    """Label one word: features and head may be intact, and of two classifiers."""
    if isinstance(fitted.features, MissingEmbeddings):
        return
    probabilities = fitted.probabilities(TextRows.of(["word"]))
    if probabilities.shape != (1, classes) or not np.isclose(probabilities.sum(), 1.0):
        raise ValueError("its features and its head do not fit together")


def read_classifier_record(place: Path) -> ClassifierRecord:
    """The record of a classifier's folder, refused if it is of another version."""
    if not (place / RECORD_FILE).is_file():
        raise RunError(
            f"{place} is not a classifier: it has no {RECORD_FILE}. Train one with: evenhand regard train"
        )
    content = read_stored(place / RECORD_FILE, error=RunError)
    try:
        document = load_json(content.decode())
        layout = document.get("format") if isinstance(document, dict) else None
        if layout != CLASSIFIER_FORMAT:
            made_by = document.get("environment", {}).get("evenhand") if isinstance(document, dict) else None
            raise RunError(
                f"{place} is in the format {layout!r}{f', written by Evenhand {made_by}' if made_by else ''}; this "
                f"version reads {CLASSIFIER_FORMAT!r}. Train the classifier again, or use the version that wrote it."
            )
        return ClassifierRecord.model_validate(document)
    except (ValidationError, ValueError, AttributeError) as problem:
        raise RunError(
            f"{place / RECORD_FILE} is damaged ({fault(problem)}). Train the classifier again."
        ) from None


def classifier_fingerprint(place: Path) -> str | None:
    """The fingerprint of the classifier at a place; None if nothing is there."""
    if not place.exists():
        return None
    if place.is_dir() and not any(place.iterdir()):
        return None
    if not (place / RECORD_FILE).is_file():
        raise RunError(f"{place} is there and holds something else. Choose another place with --out.")
    return read_classifier_record(place).fingerprint


def write_check(folder: str | Path, check: ClassifierCheck) -> Path:
    """Mark a classifier with the result of a check, beside those of other texts and persons, and make its page anew."""
    place = Path(folder)
    record = read_classifier_record(place)
    kept = _read_checks(place, record).with_check(check)
    path = place / CHECK_FILE
    write_text(path, kept.model_dump_json(indent=1) + "\n")
    scheme = LabelScheme.model_validate_json(_verified(place, SCHEME_FILE, record.files[SCHEME_FILE]))
    report = ClassifierReport.model_validate_json(
        _verified(place, ESTIMATES_FILE, record.files[ESTIMATES_FILE])
    )
    page = render_classifier_page(record, report, scheme=scheme, checks=kept.checks).encode()
    # While the page changes, the record has no hash of it: a process that is killed leaves a folder that opens.
    others = {name: digest for name, digest in record.files.items() if name != PAGE_FILE}
    for files, content in ((others, page), ({**others, PAGE_FILE: sha256_of(page)}, None)):
        write_text(
            place / RECORD_FILE, record.model_copy(update={"files": files}).model_dump_json(indent=1) + "\n"
        )
        if content is not None:
            write_bytes(place / PAGE_FILE, content)
    return path


def _read_checks(place: Path, record: ClassifierRecord) -> KeptChecks:
    path = place / CHECK_FILE
    if not path.exists():
        return KeptChecks(checks=())
    try:
        kept = KeptChecks.model_validate_json(read_stored(path, error=RunError))
    except ValueError as problem:
        raise RunError(f"{path} is damaged ({fault(problem)}). Check the classifier again.") from None
    # A check of the classifier that was in this folder before says nothing about this one.
    return KeptChecks(checks=tuple(own for own in kept.checks if own.classifier == record.fingerprint))


def _written(component: str, state: ComponentState) -> dict[str, bytes]:
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}
    settings = json.dumps(dict(state.settings), ensure_ascii=False).encode()
    files = {f"{component}.json": settings, f"{component}.safetensors": save(arrays)}
    for name, content in state.files.items():
        if not is_file_name(name):
            raise ValueError(f"{name!r} cannot be a file of a classifier")
        files[f"{component}-{name}"] = content
    return files


def _state(component: str, contents: Mapping[str, bytes]) -> ComponentState:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: dict[str, npt.NDArray[Any]] = load(contents[f"{component}.safetensors"])
    except SafetensorError as problem:
        raise ValueError(str(problem)) from None
    settings = load_json(contents[f"{component}.json"].decode())
    if not isinstance(settings, dict):
        raise ValueError(f"{component}.json holds no settings")  # noqa: TRY004 # a fault of the file
    for name, array in arrays.items():
        # Minus infinity is the intercept of a class that nothing was trained on.
        if array.dtype.kind == "f" and (np.isnan(array).any() or np.isposinf(array).any()):
            raise ValueError(f"{name} of {component}.safetensors has values that are no numbers")
    prefix = f"{component}-"
    own = {
        name.removeprefix(prefix): content for name, content in contents.items() if name.startswith(prefix)
    }
    return ComponentState(settings, arrays, own)


def _restored(record: ClassifierRecord, contents: Mapping[str, bytes], *, device: str) -> FittedClassifier:
    name, argument = split_name(record.options["features"])
    features = FEATURES.get(name).restore(_state(_FEATURES, contents), argument, device=device)
    head_name = record.options["classifier"]
    head = HEADS.get(head_name).restore(_state(_HEAD, contents), features, device=device)
    masked = PersonTreatment(record.options["persons"]) is PersonTreatment.MASK
    return FittedClassifier(
        features, head, head_name, person_words(record.dataset.language) if masked else None
    )


def _verified(place: Path, name: str, digest: str) -> bytes:
    content = read_stored(place / name, error=RunError)
    if sha256_of(content) != digest:
        raise RunError(f"{place / name} was changed after it was written. Train the classifier again.")
    return content
