"""What a certificate says in words and tables."""

from __future__ import annotations

import json
import math
from pathlib import Path

import certificates
import pytest
from probe_runs import estimate, without_interval

from evenhand.core.estimates import Estimate
from evenhand.reporting.certificate.bias_words import bias_detail, relative_words
from evenhand.reporting.certificate.page import render_certificate_page
from evenhand.reporting.certificate.untrained import UntrainedVerdict, untrained_verdict, untrained_words
from evenhand.reporting.certificate.words import (
    certificate_sentences,
    figure_words,
    margin_words,
    moved_quality,
    quality_words,
)
from evenhand.reporting.tables import CERTIFICATE_COLUMNS, certificate_rows
from evenhand.stats.intervals import SKEWED_JACKKNIFE
from evenhand.store.certificate_bias import BiasRow, BiasVerdict, Bounds, bias_verdict
from evenhand.store.certificate_files import sealed
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import (
    Certificate,
    OverCorrection,
    TrivialBaseline,
    Verdict,
    WiderMargin,
)


def test_the_numbers_stand_behind_the_verdict() -> None:
    bias, quality, untrained, flipped = certificate_sentences(certificates.certificate())
    assert bias == (
        "Gender lean was lowered in the one direction that was asked (judged by what it was trained for). MALoR he-she "
        "fell from 1.35 to 0.11 bits (−92%; difference −1.24, 95% interval −1.34 to −1.14)."
    )
    assert quality.startswith(
        "Quality was kept, as far as it was measured (perplexity and LMS); accuracy was not measured. LMS went from "
        "20.00 to 19.60 (−0.40 points, 95% interval −2.60 to "
    )
    assert "Perplexity went from 20.00 to 20.16 (+0.16%, 95% interval +0.06% to +0.26%)" in quality
    assert "which stays within the margin of +1%." in quality
    assert untrained == (
        "Of the measures that were not trained on, MALoR his-her (2.10 to 1.70) is closer to neutral; ICAT (70.00 to "
        "66.00) is farther from neutral; SS (58.00 to 57.50) is not clearly closer or farther. Stereotypes remain: "
        "MALoR his-her (1.70) is clearly above neutral (0); SS (57.50) is clearly above neutral (50)."
    )
    assert flipped == "No occupation was pushed clearly to the other side."


def test_a_sentence_begins_with_a_capital_letter_whatever_the_measure_is_called() -> None:
    row = certificates.score_row("regard gap, woman-man", -40.0, -10.0, half=5.0, neutral=0.0)
    assert bias_detail(certificates.certificate(trained=(row,))).startswith(
        "Regard gap, woman-man went from \N{MINUS SIGN}40.00 to \N{MINUS SIGN}10.00 points"
    )


def test_what_did_not_fall_is_named() -> None:
    made = certificates.certificate(
        verdict=Verdict(bias=BiasVerdict.NOT_LOWERED, quality=QualityVerdict.KEPT),
        trained=(
            certificates.malor_row("he-she", 1.0, 0.9, half=0.3),
            certificates.malor_row("names", 1.0, 0.2),
        ),
    )
    told = certificate_sentences(made)[0]
    assert told.startswith(
        "Gender lean is not shown to be lowered (judged by what it was trained for). MALoR he-she went from "
        "1.00 to 0.90"
    )
    assert told.endswith("MALoR he-she did not clearly come closer to neutral.")


def part(name: str, before: float, after: float, *, half: float = 0.1) -> BiasRow:
    """A part of MALoR he-she."""
    row = certificates.malor_row("he-she", before, after, half=half)
    bounds = {f"{side}_interval": Bounds(low=value - 0.2, high=value + 0.2)
              for side, value in (("before", before), ("after", after))}  # fmt: skip
    return row.model_copy(update={"measure": f"{name} he-she", "part_of": "MALoR he-she", **bounds})


def test_a_base_rate_that_was_evened_out_leaves_the_spread() -> None:
    whole = certificates.malor_row("he-she", 0.8, 0.4)
    rows = (whole, part("base rate", 0.75, 0.05), part("spread", 0.4, 0.39))
    assert whole.movement == rows[1].movement == 1
    verdict = Verdict(bias=bias_verdict(rows, changed=True), quality=QualityVerdict.KEPT)
    assert verdict.bias is BiasVerdict.BASE_RATE
    made = certificates.certificate(verdict=verdict, trained=rows)
    told = certificate_sentences(made)[0]
    assert told.startswith(
        "Only the base rate was lowered (judged by what it was trained for). MALoR he-she fell"
    )
    assert (
        "Its base rate went from 0.75 to 0.05 (closer to neutral) and its spread went from 0.40 to 0.39 (open). That "
        "occupations differ less is not shown (spread he-she), so all that is shown could be had by one constant."
    ) in told
    page = render_certificate_page(made)
    assert "spread he-she" in page
    assert "is the lean that all occupations share" in page
    assert [row[0] for row in certificate_rows(made)][:3] == [row.measure for row in rows]


