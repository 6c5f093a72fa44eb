"""``evenhand mitigate`` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from forking import evenhand, start
from running import HANG, Command

pytestmark = pytest.mark.torch

QUICK = ("-e", "he-she", "--epochs", "2", "--learning-rate", "1e-3", "--device", "cpu")


def test_a_lab_model_is_mitigated_on_its_own_corpus_and_found_again(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    arguments = ("mitigate", "counterfactual", "lab:masked", *QUICK, "--out", tmp_path / "model")
    done = run_evenhand_here(*arguments)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert [line.split(":")[0] for line in lines if "perplexity" in line] == [
        "original",
        "epoch 1",
        "epoch 2",
    ]
    assert "MALoR, he-she" in done.stdout
    assert "held-out perplexity" in done.stdout
    assert (tmp_path / "model" / "README.md").read_text().count(
        "evenhand mitigate counterfactual lab:masked"
    ) == 1
    again = run_evenhand_here(*arguments, "--json")
    record = json.loads(again.stdout)
    assert record["after"]["he-she.MALoR"]["value"] < record["before"]["he-she.MALoR"]["value"]
    assert "epoch 1:" not in again.stderr


def test_a_stopped_training_says_how_to_go_on(tmp_path: Path) -> None:
    arguments = ("mitigate", "counterfactual", "lab:decoder", "-e", "he-she", "--epochs", "5000")
    messages = tmp_path / "messages"
    process = start(evenhand, (*arguments, "--device", "cpu", "--out", tmp_path / "model"), messages)
    deadline = time.monotonic() + HANG
    while process.is_alive() and time.monotonic() < deadline:
        if messages.exists() and "epoch 1:" in messages.read_text(encoding="utf-8"):
            break
        time.sleep(0.02)
    os.kill(process.pid or 0, signal.SIGINT)
    process.join(HANG)
    said = messages.read_text(encoding="utf-8")
    assert process.exitcode == 130
    assert "Give the same command again to go on from here" in said
    assert "Traceback" not in said
    assert list(tmp_path.glob(".model.*.unfinished/training/**/epoch-*"))
