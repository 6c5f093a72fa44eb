"""Knowledge before and after: what is judged, what is reported, and how often a loss at the margin is called kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from certificate_runs import small_plan
from certificates import certificate, quality_row

from evenhand.certificate.knowledge import knowledge_row, reported_rows
from evenhand.certificate.measuring import Measurements
from evenhand.certificate.plan import Margins
from evenhand.core.errors import EvenhandError
from evenhand.core.settled import SettledSet
from evenhand.data.settled import load_settled
from evenhand.instruments.knowledge.instrument import KNOWLEDGE, KnowledgeOptions
from evenhand.instruments.knowledge.quality import knowledge_of_runs, nothing_to_lose
from evenhand.models.capabilities import FillsBlanks
from evenhand.models.generation import Finish, GeneratedText
from evenhand.models.references import ModelRef
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.reporting.tables import certificate_rows
from evenhand.runs.certificate_quality import QualityVerdict
from evenhand.runs.certificates import ReportedRow
from evenhand.runs.run import Run
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.testing import FakeModel
from evenhand.workflows.defaults.mitigating import CertifyOptions, default_plan

FEW = Resampling(resamples=200)
SETTLED = load_settled("en").first(200)
RIGHT = {sentence.text.replace("BLANK", sentence.right) for sentence in SETTLED.sentences}
NONSENSE = {sentence.text.replace("BLANK", sentence.nonsense) for sentence in SETTLED.sentences}


def run_of(name: str, probability: Callable[[str], float], settled: SettledSet = SETTLED) -> Run:
    model = FakeModel(
        lambda text: 1e-6 if text in NONSENSE else probability(text), name=name, capabilities=(FillsBlanks,)
    )
    return KNOWLEDGE.prepare(model, KnowledgeOptions(data=settled, resampling=FEW), name=name).measure()


@pytest.fixture(scope="module")
def knows() -> Run:
    return run_of("knows", lambda text: 0.4 if text in RIGHT else 0.1)


@pytest.fixture(scope="module")
def tied() -> Run:
    return run_of("tied", lambda _: 0.2)


def side(run: Run) -> Measurements:
    return Measurements({"knowledge": run}, {})


def test_pronouns_that_cannot_be_told_apart_are_lost_knowledge(knows: Run, tied: Run) -> None:
    row = knowledge_row(side(knows), side(tied), small_plan())
    assert (row.before, row.after) == (100, 50)
    assert row.difference.value == -50
    assert row.difference.clusters == 100
    assert row.verdict is QualityVerdict.LOST


def test_where_nothing_changed_the_interval_still_knows_how_many_pairs_there_are(knows: Run) -> None:
    row = knowledge_of_runs(knows, knows, margin=-3.0, confidence=0.95)
    z = 1.959964
    assert row.difference.low == pytest.approx(-100 * z * z / (100 + z * z))
    assert row.verdict is QualityVerdict.UNDECIDED
    half = run_of("few", lambda text: 0.4 if text in RIGHT else 0.1, SETTLED.first(50))
    assert knowledge_of_runs(half, half, margin=-3.0, confidence=0.95).difference.low < row.difference.low


def test_all_bundled_sentences_are_enough_to_call_knowledge_kept() -> None:
    pairs = {
        language: len({sentence.pair for sentence in load_settled(language).read_from_the_left().sentences})
        for language in ("en", "de")
    }
    z = 1.959964
    assert all(100 * z * z / (count + z * z) < Margins().knowledge for count in pairs.values())


def test_a_model_that_only_guesses_has_nothing_to_lose(knows: Run, tied: Run) -> None:
    assert nothing_to_lose(knows) is None
    row = knowledge_row(side(tied), side(knows), small_plan())
    assert row.verdict is QualityVerdict.NOT_MEASURED
    assert "right in 50% of the settled sentences" in str(row.reason)
    assert "nothing that could be lost" in str(row.reason)
    assert reported_rows(side(tied), side(knows), resampling=FEW) == ()


def test_without_runs_the_reason_is_told(knows: Run) -> None:
    nothing = Measurements({}, {"knowledge": "it cannot be asked"})
    some = side(knows)
    assert knowledge_row(some, nothing, small_plan()).reason == "it cannot be asked"
    assert (
        knowledge_row(some, Measurements({}, {}), small_plan()).reason == "the plan has no settled sentences"
    )
    assert reported_rows(some, nothing, resampling=FEW) == ()


def test_the_evidence_gap_is_reported_with_its_interval(knows: Run, tied: Run) -> None:
    (row,) = reported_rows(side(knows), side(tied), resampling=FEW)
    assert (row.measure, row.unit) == ("evidence gap", "bits")
    assert row.before == pytest.approx(2.0)
    assert row.after == 0
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


def test_the_agreement_of_continuations_is_reported_where_models_write() -> None:
    options = KnowledgeOptions(data=SETTLED, resampling=FEW)
    before, after = (
        KNOWLEDGE.prepare(Writer(str(knows), knows=knows), options).measure() for knows in (True, False)
    )
    rows = {row.measure: row for row in reported_rows(side(before), side(after), resampling=FEW)}
    own = rows["agreement of continuations"]
    assert own.before == 100
    assert own.after == 50
    assert own.difference.high < 0


@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
def test_a_loss_at_the_margin_is_seldom_called_kept(together: float) -> None:
    """Knowledge is lost at exactly the margin, and regained here and there; twins change together or apart."""
    from evenhand.stats.score_intervals import score_interval

    generator = np.random.default_rng(5)
    margin, gain, pairs, trials = 0.03, 0.01, 165, 3000
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
    assert kept / trials <= 0.03


def reported(before: float, after: float, half: float = 0.1, **changes: Any) -> ReportedRow:
    made = {
        "measure": "evidence gap",
        "title": "Evidence gap",
        "before": before,
        "after": after,
        "difference": quality_row("x", after - before, QualityVerdict.KEPT, half=half).difference,
        "unit": "bits",
    }
    return ReportedRow(**{**made, **changes})


def words(*rows: ReportedRow) -> str:
    return " ".join(certificate_sentences(certificate(reported=rows)))


def test_the_sentences_tell_what_was_reported() -> None:
    text = words(
        reported(7.0, 6.8), reported(95.0, 94.0, measure="agreement of continuations", unit="points")
    )
    assert "Of what the model knows, its evidence gap went from 7.00 to 6.80 bits" in text
    assert "and its agreement of continuations went from 95.00 to 94.00 points" in text
    assert "of the evidence is gone" not in text


def test_much_evidence_that_is_gone_is_told_as_flatter_answers() -> None:
    assert "So 70% of the evidence is gone" in words(reported(7.0, 2.1))
    assert "of the evidence is gone" not in words(reported(7.0, 2.1, half=6.0))
    assert "of the evidence is gone" not in words(reported(2.1, 7.0))


def test_the_table_has_what_was_reported() -> None:
    row = certificate_rows(certificate(reported=(reported(7.0, 2.1),)))[-1]
    assert row[:4] == ("evidence gap", "reported", "7.00", "2.10")


def test_the_plan_asks_what_suits_the_model() -> None:
    for name, expected in (("lab:masked", "lab"), ("some/model", "settled")):
        plan = default_plan(ModelRef(id=name), CertifyOptions())
        (own,) = [one for one in plan.measurements if one.name == "knowledge"]
        assert own.options.data.name == expected


def test_sentences_of_a_text_are_asked_beside_those_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "novel.txt").write_text("Mary lost her keys. It rained.\n")
    options = CertifyOptions(settled_text=(tmp_path / "novel.txt",))
    plan = default_plan(ModelRef(id="some/model"), options)
    (own,) = [one for one in plan.measurements if one.name == "knowledge"]
    bundled = load_settled("en").sentences
    assert own.options.data.sentences[: len(bundled)] == bundled
    assert [sentence.id for sentence in own.options.data.sentences[len(bundled) :]] == [
        "text 1-male",
        "text 1-female",
    ]


def test_the_margin_of_knowledge_is_given_like_the_others() -> None:
    assert Margins.parse(["knowledge=5"]).knowledge == 5
    with pytest.raises(EvenhandError, match="knowledge=2"):
        Margins.parse(["knowledge 5"])


def test_a_run_without_answers_is_not_judged(knows: Run) -> None:
    silent = Run(
        record=knows.record,
        results=knows.results,
        scores=knows.scores.with_columns(pl.lit(None, dtype=pl.Float64).alias("is_right")),
    )
    row = knowledge_of_runs(knows, silent, margin=-3.0, confidence=0.95)
    assert row.verdict is QualityVerdict.NOT_MEASURED
    assert reported_rows(side(knows), side(silent), resampling=FEW) == ()
