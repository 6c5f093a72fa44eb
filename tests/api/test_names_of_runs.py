"""Runs and files of one name are told apart by their folders, wherever they are shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.api.measure import evaluate
from evenhand.api.show import compare_all, names_of_files, opened, report
from evenhand.core.errors import EvenhandError
from evenhand.reporting.words import comparison_sentence
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare


@pytest.fixture
def folders(tmp_path: Path, quick: Resampling) -> list[Path]:
    """Two runs of files that are called the same, in folders that are called the same but for the first."""
    made = []
    for arm, example in (("plain", "leaning"), ("triggered", "neutral")):
        scores = tmp_path / arm / "out" / "scores.json"
        scores.parent.mkdir(parents=True)
        shutil.copy(eh.example_scores(example), scores)
        evaluate(scores, "starter", resampling=quick, out=tmp_path / arm / "runs")
        made.append(tmp_path / arm / "runs" / "scores")
    return made


def test_runs_of_one_name_are_shown_with_the_folders_that_differ(folders: list[Path]) -> None:
    assert [run.name for run in opened(folders)] == ["plain/runs/scores", "triggered/runs/scores"]
    (comparison,) = compare_all(folders)
    assert (comparison.first, comparison.second) == ("plain/runs/scores", "triggered/runs/scores")
    assert "between plain/runs/scores and triggered/runs/scores" in comparison_sentence(comparison)
    page = report(folders)
    assert "plain/runs/scores" in page
    table = report(folders, format="paper-markdown")
    assert "| plain/runs/scores | 48 |" in table


def test_runs_with_names_of_their_own_keep_them(folders: list[Path]) -> None:
    assert [run.name for run in opened(folders[:1])] == ["scores"]
    renamed = folders[1].with_name("other")
    folders[1].rename(renamed)
    assert [run.name for run in opened([folders[0], renamed])] == ["scores", "other"]


def test_runs_of_one_name_in_memory_are_numbered(folders: list[Path]) -> None:
    first, second = (eh.open_run(folder) for folder in folders)
    assert "between scores (1) and scores (2)" in comparison_sentence(compare(first, second))


def test_files_of_one_name_have_as_many_folders_in_their_names_as_it_takes() -> None:
    paths = [Path("a/x/scores.json"), Path("b/x/scores.json"), Path("b/x/others.json")]
    assert list(names_of_files(paths).values()) == ["a-x-scores", "b-x-scores", "others"]
    with pytest.raises(EvenhandError, match="Several files would make the run 'scores'"):
        names_of_files([Path("a/scores.json"), Path("a/scores.json.gz")])
