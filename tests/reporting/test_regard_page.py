"""The page of regard: what is drawn, what is said, and what is hidden until it is asked for."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.evaluation import RegardEvaluation
from evenhand.instruments.regard.results import LabellingClassifier
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION, PlantedGap, plant_gap
from evenhand.reporting.page import render_page
from evenhand.reporting.plotting import shown_runs
from evenhand.reporting.regard.view import MOST_TEXTS, named_parts, regard_view
from evenhand.reporting.regard.words import gap_verdict, interpret_regard
from evenhand.reporting.words import Lean
from evenhand.stats.resampling import Resampling
from evenhand.store.classifier_records import CheckVerdict
from evenhand.store.run import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FEW = RegardAnalysisOptions(resampling=Resampling(resamples=200))


def texts(seed: int = 1, **plan: Any) -> GroupTexts:
    planted = plant_gap(PlantedGap(**{"texts": 20, **plan}), np.random.default_rng(seed))
    kinds = {f"context {number}": ("occupation", "respect")[number % 2] for number in range(20)}
    return replace(
        planted, texts=tuple(replace(own, kind=kinds.get(own.context, "")) for own in planted.texts)
    )


def run_of(own: GroupTexts, options: RegardAnalysisOptions = FEW, name: str = "texts") -> Run:
    return RegardEvaluation(own, options, name=name).measure()


def page_data(html: str) -> Any:
    found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', html, re.S)
    assert found is not None
    return json.loads(found[1])


def test_kinds_stand_above_their_contexts() -> None:
    names = list(named_parts(run_of(texts()).result))
    assert names[:3] == ["All contexts", "Occupation", "context 0"]
    assert names[7:9] == ["Respect", "context 1"]
    assert len(names) == 13


def test_bars_go_to_either_side_and_gaps_have_neutral_and_a_band() -> None:
    html = render_page([run_of(texts(gap=15))])
    plots = page_data(html)["plots"]
    shares, gaps = plots["regard-shares-0"], plots["regard-gaps"]
    (values,) = [rows for rows in shares["datasets"].values() if "side" in rows[0]]
    assert all((row["value"] <= 0) == (row["side"] == "negative") for row in values if row["value"])
    assert len(values) == 13 * 2 * 2
    flat = list(gaps["datasets"].values())
    assert [{"neutral": 0.0}] in flat
    assert [{"low": -5.0, "high": 5.0}] in flat


def test_texts_are_hidden_behind_a_notice_and_cannot_become_markup() -> None:
    own = texts()
    nasty = replace(own, texts=(replace(own.texts[0], text="</script><b>x</b>"), *own.texts[1:]))
    html = render_page([run_of(nasty)])
    assert 'id="regard-area" hidden' in html
    assert "Content notice." in html
    assert "<b>x</b>" not in html
    assert page_data(html)["regard"]["runs"][0]["texts"][0][3] == "</script><b>x</b>"


def test_a_page_holds_so_many_texts_and_says_how_many_there_are() -> None:
    big = run_of(texts(texts=400))
    data = regard_view(shown_runs([big])).data["regard"]["runs"][0]
    assert data["total"] == 8_000
    assert 1_000 < len(data["texts"]) <= MOST_TEXTS


def test_several_runs_stand_side_by_side_with_their_differences() -> None:
    html = render_page([run_of(texts(1, gap=20), name="before"), run_of(texts(2), name="after")])
    assert 'id="regard-shares"' in html
    assert 'id="regard-run"' in html
    assert "Differences" in html
    assert "regard-shares-1" in page_data(html)["plots"]


def test_gaps_are_named_for_readers_and_not_for_programs() -> None:
    two = (run_of(texts(gap=20), name="before"), run_of(texts(2), name="after"))
    for page in (render_page(two[:1]), render_page(two)):
        seen = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
        assert "regard gap" in seen
        assert "signed gap" not in seen
        assert "signed_gap" not in seen


def test_skipped_texts_are_on_the_page_by_reason_and_group() -> None:
    lost = replace(texts(), left_out={"the model wrote nothing": {"first group": 3}})
    html = render_page([run_of(lost)])
    assert "Nothing was skipped" not in html
    assert re.search(r">the model wrote nothing</th><td>first group</td><td class=\"count\">3</td>", html)
    assert "Probabilities and preferences are not behaviour" not in html


def test_no_difference_is_said_only_where_it_is_shown() -> None:
    wide = run_of(texts(gap=0, spread=10))
    (said,) = interpret_regard(wide)
    assert (
        said.verdict == "These texts do not settle whether first group and second group are spoken of alike"
    )
    assert not any("ruled out" in sentence for sentence in said.sentences)
    assert any("10 contexts are too few to tell that from chance" in sentence for sentence in said.sentences)
    (gap,) = wide.result.all.figures.gaps
    small = gap.model_copy(update={"equivalence": gap.equivalence.model_copy(update={"holds": True})})
    assert gap_verdict(small).startswith("No difference of 5 points or more")


def test_the_interval_that_rules_a_gap_out_stands_beside_the_words() -> None:
    wide = run_of(texts(gap=0, spread=10))
    (own,) = wide.result.all.figures.gaps
    gap = own.model_copy(
        update={
            "gap": own.gap.model_copy(update={"value": -2.56, "low": -5.34, "high": 0.21}),
            "p_holm": 0.07,
            "equivalence": own.equivalence.model_copy(update={"low": -4.86, "high": -0.27, "holds": True}),
        }
    )
    figures = wide.result.all.figures.model_copy(update={"gaps": (gap,)})
    result = wide.result.model_copy(update={"all": wide.result.all.model_copy(update={"figures": figures})})
    (said,) = interpret_regard(replace(wide, results=(result,)))
    assert said.verdict == "These texts speak alike of first group and second group"
    assert (
        "Positive minus negative, that is 2.6 points more for second group than for first group; a gap of 5 points or "
        "more is ruled out (90% interval, that of two one-sided tests at 5%: 0.3 to 4.9 points). With 10 contexts, a "
        "gap that only 26% of such contexts have could go unseen."
    ) in said.sentences
    assert gap_verdict(gap) == (
        "No difference of 5 points or more: two one-sided tests at 5%, whose interval is −4.9 to −0.3 (90%), show that "
        "the gap is smaller."
    )


def with_gap(own: Run, *, p_holm: float, kind: str = "", **gap: float) -> Run:
    """The same run with another gap, in all contexts or in those of a kind."""
    part = own.result.by_kind[kind] if kind else own.result.all
    (old,) = part.figures.gaps
    new = old.model_copy(update={"gap": old.gap.model_copy(update=gap), "p_holm": p_holm})
    changed = part.model_copy(update={"figures": part.figures.model_copy(update={"gaps": (new,)})})
    update = {"by_kind": {**own.result.by_kind, kind: changed}} if kind else {"all": changed}
    return replace(own, results=(own.result.model_copy(update=update),))


def test_a_gap_whose_interval_includes_0_is_not_shown_whatever_its_test_says() -> None:
    run = with_gap(run_of(texts()), value=6.0, low=-0.5, high=9.0, p_holm=0.01)
    (said,) = interpret_regard(run)
    why = (
        "The test calls it more than chance, but the range includes 0: a few of the 10 contexts are far from the rest, "
        "which the test does not allow for."
    )
    assert said.lean is Lean.OPEN
    assert any(own.endswith(f"(95% interval: −0.5 to 9.0 points). {why}") for own in said.sentences)
    assert gap_verdict(run.result.all.figures.gaps[0]).endswith(why)


def test_a_gap_in_a_kind_of_contexts_whose_interval_and_test_disagree_is_explained() -> None:
    run = with_gap(
        run_of(texts()), kind="occupation", value=-8.2, low=-14.5, high=-1.9, clusters=4, p_holm=0.125
    )
    (said,) = interpret_regard(run)
    assert (
        "In contexts of occupation, it is 8.2 points more for second group than for first group (95% interval: 1.9 to "
        "14.5 points). The range leaves out 0, but the test does not call it more than chance: it exchanges the groups "
        "within 4 contexts, which gives p 0.125 at best, and allows for every gap that is tested."
    ) in said.sentences


def test_a_gap_that_is_shown_says_what_so_few_contexts_could_miss() -> None:
    (said,) = interpret_regard(with_gap(run_of(texts()), value=6.0, low=2.0, high=9.0, p_holm=0.01))
    assert any(
        own.endswith(
            "With 10 contexts, a gap to the other side that only 26% of such contexts have could go unseen."
        )
        for own in said.sentences
    )


def test_a_gap_that_is_shown_is_said_with_its_direction() -> None:
    (said,) = interpret_regard(run_of(texts(gap=-30, spread=2)))
    assert said.lean is Lean.TOWARDS
    assert said.verdict == "These texts speak better of second group than of first group"
    assert any(
        "more for second group than for first group, more than chance" in own for own in said.sentences
    )


def test_shares_that_cannot_be_are_not_told_as_texts_out_of_a_hundred() -> None:
    run = run_of(texts())
    (said,) = interpret_regard(run)
    assert said.sentences[0].startswith("Of every 100 texts")
    whole = run.result.all
    group, own = next(iter(whole.figures.groups.items()))
    impossible = own.model_copy(update={"negative": own.negative.model_copy(update={"value": -7.0})})
    figures = whole.figures.model_copy(update={"groups": {**whole.figures.groups, group: impossible}})
    result = run.result.model_copy(update={"all": whole.model_copy(update={"figures": figures})})
    (said,) = interpret_regard(replace(run, results=(result,)))
    assert not any(sentence.startswith("Of every 100") for sentence in said.sentences)
    assert len(said.sentences) > 1


@pytest.mark.parametrize(
    ("verdict", "labelled", "begins"),
    [
        (CheckVerdict.FAILED, 0, "According to a classifier that failed its check, these texts speak better"),
        (CheckVerdict.FAILED, 400, "These texts speak better"),
        (CheckVerdict.PASSED, 0, "These texts speak better"),
    ],
)
def test_what_a_classifier_says_that_failed_its_check_is_not_said_of_the_texts(
    verdict: CheckVerdict, labelled: int, begins: str
) -> None:
    classifier = LabellingClassifier(name="c", fingerprint="f", verdict=verdict, warning=None)
    planted = texts(gap=40, spread=2, labelled=labelled)
    (said,) = interpret_regard(run_of(planted, replace(FEW, classifier=classifier)))
    assert said.verdict.startswith(begins)


def test_the_error_of_the_classifier_is_shown_in_all_treatments() -> None:
    html = render_page([run_of(texts(confusion=PUBLISHED_CONFUSION, labelled=200, texts=40))])
    assert "The classifier&#39;s error" in html or "The classifier's error" in html
    for treatment in ("prediction-powered", "confusion matrix", "as labelled"):
        assert treatment in html


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (CheckVerdict.FAILED, "failed the check for a bias of its own"),
        (CheckVerdict.UNDECIDED, "not shown that this program is free of a bias"),
        (None, "Nobody checked whether this program has a bias"),
        (CheckVerdict.PASSED, None),
    ],
)
def test_what_is_known_of_the_classifier_is_said(verdict: CheckVerdict | None, words: str | None) -> None:
    classifier = LabellingClassifier(name="c", fingerprint="f", verdict=verdict, warning=None)
    (said,) = interpret_regard(run_of(texts(), replace(FEW, classifier=classifier)))
    told = " ".join(said.sentences)
    assert words in told if words else "bias of its own" not in told


def test_a_reader_searches_texts(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_page([run_of(texts())]), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert not page.is_visible("#regard-list")
    page.click("#regard-show")
    page.wait_for_selector("#regard-list li")
    assert page.inner_text("#regard-status") == "400 texts."
    page.select_option("#regard-group", "first group")
    assert page.inner_text("#regard-status") == "200 texts."
    page.fill("#regard-search", "Text 7 about")
    assert page.inner_text("#regard-status") == "1 text."
    page.fill("#regard-search", "nothing like it")
    assert "No text fits" in page.inner_text("#regard-status")
    page.close()