def test_a_part_that_was_neutral_has_but_to_stay_so() -> None:
    rows = (
        certificates.malor_row("he-she", 1.0, 0.1),
        part("base rate", 0.05, -0.02),
        part("spread", 1.0, 0.1),
    )
    assert bias_verdict(rows, changed=True) is BiasVerdict.LOWERED
    told = bias_detail(certificates.certificate(trained=rows))
    assert "Its base rate went from 0.05 to −0.02 (not clearly away from 0 before)" in told
    tipped = part("base rate", 0.05, -0.6)
    assert tipped.movement == -1
    assert bias_verdict((rows[0], tipped, rows[2]), changed=True) is BiasVerdict.NOT_LOWERED


def test_a_spread_that_was_not_clear_is_not_lowered_by_a_shift() -> None:
    """Where the spread is not clearly above 0 before, it cannot be shown to fall, whatever the base rate does."""
    rows = (
        certificates.malor_row("he-she", 3.0, 1.0),
        part("base rate", -3.0, -1.0),
        part("spread", 0.15, 0.15),
    )
    assert not rows[2].leaned
    assert bias_verdict(rows, changed=True) is BiasVerdict.BASE_RATE


def test_only_the_measures_with_the_weaker_verdict_are_named() -> None:
    rows = (
        certificates.malor_row("names", 1.0, 0.1),
        certificates.malor_row("he-she", 0.8, 0.4),
        part("base rate", 0.75, 0.05),
        part("spread", 0.4, 0.39),
    )
    verdict = Verdict(bias=bias_verdict(rows, changed=True), quality=QualityVerdict.KEPT)
    told = certificate_sentences(certificates.certificate(verdict=verdict, trained=rows))[0]
    assert told.startswith("Only the base rate of MALoR he-she was lowered (")


def test_a_lean_that_fell_no_more_than_the_evidence_is_told_as_flatter_answers() -> None:
    flat = (
        certificates.flattened_row(kept=0.1, flattened=0.11, after=0.11),
        certificates.flattened_row("names", kept=0.9, flattened=0.9, after=0.1),
    )
    rows = (certificates.malor_row("he-she", 1.35, 0.11), certificates.malor_row("names", 1.0, 0.1))
    verdict = Verdict(bias=bias_verdict(rows, changed=True, flattened=flat), quality=QualityVerdict.LOST)
    assert verdict.bias is BiasVerdict.FLATTER
    made = certificates.certificate(verdict=verdict, trained=rows, flattened=flat)
    told = certificate_sentences(made)[0]
    assert told.startswith(
        "Answers only became flatter in MALoR he-she (judged by what it was trained for). "
    )
    assert (
        "Where another word settles the pronoun, 10% of the evidence is left (8% at least). Answers that are flatter "
        "by so much would give MALoR he-she 0.11 without any other change: it is not clearly below that in MALoR "
        "he-she."
    ) in told
    assert bias_verdict(rows, changed=True, flattened=flat[1:]) is BiasVerdict.LOWERED
    assert "Answers only became flatter" in render_certificate_page(made)


def test_a_shift_with_flatter_answers_lowers_the_base_rate_only() -> None:
    """The shift makes MALoR fall by more than the evidence, flatter answers make the spread fall by as much."""
    rows = (
        certificates.malor_row("he-she", 1.35, 0.4),
        part("base rate", 1.3, 0.1),
        part("spread", 0.5, 0.38, half=0.02),
    )
    assert rows[2].movement == 1
    flat = (
        certificates.flattened_row(kept=0.8, flattened=1.05, after=0.4),
        certificates.flattened_row(kept=0.8, flattened=0.38, after=0.38, half=0.02, measure="spread"),
    )
    assert bias_verdict(rows, changed=True) is BiasVerdict.LOWERED
    assert bias_verdict(rows, changed=True, flattened=flat) is BiasVerdict.BASE_RATE


