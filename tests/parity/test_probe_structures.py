"""The thesis's structures as printed: what is wrong with them is found, no more and no less."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import ProbeProblem, ProbeSet
from evenhand.data.probes import load_listed_probes, load_probes


@pytest.fixture
def printed(shared_data: Path) -> ProbeSet:
    return load_probes(structures=shared_data / "malor" / "structures.csv")


def numbers(probes: ProbeSet, problem: ProbeProblem) -> dict[str, tuple[int, ...]]:
    return {each.experiment.value: each.numbers for each in probes.warnings if each.problem is problem}


def test_repeats_are_left_out(printed: ProbeSet) -> None:
    assert numbers(printed, ProbeProblem.REPEATED) == {"he-she": (15, 18, 52), "names": (16, 19)}
    assert [len(printed.of(experiment)) for experiment in TRAINED_EXPERIMENTS] == [49, 52, 50]


def test_one_his_her_structure_leaks_his(printed: ProbeSet) -> None:
    leaking = [
        structure.number for structure in printed.of(Experiment.HIS_HER) if " his " in f" {structure.text} "
    ]

    assert leaking == [18]


def test_the_leak_and_the_two_rows_of_running_text_are_found(printed: ProbeSet) -> None:
    """The first row of his-her and of names is a sentence of the thesis about its structures, not a structure."""
    assert numbers(printed, ProbeProblem.GENDERED_WORD) == {"his-her": (1, 18), "names": (1,)}
    messages = [each.message for each in printed.warnings if each.problem is ProbeProblem.GENDERED_WORD]
    assert "(1 has he, she; 18 has his)" in messages[0]
    assert "(1 has his, her)" in messages[1]


def test_under_the_protocol_of_the_thesis_they_are_not_asked(shared_data: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text("male,female\nPaul,Anna\n", encoding="utf-8")
    occupations = tmp_path / "occupations.txt"
    occupations.write_text("teacher\n", encoding="utf-8")
    listed = load_listed_probes(shared_data / "malor" / "structures.csv", occupations, names)
    assert numbers(listed, ProbeProblem.RUNNING_TEXT) == {"his-her": (1,), "names": (1,)}
    assert [len(listed.of(experiment)) for experiment in TRAINED_EXPERIMENTS] == [52, 51, 51]


def test_one_article_stands_before_an_occupation(printed: ProbeSet) -> None:
    assert numbers(printed, ProbeProblem.ARTICLE) == {"his-her": (19,)}


def test_no_bundled_structure_is_a_printed_one_or_much_like_one(printed: ProbeSet) -> None:
    def closest(text: str) -> float:
        return max(
            difflib.SequenceMatcher(None, text, other.text, autojunk=False).ratio()
            for other in printed.structures
        )

    alike = {each.text: ratio for each in load_probes().structures if (ratio := closest(each.text)) > 0.8}

    assert alike == {}
