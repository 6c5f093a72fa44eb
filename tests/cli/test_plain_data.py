"""``evenhand data describe`` and ``check`` of datasets that hold no items: pronouns, shares of women."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import run_here


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.tsv"
    rows = [
        f"{job}.someone.0.{gender}.txt\tThe {job} said that {pronoun} would come."
        for job in ("baker", "pilot")
        for gender, pronoun in (("male", "he"), ("female", "she"))
    ]
    path.write_text("\n".join(["sentid\tsentence", *rows]) + "\n", encoding="utf-8")
    return path


def test_sentences_with_pronouns_are_counted(sentences: Path) -> None:
    told = run_here("data", "describe", sentences)
    assert told.returncode == 0, told.stderr
    assert "sentences that differ in the pronoun" in told.stdout
    assert "pairs: 2" in told.stdout
    assert "for: evenhand probe --test cosine" in told.stdout


def test_shares_of_women_are_described_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "shares.tsv"
    path.write_text(
        "occupation\tbergsma_pct_female\tbls_pct_female\nbaker\t40\t60\npilot\t10\t8\n", encoding="utf-8"
    )
    found = json.loads(run_here("data", "check", path, "--json").stdout)
    assert (found["occupations"], found["mean share"]) == (2, "34.0%")
    assert "would have been refused" in found["check"]


def test_help_names_the_layouts_that_the_command_reads() -> None:
    for command in (("audit",), ("evaluate",), ("certify",)):
        told = run_here(*command, "--help").stdout
        assert "stereoset-records" in told
        assert "winogender" not in told
    assert "winogender" in run_here("probe", "--help").stdout
