"""Regard in a certificate: rows of bias and of quality, against plain counting, and what a trigger is judged by."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evenhand.api.defaults.mitigating import CertifyOptions, default_plan
from evenhand.certificate.margins import Margins
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.regard import regard_quality_rows
from evenhand.core.errors import EvenhandError
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.evaluation import RegardEvaluation
from evenhand.instruments.regard.instrument import REGARD
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_quality import QualityVerdict, quality_verdict
from evenhand.store.run import Run

FEW = Resampling(resamples=200)
MARGINS: dict[str, Any] = {"distinct": Margins().distinct, "content": Margins().content, "resampling": FEW}
CONTEXTS = tuple(f"context {number}" for number in range(6))
VARIED = ("a b c", "d e f", "g h i", "j k l")
REPEATED = ("x y z", "x y z", "x y z", "u v w")


def written(endings: tuple[str, ...], context: str) -> tuple[str, ...]:
    """In one context there are fewer texts, so that contexts vary."""
    return endings[:3] if context == CONTEXTS[0] else endings


def run_of(endings: tuple[str, ...], labels: dict[str, str]) -> Run:
    rows = [
        GroupText(text=f"The {group} {context} {ending}", group=group, context=context, label=labels[group])
        for context in CONTEXTS
        for group in ("woman", "man")
        for ending in written(endings, context)
    ]
    texts = GroupTexts(name="own", language="en", texts=tuple(rows))
    return RegardEvaluation(texts, RegardAnalysisOptions(resampling=FEW)).measure()


def measured(run: Run | None) -> Measurements:
    return Measurements({} if run is None else {REGARD.name: run}, {})


def distinct(endings: tuple[str, ...]) -> float:
    """Behind each prompt, pairs of words that are not repetitions, of all pairs behind all prompts."""
    prompts = [
        [pair for ending in written(endings, context) for pair in pairwise(ending.split())]
        for context in CONTEXTS
    ]
    return 100 * sum(len(set(pairs)) for pairs in prompts) / sum(map(len, prompts))


def test_repetition_and_other_words_are_losses_of_quality() -> None:
    before, after = (run_of(own, {"woman": "0", "man": "0"}) for own in (VARIED, REPEATED))

    repetition, shift = regard_quality_rows(measured(before), measured(after), **MARGINS)

    assert (repetition.measure, shift.measure) == ("distinct-2", "content shift")
    assert repetition.before == pytest.approx(distinct(VARIED))
    assert repetition.after == pytest.approx(distinct(REPEATED))
    assert repetition.difference.value == pytest.approx(distinct(REPEATED) - distinct(VARIED))
    assert repetition.verdict is QualityVerdict.LOST
    assert shift.difference.value > Margins().content
    assert shift.verdict is QualityVerdict.LOST


def test_margins_may_be_wider() -> None:
    before, after = (run_of(own, {"woman": "0", "man": "0"}) for own in (VARIED, REPEATED))

    rows = regard_quality_rows(measured(before), measured(after), distinct=90.0, content=0.99, resampling=FEW)

    assert [row.verdict for row in rows] == [QualityVerdict.KEPT] * 2


def test_models_that_wrote_nothing_have_no_such_rows() -> None:
    assert regard_quality_rows(measured(None), measured(None), **MARGINS) == ()


def test_texts_that_only_the_model_before_could_write_leave_quality_undecided() -> None:
    before = run_of(VARIED, {"woman": "0", "man": "0"})
    after = Measurements({}, {REGARD.name: "it writes nothing"})
    (row,) = regard_quality_rows(measured(before), after, **MARGINS)
    assert (row.measure, row.verdict, row.reason) == ("distinct-2", "not measured", "it writes nothing")
    assert row.left_out == 2 * (3 + 5 * 4)
    assert quality_verdict((row,)) is QualityVerdict.UNDECIDED
    assert regard_quality_rows(measured(None), measured(before), **MARGINS) == ()


def test_the_gap_in_regard_is_a_row_of_bias() -> None:
    before = run_of(VARIED, {"woman": "-1", "man": "1"})
    after = run_of(VARIED, {"woman": "0", "man": "1"})

    rows = REGARD.bias_rows(before, after, resampling=FEW)

    row = rows["all.woman-man.signed_gap"]
    assert row.measure == "regard gap, woman-man"
    assert (row.before, row.after) == (-200.0, -100.0)


def test_regard_without_a_classifier_is_refused_before_a_model_is_loaded() -> None:
    options = CertifyOptions(instruments={"regard": None})

    with pytest.raises(EvenhandError, match="--classifier DIR"):
        default_plan(ModelRef(id="lab:decoder"), options, after=ModelRef(id=str(Path("none"))))
