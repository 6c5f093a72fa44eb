"""``evenhand regard audit``: tables, JSON, conditions and bad input."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest
from forking import evenhand_until, exit_code
from regard_training import NEEDS_REGARD
from running import Command

pytestmark = [NEEDS_REGARD, pytest.mark.torch]
pytest.importorskip("simplemma")

RUN = "lab-decoder_regard_prompts_en"
QUICK = ("--device", "cpu", "--texts", 4, "--new-tokens", 10, "--resamples", 200)


def test_tables_say_how_groups_are_spoken_of(
    run_evenhand_here: Command, trained_folder: Path, tmp_path: Path
) -> None:
    told = run_evenhand_here(
        "regard", "audit", "lab:decoder", "--classifier", trained_folder, "--out", tmp_path, *QUICK
    )
    assert "lab-decoder_regard_prompts_en" in told.stdout
    assert "net regard" in told.stdout
    assert "caregiving" in told.stdout
    assert "Jensen-Shannon" in told.stdout
    assert "With fewer than 10" in told.stderr
    assert (tmp_path / "lab-decoder_regard_prompts_en" / "report.html").is_file()
    again = run_evenhand_here(
        "regard", "audit", "lab:decoder", "--classifier", trained_folder, "--out", tmp_path, *QUICK
    )
    assert "holds this very run already" in again.stderr
    assert again.stdout == told.stdout


def test_json_has_all_models_and_a_condition_fails_the_command(
    run_evenhand_here: Command, trained_folder: Path, tmp_path: Path
) -> None:
    groups = tmp_path / "groups.csv"
    groups.write_text(
        "group,words\nnurses,The nurse\ncooks,The cook\nteachers,The teacher\n", encoding="utf-8"
    )
    told = run_evenhand_here(
        "regard", "audit", "lab:decoder", "--classifier", trained_folder, "--out", tmp_path, "--json",
        "--groups", groups, "--fail-if", "gap>-1", *QUICK,
    )  # fmt: skip
    assert told.returncode == 4
    (run,) = json.loads(told.stdout)["runs"]
    assert run["groups"] == ["nurses", "cooks", "teachers"]
    assert set(run["contexts"]) == {"all", "occupation", "respect"}
    assert run["lexicons"]["categories"][0]["category"] == "caregiving"
    assert len(run["occupations"]["divergences"]) == 3
    assert re.search(r"Gate closed: gap \d+\.\d is above -1", told.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lab:masked",), "cannot be measured with Regard"),
        (("lab:decoder", "--fail-if", "SS>5"), "Unknown measure in the condition 'SS'"),
        (("lab:decoder", "--language", "fr"), "No groups ship in the language 'fr'"),
        (("lab:decoder", "--language", "de"), "trained on texts in the language 'en'"),
        (("lab:decoder", "--temperature", "-1"), "temperature is -1.0"),
        (("lab:decoder", "--reviewed", "FOLDER/empty.csv"), "has no verdicts"),
    ],
)
def test_bad_input_is_told_apart(
    run_evenhand_here: Command,
    trained_folder: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    (tmp_path / "empty.csv").write_text(
        "category,match,text,verdict\ncaregiving,nurse,The woman worked as a nurse,\n", encoding="utf-8"
    )
    given = [argument.replace("FOLDER", str(tmp_path)) for argument in arguments]
    told = run_evenhand_here(
        "regard", "audit", *given, "--classifier", trained_folder, "--out", tmp_path / "runs", *QUICK
    )
    assert told.returncode == 2
    assert message in told.stderr


def test_the_same_run_comes_from_probing_with_regard(
    run_evenhand_here: Command, trained_folder: Path, tmp_path: Path
) -> None:
    settings = [f"classifier={trained_folder}", "texts=4", "new-tokens=10"]
    chosen = [part for setting in settings for part in ("--set", setting)]
    common = ("--device", "cpu", "--resamples", 200, "--out", tmp_path)
    told = run_evenhand_here("probe", "lab:decoder", "--test", "regard", *chosen, *common)
    assert told.returncode == 0
    again = run_evenhand_here(
        "regard", "audit", "lab:decoder", "--classifier", trained_folder, *QUICK, "--out", tmp_path
    )
    assert "holds this very run already" in again.stderr


def after_two_batches(answers: Path) -> bool:
    return len(list(answers.iterdir())) == 2


def files_of(runs: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too; without the moment of a run, and the digest of its page."""
    content = {str(path.relative_to(runs)): path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    record = json.loads(content[f"{RUN}/record.json"])
    del record["created"], record["files"]["report.html"]
    page = re.sub(rb"<time .*?</time>", b"", content[f"{RUN}/report.html"])
    return {**content, f"{RUN}/record.json": json.dumps(record).encode(), f"{RUN}/report.html": page}


def test_an_audit_that_was_killed_while_writing_goes_on_to_the_same_bytes(
    run_evenhand_here: Command, trained_folder: Path, tmp_path: Path
) -> None:
    arguments = ("regard", "audit", "lab:decoder", "--classifier", trained_folder, *QUICK, "--texts", 10)
    killed, whole = ((*arguments, "--out", tmp_path / name) for name in ("killed", "whole"))
    code = exit_code(evenhand_until, killed, tmp_path / "messages.txt", signal.SIGKILL, after_two_batches)
    assert code == -signal.SIGKILL
    assert not (tmp_path / "killed" / RUN).exists()
    told = [run_evenhand_here(*place) for place in (killed, whole)]
    assert [own.returncode for own in told] == [0, 0], told[0].stderr
    assert told[0].stdout == told[1].stdout
    resumed, undisturbed = (files_of(tmp_path / name) for name in ("killed", "whole"))
    assert resumed.keys() == undisturbed.keys() >= {f"{RUN}/texts.csv", f"{RUN}/scores.parquet"}
    for name, content in undisturbed.items():
        assert resumed[name] == content, name
