"""Certify as one call: what suits the models, a page with its neighbours, and runs that were measured elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from recording_monitor import RecordingMonitor

import evenhand as eh
from evenhand.api.defaults import mitigating
from evenhand.api.executors import LocalExecutor
from evenhand.core.errors import EvenhandError, OutputError
from evenhand.lab.items import lab_probes

QUICK = eh.CertifyOptions(resampling=eh.Resampling(resamples=100))


def test_runs_that_an_executor_measured_are_opened_and_the_certificate_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mitigating, "lab_probes", lambda language: lab_probes(language).first(2))
    models = ("lab:masked", "lab:masked-neutral")
    ahead, directly = RecordingMonitor(), RecordingMonitor()

    first = eh.certify(*models, options=QUICK, out=tmp_path / "one.html", on=LocalExecutor(), monitor=ahead)
    second = eh.certify(*models, options=QUICK, out=tmp_path / "two.html", monitor=directly)

    moments = {name: getattr(second, name) for name in ("created", "runs", "sha256")}
    assert first.model_copy(update=moments) == second
    assert sorted(
        path.name for path in (tmp_path / "one" / "before").iterdir() if path.name != "figures"
    ) == [
        "association",
        "knowledge",
        "malor",
    ]
    for name in ("one.html", "one.json"):
        assert (tmp_path / name).is_file()
    assert ahead.notes[-1] == f"Wrote {tmp_path / 'one.html'} and {tmp_path / 'one.json'}"


@pytest.mark.parametrize("name", ["certificate", "certificate.pdf"])
def test_a_page_that_is_none_is_refused_before_a_model_is_loaded(tmp_path: Path, name: str) -> None:
    with pytest.raises(EvenhandError, match=r"must end in \.html"):
        eh.certify("no-such-model", "nor-this-one", out=tmp_path / name)


def test_a_folder_of_something_else_is_not_mixed_with_runs(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "thesis.tex").touch()

    with pytest.raises(EvenhandError, match="something else already"):
        eh.certify("no-such-model", "nor-this-one", out=tmp_path / "page.html")


@pytest.mark.parametrize("name", ["page.html", "page.json", "page.seeds.json"])
def test_a_folder_in_the_place_of_a_file_is_refused_before_a_model_is_loaded(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()

    with pytest.raises(EvenhandError, match=f"{name} is a folder"):
        eh.certify("no-such-model", "nor-this-one", out=tmp_path / "page.html")


def test_a_json_file_of_something_else_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "page.json").write_text('{"kind": "recipe"}', encoding="utf-8")

    with pytest.raises(EvenhandError, match=r"page\.json, and that is something else already"):
        eh.certify("no-such-model", "nor-this-one", out=tmp_path / "page.html")


def test_a_page_that_cannot_be_written_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(OutputError, match="cannot be written"):
        eh.certify("no-such-model", "nor-this-one", out=tmp_path / "thesis.tex" / "page.html")


def test_a_finished_certificate_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mitigating, "lab_probes", lambda language: lab_probes(language).first(2))
    models, page = ("lab:masked", "lab:masked-neutral"), tmp_path / "page.html"

    first = eh.certify(*models, options=QUICK, out=page)
    (tmp_path / "page" / ".DS_Store").touch()

    assert eh.certify(*models, options=QUICK, out=page) == first


def test_an_instrument_that_does_not_exist_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    options = eh.CertifyOptions(instruments={"tea-leaves": None})

    with pytest.raises(EvenhandError, match="Unknown instrument 'tea-leaves'"):
        eh.certify("lab:masked", "lab:masked-neutral", options=options, out=tmp_path / "page.html")
