"""Which held-out texts two models are compared on, and what the verdict on quality is where some are left out."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import certificates
import numpy as np
import pytest
import typer

from evenhand.certificate.margins import Margins
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_figures import perplexity_row
from evenhand.certificate.quality_rows import quality_rows
from evenhand.certificate.seeds import ModelRows, compare_seeds
from evenhand.certificate.text_quality import held_out_text_rows, passages_text_rows
from evenhand.cli.certify import show_certificate
from evenhand.reporting.certificate.seeds import seeds_words
from evenhand.reporting.certificate.words import certificate_sentences, quality_words
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.certificate_inputs import CertificateInputs, SentenceLosses, TextLosses, UncomparedText
from evenhand.store.certificate_quality import QualityRow, QualityVerdict, quality_verdict
from evenhand.store.certificates import Verdict
from evenhand.store.held_out_losses import HeldOutLoss

FEW = Resampling(resamples=100)
TEN = 10
"""Tokens of every text."""
LOST, KEPT = math.log(1.1) * TEN, 0.0
"""What perplexity that rises by a tenth costs a text, in nats."""


@dataclass(frozen=True)
class Part:
    """Texts that are alike."""

    count: int
    rise: float = KEPT
    alike: bool = True
    whole: bool = False
    special: float = 0.0


def text(*parts: Part) -> TextLosses:
    """Texts of ten tokens and fifty characters that cost 30 nats before."""
    each = [part for part in parts for _ in range(part.count)]
    before, after = (
        SentenceLosses(
            nats=tuple(30.0 + (part.rise if side else 0.0) for part in each),
            tokens=(TEN,) * len(each),
            special=tuple(side * part.special for part in each),
            whole=tuple(part.whole for part in each),
        )
        for side in (0, 1)
    )
    return TextLosses(
        documents=tuple(range(len(each))),
        characters=(50,) * len(each),
        alike=tuple(part.alike for part in each),
        before=before,
        after=after,
    )


def rows(own: TextLosses | UncomparedText | None) -> tuple[QualityRow, ...]:
    return held_out_text_rows(own, perplexity=1.0, special=1.0, resampling=FEW)


@pytest.mark.parametrize(
    ("parts", "row_verdict", "left_out", "verdict"),
    [
        pytest.param([Part(12)], "kept", 0, "kept", id="few, all alike"),
        pytest.param([Part(12, LOST)], "lost", 0, "lost", id="few, all alike, lost"),
        pytest.param([Part(90), Part(10, LOST, alike=False)], "kept", 10, "kept", id="one in ten"),
        pytest.param(
            [Part(89), Part(11, LOST, alike=False)], "kept", 11, "undecided", id="more than one in ten"
        ),
        pytest.param([Part(20, LOST), Part(80, alike=False)], "lost", 80, "lost", id="a loss in twenty"),
        pytest.param(
            [Part(19, LOST), Part(81, alike=False)], "not measured", 100, "undecided", id="nineteen"
        ),
        pytest.param([Part(18), Part(1, alike=False)], "not measured", 19, "undecided", id="one of nineteen"),
        pytest.param([Part(40, math.inf)], "not measured", 40, "undecided", id="impossible text"),
        pytest.param([Part(40, math.nan)], "not measured", 40, "undecided", id="no number"),
    ],
)
def test_quality_is_kept_only_where_most_of_the_text_was_compared(
    parts: list[Part], row_verdict: str, left_out: int, verdict: str
) -> None:
    found = rows(text(*parts))
    assert found[0].measure == "perplexity"
    assert found[0].verdict == row_verdict
    assert found[0].left_out == left_out
    assert quality_verdict(found) == verdict
    also_kept = certificates.quality_row("LMS", 0.0, QualityVerdict.KEPT)
    assert quality_verdict((*found, also_kept)) == verdict


def test_texts_of_which_one_model_reads_fewer_tokens_are_left_out() -> None:
    own = text(Part(100))
    cut = own.after.model_copy(update={"tokens": (5,) * 30 + (TEN,) * 70, "nats": (1.0,) * 30 + (30.0,) * 70})
    row = rows(own.model_copy(update={"after": cut}))[0]
    assert row.left_out == 30
    assert row.difference.value == 0
    assert quality_verdict((row,)) is QualityVerdict.UNDECIDED


def test_bits_per_character_stand_in_only_where_too_little_is_read_alike() -> None:
    most = text(Part(95, LOST, whole=True), Part(5, alike=False, whole=True))
    half = text(Part(50, LOST, whole=True), Part(50, alike=False, whole=True))
    assert [row.measure for row in rows(most)] == ["perplexity", "special tokens"]
    bits, special = rows(half)
    assert (bits.measure, bits.left_out) == ("bits per character", 0)
    # 30 nats before; half of the texts cost 10 ln 1.1 more.
    assert bits.difference.value == pytest.approx(100 * (30 + LOST / 2) / 30 - 100)
    assert special.verdict is QualityVerdict.NOT_MEASURED
    (passages,) = passages_text_rows(half, margin=1.0, resampling=FEW)
    assert passages.measure == "bits per character in passages"


def test_classifiers_that_cannot_be_made_leave_quality_undecided() -> None:
    settings = {"margins": asdict(Margins())}
    nothing = Measurements({}, {})
    for answers, verdict, code in (
        (None, "kept", 0),
        (UncomparedText(texts=872, reason="the training of the model after diverged"), "undecided", 6),
    ):
        found = quality_rows(
            CertificateInputs(answers=answers, settings=settings),
            nothing,
            nothing,
            margins=asdict(Margins()),
            resampling=FEW,
        )
        (accuracy,) = [row for row in found if row.measure == "accuracy"]
        also_kept = certificates.quality_row("LMS", 0.0, QualityVerdict.KEPT)
        assert accuracy.verdict is QualityVerdict.NOT_MEASURED
        assert quality_verdict((accuracy, also_kept)) == verdict
        assert shown(accuracy) == code


def test_text_that_was_not_given_leaves_nothing_undecided() -> None:
    (row,) = rows(None)
    assert row.verdict is QualityVerdict.NOT_MEASURED
    assert not row.is_incomplete
    assert quality_verdict((row,)) is QualityVerdict.NOT_MEASURED
    assert passages_text_rows(None, margin=1.0, resampling=FEW) == ()


def test_text_on_which_models_do_not_compare_at_all_leaves_quality_undecided() -> None:
    own = UncomparedText(texts=30, reason="they are asked different questions")
    for found in (rows(own), passages_text_rows(own, margin=1.0, resampling=FEW)):
        assert {row.reason for row in found} == {"they are asked different questions"}
        assert found[0].left_out == 30
        assert quality_verdict(found) is QualityVerdict.UNDECIDED


def test_the_share_of_special_tokens_is_over_tokens_and_judged_in_points() -> None:
    """A third of the texts give 0.6 of ten tokens' probability to such tokens: 2 of 100 points."""
    special = rows(text(Part(40), Part(20, special=0.6)))[1]
    assert special.before == 0
    assert special.after == pytest.approx(2.0)
    assert special.difference.value == pytest.approx(2.0)
    assert special.difference.low < 2.0 < special.difference.high
    assert special.difference.clusters == 60
    assert (special.unit, special.margin) == ("points", 1.0)
    assert rows(text(Part(60, special=0.6)))[1].verdict is QualityVerdict.LOST
    same = rows(text(Part(60)))[1]
    assert (same.difference.low, same.difference.high) == (0.0, 0.0)
    assert same.verdict is QualityVerdict.KEPT


