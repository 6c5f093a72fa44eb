"""Knowledge before and after: what is judged, what is reported, and how often a loss at the margin is called kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from certificate_runs import small_plan
from certificates import certificate, quality_row

from evenhand.api.defaults.mitigating import CertifyOptions, default_plan
from evenhand.certificate.knowledge import knowledge_rows, reported_rows
from evenhand.certificate.margins import Margins
from evenhand.certificate.measurements import Measurements
from evenhand.core.errors import EvenhandError
from evenhand.core.settled import SettledSet
from evenhand.data.settled import load_settled
from evenhand.instruments.knowledge.instrument import KNOWLEDGE, KnowledgeOptions
from evenhand.instruments.knowledge.quality import (
    evidence_by_role,
    kept_evidence,
    nothing_to_lose,
    quality_of_runs,
)
from evenhand.models.references import ModelRef
from evenhand.models.requests import Fill, Finish, GeneratedText
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.reporting.tables import certificate_rows
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_quality import QualityRow, QualityVerdict, quality_verdict
from evenhand.store.certificates import ReportedRow
from evenhand.store.run import Run
from evenhand.testing import FakeModel

FEW = Resampling(resamples=200)
SETTLED = load_settled("en").first(200)
RIGHT = {sentence.text.replace("BLANK", sentence.right) for sentence in SETTLED.sentences}
RAIN = "\n".join(f"It rained on day {'i' * day} of the month." for day in range(1, 25))
NONSENSE = {sentence.text.replace("BLANK", sentence.nonsense) for sentence in SETTLED.sentences}


def run_of(name: str, probability: Callable[[str], float], settled: SettledSet = SETTLED) -> Run:
    model = FakeModel(
        lambda text: 1e-6 if text in NONSENSE else probability(text), name=name, capabilities=(Fill,)
    )
    return KNOWLEDGE.prepare(model, KnowledgeOptions(data=settled, resampling=FEW), name=name).measure()


@pytest.fixture(scope="module")
def knows() -> Run:
    return run_of("knows", lambda text: 0.4 if text in RIGHT else 0.1)


@pytest.fixture(scope="module")
def tied() -> Run:
    return run_of("tied", lambda _: 0.2)


MARGINS = asdict(small_plan().margins)


def side(run: Run) -> Measurements:
    return Measurements({"knowledge": run}, {})


def rows_of(before: Run, after: Run) -> dict[str, QualityRow]:
    rows = knowledge_rows(side(before), side(after), margins=MARGINS, resampling=small_plan().resampling)
    return {row.measure: row for row in rows}


def test_pronouns_that_cannot_be_told_apart_are_lost_knowledge(knows: Run, tied: Run) -> None:
    row = rows_of(knows, tied)["knowledge"]
    assert (row.before, row.after) == (100, 50)
    assert row.difference.value == -50
    assert row.difference.clusters == 100
    assert row.verdict is QualityVerdict.LOST


def test_where_nothing_changed_the_interval_still_knows_how_many_pairs_there_are(knows: Run) -> None:
    row = rows_of(knows, knows)["knowledge"]
    z = 1.959964
    assert row.difference.low == pytest.approx(-100 * z * z / (100 + z * z))
    assert row.verdict is QualityVerdict.UNDECIDED
    half = run_of("few", lambda text: 0.4 if text in RIGHT else 0.1, SETTLED.first(50))
    assert rows_of(half, half)["knowledge"].difference.low < row.difference.low


def test_all_bundled_sentences_are_enough_to_call_knowledge_kept() -> None:
    pairs = {
        language: len({sentence.pair for sentence in load_settled(language).read_from_the_left().sentences})
        for language in ("en", "de")
    }
    z = 1.959964
    assert all(100 * z * z / (count + z * z) < Margins().knowledge for count in pairs.values())


def test_a_model_that_only_guesses_has_nothing_to_lose(knows: Run, tied: Run) -> None:
    assert nothing_to_lose(knows) is None
    for row in rows_of(tied, knows).values():
        assert row.verdict is QualityVerdict.NOT_MEASURED
        assert "right in 50% of the settled sentences" in str(row.reason)
        assert "nothing that could be lost" in str(row.reason)
    assert evidence_by_role(tied, knows, resampling=FEW) == {}
    assert reported_rows(side(tied), side(knows), resampling=FEW) == ()


def test_without_runs_the_reason_is_told(knows: Run) -> None:
    nothing = Measurements({}, {"knowledge": "it cannot be asked"})
    some = side(knows)
    for missing, reason in (
        (nothing, "it cannot be asked"),
        (Measurements({}, {}), "the plan has no settled sentences"),
    ):
        rows = knowledge_rows(some, missing, margins=MARGINS, resampling=FEW)
        assert [(row.measure, row.reason) for row in rows] == [("knowledge", reason), ("evidence", reason)]
        assert {row.left_out for row in rows} == {200}
    assert reported_rows(some, nothing, resampling=FEW) == ()


def kept_with(rows: Iterable[QualityRow]) -> QualityVerdict:
    return quality_verdict((*rows, quality_row("LMS", 0.0, QualityVerdict.KEPT)))


def test_knowledge_that_only_the_model_before_can_be_asked_for_is_not_kept(knows: Run) -> None:
    """A tokenizer without *she* must not take knowledge out of the verdict."""
    gap, wide = Measurements({}, {"knowledge": "it cannot be asked"}), dict.fromkeys(MARGINS, 99.0)
    for before, after, verdict in (
        (side(knows), side(knows), QualityVerdict.KEPT),
        (side(knows), gap, QualityVerdict.UNDECIDED),
        (gap, side(knows), QualityVerdict.KEPT),  # nothing that could be lost is known of the model before
    ):
        assert kept_with(knowledge_rows(before, after, margins=wide, resampling=FEW)) is verdict
    for missing, verdict in ((20, QualityVerdict.KEPT), (22, QualityVerdict.UNDECIDED)):
        fewer = without_answers(knows, missing)
        rows = quality_of_runs(knows, fewer, margins={"knowledge": -99.0, "evidence": -99.0}, resampling=FEW)
        assert [row.left_out for row in rows] == [missing, missing]
        assert rows[0].reason == f"{missing} sentences were answered by the model before only"
        assert kept_with(rows) is verdict
        assert [
            row.left_out
            for row in quality_of_runs(
                fewer, knows, margins={"knowledge": -99.0, "evidence": -99.0}, resampling=FEW
            )
        ] == [0, 0]


def without_answers(run: Run, count: int) -> Run:
    """A run whose first sentences could not be asked."""
    scores = run.scores.with_row_index("place").with_columns(
        pl.when(pl.col("place") >= count).then(pl.col(name)).alias(name) for name in ("gap", "is_right")
    )
    return replace(run, scores=scores.drop("place"))


@pytest.fixture(scope="module")
def flatter() -> Run:
    """Right as often as before, and half as sure: 1 bit in the place of 2."""
    return run_of("flatter", lambda text: 0.4 if text in RIGHT else 0.2)


def test_evidence_that_is_gone_is_lost_quality_though_every_answer_is_right(knows: Run, flatter: Run) -> None:
    rows = rows_of(knows, flatter)
    assert rows["knowledge"].after == 100
    row = rows["evidence"]
    assert (row.before, row.after) == pytest.approx((2.0, 1.0))
    assert row.difference.value == pytest.approx(-50)
    assert (row.unit, row.margin) == ("%", -25.0)
    assert row.verdict is QualityVerdict.LOST
    assert rows_of(flatter, knows)["evidence"].verdict is QualityVerdict.KEPT


def test_the_evidence_that_is_left_is_told_by_the_role_of_the_pronoun(knows: Run, flatter: Run) -> None:
    found = evidence_by_role(knows, flatter, resampling=FEW)
    roles = {role for role, pairs in knows.scores.group_by("role").agg(pl.col("pair").n_unique()).iter_rows()
             if pairs >= 10}  # fmt: skip
    assert set(found) == {"all", *roles}
    assert all(own.value == pytest.approx(0.5) for own in found.values())


def test_the_share_that_is_left_is_that_of_sums_over_pairs() -> None:
    first, second = np.array([4.0, 8, 6] * 10), np.array([3.0, 5, 1] * 10)
    found = kept_evidence(first, second, sentences=60, resampling=FEW)
    assert found.value == pytest.approx(9 / 18)
    assert found.low < 0.5 < found.high
    same = kept_evidence(first, first, sentences=60, resampling=FEW)
    assert (same.low, same.value, same.high) == (1, 1, 1)


def test_evidence_that_was_not_there_cannot_be_lost() -> None:
    generator = np.random.default_rng(3)
    found = kept_evidence(generator.normal(0, 1, 60), np.ones(60), sentences=120, resampling=FEW)
    assert not found.defined
    assert "is not clearly above 0" in str(found.reason)


@pytest.mark.parametrize("pairs", [128, 300])
def test_evidence_at_its_margin_is_rarely_called_kept(pairs: int) -> None:
    """A quarter of it is gone, more in some sentences than in others; gaps are skewed and some are negative."""
    generator = np.random.default_rng(6)
    kept = 0
    for _ in range(1500):
        first = generator.gamma(1.5, 3.5, pairs) - 0.25
        second = first * generator.normal(0.75, 0.2, pairs) + generator.normal(0, 1, pairs)
        found = kept_evidence(first, second, sentences=2 * pairs, resampling=FEW)
        kept += found.low >= 0.75
    assert 0.005 <= kept / 1500 <= 0.035


def test_the_evidence_of_each_role_is_reported(knows: Run, tied: Run) -> None:
    rows = {row.measure: row for row in reported_rows(side(knows), side(tied), resampling=FEW)}
    assert "evidence of subject pronouns" in rows
    for row in rows.values():
        assert row.before == pytest.approx(2.0)
        assert (row.after, row.unit) == (0, "bits")
        assert row.difference.value == pytest.approx(-2.0)


class Writer(FakeModel):
    """Goes on with the right pronoun, or always with *he*."""

    def __init__(self, name: str, *, knows: bool) -> None:
        super().__init__(lambda text: 1e-6 if text in NONSENSE else 0.4 if text in RIGHT else 0.1, name=name)
        self.knows = knows

    def generate(self, prompts: Any, options: Any = None, **_others: Any) -> Iterator[GeneratedText]:
        del options
        male = {sentence.opening: sentence.is_male for sentence in SETTLED.sentences}
        for number, prompt in enumerate(prompts):
            text = " he left" if male[prompt] or not self.knows else " she left"
            yield GeneratedText(prompt=number, text=text, tokens=2, finish=Finish.LENGTH)


def test_the_agreement_of_continuations_is_judged_where_models_write() -> None:
    options = KnowledgeOptions(data=SETTLED, resampling=FEW)
    before, after = (
        KNOWLEDGE.prepare(Writer(str(knows), knows=knows), options).measure() for knows in (True, False)
    )
    own = rows_of(before, after)["agreement"]
    assert (own.before, own.after, own.margin) == (100, 50, -5.0)
    assert own.verdict is QualityVerdict.LOST
    asked = {sentence.pair for sentence in SETTLED.read_from_the_left().sentences}
    assert own.difference.clusters == len(asked)


def test_models_that_do_not_write_have_no_row_of_agreement(knows: Run, tied: Run) -> None:
    assert list(rows_of(knows, tied)) == ["knowledge", "evidence"]


@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
def test_a_loss_at_the_margin_is_seldom_called_kept(together: float) -> None:
    """Knowledge is lost at exactly the margin, and regained here and there; twins change together or apart.

    Five pairs of 165 are lost on average, so the chance to see so few that it may be called kept is small, and comes in
    steps: with 600 pairs it is near the 2.5% that the interval allows.
    """
    from evenhand.stats.score_intervals import score_interval

    generator = np.random.default_rng(5)
    margin, gain, pairs, trials = 0.03, 0.01, 600, 3000
    kept = 0
    for _ in range(trials):
        first = generator.random(pairs)
        second = np.where(generator.random(pairs) < together, first, generator.random(pairs))
        changes = [
            np.where(draw < margin + gain, -1.0, np.where(draw > 1 - gain, 1.0, 0.0))
            for draw in (first, second)
        ]
        interval: Interval = score_interval((changes[0] + changes[1]) / 2, confidence=0.95)
        kept += interval.low > -margin
    assert 0.002 <= kept / trials <= 0.03


def reported(before: float, after: float, half: float = 0.1, **changes: Any) -> ReportedRow:
    made = {
        "measure": "evidence of subject pronouns",
        "title": "Evidence gap of subject pronouns",
        "before": before,
        "after": after,
        "difference": quality_row("x", after - before, QualityVerdict.KEPT, half=half).difference,
        "unit": "bits",
    }
    return ReportedRow(**{**made, **changes})


def words(*rows: ReportedRow) -> str:
    return " ".join(certificate_sentences(certificate(reported=rows)))


def test_the_sentences_tell_what_was_reported() -> None:
    text = words(reported(7.0, 6.8), reported(6.0, 5.5, measure="evidence of object pronouns"))
    assert "By the role of the pronoun, the evidence of subject pronouns went from 7.00 to 6.80 bits" in text
    assert "and the evidence of object pronouns went from 6.00 to 5.50 bits" in text


def test_the_table_has_what_was_reported() -> None:
    row = certificate_rows(certificate(reported=(reported(7.0, 2.1),)))[-1]
    assert row[:4] == ("evidence of subject pronouns", "reported", "7.00", "2.10")


def test_the_plan_asks_what_suits_the_model() -> None:
    for name, expected in (("lab:masked", "lab"), ("some/model", "settled")):
        plan = default_plan(ModelRef(id=name), CertifyOptions())
        (own,) = [one for one in plan.measurements if one.name == "knowledge"]
        assert own.options.data.name == expected


@pytest.mark.parametrize("option", ["settled_text", "held_out"])
def test_sentences_of_a_text_are_asked_beside_those_of_the_package(tmp_path: Path, option: str) -> None:
    (tmp_path / "novel.txt").write_text(f"Mary lost her keys. {RAIN}\n")
    text = (tmp_path / "novel.txt",)
    options = CertifyOptions(held_out=text) if option == "held_out" else CertifyOptions(settled_text=text)
    plan = default_plan(ModelRef(id="some/model"), options)
    (own,) = [one for one in plan.measurements if one.name == "knowledge"]
    bundled = load_settled("en").sentences
    assert own.options.data.sentences[: len(bundled)] == bundled
    assert [sentence.id for sentence in own.options.data.sentences[len(bundled) :]] == [
        "text 1-male",
        "text 1-female",
    ]


def test_text_without_a_settled_sentence_is_refused_where_it_was_given_for_them(tmp_path: Path) -> None:
    (tmp_path / "rain.txt").write_text(f"{RAIN}\n")
    with pytest.raises(EvenhandError, match=r"No settled sentence was found in .*rain.txt"):
        default_plan(ModelRef(id="some/model"), CertifyOptions(settled_text=(tmp_path / "rain.txt",)))
    plan = default_plan(ModelRef(id="some/model"), CertifyOptions(held_out=(tmp_path / "rain.txt",)))
    (own,) = [one for one in plan.measurements if one.name == "knowledge"]
    assert own.options.data == load_settled("en")


def test_the_margins_of_knowledge_are_given_like_the_others() -> None:
    assert Margins.parse(["knowledge=5"]).knowledge == 5
    assert Margins.parse(["evidence=10%"]).evidence == 10
    assert Margins.parse([]).evidence == 25
    with pytest.raises(EvenhandError, match="knowledge=2"):
        Margins.parse(["knowledge 5"])


def test_a_run_without_answers_is_not_judged(knows: Run) -> None:
    nothing = pl.lit(None, dtype=pl.Float64)
    silent = Run(
        record=knows.record,
        results=knows.results,
        scores=knows.scores.with_columns(nothing.alias("is_right"), nothing.alias("gap")),
    )
    margins = {"knowledge": -3.0, "evidence": -25.0}
    for row in quality_of_runs(knows, silent, margins=margins, resampling=FEW):
        assert row.verdict is QualityVerdict.NOT_MEASURED
        assert row.reason == "no settled sentence could be asked of both models"
    assert reported_rows(side(knows), side(silent), resampling=FEW) == ()
