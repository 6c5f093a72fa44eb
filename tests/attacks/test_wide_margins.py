"""Quality that is kept because much was tolerated is not called kept without that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from certificate_runs import nudged, probes_alone, small_plan

from evenhand.certificate import Margins, certify
from evenhand.certificate.margins import wider_margins
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import WiderMargin

USUAL = {
    "perplexity": 1.0,
    "lms": 2.0,
    "accuracy": 1.0,
    "knowledge": 3.0,
    "evidence": 25.0,
    "agreement": 5.0,
    "distinct": 5.0,
    "content": 0.05,
    "special": 1.0,
}


@pytest.mark.parametrize("name", USUAL)
def test_a_margin_is_wider_if_it_tolerates_more_than_is_usual(name: str) -> None:
    for margin, is_wider in ((USUAL[name] * 0.5, False), (USUAL[name], False), (USUAL[name] * 1.5, True)):
        found = wider_margins({**USUAL, name: margin}, of_lab=False)
        expected = (WiderMargin(name=name, margin=margin, usual=USUAL[name]),) if is_wider else ()
        assert tuple(own for own in found if own.name in USUAL) == expected


def test_models_of_the_lab_have_a_wider_usual_margin_of_perplexity() -> None:
    assert wider_margins({**USUAL, "perplexity": 5.0}, of_lab=True) == ()
    (found,) = wider_margins({**USUAL, "perplexity": 6.0}, of_lab=True)
    assert (found.name, found.margin, found.usual) == ("perplexity", 6.0, 5.0)


def test_a_verdict_with_a_margin_of_five_hundred_percent_says_so(menagerie: Any, tmp_path: Path) -> None:
    before = Path(menagerie.folder("bert"))
    after = nudged(before, tmp_path / "after", by=0.01)
    plan = replace(probes_alone(small_plan(trained=("he-she",))), margins=Margins(perplexity=500.0))
    made = certify(str(before), str(after), plan, place=tmp_path / "certificate.json")
    assert made.verdict.quality is QualityVerdict.KEPT
    assert [(own.name, own.margin, own.usual) for own in made.verdict.wider_margins] == [
        ("perplexity", 500.0, 1.0)
    ]
    assert made.words[1].startswith(
        "Quality was kept, with margins that are wider than usual (perplexity 500% instead of 1), as far as"
    )