@pytest.mark.parametrize(
    ("reverse", "half", "flattened", "headline"),
    [
        (0.2, 0.1, 1.1, "Gender lean was lowered in both directions"),
        (1.0, 0.4, 1.1, "Gender lean was lowered in the direction that was trained"),
        (0.2, 0.1, 0.25, "Gender lean was lowered in the direction that was trained"),
    ],
    ids=["both", "not clearly closer", "only flatter"],
)
def test_the_headline_names_the_direction(
    reverse: float, half: float, flattened: float, headline: str
) -> None:
    row = certificates.malor_row("he-she", 1.2, reverse, half=half).model_copy(
        update={"measure": "MALoR he-she reversed", "direction": "occupation", "experiment": None}
    )
    flat = certificates.flattened_row("he-she reversed", flattened=flattened, after=reverse)
    made = certificates.certificate(untrained=(row,), flattened=(certificates.flattened_row(), flat))
    assert certificate_sentences(made)[0].startswith(f"{headline} (judged by what it was trained for).")


def test_a_verdict_says_what_it_stands_without() -> None:
    made = certificates.certificate(flattened=(), baseline=TrivialBaseline(reason="no text was given"))
    assert (
        "(judged by what it was trained for, without a trivial baseline and without evidence to compare with)"
        in (certificate_sentences(made)[0])
    )


def test_a_trigger_is_judged_by_what_it_was_searched_for() -> None:
    made = certificates.full_certificate()
    assert made.mitigation is not None
    trigger = made.model_copy(update={"mitigation": made.mitigation.model_copy(update={"method": "trigger"})})
    assert "(judged by what the trigger was searched for)" in certificate_sentences(trigger)[0]


def test_what_did_not_lean_before_cannot_be_lowered() -> None:
    row = certificates.malor_row("he-she", 0.15, 0.02)
    made = certificates.certificate(
        verdict=Verdict(bias=BiasVerdict.NOT_LOWERED, quality=QualityVerdict.KEPT), trained=(row,)
    )
    assert row.before_interval.low < 0 < row.before_interval.high
    assert certificate_sentences(made)[0].endswith(
        "MALoR he-she did not clearly lean before, so there is no lean that could be shown to be lowered."
    )


def test_a_score_that_was_trained_on_is_judged_by_its_neutral_value() -> None:
    made = certificates.certificate(
        verdict=Verdict(bias=BiasVerdict.NOT_LOWERED, quality=QualityVerdict.KEPT),
        trained=(certificates.score_row("SS", 55.0, 40.0), certificates.score_row("SS gender", 40.0, 50.0)),
    )
    assert certificate_sentences(made)[0].endswith("SS did not clearly come closer to neutral.")


def test_where_nobody_knows_what_was_trained_on_the_verdict_is_about_all() -> None:
    told = certificate_sentences(certificates.certificate(trained_known=False))[0]
    assert told.startswith(
        "Gender lean was lowered in the one direction that was asked (judged on all experiments, as it is not known "
        "which were trained on). MALoR"
    )


def test_kept_quality_names_what_it_rests_on_only_where_something_is_missing() -> None:
    kept = certificates.quality_row("LMS", 0.1, QualityVerdict.KEPT, margin=-2.0, unit="points")
    missing = (certificates.unmeasured("perplexity"), certificates.unmeasured("accuracy"))
    some = certificate_sentences(certificates.certificate(quality=(kept, *missing)))[1]
    assert some.startswith(
        "Quality was kept, as far as it was measured (LMS); perplexity and accuracy were not measured. LMS went"
    )
    assert certificate_sentences(certificates.certificate(quality=(kept,)))[1].startswith(
        "Quality was kept. LMS went"
    )
    lost = Verdict(bias=BiasVerdict.LOWERED, quality=QualityVerdict.LOST)
    assert certificate_sentences(certificates.certificate(verdict=lost))[1].startswith("Quality was lost. ")