def test_a_share_over_few_documents_says_what_they_could_miss() -> None:
    row = rows(text(Part(6), Part(6, special=0.001)))[1]
    assert row.verdict is QualityVerdict.KEPT
    assert "With 12 sentences, a loss" in quality_words(row, level="95%")


def test_surprise_beyond_all_floats_is_lost() -> None:
    tokens = np.full(30, TEN)
    before, after = HeldOutLoss(np.full(30, 30.0), tokens), HeldOutLoss(np.full(30, 1e5), tokens)
    row = perplexity_row(before, after, margin=1.0, resampling=FEW)
    assert row.verdict is QualityVerdict.LOST
    assert math.isfinite(row.after)
    assert len(quality_words(row, level="95%")) < 200


def shown(row: QualityRow, **options: Any) -> int:
    """The exit code of a certificate with a row of quality beside one that is kept."""
    quality = (row, certificates.quality_row("LMS", 0.0, QualityVerdict.KEPT))
    verdict = Verdict(bias=BiasVerdict.LOWERED, quality=quality_verdict(quality))
    try:
        show_certificate(certificates.certificate(quality=quality, verdict=verdict), json=True, **options)
    except typer.Exit as stop:
        return stop.exit_code
    return 0


def test_only_quality_that_was_not_compared_has_the_exit_code_for_it() -> None:
    unsure = certificates.quality_row("perplexity", 0.9, QualityVerdict.UNDECIDED, half=2.0)
    assert shown(rows(text(Part(40)))[0]) == 0
    assert shown(unsure) == 0
    assert shown(rows(None)[0]) == 0
    assert shown(rows(text(Part(40, alike=False)))[0]) == 6
    assert shown(rows(text(Part(40, LOST)))[0]) == 5


def test_a_model_of_several_that_was_not_compared_leaves_all_of_them_undecided() -> None:
    compared, other = (rows(text(Part(40, alike=alike)))[:1] for alike in (True, False))
    models = [ModelRows(name=name, bias=(), quality=compared) for name in ("even-0", "even-1")]
    models.append(ModelRows(name="even-2", bias=(), quality=other))
    comparison = compare_seeds("bert", models, confidence=0.95)
    assert comparison.not_compared == ("even-2",)
    assert "Quality is undecided for even-2" in seeds_words(comparison)
    assert shown(compared[0], comparison=comparison) == 6
    assert compare_seeds("bert", [*models[:2], models[0]], confidence=0.95).not_compared == ()


def test_the_verdict_says_what_was_not_compared() -> None:
    quality = rows(text(Part(40, alike=False)))
    verdict = Verdict(bias=BiasVerdict.LOWERED, quality=quality_verdict(quality))
    words = certificate_sentences(certificates.certificate(quality=quality, verdict=verdict))[1]
    assert words.startswith(
        "Whether quality was kept is undecided, because perplexity could not be compared on enough texts or "
        "items. "
    )
