"""What a certificate can show before it is made, and how often it says so where nothing is lost."""

from __future__ import annotations

import pytest
from certificate_power import FORMER_PAIRS, shares_kept, sizes

import evenhand as eh
from evenhand.api.defaults.mitigating import default_plan
from evenhand.api.models import reference_to
from evenhand.core.settled import SettledSet
from evenhand.data.settled import load_settled
from evenhand.lab.items import lab_settled
from evenhand.reporting.certificate.power import POWER_COLUMNS, power_rows, power_words
from evenhand.stats.power import ShareTest, needed_units
from evenhand.stats.score_intervals import CORRELATION
from evenhand.store.certificate_power import CertificatePower, QualityPower


def test_a_harmless_mitigation_is_kept_with_the_bundled_sentences() -> None:
    bundled = {name: pairs for name, pairs in sizes().items() if pairs != FORMER_PAIRS}
    for pairs in bundled.values():
        quality, knowledge, at_margin = shares_kept(pairs, 0.05, studies=200, seed=2)
        assert quality >= 0.8
        assert knowledge >= quality
        assert at_margin <= 0.06  # 2.5% and three standard errors


def test_with_the_former_sentences_it_seldom_was() -> None:
    quality, knowledge, _ = shares_kept(FORMER_PAIRS, 0.02, studies=200, seed=2)
    assert 0.25 <= quality <= 0.47  # 36% by the formula, and three standard errors
    assert quality == pytest.approx(knowledge, abs=0.02)


def qualities_of(options: eh.CertifyOptions, original: str = "lab:decoder") -> dict[str, QualityPower]:
    power = eh.certificate_power(original, original, options=options)
    return {quality.measure: quality for quality in power.qualities}


def test_every_quality_of_a_decoder_is_planned() -> None:
    found = qualities_of(eh.CertifyOptions())
    assert list(found) == [
        "perplexity",
        "special tokens",
        "LMS",
        "knowledge",
        "evidence",
        "agreement",
        "accuracy",
    ]
    assert found["perplexity"].margin == 5  # that of the lab
    assert found["accuracy"].reason == "no labelled text was given (--labelled)"
    for name in ("perplexity", "LMS", "knowledge", "evidence", "agreement"):
        little, much = found[name].cases
        assert little.power >= much.power
        assert little.provable < much.provable
        assert little.needed is not None
        assert much.needed is not None
        assert little.needed < much.needed


def test_models_that_read_both_sides_write_no_continuations() -> None:
    assert "agreement" not in qualities_of(eh.CertifyOptions(), "lab:masked")


def test_a_wider_margin_needs_less_data() -> None:
    usual, wide = (
        qualities_of(eh.CertifyOptions(margins=eh.Margins(knowledge=margin)))["knowledge"]
        for margin in (3, 6)
    )
    assert [case.provable for case in usual.cases] == [case.provable for case in wide.cases]
    for before, after in zip(usual.cases, wide.cases, strict=True):
        assert before.needed is not None
        assert after.needed is not None
        assert after.needed < before.needed
        assert after.power > before.power


def plan_with(settled: SettledSet) -> eh.CertificatePlan:
    return eh.CertificatePlan((eh.Measurement("knowledge", eh.KnowledgeOptions(data=settled)),))


def test_a_decoder_is_planned_without_what_is_settled_behind_the_pronoun() -> None:
    later = [own for own in load_settled("en").sentences if own.is_settled_later][:4]
    settled = SettledSet("few", "en", (*load_settled("en").sentences[:6], *later), "0" * 64)
    found = {
        name: eh.certificate_power(f"lab:{name}", f"lab:{name}", options=plan_with(settled))
        for name in ("decoder", "masked")
    }
    pairs = {
        name: {quality.measure: quality.available for quality in power.qualities}["knowledge"]
        for name, power in found.items()
    }
    assert pairs == {"decoder": 3, "masked": 5}


def test_items_of_one_term_count_for_less_than_as_many_alone() -> None:
    plan = default_plan(reference_to("lab:masked"), eh.CertifyOptions())
    (benchmark,) = [own.options.data for own in plan.measurements if own.name == "association"]
    assert isinstance(benchmark, eh.Benchmark)
    terms: dict[str, int] = {}
    for item in benchmark:
        terms[item.cluster] = terms.get(item.cluster, 0) + 1
    count = len(benchmark)
    together = sum(size * size for size in terms.values()) / count
    design_effect = 1 - CORRELATION + CORRELATION * together
    alone = needed_units(ShareTest(0.05, 0.95), 0.03)
    assert alone is not None
    lms = qualities_of(eh.CertifyOptions(margins=eh.Margins(lms=3.0)), "lab:masked")["LMS"]
    assert lms.available == count
    assert lms.cases[-1].needed == pytest.approx(alone * design_effect, abs=1)


def test_the_starter_set_is_planned_only_for_margins_that_it_can_show() -> None:
    """Of its 96 items without a change, 5 points or less cannot be excluded: 100 x 3.84 / (n + 3.84)."""
    usual, wide = (
        qualities_of(eh.CertifyOptions(data="starter", margins=eh.Margins(lms=margin)), "lab:masked")["LMS"]
        for margin in (2, 20)
    )
    assert usual.cases == ()
    assert str(usual.reason).startswith(
        "the 96 items of the starter set are too few to exclude a loss of 2 points"
    )
    assert len(wide.cases) == 2


def test_the_table_names_what_is_missing() -> None:
    power = eh.certificate_power("lab:decoder", "lab:decoder")
    rows = power_rows(power)
    assert all(len(row) == len(POWER_COLUMNS) for row in rows)
    assert ("accuracy", "1 point", "–", "no labelled text was given (--labelled)", "–", "–", "–") in rows
    knowledge = next(row for row in rows if row[0] == "knowledge")
    pairs = len(lab_settled("en").sentences) // 2
    assert knowledge[1:4] == ("3 points", f"{pairs} pairs", "2% of pairs change")
    needed = needed_units(ShareTest(0.05, 0.95), 0.03)
    assert f"knowledge (up to {needed} pairs)" in power_words(power)[-1]


def test_all_measures_together_are_kept_as_often_as_their_product() -> None:
    power = eh.certificate_power("lab:decoder", "lab:decoder")
    much = 1.0
    for quality in power.qualities:
        if quality.cases:
            much *= quality.cases[-1].power
    assert power.overall is not None
    assert power.overall[1] == pytest.approx(much)
    assert power.model_dump(mode="json")["overall"][1] == pytest.approx(much)
    nothing = CertificatePower(before="a", after="b", confidence=0.95, qualities=())
    assert nothing.overall is None
