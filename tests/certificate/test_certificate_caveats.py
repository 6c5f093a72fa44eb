"""What a certificate says beside its verdict about weights that changed or did not."""

from __future__ import annotations

from typing import Any

import certificates
import probe_runs
import pytest

from evenhand.certificate.caveats import caveats_of
from evenhand.certificate.measurements import Measurements
from evenhand.core.estimates import Estimate
from evenhand.instruments.gate import gate_warning

SAME_FILES = certificates.model("bert-small", "sha256 1")


NOTHING_TO_SAY = Measurements({"malor": probe_runs.probe_run(probe_runs.malor({"nurse": 1.0}))}, gaps={})


TOO_FEW = "The probes have too few structures"


def caveats(**changes: Any) -> list[str]:
    """All but what was not measured, and what the probes are too few for."""
    made = certificates.certificate(**changes)
    found = caveats_of(made, NOTHING_TO_SAY, NOTHING_TO_SAY)
    return [caveat for caveat in found if not caveat.startswith(("Not measured", TOO_FEW))]


def test_weights_and_answers_that_differ_need_no_caveat() -> None:
    assert caveats() == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"weights_changed": False}, "The files of the two models differ, but the weights"),
        (
            {"weights_changed": False, "after": SAME_FILES, "same_tokenizer": False},
            "The weights are the same and the tokenizers are not",
        ),
    ],
)
def test_changes_that_are_none_are_told(changes: dict[str, Any], told: str) -> None:
    assert caveats(**changes)[0].startswith(told)


def test_the_same_files_need_no_explanation() -> None:
    assert caveats(weights_changed=False, outputs_changed=False, after=SAME_FILES) == []


def test_an_instrument_that_a_model_cannot_be_asked_with_is_named_with_the_reason() -> None:
    gap = Measurements(NOTHING_TO_SAY.runs, gaps={"association": "It has no head."})
    found = caveats_of(certificates.certificate(quality=()), NOTHING_TO_SAY, gap)
    assert found[-1] == "Context association test was not measured: It has no head."


def test_a_certificate_does_not_say_that_figures_are_left_out_which_it_shows() -> None:
    """Runs leave out the figures of a model that fails the gate; a certificate computes its own from their scores."""
    guess = Estimate(value=82.0, low=50.0, high=96.0, n=97, clusters=20, method="t")
    run = probe_runs.probe_run(probe_runs.malor({"nurse": 1.0}), warnings=gate_warning("tiny", guess))
    gated = Measurements({"malor": run}, gaps={})

    found = caveats_of(certificates.certificate(quality=()), gated, gated)

    (caveat,) = [text for text in found if text.startswith("tiny is not shown to know the words")]
    assert caveat.endswith("Its figures are shown here all the same; they may say nothing about a lean.")
    assert "left out" not in caveat
