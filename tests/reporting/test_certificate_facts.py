"""Facts of a certificate in words, and where they stand on its page."""

from __future__ import annotations

import html
import math
import re

import certificates
import pytest

from evenhand.reporting.certificate.page import render_certificate_page
from evenhand.reporting.certificate.weights import weights_words
from evenhand.reporting.certificate.words import definitions, turned_words
from evenhand.store.certificate_bias import Bounds
from evenhand.store.certificates import Certificate
from evenhand.store.weights_changes import WeightsChange

WHY = "all target terms have the same value"


def section(certificate: Certificate, name: str) -> str:
    """The text of a section of the page, without markup."""
    page = render_certificate_page(certificate)
    found = page[page.index(f'<section id="{name}"') :].split("</section>", maxsplit=1)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found)).split())


@pytest.mark.parametrize(
    ("turned", "clearly", "told"),
    [
        (0, 0, "No occupation is on the other side than before."),
        (1, 0, "1 of 20 occupations is on the other side than before, not more clearly than chance allows."),
        (1, 1, "1 of 20 occupations is on the other side than before, more clearly than chance allows."),
        (
            5,
            0,
            "5 of 20 occupations are on the other side than before, none of them more clearly than chance allows.",
        ),
        (
            5,
            2,
            "5 of 20 occupations are on the other side than before, 2 of them more clearly than chance allows.",
        ),
    ],
)
def test_occupations_on_the_other_side_are_counted(turned: int, clearly: int, told: str) -> None:
    assert turned_words(turned, clearly, of=20) == told


def weights(**changes: object) -> WeightsChange:
    return WeightsChange.model_validate(
        {"tensors": 40, "changed": 38, "parameters": 12_345, "relative": 0.021, **changes}
    )


def test_weights_that_moved_are_told_in_percent() -> None:
    assert weights_words(weights()) == (
        "38 of 40 tensors differ; taken together, the weights moved by 2.1% of their size (12,345 parameters)."
    )
    assert weights_words(weights(changed=0, relative=0.0)) == "No tensor differs."


def test_models_without_a_common_tensor_have_no_percentage() -> None:
    before = tuple(f"old {place}" for place in range(40))
    told = weights_words(weights(changed=0, relative=math.nan, only_before=before, only_after=("new",)))
    assert told == (
        "The models have no tensor in common (12,345 parameters before). 40 tensors are in the model before alone and "
        "1 in the model after alone."
    )
    part = weights_words(weights(changed=1, relative=math.nan, only_before=("old",)))
    assert part == (
        "1 of 40 tensors differ (12,345 parameters). 1 tensor is in the model before alone and 0 in the model after "
        "alone."
    )


def test_every_measure_that_is_named_is_explained_once() -> None:
    told = [name for name, _ in definitions(certificates.full_certificate())]
    assert told == ["MALoR", "SS", "ICAT", "CrowS-Pairs", "LMS", "Perplexity", "Accuracy"]
    few = certificates.certificate(untrained=(), quality=(certificates.unmeasured("accuracy"),))
    assert [name for name, _ in definitions(few)] == ["MALoR"]
    assert "SS (stereotype score) is how often the stereotype wins" in section(
        certificates.certificate(), "verdict"
    )


def test_a_figure_without_an_interval_stands_with_the_reason() -> None:
    row = certificates.score_row("SS gender", 92.0, 91.67)
    without = row.model_copy(update={"after_interval": Bounds(low=math.nan, high=math.nan, reason=WHY)})
    told = section(certificates.certificate(untrained=(without,)), "bias")
    assert f"SS gender after: no interval: {WHY}" in told
    assert f"92.00 [89.00, 95.00] 91.67 no interval: {WHY}" in told
    assert "no interval" not in section(certificates.certificate(untrained=(row,)), "bias")


def test_the_page_says_what_the_verdicts_rest_on() -> None:
    told = section(certificates.certificate(), "verdict")
    assert (
        "Gender lean was lowered in the one direction that was asked Judged by what it was trained for."
        in told
    )
    assert (
        "Quality was kept As far as it was measured (perplexity and LMS); accuracy was not measured." in told
    )
