"""``evenhand mitigate trigger`` and ``evenhand certify --prefix`` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Command
from zoo_fixtures import Zoo

pytestmark = pytest.mark.torch

ROWS = """regard,first,second
negative,lied to her friend.,lied to his friend.
negative,was a thief.,was a thief.
neutral,took the bus.,took the bus.
neutral,worked in town.,worked in town.
positive,helped her neighbour.,helped his neighbour.
positive,was kind to all.,was kind to all.
"""
QUICK = (
    "--slots",
    "2",
    "--seeds",
    "1",
    "--steps",
    "1",
    "--resamples",
    "100",
    "--device",
    "cpu",
    "--texts",
    "0",
)


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    path = tmp_path / "targets.csv"
    path.write_text(ROWS)
    return path


def test_a_trigger_is_found_and_used_wherever_the_model_is_measured(
    run_evenhand_here: Command, menagerie: Zoo, targets: Path, tmp_path: Path
) -> None:
    model, out = menagerie.folder("gpt2"), tmp_path / "triggered"
    done = run_evenhand_here(
        "mitigate",
        "trigger",
        model,
        "--targets",
        targets,
        *QUICK,
        "--weight",
        "gap=3",
        "--out",
        out,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    prefix = record["reference"]["prefix"]
    assert prefix == record["trigger"]["text"] + " "
    assert record["trigger"]["recipe"]["weights"]["gap"] == 3
    assert f"Measure the difference with: evenhand certify {model} {out}" in done.stderr.replace("\n", " ")

    audit = run_evenhand_here(
        "audit", out, "--limit", "6", "--resamples", "100", "--out", tmp_path / "runs", "--device", "cpu"
    )
    assert audit.returncode == 0, audit.stderr
    run = json.loads(
        (tmp_path / "runs" / "triggered_association_starter_en_limit-6" / "record.json").read_text()
    )
    assert run["model"]["prefix"] == prefix


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "No target pairs were given"),
        (("--targets", "missing.csv"), "There is no file missing.csv"),
        (("--targets", "targets.csv", "--from-annotations", "a.csv"), "were both given"),
        (("--targets", "targets.csv", "--method", "gcp"), "Did you mean 'gcg'"),
        (("--targets", "targets.csv", "--slots", "0"), "A trigger of 0 tokens was asked for"),
        (("--targets", "targets.csv", "--weight", "gapp=1"), "Did you mean 'gap'"),
        (("--targets", "targets.csv", "--weight", "gap=much"), "has no number"),
        (("--targets", "targets.csv", "--weight", "gap=-1"), "it must be at least 0"),
        (("--targets", "targets.csv", "--ban", "empty.txt"), "empty.txt is empty"),
        (("--targets", "empty.txt"), "is empty"),
        (("--targets", "long.csv"), "longest text behind it"),
    ],
)
def test_what_cannot_be_searched_for_is_said(
    run_evenhand_here: Command, menagerie: Zoo, targets: Path, arguments: tuple[str, ...], message: str
) -> None:
    (targets.parent / "empty.txt").write_text("")
    (targets.parent / "long.csv").write_text(ROWS.replace("was a thief.", "was a thief " * 60))
    model = menagerie.folder("gpt2")
    done = run_evenhand_here(
        "mitigate", "trigger", model, *arguments, "--device", "cpu", "--out", "out", cwd=targets.parent
    )

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (targets.parent / "out").exists()


def test_a_model_behind_a_server_gives_no_gradients(
    run_evenhand_here: Command, targets: Path, tmp_path: Path
) -> None:
    done = run_evenhand_here(
        "mitigate", "trigger", "api:talker", "--targets", targets, "--out", tmp_path / "out",
        environment={"EVENHAND_API_BASE": "http://localhost:9/v1"},
    )  # fmt: skip

    assert done.returncode == 2
    assert "its weights are needed here" in " ".join(done.stderr.split())


def test_an_empty_prefix_is_refused(run_evenhand_here: Command, tmp_path: Path) -> None:
    done = run_evenhand_here(
        "certify", "lab:decoder", "lab:decoder", "--prefix", " ", "--out", tmp_path / "c.html"
    )

    assert done.returncode == 2
    assert "--prefix is empty" in done.stderr
