"""MALoR's calibration on two doses of an embedded model, and with its sides mixed up."""

from __future__ import annotations

from dataclasses import replace

from measuring import probe

from evenhand.core.planted_bias import ProbePart
from evenhand.core.probes import ProbeSet, TermPairs
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.lab.items import lab_probes
from evenhand.lab.malor_calibration import calibrate_malor
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import MeasureCalibration
from evenhand.store.run import Run

EXPECTATION = MALOR.expectation
MODELS = ("lab:masked-neutral", "lab:masked")
STRUCTURES = 8
"""Of each experiment: enough for every check, in a fraction of the time."""


def probed(probes: ProbeSet) -> list[Run]:
    options = MalorOptions(resampling=Resampling(resamples=200))
    return [probe(model, probes, options=options) for model in MODELS]


def failed(calibrations: tuple[MeasureCalibration, ...]) -> set[str]:
    return {check.name for entry in calibrations for check in entry.checks if not check.passed}


def test_a_faultless_probe_passes_every_check_in_every_experiment() -> None:
    calibrations = calibrate_malor({ProbePart.TAUGHT: probed(lab_probes().first(STRUCTURES))}, EXPECTATION)
    assert [entry.task for entry in calibrations] == ["he-she", "his-her", "names"]
    assert failed(calibrations) == set()


def test_mixed_up_sides_are_noticed() -> None:
    right = lab_probes().first(STRUCTURES)
    terms = {experiment: TermPairs(pairs.female, pairs.male) for experiment, pairs in right.terms.items()}
    runs = {ProbePart.TAUGHT: probed(replace(right, terms=terms))}
    assert failed(calibrate_malor(runs, EXPECTATION)) >= {
        "occupations with the planted sign",
        "mean absolute error by occupation, in bits",
    }
