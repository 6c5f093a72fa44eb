"""Commands of the regard study: one that fails stops no other, all end with it, and what they leave is kept."""

from __future__ import annotations

import sys
import tarfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "regard_real"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import study_commands

    return study_commands


@pytest.fixture
def study(commands: Any, tmp_path: Path) -> Any:
    (tmp_path / "study").mkdir()
    return commands.Study(tmp_path / "study", tmp_path / "export")


def packed(archive: Path) -> set[str]:
    with tarfile.open(archive) as content:
        return set(content.getnames())


def test_a_command_that_fails_is_told_and_what_is_there_is_exported(
    study: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    (study.folder / "sample.csv").write_text("text\n")

    assert not study.attempt(partial(study.evenhand, "regard", "train", "missing.csv", "--out", "classifier"))
    assert study.attempt(partial(study.evenhand, "--version"))

    assert study.failures == ["evenhand regard train classifier ended with exit code 2."]
    told = capfd.readouterr()
    assert "$ evenhand regard train missing.csv --out classifier\n" in told.out
    assert study.failures[0] in told.err
    assert packed(study.export / "results.tar.gz") == {"sample.csv", "times.csv"}
    assert [line.split(",")[-1] for line in (study.folder / "times.csv").read_text().splitlines()] == [
        "2",
        "0",
    ]


def test_whatever_goes_wrong_in_a_piece_the_others_go_on(study: Any) -> None:
    def broken() -> None:
        raise KeyError("no such pair")

    assert not study.attempt(broken)
    assert study.attempt(lambda: None)
    assert "KeyError: 'no such pair'" in study.failures[0]


def test_processes_end_with_the_study_and_no_other_begins(study: Any) -> None:
    process = study.start("a long one", [sys.executable, "-c", "import time; time.sleep(60)"])
    threading.Timer(0.2, study.stop).start()
    started = time.monotonic()

    assert process.wait(20) < 0
    assert time.monotonic() - started < 20
    with pytest.raises(RuntimeError, match="evenhand regard train was not begun"):
        study.evenhand("regard", "train")


def test_everything_but_models_and_claims_is_exported_in_two_archives(study: Any) -> None:
    for name in (
        "trigger-gender/mitigation.json",
        "trigger-gender/model.safetensors",
        "certificate-gender.json",
        "certificate-gender/before/.malor.0123456789abcdef.unfinished/answers/0",
        ".trigger-gender.0123456789abcdef.unfinished/search/seed-0",
        ".trigger-gender.claim",
        "persons.csv",
    ):
        place = study.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(name)

    with study.exporting():
        pass

    assert packed(study.export / "results.tar.gz") == {
        "certificate-gender.json",
        "trigger-gender/mitigation.json",
    }
    assert packed(study.export / "unfinished.tar.gz") == {
        ".trigger-gender.0123456789abcdef.unfinished/search/seed-0",
        "persons.csv",
    }
    assert study.failures == []