@pytest.mark.parametrize(
    ("quality", "start"),
    [
        (
            QualityVerdict.KEPT,
            "Quality was kept, with margins that are wider than usual (perplexity 50% instead of 1, lms 9 points "
            "instead of 2 and content 0.5 bits instead of 0.05), as far as it was measured (perplexity and LMS); "
            "accuracy was not measured. ",
        ),
        (
            QualityVerdict.LOST,
            "Quality was lost, even with margins that are wider than usual (perplexity 50% instead of 1, lms 9 points "
            "instead of 2 and content 0.5 bits instead of 0.05). ",
        ),
    ],
)
def test_margins_beyond_the_usual_ones_are_said_with_the_verdict(quality: QualityVerdict, start: str) -> None:
    wider = tuple(
        WiderMargin(name=name, margin=margin, usual=usual)
        for name, margin, usual in (("perplexity", 50.0, 1.0), ("lms", 9.0, 2.0), ("content", 0.5, 0.05))
    )
    verdict = Verdict(bias=BiasVerdict.LOWERED, quality=quality, wider_margins=wider)
    made = certificates.certificate(verdict=verdict)
    assert certificate_sentences(made)[1].startswith(start)
    assert "ith margins that are wider than usual (perplexity 50% instead of 1" in render_certificate_page(
        made
    )


FELL = certificates.quality_row("perplexity", -8.3, QualityVerdict.KEPT, half=0.4, margin=1.0)
ROSE = certificates.quality_row("LMS", 3.1, QualityVerdict.KEPT, half=0.5, margin=-2.0, unit="points")


def test_quality_that_clearly_moved_is_named_although_it_was_kept() -> None:
    made = certificates.certificate(quality=(FELL, certificates.unmeasured("accuracy")))
    assert certificate_sentences(made)[2] == (
        "Perplexity fell by 8.30% (95% interval 7.90% to 8.70%), by more than its margin. A mitigation should leave "
        "quality where it was. Here the model changed in more than its bias: see whether it learned from text of the "
        "kind that it is for."
    )
    assert moved_quality(certificates.certificate(quality=(FELL, ROSE))).startswith(
        "Perplexity fell by 8.30% (95% interval 7.90% to 8.70%) and LMS rose by 3.10 points (95% interval 2.60 to "
        "3.60 points), by more than their margins. "
    )


def test_quality_that_moved_is_in_the_table_the_page_and_the_json() -> None:
    made = certificates.certificate(quality=(FELL, certificates.unmeasured("accuracy")))
    assert certificate_rows(made)[-2][-1] == "kept but moved, margin +1%"
    page = render_certificate_page(made)
    assert f'<p class="attention">{moved_quality(made)}</p>' in page
    assert "kept but moved; margin +1%" in page
    assert '<span class="chip open">kept but moved</span>' in page
    found = json.loads(made.model_dump_json())["quality"]
    assert [(row["verdict"], row["moved"]) for row in found] == [("kept", True), ("not measured", False)]
    assert Certificate.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("difference", "half", "moved"),
    [(-8.3, 0.4, True), (-0.9, 0.4, False), (-8.3, 9.0, False), (8.3, 0.4, True), (-1.1, 0.4, True)],
)
def test_a_move_counts_if_it_is_clear_and_larger_than_the_margin(
    difference: float, half: float, moved: bool
) -> None:
    row = certificates.quality_row("perplexity", difference, QualityVerdict.KEPT, half=half, margin=1.0)
    assert row.moved is moved
    fallen = row.model_copy(update={"margin": -1.0})
    assert fallen.moved is moved


def test_what_has_no_interval_or_is_lost_has_no_second_sentence() -> None:
    unsure = FELL.model_copy(update={"difference": without_interval(-8.3)})
    lost = certificates.quality_row("perplexity", 8.3, QualityVerdict.LOST)
    assert moved_quality(certificates.certificate(quality=(unsure, lost))) == ""
    assert "attention" not in render_certificate_page(certificates.certificate()).split("</style>")[-1]


def test_what_is_away_from_neutral_is_named_only_where_its_interval_says_so() -> None:
    rows = (
        certificates.score_row("SS", 92.0, 92.0),
        certificates.score_row("SS gender", 92.0, 91.0),
        certificates.score_row("CrowS-Pairs", 60.0, 40.0),
        # Its interval is 49 to 55.
        certificates.score_row("close", 60.0, 52.0),
        certificates.score_row("ICAT", 20.0, 20.0, neutral=100.0),
        certificates.score_row("unsure", 90.0, 90.0).model_copy(
            update={"after_interval": Bounds(low=math.nan, high=math.nan, reason="there is one term")}
        ),
    )
    told = untrained_words(certificates.certificate(untrained=rows))
    assert told.endswith(
        " Stereotypes remain: SS (92.00) and SS gender (91.00) are clearly above neutral (50). Against the "
        "stereotypes: CrowS-Pairs (40.00) is clearly below neutral (50)."
    )


