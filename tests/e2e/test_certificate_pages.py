"""The page of a certificate in a real browser."""

from __future__ import annotations

from pathlib import Path

import certificates
import pytest
from browsing import EVERY_PLOT_IS_DRAWN, WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting
from probe_runs import estimate

from evenhand.reporting.certificate.page import write_certificate_page
from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import LeanChange, OverCorrection, Verdict

HOSTILE = "<img src=x onerror=\"window.hacked = 'yes'\"></script><script>window.hacked = 'yes'</script>"


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = certificates.full_certificate()
    return write_certificate_page(made, tmp_path_factory.mktemp("pages") / "certificate.html")


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = certificates.certificate(
        verdict=Verdict(bias=BiasVerdict.NOTHING_CHANGED, quality=QualityVerdict.KEPT),
        weights_changed=False,
        trained_known=False,
    )
    return write_certificate_page(made, tmp_path_factory.mktemp("pages") / "unchanged.html")


def test_the_page_draws_itself_and_asks_for_nothing(visit: Visit, full: Path) -> None:
    page = visit.open(full)
    # Four of bias, one of quality, three of experiments, two curves, how they converge, and the frontier.
    assert page.locator(".plot svg").count() == 12
    assert visit.problems == []
    assert visit.requests == [full.as_uri()]


@WIDTHS_AND_SCHEMES
@pytest.mark.parametrize("name", ["full", "unchanged"])
def test_the_page_is_accessible_and_fits(visit: Visit, name: str, request: pytest.FixtureRequest) -> None:
    page = visit.open(request.getfixturevalue(name))
    assert_accessible_and_fitting(page)
    page.wait_for_function(EVERY_PLOT_IS_DRAWN)
    assert visit.problems == []


def test_the_verdict_stands_on_top_in_words_and_numbers(visit: Visit, full: Path) -> None:
    told = visit.open(full).locator("main > *").first.inner_text()
    for part in (
        "Gender lean was lowered",
        "−92%",
        "Quality was lost",
        "−1.90",
        "Over-correction: 2 occupations",
    ):
        assert part in told


def test_nothing_in_a_certificate_becomes_markup(visit: Visit, tmp_path: Path) -> None:
    lean = LeanChange(
        experiment=HOSTILE,
        occupation=HOSTILE,
        before=estimate(1.0),
        after=estimate(-1.0),
    )
    made = certificates.certificate(
        before=certificates.model(HOSTILE),
        after=certificates.model(HOSTILE),
        trained=(certificates.malor_row(HOSTILE, 1.0, 0.5),),
        quality=(
            certificates.quality_row(HOSTILE, 0.1, QualityVerdict.KEPT),
            certificates.unmeasured("LMS", HOSTILE),
        ),
        occupations=(lean,),
        flipped=(OverCorrection(**lean.model_dump(), p_value=0.01),),
        caveats=(HOSTILE,),
        data={HOSTILE: HOSTILE},
    )
    page = visit.open(write_certificate_page(made, tmp_path / "page.html"))
    page.hover("[data-plot='occupations-0'] .mark-symbol path >> nth=0")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert visit.problems == []
    assert HOSTILE in page.inner_text(".warnings")
