"""``evenhand regard audit``: tables, JSON, conditions and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from regard_training import NEEDS_REGARD
from running import Command

pytestmark = [NEEDS_REGARD, pytest.mark.torch]
pytest.importorskip("simplemma")

QUICK = ("--device", "cpu", "--texts", 4, "--new-tokens", 10, "--resamples", 200)


def test_tables_say_how_groups_are_spoken_of(
    run_evenhand_here: Command, trained_folder: Path, tmp_path: Path
) -> None:
    told = run_evenhand_here(
        "regard", "audit", "lab:decoder", "--classifier", trained_folder, "--out", tmp_path, *QUICK
    )
    assert "lab-decoder_en_regard" in told.stdout
    assert "net regard" in told.stdout
    assert "caregiving" in told.stdout
    assert "Jensen-Shannon" in told.stdout
    assert "With fewer than 10" in told.stderr
    assert (tmp_path / "lab-decoder_en_regard" / "report.html").is_file()
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
    assert "gap>-1 holds" in told.stderr


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