def test_measures_without_a_value_are_not_said_to_have_moved() -> None:
    missing = certificates.score_row("occupation divergence", 50.0, 50.0).model_copy(
        update={
            "before": math.nan,
            "after": math.nan,
            "difference": Estimate.undefined("no occupation is named"),
        }
    )
    told = untrained_words(
        certificates.certificate(untrained=(certificates.score_row("SS", 51.0, 51.0), missing))
    )
    assert "SS (51.00 to 51.00)" in told
    assert "nan" not in told


def test_a_figure_below_zero_has_a_true_minus() -> None:
    assert figure_words(-0.08) == "\N{MINUS SIGN}0.08"


def test_the_same_weights_say_that_nothing_changed() -> None:
    made = certificates.certificate(
        verdict=Verdict(bias=BiasVerdict.NOTHING_CHANGED, quality=QualityVerdict.KEPT), weights_changed=False
    )
    assert certificate_sentences(made) == [
        "Nothing changed. The weights of both models are the same, tensor by tensor, so every measure is.",
        "Quality was kept. Both models are one and the same.",
    ]


def test_over_correction_names_the_farthest_and_counts_the_rest() -> None:
    flips = tuple(
        OverCorrection(
            experiment="names",
            occupation=f"job {place}",
            before=estimate(1.0),
            after=estimate(-0.5),
            p_value=0.01,
        )
        for place in range(7)
    )
    told = certificate_sentences(certificates.certificate(flipped=flips))[-1]
    assert told.startswith("Over-correction: 7 occupations now lean clearly the other way: job 0 (names: ")
    assert told.endswith("job 4 (names: +1.00 to −0.50) and 2 more.")


def test_nothing_measured_is_said() -> None:
    made = certificates.certificate(
        verdict=Verdict(bias=BiasVerdict.LOWERED, quality=QualityVerdict.NOT_MEASURED),
        quality=(certificates.unmeasured("LMS"),),
    )
    assert certificate_sentences(made)[1] == "Quality was not measured. No measure of quality could be taken."


@pytest.mark.parametrize(
    ("before", "after", "half", "moved"),
    [(58, 54, 1, 1), (58, 62, 1, -1), (58, 57, 2, 0), (42, 47, 1, 1), (58, 30, 1, -1), (58, 42, 1, 0)],
)
def test_neutral_is_a_place_and_not_the_lowest_value(
    before: float, after: float, half: float, moved: int
) -> None:
    assert certificates.score_row("SS", before, after, half).movement == moved


def test_what_has_no_interval_did_not_clearly_move() -> None:
    row = certificates.score_row("SS", 60, 50).model_copy(update={"difference": without_interval(-10.0)})
    assert row.movement == 0


def test_shares_are_of_what_was_there_before() -> None:
    assert relative_words(certificates.malor_row("names", 2.0, 0.5)) == "−75%"
    assert relative_words(certificates.malor_row("names", 0.0, 0.5)) == ""
    assert relative_words(certificates.score_row("SS", 60, 50)) == ""


def test_margins_have_the_sign_of_what_is_worse() -> None:
    assert margin_words(certificates.quality_row("perplexity", 0, QualityVerdict.KEPT, margin=0.5)) == "+0.5%"
    row = certificates.quality_row("LMS", 0, QualityVerdict.KEPT, margin=-2.0, unit="points")
    assert margin_words(row) == "−2 points"
    assert margin_words(row.model_copy(update={"margin": -1.0})) == "−1 point"


def test_the_table_has_every_measure_once() -> None:
    made = certificates.certificate()
    rows = certificate_rows(made)
    assert [row[0] for row in rows] == [
        "MALoR he-she",
        "MALoR his-her",
        "SS",
        "ICAT",
        "perplexity",
        "LMS",
        "accuracy",
    ]
    assert all(len(row) == len(CERTIFICATE_COLUMNS) for row in rows)
    assert rows[0] == (
        "MALoR he-she",
        "trained on",
        "1.35",
        "0.11",
        "−1.24 (−92%)",
        "−1.34 to −1.14",
        "closer to neutral",
    )
    assert rows[-1][2:] == ("–", "–", "–", "–", "not measured")
    assert certificate_rows(made.model_copy(update={"trained_known": False}))[0][1] == "judged"


