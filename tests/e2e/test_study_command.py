"""``evenhand study`` as a user meets it: the loop from measuring to the certificate, on the embedded models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_recipes import few_questions
from running import Command
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

LEAST_LOWERED = 2 / 3
QUALITY_LOST = 5
MOST_LMS_LOST = 2.0


@pytest.fixture(autouse=True)
def small_lab() -> Iterator[None]:
    with few_questions():
        yield


def _certificate(folder: Path) -> Any:
    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "auto_class"), [("lab:masked", AutoModelForMaskedLM), ("lab:decoder", AutoModelForCausalLM)]
)
def test_an_embedded_model_loses_two_thirds_of_its_lean_and_no_quality(
    run_evenhand_here: Command, tmp_path: Path, name: str, auto_class: Any
) -> None:
    arguments = ("study", name, "--epochs", "2", "--device", "cpu", "--out", tmp_path)
    done = run_evenhand_here(*arguments)
    assert done.returncode == 0, done.stderr
    certificate = _certificate(tmp_path)
    assert not [row["measure"] for row in certificate["quality"] if row["verdict"] == "lost"]
    assert certificate["verdict"]["bias"] == "lowered"
    assert certificate["weights_changed"] is True
    wholes = [row for row in certificate["trained"] if row["part_of"] is None]
    assert {row["measure"] for row in wholes} == {"MALoR he-she", "MALoR his-her", "MALoR names"}
    assert len(certificate["trained"]) == 3 * len(wholes)
    for row in wholes:
        assert row["after"] <= (1 - LEAST_LOWERED) * row["before"], row["measure"]
        assert row["difference"]["high"] < 0
    lms = next(row for row in certificate["quality"] if row["measure"] == "LMS")
    assert lms["after"] >= lms["before"] - MOST_LMS_LOST
    auto_class.from_pretrained(tmp_path / "model")
    assert "<html" in (tmp_path / "certificate.html").read_text(encoding="utf-8")
    again = run_evenhand_here(*arguments)
    assert "epoch 1:" not in again.stderr
    assert _certificate(tmp_path)["trained"] == certificate["trained"]


def test_several_balances_draw_a_frontier_with_the_kept_one_on_it(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    options = ("-e", "he-she", "--epochs", "1", "--balance", "0.1", "--balance", "2", "--device", "cpu")
    done = run_evenhand_here("study", "lab:decoder", *options, "--out", tmp_path)
    assert done.returncode in (0, QUALITY_LOST), done.stderr
    record = json.loads((tmp_path / "model" / "mitigation.json").read_text(encoding="utf-8"))
    points = {point["weight"]: point for point in record["frontier"]}
    assert set(points) == {0.1, 2.0}
    assert [weight for weight, point in points.items() if point["chosen"]] == [record["settings"]["weight"]]
    kept = points[record["settings"]["weight"]]
    assert kept["malor"]["he-she"] == min(point["malor"]["he-she"] for point in points.values())
    assert kept["malor"]["he-she"] == pytest.approx(record["after"]["he-she.MALoR"]["value"], abs=1e-3)
    assert _certificate(tmp_path)["mitigation"]["frontier"] == record["frontier"]
    assert not list(tmp_path.glob(".*"))
    probed = run_evenhand_here(
        "probe", tmp_path / "model", "-e", "he-she", "--json", "--out", tmp_path / "runs"
    )
    assert probed.returncode == 0, probed.stderr
    (found,) = json.loads(probed.stdout)["runs"]
    # It is asked the lab's questions, like the model that it comes from.
    (whole,) = (
        row
        for row in _certificate(tmp_path)["whole"]
        if row["measure"].startswith("MALoR he-she") and row["direction"] is None
    )
    assert found["MALoR"]["value"] == pytest.approx(whole["after"], abs=1e-3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mitigation", "equalize"), "equalise"),
        (
            ("--mitigation", "counterfactual", "--balance", "1"),
            "--balance is not an option of counterfactual",
        ),
        (("--whole-words",), "--whole-words is not an option of equalise"),
        (("--balance", "1", "--balance", "1"), "all different"),
        (("--margin", "speed=1"), "speed"),
        (
            ("--mitigation", "trigger"),
            "mitigate trigger lab:masked --targets FILE --out DIR, then evenhand certify",
        ),
    ],
)
def test_what_cannot_be_studied_is_refused_at_once(
    run_evenhand_here: Command, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    done = run_evenhand_here("study", "lab:masked", *options, "--out", tmp_path / "study")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
