"""Estimates that were edited in a run folder are not shown, whoever wrote the hashes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bec_pro_builders import bec_pro_file
from certificate_runs import PAIRS, small_plan
from measuring import audit, probe, probe_cosine, probe_knowledge, probe_pairs
from recording_monitor import RecordingMonitor

import evenhand as eh
from evenhand.api.models import loaded_model
from evenhand.core.errors import RunError
from evenhand.core.items import Span
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.data.settled import load_settled
from evenhand.data.winogender import PronounPair, PronounPairs
from evenhand.instruments.bec_pro import BEC_PRO, BecProOptions
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.instruments.regard.evaluation import RegardEvaluation
from evenhand.store.run import Run

MALOR = small_plan().measurements[0].options.data
COSINES = PronounPairs(
    "tiny",
    tuple(
        PronounPair(
            occupation=occupation,
            participant="guest",
            answer=answer,
            male=f"The {occupation} said that he {end}.",
            female=f"The {occupation} said that she {end}.",
            male_span=Span(4, 4 + len(occupation)),
            female_span=Span(4, 4 + len(occupation)),
        )
        for occupation in ("baker", "pilot", "nurse")
        for answer, end in (("0", "was late"), ("1", "had paid"))
    ),
    "0" * 64,
)


def regard(_: Path, __: Path) -> Run:
    texts = [
        GroupText(text=f"{group} in {context}", group=group, context=context, kind="work", label=label)
        for number, context in enumerate("abcdefgh")
        for group, label in (("woman", str(number % 3 - 1)), ("man", str((number // 2) % 3 - 1)))
    ]
    return RegardEvaluation(GroupTexts(name="texts", language="en", texts=tuple(texts))).measure()


def bec_pro(model: Path, folder: Path) -> Run:
    options = BecProOptions(data=bec_pro_file(folder / "bec_en.tsv"))
    return BEC_PRO.prepare(loaded_model(str(model)), options).measure()


RUNS: dict[str, Callable[[Path, Path], Run]] = {
    "association": lambda model, _: audit(str(model), "starter"),
    "malor": lambda model, _: probe(str(model), MALOR, options=MalorOptions(direction="both")),
    "crows-pairs": lambda model, _: probe_pairs(str(model), PAIRS),
    "knowledge": lambda model, _: probe_knowledge(str(model), load_settled("en").first(30)),
    "cosine": lambda model, _: probe_cosine(str(model), COSINES),
    "bec-pro": bec_pro,
    "regard": regard,
}


@pytest.fixture(scope="module")
def made(menagerie: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("runs")

    def run_of(name: str) -> Path:
        place = folder / name
        if not place.exists():
            RUNS[name](Path(menagerie.folder("bert")), folder).save(place)
        return place

    return run_of


def edited(run: Path, folder: Path, change: Callable[[Any], object]) -> Path:
    """A copy with other estimates, and with hashes as if they had been written so."""
    place = folder / run.name
    shutil.copytree(run, place)
    estimates = place / "estimates.json"
    document = json.loads(estimates.read_bytes())
    change(document)
    estimates.write_text(json.dumps(document), encoding="utf-8")
    record = json.loads((place / "record.json").read_bytes())
    record["files"]["estimates.json"] = hashlib.sha256(estimates.read_bytes()).hexdigest()
    (place / "record.json").write_text(json.dumps(record), encoding="utf-8")
    return place


EDITS: dict[str, Callable[[Any], object]] = {
    "association": lambda own: own["tasks"]["overall"]["SS"].update(value=1.25),
    "malor": lambda own: own[0]["MALoR"].update(value=0.0),
    "crows-pairs": lambda own: own["figures"][0]["estimate"].update(value=1.25),
    "knowledge": lambda own: own["share_right"].update(value=99.0),
    "cosine": lambda own: own["mean"].update(value=1.0),
    "bec-pro": lambda own: own["figures"][0]["estimate"].update(
        value=0.0, low=-1.0, high=1.0, reason=None, n=3
    ),
    "regard": lambda own: own["all"]["figures"]["gaps"][0]["gap"].update(value=0.0),
}


@pytest.mark.parametrize("name", RUNS)
def test_estimates_that_follow_from_the_scores_are_shown(
    made: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    monitor = RecordingMonitor()
    eh.report(made(name), out=tmp_path / "page.html", monitor=monitor)
    assert (tmp_path / "page.html").is_file()
    assert not [text for text in monitor.warnings if "as its folder states" in text]


@pytest.mark.parametrize("name", EDITS)
def test_edited_estimates_are_refused(made: Callable[[str], Path], name: str, tmp_path: Path) -> None:
    place = edited(made(name), tmp_path, EDITS[name])
    with pytest.raises(RunError, match=r"estimates\.json says .* and the scores beside it give"):
        eh.report(place, out=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_an_interval_that_was_narrowed_is_refused(made: Callable[[str], Path], tmp_path: Path) -> None:
    place = edited(made("malor"), tmp_path, lambda own: own[0]["signed_mean"].update(low=-0.001, high=0.001))
    with pytest.raises(RunError, match=r"0\.signed_mean\.(low|high)"):
        eh.report(place, format="csv")


def test_of_another_version_of_evenhand_the_values_alone_are_compared(
    made: Callable[[str], Path], tmp_path: Path
) -> None:
    """It may compute intervals otherwise."""

    def elsewhere(place: Path) -> Path:
        path = place / "record.json"
        record = json.loads(path.read_bytes())
        record["environment"]["evenhand"] = "0.3.99"
        path.write_text(json.dumps(record), encoding="utf-8")
        return place

    other_interval = edited(
        made("malor"), tmp_path / "interval", lambda own: own[0]["MALoR"].update(low=0.0, high=9.0)
    )
    assert eh.report(elsewhere(other_interval), format="csv")
    other_value = edited(made("malor"), tmp_path / "value", lambda own: own[0]["MALoR"].update(value=9.0))
    with pytest.raises(RunError, match="the scores beside it give"):
        eh.report(elsewhere(other_value), format="csv")


def test_figures_that_scores_alone_do_not_give_are_shown_with_a_warning(
    made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenhand.instruments.cosine import CosineInstrument

    monkeypatch.setattr(CosineInstrument, "results_again", lambda *_: None)
    monitor = RecordingMonitor()
    eh.report(made("cosine"), out=tmp_path / "page.html", monitor=monitor)
    assert any("are shown as its folder states them" in text for text in monitor.warnings)
