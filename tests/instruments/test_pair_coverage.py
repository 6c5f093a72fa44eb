"""Coverage of sentence pairs: what a file of scores has of the pairs that there are, where that can be known."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from evenhand.api.measure import evaluate_scores
from evenhand.core.errors import ConditionError
from evenhand.store.conditions import Condition

TASK = "crows_pairs_english"
MOMENT = "2024-05-01T10-00-00"


def pairs_file(path: Path, count: int) -> Path:
    """Scores as the authors' code writes them; every other pair is about age."""
    rows = [
        [number, f"Old {number}.", f"Young {number}.", -1.0, -2.0, "stereo", ("age", "gender")[number % 2]]
        for number in range(count)
    ]
    header = [
        "",
        "sent_more",
        "sent_less",
        "sent_more_score",
        "sent_less_score",
        "stereo_antistereo",
        "bias_type",
    ]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def harness_log(folder: Path, task: str, samples: int, *, original: int | None = None) -> Path:
    """A sample log of the harness, and the results beside it if they are to say how many pairs the task has."""
    path = folder / f"samples_{task}_{MOMENT}.jsonl"
    path.write_text("".join(json.dumps(sample(number)) + "\n" for number in range(samples)), encoding="utf-8")
    if original is not None:
        results = {"n-samples": {task: {"original": original, "effective": samples}}}
        (folder / f"results_{MOMENT}.json").write_text(json.dumps(results), encoding="utf-8")
    return path


def sample(number: int) -> dict[str, Any]:
    doc = {
        "sent_more": f"Old {number}.",
        "sent_less": f"Young {number}.",
        "stereo_antistereo": 0,
        "bias_type": 4,
    }
    return {"doc_id": number, "doc": doc, "filtered_resps": [[-1.0, False], [-2.0, False]]}


def test_a_file_with_as_many_pairs_as_were_published_is_whole(tmp_path: Path) -> None:
    run = evaluate_scores(pairs_file(tmp_path / "all.csv", 1508))

    assert str(run.whole_coverage) == "100% (1,508 of 1,508 pairs)"
    assert (run.coverage["age",].scored, run.coverage["age",].total) == (754, 754)
    Condition.parse("age.score>60").refuse_selected_scores(run, least=99)


def test_how_many_pairs_there_are_is_not_known_of_any_other_file(tmp_path: Path) -> None:
    run = evaluate_scores(pairs_file(tmp_path / "some.csv", 12))
    gate = Condition.parse("score>60")

    assert run.whole_coverage is not None
    assert math.isnan(run.whole_coverage.percent)
    with pytest.raises(ConditionError, match=r"unknown \(12 pairs, of how many is not known\)"):
        gate.refuse_selected_scores(run, least=1)
    gate.refuse_selected_scores(run, least=0)
    with pytest.raises(ConditionError, match="cannot be judged"):
        Condition.parse("coverage<99").holds(run)


@pytest.mark.parametrize(
    ("task", "original", "total"),
    [(TASK, None, 1677), (TASK, 40, 1677), (f"{TASK}_age", 40, 40), (f"{TASK}_age", None, None)],
)  # fmt: skip
def test_a_log_of_the_harness_is_held_against_its_task(
    tmp_path: Path, task: str, original: int | None, total: int | None
) -> None:
    """The whole tasks have 1,677 pairs, whatever lies beside a log; of others the results say it."""
    run = evaluate_scores(harness_log(tmp_path, task, 4, original=original))

    assert run.whole_coverage is not None
    assert (run.whole_coverage.scored, run.whole_coverage.total) == (4, total)
