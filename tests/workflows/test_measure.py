"""Wrong options are told before a model is loaded, here and on any executor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.instruments.direct_bias.instrument import DirectBiasOptions

NO_MODEL = "fake:a-model-that-cannot-be-loaded"


@pytest.mark.parametrize(
    ("instrument", "options", "message"),
    [
        ("association", eh.AuditOptions(language="xx"), "xx"),
        ("association", eh.AuditOptions(data="stareoset"), "Did you mean 'stereoset'"),
        ("association", eh.AuditOptions(protocol="evenhand.v9"), "Unknown protocol"),
        ("association", eh.AuditOptions(inter="z"), "Unknown way to score the inter-sentence task"),
        ("association", eh.AuditOptions(score="medium"), "Unknown score"),
        ("malor", eh.MalorOptions(language="xx"), "xx"),
        ("malor", eh.MalorOptions(experiment="she-he"), "Unknown experiment"),
        ("malor", eh.MalorOptions(direction="up"), "Unknown direction"),
        ("malor", eh.MalorOptions(structures=Path("missing.csv")), "missing.csv"),
        ("crows-pairs", eh.InstrumentOptions(data="missing.csv"), "missing.csv"),
        ("direct-bias", DirectBiasOptions(), "needs a corpus"),
        ("direct-bias", DirectBiasOptions(corpus=("missing.txt",)), "missing.txt"),
    ],
)
def test_wrong_options_are_told_before_a_model_is_loaded(
    tmp_path: Path, instrument: str, options: Any, message: str
) -> None:
    with pytest.raises(EvenhandError, match=message):
        eh.probe(NO_MODEL, instrument, options=options)
    job = eh.MeasurementJob(model=NO_MODEL, instrument=instrument, options=options)
    with pytest.raises(EvenhandError, match=message):
        eh.measure_all([job], out=tmp_path)
    assert list(tmp_path.iterdir()) == []
