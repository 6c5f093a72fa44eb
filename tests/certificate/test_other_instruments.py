"""A certificate takes instruments that this package does not know, and says why one could not be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from certificate_runs import nudged
from pydantic import BaseModel

from evenhand.certificate import CertificatePlan, Measurement, certify
from evenhand.core.errors import UnknownNameError
from evenhand.core.estimates import Estimate
from evenhand.core.progress import Progress
from evenhand.instruments.instrument import Instrument, InstrumentOptions, Preparation, statistics_record
from evenhand.models.references import ModelError
from evenhand.models.requests import Fill, Write
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.figures import Figure
from evenhand.store.jobs import Parts
from evenhand.store.records import DatasetRecord, EnvironmentRecord, RunRecord
from evenhand.store.run import INSTRUMENTS, Run

TENSOR = "cls.predictions.bias"


class MeanResult(BaseModel):
    mean: Estimate


class _Reading(Preparation):
    def __init__(self, model: Any, options: InstrumentOptions, name: str, instrument: str) -> None:
        self.model = model
        self.record = RunRecord(
            instrument=instrument,
            name=name,
            dataset=DatasetRecord(name="a tensor", language="en", source="", sha256="0" * 64),
            model=model.record,
            statistics=statistics_record(options.resampling),
            environment=EnvironmentRecord.current(),
            warnings=("Mind the tensor.",),
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:  # noqa: ARG002
        values = dict(self.model.loaded.model.named_parameters())[TENSOR].detach().tolist()[:30]
        scores = pl.DataFrame({"unit": [str(place) for place in range(len(values))], "value": values})
        mean = sum(values) / len(values)
        estimate = Estimate(value=mean, low=mean - 1, high=mean + 1, n=len(values), clusters=1, method="none")
        return Run(record=self.record, results=(MeanResult(mean=estimate),), scores=scores)


class TensorInstrument(Instrument[InstrumentOptions]):
    """The mean of a tensor, which is neutral at 0."""

    name = "tensor"
    version = "tensor.v1"
    title = "Tensor mean"
    summary = "The mean of a tensor."
    needs: ClassVar[tuple[type, ...]] = (Fill,)
    options_type = InstrumentOptions
    result_type = MeanResult

    def prepare(self, model: Any, options: InstrumentOptions, *, name: str | None = None) -> Preparation:
        self.refuse_unable(model)
        return _Reading(model, options, name or "tensor", self.name)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        return (Figure("mean", ("all",), run.result.mean, "Mean of a tensor", 0.0, is_headline=True),)

    def units(self, run: Run) -> pl.DataFrame:
        return run.scores.select(pl.lit("all.mean").alias("key"), "unit", "value")


class WritingInstrument(TensorInstrument):
    """Needs a model that writes, which a masked one does not."""

    name = "writing"
    title = "Writing"
    needs = (Write,)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for instrument in (TensorInstrument(), WritingInstrument()):
        INSTRUMENTS.register(instrument.name, instrument)
    yield
    for name in ("tensor", "writing"):
        INSTRUMENTS.unregister(name)


def plan(*names: str, trained: tuple[str, ...] | None = None) -> CertificatePlan:
    measurements = tuple(Measurement(name, InstrumentOptions()) for name in names)
    return CertificatePlan(measurements, trained=trained, resampling=Resampling(resamples=100))


@pytest.fixture(scope="module")
def bert(menagerie: Any) -> Path:
    return Path(menagerie.folder("bert"))


@pytest.fixture(scope="module")
def changed(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nudged(bert, tmp_path_factory.mktemp("changed") / "bert-changed", by=0.5)


def test_another_instrument_gives_rows_and_a_verdict_and_what_a_model_cannot_do_is_a_gap(
    bert: Path, changed: Path, tmp_path: Path
) -> None:
    place = tmp_path / "certificate.json"
    certificate = certify(
        str(bert), str(changed), plan("tensor", "writing", trained=("all.mean",)), place=place
    )
    (row,) = certificate.trained
    assert (row.measure, row.title, row.neutral, row.unit) == (
        "Tensor mean", "Mean of a tensor", 0.0, "points",
    )  # fmt: skip
    assert row.difference.value == pytest.approx(row.after - row.before)
    assert row.after_interval.high == pytest.approx(row.after + 1)
    assert certificate.untrained == ()
    assert certificate.verdict.bias is not BiasVerdict.NOTHING_CHANGED
    assert certificate.verdict.quality is QualityVerdict.NOT_MEASURED
    assert certificate.data == {"a tensor": "0" * 64}
    assert "Mind the tensor." in certificate.caveats
    assert any(
        told.startswith("Writing was not measured: ") and "writes texts" in told
        for told in certificate.caveats
    )


def test_what_was_trained_on_must_be_a_figure(bert: Path, changed: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"all\.mean"):
        certify(
            str(bert),
            str(changed),
            plan("tensor", trained=("all.meen",)),
            place=tmp_path / "certificate.json",
        )


def test_models_that_no_instrument_can_measure_are_refused(bert: Path, changed: Path, tmp_path: Path) -> None:
    place = tmp_path / "certificate.json"
    with pytest.raises(ModelError, match="Nothing could be measured on both"):
        certify(str(bert), str(changed), plan("writing"), place=place)
    assert list(tmp_path.iterdir()) == []