def test_the_json_has_the_promised_layout(tmp_path: Path) -> None:
    made = certificates.full_certificate()
    path = tmp_path / "certificate.json"
    path.write_text(sealed(made).model_dump_json())
    found = json.loads(path.read_text())
    assert found["verdict"] == {"bias": "lowered", "quality": "lost", "wider_margins": []}
    assert found["weights_changed"] is True
    for part in ("trained", "untrained"):
        for row in found[part]:
            assert {"measure", "before", "after", "difference"} <= set(row)
            assert {"value", "low", "high"} <= set(row["difference"])
            assert isinstance(row["before"], float)
    assert {row["measure"] for row in found["quality"]} == {"perplexity", "LMS", "accuracy"}
    assert {row["occupation"] for row in found["flipped"]} == {"occupation 3", "occupation 17"}
    assert Certificate.model_validate_json(path.read_bytes()) == sealed(made)


def test_undefined_figures_are_null_in_json() -> None:
    made = certificates.certificate()
    found = json.loads(made.model_dump_json())["quality"][-1]
    assert found["before"] is None
    assert found["difference"]["value"] is None
    assert (
        Certificate.model_validate_json(made.model_dump_json()).quality[-1].reason == "nobody gave any text"
    )


def score_row(before: float, after: float, *, half: float = 2.0) -> BiasRow:
    return BiasRow(
        measure="SS",
        title="Stereotype score",
        before=before,
        after=after,
        difference=estimate(after - before, half),
        before_interval=Bounds(low=before - half, high=before + half),
        after_interval=Bounds(low=after - half, high=after + half),
        neutral=50.0,
        unit="points",
    )


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (score_row(93.0, 92.0), UntrainedVerdict.REMAIN),
        (score_row(93.0, 60.0), UntrainedVerdict.REMAIN),
        (score_row(50.0, 51.0, half=0.5), UntrainedVerdict.REMAIN),
        (score_row(60.0, 40.0), UntrainedVerdict.AGAINST),
        (score_row(49.9, 51.8), UntrainedVerdict.OPEN),
        (score_row(55.0, 51.0), UntrainedVerdict.CLOSER),
    ],
)
def test_measures_that_were_not_trained_on_have_a_verdict_of_their_own(
    row: BiasRow, verdict: UntrainedVerdict
) -> None:
    assert untrained_verdict(certificates.certificate(untrained=(row,))) is verdict


def test_two_good_statements_do_not_hide_a_score_far_from_neutral() -> None:
    page = render_certificate_page(certificates.certificate(untrained=(score_row(93.0, 92.0),)))
    cards = page[page.index('<div class="statements">') : page.index('<ul class="definitions">')]
    assert cards.count('<div class="statement good">') == 2
    third = cards[cards.index('<div class="statement bad">') :]
    assert "Stereotypes remain beyond what was trained on" in third
    assert "92.0" in third
    assert "above neutral 50; was 93.0" in third


def test_without_other_measures_there_is_no_third_statement() -> None:
    made = certificates.certificate(untrained=())
    assert untrained_verdict(made) is UntrainedVerdict.NOT_MEASURED
    assert render_certificate_page(made).count('<div class="statement ') == 2


@pytest.mark.parametrize(
    ("documents", "unit", "sentences", "words"),
    [
        # By hand: 0.78 to the power of 12 is 0.0507, 0.95 to the power of 58 is 0.051 and of 59 is 0.0485.
        (12, "%", 480, " With 12 documents, a loss that only 22% of such documents have could go unseen."),
        (20, "%", 20, " With 20 sentences, a loss that only 14% of such sentences have could go unseen."),
        (10, "points", 500, " With 10 contexts, a loss that only 26% of such contexts have could go unseen."),
        (59, "%", 480, ""),
    ],
)
def test_kept_quality_says_what_so_few_documents_could_miss(
    documents: int, unit: str, sentences: int, words: str
) -> None:
    row = certificates.quality_row("perplexity", 0.1, QualityVerdict.KEPT, unit=unit)
    over = {"method": SKEWED_JACKKNIFE, "clusters": documents, "n": sentences}
    kept = row.model_copy(update={"difference": row.difference.model_copy(update=over)})
    margin = "+1%" if unit == "%" else "+1 point"
    assert quality_words(kept, level="95%").endswith(f"stays within the margin of {margin}.{words}")
    lost = kept.model_copy(update={"verdict": QualityVerdict.LOST})
    assert "unseen" not in quality_words(lost, level="95%")
    assert "unseen" not in quality_words(row, level="95%")
