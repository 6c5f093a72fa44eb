"""``evenhand audit`` and ``models inspect`` as users run them, on tiny models from disk."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zoo
from forking import evenhand_until, exit_code
from running import Command

from evenhand.store.records import PREDICTIONS_FILE, SCORES_FILE

MODELS = ("bert", "gpt2", "t5")
SLOW = ("--max-tokens", "8", "--limit", "8")
"""One input in a batch, so that there are many batches to stop in between."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: zoo.build(name, tmp_path_factory.mktemp("models") / name) for name in (*MODELS, "roberta")}


@pytest.mark.parametrize("name", MODELS)
def test_audit_prints_the_contract_and_writes_the_run_folder(
    run_evenhand_here: Command, folders: dict[str, Path], tmp_path: Path, name: str
) -> None:
    done = run_evenhand_here("audit", folders[name], "--language", "en,de", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [run["language"] for run in runs] == ["en", "de"]
    for run in runs:
        assert set(run["tasks"]) == {"intrasentence", "intersentence", "overall"}
        assert run["tasks"]["overall"]["n"] == 96
        record = json.loads((tmp_path / run["name"] / "record.json").read_text(encoding="utf-8"))
        assert record["model"]["weights"].startswith("sha256 ")
        assert set(record["scoring"]["methods"]) == {"intrasentence", "intersentence"}
        assert (tmp_path / run["name"] / "report.html").is_file()
    assert "scored by" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(run["name"] for run in runs)


def test_finished_audit_is_not_scored_again(
    run_evenhand_here: Command, folders: dict[str, Path], tmp_path: Path
) -> None:
    arguments = ("audit", folders["gpt2"], "--out", tmp_path, "--json")
    first = run_evenhand_here(*arguments)
    again = run_evenhand_here(*arguments)
    assert again.returncode == 0
    assert "left as it is" in again.stderr
    assert "scored by" not in again.stderr
    assert json.loads(again.stdout) == json.loads(first.stdout)
    other = run_evenhand_here(*arguments, "--inter", "c")
    assert other.returncode == 2
    assert "--fresh" in other.stderr


def test_written_scores_evaluate_to_the_same_result_but_for_what_needs_probabilities(
    run_evenhand_here: Command, folders: dict[str, Path], tmp_path: Path
) -> None:
    audited = run_evenhand_here("audit", folders["gpt2"], "--out", tmp_path, "--json")
    (run,) = json.loads(audited.stdout)["runs"]
    again = run_evenhand_here(
        "evaluate",
        tmp_path / run["name"] / PREDICTIONS_FILE,
        "--data",
        "starter",
        "--name",
        run["name"],
        "--json",
    )
    (evaluated,) = json.loads(again.stdout)["runs"]
    assert without_log_ratio(evaluated["tasks"]) == without_log_ratio(run["tasks"])
    for task in run["tasks"]:
        assert run["tasks"][task]["log_ratio"]["value"] is not None
        assert evaluated["tasks"][task]["log_ratio"]["value"] is None
        assert "without the probabilities" in evaluated["tasks"][task]["log_ratio"]["reason"]


def without_log_ratio(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_log_ratio(entry) for key, entry in value.items() if key != "log_ratio"}
    return value


def kept_parts(out: Path) -> list[Path]:
    """The batches that an unfinished audit has kept."""
    return list(out.glob(".*.unfinished/answers/[!.]*"))


@dataclass(frozen=True)
class AfterBatches:
    """Whether so many batches are done."""

    count: int

    def __call__(self, answers: Path) -> bool:
        return len(kept_parts(answers.parents[1])) == self.count


@dataclass(frozen=True)
class Stopped:
    """An audit that was stopped."""

    arguments: tuple[str | Path, ...]
    out: Path
    code: int | None
    messages: str


@pytest.fixture(scope="module")
def stopped(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Ctrl-C was pressed after three batches of many."""
    out = tmp_path_factory.mktemp("stopped") / "runs"
    arguments = ("audit", folders["bert"], "--language", "en", *SLOW)
    messages = out.with_name("messages")
    code = exit_code(evenhand_until, (*arguments, "--out", out), messages, signal.SIGINT, AfterBatches(3))
    return Stopped(arguments, out, code, messages.read_text(encoding="utf-8"))


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(stopped: Stopped) -> None:
    assert stopped.code == 130
    assert "same command again" in stopped.messages
    assert "Traceback" not in stopped.messages


def test_stopped_and_killed_audit_resumes_to_the_same_bytes(
    run_evenhand_here: Command, stopped: Stopped, tmp_path: Path
) -> None:
    undisturbed = tmp_path / "undisturbed"
    assert run_evenhand_here(*stopped.arguments, "--out", undisturbed).returncode == 0
    (expected,) = undisturbed.iterdir()

    killed = shutil.copytree(stopped.out, tmp_path / "killed")
    again = (*stopped.arguments, "--out", killed)
    code = exit_code(evenhand_until, again, tmp_path / "messages", signal.SIGKILL, AfterBatches(30))
    assert code == -signal.SIGKILL
    assert not (killed / expected.name).exists()
    assert len(kept_parts(killed)) == 30
    done = run_evenhand_here(*again)
    assert done.returncode == 0, done.stderr
    for name in (SCORES_FILE, PREDICTIONS_FILE):
        assert (killed / expected.name / name).read_bytes() == (expected / name).read_bytes()
    assert [path.name for path in killed.iterdir()] == [expected.name]


def test_other_options_are_not_held_up_by_an_unfinished_run(
    run_evenhand_here: Command, stopped: Stopped, tmp_path: Path
) -> None:
    runs = shutil.copytree(stopped.out, tmp_path / "runs")
    arguments = stopped.arguments[: -len(SLOW)]
    done = run_evenhand_here(*arguments, "--protocol", "multilingual-2023", "--out", runs)
    assert done.returncode == 0, done.stderr
    assert kept_parts(runs), "the first audit can still go on elsewhere"


@pytest.mark.parametrize(("condition", "code"), [("log_ratio.low>100", 0), ("log_ratio.high>-100", 4)])
def test_a_release_can_be_gated_on_the_log_ratio(
    run_evenhand_here: Command, folders: dict[str, Path], tmp_path: Path, condition: str, code: int
) -> None:
    done = run_evenhand_here("audit", folders["gpt2"], "--out", tmp_path, "--fail-if", condition)
    assert done.returncode == code, done.stderr


def test_model_without_a_next_sentence_head_leaves_that_task_out_and_says_so(
    run_evenhand_here: Command, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = folders["roberta"]
    done = run_evenhand_here("audit", folder, "--out", tmp_path, "--json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)["runs"][0]["tasks"]) == ["intrasentence"]
    assert "intersentence is left out" in done.stderr
    refused = run_evenhand_here("audit", folder, "--task", "intersentence", "--out", tmp_path / "other")
    assert refused.returncode == 2
    assert "It can do: intrasentence" in refused.stderr


def test_language_that_the_model_was_not_made_for_is_warned_of(
    run_evenhand_here: Command, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for path in folders["gpt2"].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "README.md").write_text("---\nlanguage: en\n---\n", encoding="utf-8")
    done = run_evenhand_here("audit", folder, "--language", "tr", "--limit", "3", "--out", tmp_path / "runs")
    assert done.returncode == 0
    assert "made for en, not for tr" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--inter", "next-sentense"), "Did you mean 'next-sentence'"),
        (("--task", "intrasentence", "--inter", "c"), "--inter is for the intersentence task"),
        (("--task", "intersentence", "--score", "sum-log"), "--score is for the intrasentence task"),
        (("--encoding", "latin-1"), "--encoding is for the files of --data"),
        (("--data", __file__, "--language", "de,fr"), "one file and has one language"),
        (("--score", "mean-porb"), "Did you mean 'mean-prob'"),
        (("--precision", "bf61"), "Did you mean 'bf16'"),
        (("--task", "intersentense"), "Did you mean 'intersentence'"),
        (("--device", "cuda:99"), "CUDA"),
        (("--device", "toaster"), "unknown"),
    ],
)
def test_wrong_audit_options_say_what_would_be_right(
    run_evenhand_here: Command,
    folders: dict[str, Path],
    tmp_path: Path,
    arguments: tuple[str, str],
    message: str,
) -> None:
    done = run_evenhand_here("audit", folders["bert"], *arguments, "--out", tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_folder_that_is_no_model_is_refused(run_evenhand_here: Command, tmp_path: Path) -> None:
    done = run_evenhand_here("audit", tmp_path, "--out", tmp_path / "runs")
    assert done.returncode == 2
    assert "no model" in done.stderr


def test_inspect_says_what_a_model_can_do_and_why_not(
    run_evenhand_here: Command, folders: dict[str, Path]
) -> None:
    done = run_evenhand_here("models", "inspect", folders["roberta"], "--json")
    facts = json.loads(done.stdout)
    assert facts["family"] == "masked"
    assert facts["intrasentence"].startswith("yes")
    assert facts["intersentence"].startswith("no")
    assert "next-sentence head" in facts["intersentence"]
    table = run_evenhand_here("models", "inspect", folders["gpt2"])
    assert table.returncode == 0
    assert "decoder" in table.stdout
