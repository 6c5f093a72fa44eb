"""Wherever figures over a sample are shown, so is the size of the sample."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from builders import benchmark, inter, intra

import evenhand as eh
from evenhand.cli import main
from evenhand.core.experiments import Experiment
from evenhand.lab.items import lab_probes
from evenhand.reporting import render_page
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run, open_run

WORDS = "sample of 60 of 4,229 items"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Thirty items of each task, of as many as StereoSet has."""
    items = [intra(number, cluster=f"term {number // 27}") for number in range(2106)]
    items += [inter(number, cluster=f"term {number // 27}") for number in range(2123)]
    options = eh.AuditOptions(data=benchmark(*items), limit=30, resampling=Resampling(resamples=100))
    out = tmp_path_factory.mktemp("runs")
    return open_run(out / eh.audit("fake:tiny", options=options, out=out).name)


@pytest.mark.parametrize(
    "form",
    [
        "model-card",
        "paper-markdown",
        "paper-latex",
        "markdown",
        "latex",
        "lm-eval",
        "inspect",
        "every-eval-ever",
    ],
)
def test_tables_cards_and_exports_name_the_sample(run: Run, form: str) -> None:
    assert WORDS in eh.report(run, format=form)


def test_the_page_names_the_sample(run: Run) -> None:
    assert WORDS in render_page([run])


def test_the_terminal_and_json_name_the_sample(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ("lab:decoder", "--limit", "3", "--resamples", "100")
    printed = {}
    for command in (
        ("audit", "--json"),
        ("audit",),
        ("probe", "-e", "he-she"),
        ("probe", "-e", "he-she", "--json"),
    ):
        monkeypatch.setattr(sys, "argv", ["evenhand", *command, *few])
        with pytest.raises(SystemExit):
            main()
        printed[command] = capsys.readouterr().out
    items = len(eh.load_dataset("lab"))
    structures = len(lab_probes("en").of(Experiment.HE_SHE))
    (audited,) = json.loads(printed["audit", "--json"])["runs"]
    assert audited["sample"] == {
        "text": f"sample of 6 of {items} items",
        "limit": 3,
        "items": 6,
        "of": items,
        "unit": "items",
        "seed": 20210801,
    }
    assert f"sample of 6 of {items} items" in printed["audit",]
    (probed,) = json.loads(printed["probe", "-e", "he-she", "--json"])["runs"]
    assert probed["sample"]["text"] == f"sample of 3 of {structures} structures"
    assert f"sample of 3 of {structures}" in printed["probe", "-e", "he-she"]


def test_a_run_over_all_items_names_none(tmp_path: Path) -> None:
    run = eh.evaluate(eh.example_scores("leaning"), out=tmp_path)
    assert run.record.dataset.sample is None
    assert (run.title, run.record.dataset.title) == (run.name, "starter")
    for form in ("model-card", "paper-markdown", "markdown"):
        assert "sample of" not in eh.report(run, format=form)
