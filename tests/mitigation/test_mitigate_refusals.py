"""What ``evenhand mitigate`` refuses: in words, with code 2, and before anything is written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.training import trainer


@pytest.mark.parametrize("method", ["counterfactual", "equalise"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gpt2",), "No corpus was given. Write --corpus PATH"),
        (("lab:masked", "--corpus", "missing.txt"), "There is no file or folder missing.txt"),
        (("lab:masked", "-e", "she-he"), "Unknown experiment 'she-he'. Did you mean 'he-she'?"),
        (("lab:masked", "--report-to", "excel"), "'excel' cannot be reported to"),
        (("lab:masked", "--report-to", "wandb"), "Install it with: pip install wandb"),
        (("lab:masked", "--seed", "4294967295", "--seeds", "2"), "The seed is 4294967296"),
        (("lab:masked", "--corpus", "blank.txt"), "There is no sentence in blank.txt"),
        (("lab:masked", "--learning-rate", "7"), "learning rate is 7"),
        (("lab:masked", "--precision", "fp16"), "fp16 loses small steps"),
        (("lab:masked", "--out", "file"), "file is a file; a folder is needed"),
    ],
)
def test_what_cannot_be_is_refused_without_a_traceback(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    method: str,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "blank.txt").write_text("\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trainer, "get_available_reporting_integrations", lambda: ["tensorboard"])
    monkeypatch.setattr(sys, "argv", ["evenhand", "mitigate", method, "--out", "model", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"file", "blank.txt"}


@pytest.mark.parametrize("balance", ["-1", "nan", "inf"])
def test_a_balance_that_would_teach_bias_or_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], balance: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["mitigate", "equalise", "lab:masked", "--balance", balance, "--out", "model"]
    monkeypatch.setattr(sys, "argv", ["evenhand", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert f"The balance is {balance}; it must be 0 or more" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
