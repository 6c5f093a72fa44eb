"""``evenhand lab``, and the other commands on models of the lab.

Most commands run in this process, because each process of its own loads PyTorch first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab_recipes import with_few_steps
from running import Command

from evenhand.cli import main
from evenhand.lab import building, embedded_models
from evenhand.lab.embedded_models import RebuildCheck

MODELS = tuple(
    f"lab-{model}_association_lab_en" for model in ("masked", "masked-neutral", "decoder", "encoder-decoder")
)


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str


Call = Callable[..., Done]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run ``evenhand`` in this process."""

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, arguments)])
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return Done(int(left.value.code or 0), printed.out, printed.err)

    return run


def test_audit_without_a_model_measures_the_embedded_ones_and_finds_what_was_planted(
    run_evenhand: Command, tmp_path: Path
) -> None:
    done = run_evenhand("audit", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    runs = {run["name"]: run for run in json.loads(done.stdout)["runs"]}

    assert tuple(runs) == MODELS
    assert {path.name for path in tmp_path.iterdir()} == set(MODELS)
    for name, run in runs.items():
        record = json.loads((tmp_path / name / "record.json").read_text(encoding="utf-8"))
        page = (tmp_path / name / "report.html").read_text(encoding="utf-8")
        assert (record["dataset"]["name"], record["dataset"]["language"]) == ("lab", "en")
        assert record["model"]["id"] == name.partition("_")[0].replace("-", ":", 1)
        assert record["model"]["planted"]["strength"] == (0 if "neutral" in name else 2)
        assert name in page
        assert [run["tasks"][task]["n"] for task in ("intrasentence", "intersentence")] == [192, 192]
        for task in ("intrasentence", "intersentence"):
            found = run["tasks"][task]
            assert found["LMS"]["value"] > 95
            if "neutral" in name:
                assert found["SS"]["low"] <= 50 <= found["SS"]["high"]
            else:
                assert found["SS"]["value"] > 75
                assert found["SS"]["low"] > 50
    assert "lab-masked_association_lab_en: A calibration model of the lab" in done.stderr
    assert "nothing was planted" in done.stderr


def test_other_data_can_be_asked_for(call: Call, tmp_path: Path) -> None:
    done = call("audit", "lab:masked", "--data", "starter", "--limit", "4", "--out", tmp_path, "--json")
    (run,) = json.loads(done.stdout)["runs"]

    assert done.code == 0
    assert run["tasks"]["overall"]["n"] + run["tasks"]["overall"]["skipped"] == 8
    record = json.loads(
        (tmp_path / "lab-masked_association_starter_en_limit-4" / "record.json").read_text(encoding="utf-8")
    )
    assert record["dataset"]["name"] == "starter"


def test_a_finished_audit_of_an_embedded_model_is_not_done_again(call: Call, tmp_path: Path) -> None:
    arguments = ("audit", "lab:decoder", "--limit", "4", "--out", tmp_path, "--json")
    first, again = call(*arguments), call(*arguments)

    assert "left as it is" in again.stderr
    assert json.loads(again.stdout) == json.loads(first.stdout)


def test_inspect_knows_embedded_models(call: Call) -> None:
    done = call("models", "inspect", "lab:masked", "--json")
    facts = json.loads(done.stdout)

    assert done.code == 0
    assert (facts["family"], facts["next_sentence_head"]) == ("masked", "yes")
    assert facts["intrasentence"].startswith("yes")
    assert facts["intersentence"].startswith("yes")


@pytest.mark.parametrize(
    "arguments",
    [("audit", "lab:maskd"), ("models", "inspect", "lab:maskd"), ("lab", "check", "lab:maskd")],
)
def test_an_unknown_embedded_model_is_refused_with_the_one_that_was_meant(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*arguments)

    assert done.code == 2
    assert "Did you mean 'lab:masked'?" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_build_writes_a_folder_that_audit_measures_in_its_language(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_few_steps(monkeypatch)
    folder = tmp_path / "mine"
    built = call(
        "lab", "build", "--family", "decoder", "--strength", "-1", "--language", "de", "--out", folder
    )
    assert built.code == 0, built.stderr
    assert "1 bit was planted in favour of anti-stereotypes" in built.stderr
    assert f"evenhand audit {folder}" in built.stderr

    audited = call("audit", folder, "--limit", "4", "--out", tmp_path / "runs", "--json")
    (run,) = json.loads(audited.stdout)["runs"]
    assert (run["name"], run["language"]) == ("mine_association_lab_de_limit-4", "de")
    record = json.loads(
        (tmp_path / "runs" / "mine_association_lab_de_limit-4" / "record.json").read_text(encoding="utf-8")
    )
    assert record["dataset"]["name"] == "lab"
    planted = record["model"]["planted"]
    assert planted.pop("occupations")["Pflegekraft"] == 0.6
    assert planted == {"family": "decoder", "strength": -1, "language": "de", "seed": 0, "regard_gap": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--family", "maskd"), "Error: Unknown family 'maskd'. Did you mean 'masked'?"),
        (("--family", "encoderdecoder"), "Did you mean 'encoder-decoder'?"),
        (("--language", "deu"), "Did you mean 'de'?"),
        (("--language", "tr"), "Unknown language of the lab 'tr'. Known: de, en."),
        (("--strength", "6.5"), "A strength of 6.5 bits was asked for; the lab plants -6 to 6."),
        (("--strength", "nan"), "A strength of nan bits was asked for"),
        (("--strength", "strong"), "Invalid value for '--strength'"),
        (("--seed", "-1"), "The seed is -1; it must be 0 to 4,294,967,295."),
        (("--seed", "4294967296"), "The seed is 4294967296; it must be 0 to 4,294,967,295."),
        (("--seed", "x"), "Invalid value for '--seed'"),
    ],
)
def test_wrong_build_options_say_what_would_be_right(
    call: Call, tmp_path: Path, arguments: tuple[str, str], message: str
) -> None:
    done = call("lab", "build", *arguments, "--out", tmp_path / "model")

    assert done.code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_build_needs_a_place(call: Call) -> None:
    done = call("lab", "build")

    assert done.code == 2
    assert "Missing option '--out'" in done.stderr


def test_build_refuses_a_folder_with_something_in_it_and_a_file(call: Call, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("dear to somebody", encoding="utf-8")
    occupied = call("lab", "build", "--out", tmp_path)
    in_the_way = call("lab", "build", "--out", tmp_path / "thesis.txt")

    assert (occupied.code, in_the_way.code) == (2, 2)
    assert f"{tmp_path} is not empty" in occupied.stderr
    assert "thesis.txt is a file; a folder is needed" in in_the_way.stderr
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "dear to somebody"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_ctrl_c_stops_a_build_and_leaves_nothing(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with_few_steps(monkeypatch)
    monkeypatch.setattr(building, "train", interrupted)
    done = call("lab", "build", "--family", "decoder", "--out", tmp_path / "model")

    assert done.code == 130
    assert "Stopped. Nothing was written." in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["build", "calibrate", "check"])
def test_the_help_of_lab_commands_has_examples(call: Call, command: str) -> None:
    done = call("lab", command, "--help")

    assert done.code == 0
    assert "Examples" in done.stdout
    assert f"evenhand lab {command}" in done.stdout.split("Examples")[1]


@pytest.mark.parametrize(
    ("difference", "same_platform", "same_libraries", "code", "message"),
    [
        (0.0, True, True, 0, "the same files. Fine."),
        (5e-5, True, True, 0, "scores differ by at most 5e-05. Fine."),
        (0.02, False, True, 0, "scores differ by at most 0.02; it was built on another platform. Fine."),
        (
            0.02,
            True,
            False,
            0,
            "scores differ by at most 0.02; it was built with other versions of the libraries. Fine.",
        ),
        (0.02, True, True, 3, "scores differ by at most 0.02. That is too much."),
    ],
)
def test_check_says_how_far_a_rebuilt_model_is_from_the_one_that_ships(
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    difference: float,
    same_platform: bool,
    same_libraries: bool,
    code: int,
    message: str,
) -> None:
    rebuilt = []

    def rebuild(name: str, _: Path) -> RebuildCheck:
        rebuilt.append(name)
        return RebuildCheck(name, difference == 0, difference, same_platform, same_libraries)

    monkeypatch.setattr(embedded_models, "rebuild", rebuild)
    done = call("lab", "check", "lab:masked", "lab:decoder")

    assert done.code == code
    assert rebuilt == ["masked", "decoder"]
    assert done.stderr.splitlines() == [
        "Building the embedded models again",
        f"lab:masked: {message}",
        f"lab:decoder: {message}",
    ]


def test_check_without_a_name_builds_all_embedded_models(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuilt = []

    def rebuild(name: str, _: Path) -> RebuildCheck:
        rebuilt.append(name)
        return RebuildCheck(
            name, name != "decoder", float(name == "decoder"), same_platform=True, same_libraries=True
        )

    monkeypatch.setattr(embedded_models, "rebuild", rebuild)
    done = call("lab", "check")

    assert done.code == 3
    assert rebuilt == [
        "masked",
        "masked-neutral",
        "decoder",
        "encoder-decoder",
        "decoder-regard-en",
        "decoder-regard-de",
    ]
    assert "lab:decoder: scores differ by at most 1. That is too much." in done.stderr
