"""From a corpus to an audit by a head, as users do it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from judge_models import small_pairs
from running import Command
from zoo_fixtures import Zoo


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return small_pairs(tmp_path_factory.mktemp("pairs")).folder


SMALL = (
    "--batch-size",
    "8",
    "--checkpoints",
    "2",
    "--max-tokens",
    "48",
    "--test-pairs",
    "8",
    "--device",
    "cpu",
)


def test_a_head_is_trained_and_audited_by_command(
    menagerie: Zoo, tmp_path: Path, pairs: Path, run_evenhand_here: Command
) -> None:
    out = tmp_path / "judge"
    command = ("train", "next-sentence", menagerie.folder("gpt2"), "--pairs", pairs, "--out", out, *SMALL)

    trained = run_evenhand_here(*command, "--max-pairs", "16", "--report-to", "tensorboard", "--json")
    again = run_evenhand_here(*command, "--max-pairs", "16")
    audited = run_evenhand_here(
        "audit", out, "--inter", "next-sentence", "--limit", "4", "--out", tmp_path / "runs",
        "--resamples", "200", "--json", "--device", "cpu",
    )  # fmt: skip

    assert trained.returncode == again.returncode == audited.returncode == 0, trained.stderr + audited.stderr
    record = json.loads(trained.stdout)
    assert (record["kind"], record["follows_class"]) == ("pooled", 1)
    assert record["training"]["pairs"][0]["train_pairs"] == 16
    assert "pairs from articles that training never saw" in again.stdout
    assert {"next_sentence.json", "next_sentence.safetensors", "next_sentence.html"} <= {
        path.name for path in out.iterdir()
    }
    assert list((out / "logs").rglob("*tfevents*"))
    (run,) = (tmp_path / "runs").iterdir()
    methods = json.loads((run / "record.json").read_text())["scoring"]["methods"]
    assert methods["intersentence"] == "next-sentence"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("--precision", "fp8"), "Unknown precision"),
        (("--learning-rate", "3"), "must lie between 0 and 1"),
        (("--prompt", "x: "), "no use for the prompt"),
        (("--report-to", "telegram"), "cannot be reported to"),
    ],
)
def test_what_cannot_be_is_refused(
    menagerie: Zoo,
    tmp_path: Path,
    pairs: Path,
    run_evenhand_here: Command,
    extra: tuple[str, ...],
    message: str,
) -> None:
    refused = run_evenhand_here(
        "train",
        "next-sentence",
        menagerie.folder("gpt2"),
        "--pairs",
        pairs,
        "--out",
        tmp_path / "out",
        *extra,
    )

    assert refused.returncode == 2
    assert message in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_pairs_is_refused(
    menagerie: Zoo, tmp_path: Path, run_evenhand_here: Command
) -> None:
    refused = run_evenhand_here(
        "train", "next-sentence", menagerie.folder("gpt2"), "--pairs", tmp_path, "--out", tmp_path / "out"
    )

    assert refused.returncode == 2
    assert "no folder of next-sentence pairs" in refused.stderr
