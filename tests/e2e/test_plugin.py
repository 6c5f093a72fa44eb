"""A package of somebody else's adds one of everything, and no line of Evenhand knows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import command_server
import pytest
from running import HANG, Command

SOURCE = Path(__file__).parents[1] / "plugin"
PACKAGE = Path(__file__).parents[2] / "src" / "evenhand"

SCORES = PACKAGE / "data" / "resources" / "starter" / "example_scores" / "simulated-neutral.json"

TRIPLES = "".join(
    f"{target}-{number}\tprofession\t{target}\tThe {target} is BLANK today.\t{stereotype}\t{anti}\t{unrelated}\n"
    for number, (stereotype, anti, unrelated) in enumerate(
        [("calm", "lively", "triangular"), ("shy", "outspoken", "photographic")]
    )
    for target in ("baker", "pilot", "tailor")
)
"""Every stereotype is the shortest word, so a model that dislikes long words prefers it every time."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package as pip installs it."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(SOURCE, folder / "source")
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--disable-pip-version-check", "--target", str(folder / "installed"), str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG)
    assert done.returncode == 0, done.stderr
    return folder / "installed"


@pytest.fixture(scope="module")
def evenhand(installed: Path) -> Iterator[Command]:
    """Run ``evenhand`` where the example package is installed."""
    paths = [str(installed), str(Path(command_server.__file__).parent), os.environ.get("PYTHONPATH")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with subprocess.Popen(
        [sys.executable, command_server.__file__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        commands, answers = server.stdin, server.stdout

        def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
            words = [str(argument) for argument in arguments]
            commands.write(json.dumps(words) + "\n")
            commands.flush()
            return subprocess.CompletedProcess(words, *json.loads(answers.readline()))

        yield run


@pytest.fixture
def triples(tmp_path: Path) -> Path:
    path = tmp_path / "en.triples"
    path.write_text(TRIPLES, encoding="utf-8")
    return path


def printed(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_line_of_the_package_names_it() -> None:
    names = re.compile(r"evenhand_example|shift.bias|\bchoices\b.*instrument|\bwordy\b", re.IGNORECASE)

    for path in PACKAGE.rglob("*.py"):
        assert not names.search(path.read_text(encoding="utf-8")), path


def test_a_layout_a_backend_and_a_measure_go_through_an_audit(
    evenhand: Command, triples: Path, tmp_path: Path
) -> None:
    command = ["audit", "wordy:0.5", "--data", triples, "--out", tmp_path, "--json"]

    document = printed(evenhand(*command))

    (run,) = document["runs"]
    task = run["tasks"]["intrasentence"]
    assert task["SS"]["value"] == 100
    assert task["margin"]["value"] == 100
    held = evenhand(*command, "--fail-if", "margin>99")
    assert held.returncode == 4
    assert "Gate closed: margin 100.0 is above 99" in held.stderr
    page = (tmp_path / "wordy-0.5_association_en" / "report.html").read_text(encoding="utf-8")
    assert "Preference margin" in page


def test_an_instrument_goes_through_probe_compare_and_report(
    evenhand: Command, triples: Path, tmp_path: Path
) -> None:
    """A word's letters decide, per word: of 4.5 letters, "The baker." wins over "Nobody can know." with 14 / 3.

    Baker and pilot, nurse and judge are equally long, so the first wins; with farmer and singer (5) nobody can know; of
    tailor (5) and miner (4.5) the miner wins. So a quarter of the ambiguous questions and a half of the others are
    answered right, and of five wrong answers to a topic three name the target, one the other and one nobody.
    """
    for model in ("wordy:0.5", "wordy:1"):
        done = evenhand("probe", model, "--test", "choices", "--out", tmp_path)
        assert done.returncode == 0, done.stderr
        assert "choices" in done.stdout
    evenhand("audit", "wordy:1", "--data", triples, "--out", tmp_path)
    first, second = tmp_path / "wordy-0.5_choices_en", tmp_path / "wordy-1_choices_en"

    stated = json.loads((first / "estimates.json").read_text(encoding="utf-8"))["figures"]
    figures = {(own["measure"], *own["group"]): own["estimate"]["value"] for own in stated}
    assert figures == {
        ("accuracy", "all"): 37.5,
        ("accuracy", "all", "ambiguous"): 25,
        ("accuracy", "all", "told"): 50,
        ("bias", "all"): pytest.approx(40),
    }
    (comparison,) = printed(evenhand("compare", first, second, "--json"))["comparisons"]
    assert comparison["instrument"] == "choices"
    (row,) = comparison["differences"]
    assert (row["first"], row["second"], row["measure"]) == (37.5, 37.5, "accuracy")
    page = tmp_path / "page.html"
    done = evenhand("report", first, second, tmp_path / "wordy-1_association_en", "--out", page)
    assert done.returncode == 0, done.stderr
    written = page.read_text(encoding="utf-8")
    for name in ("Choices", first.name, second.name, "wordy-1_association_en", "Accuracy"):
        assert name in written
    gated = evenhand("probe", "wordy:1", "--test", "choices", "--out", tmp_path, "--fail-if", "accuracy<50")
    assert gated.returncode == 4


def test_options_of_its_own_can_be_set_and_others_are_refused(evenhand: Command, tmp_path: Path) -> None:
    probe = ["probe", "wordy:1", "--test", "choices", "--out", tmp_path]

    assert evenhand(*probe, "--set", "cue=I say:").returncode == 0
    record = json.loads((tmp_path / "wordy-1_choices_en" / "record.json").read_text(encoding="utf-8"))
    assert record["options"]["cue"] == "I say:"
    refused = evenhand(*probe, "--layer", "2")
    assert refused.returncode == 2
    assert "--layer is not an option of choices" in refused.stderr


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["audit", "--help"], "wordy"),
        (["probe", "--help"], "choices"),
        (["mitigate", "--help"], "shift-bias"),
        (["models", "inspect", "wordy:1"], "wordy"),
    ],
)
def test_help_and_inspection_name_what_was_added(evenhand: Command, command: list[str], word: str) -> None:
    done = evenhand(*command)

    assert done.returncode == 0, done.stderr
    assert word in done.stdout


def test_a_mitigation_without_training_is_certified(evenhand: Command, tmp_path: Path) -> None:
    out = tmp_path / "shifted"

    done = evenhand("mitigate", "shift-bias", "lab:masked", "--set", "nats=0.5", "--out", out)
    assert done.returncode == 0, done.stderr
    record = json.loads((out / "mitigation.json").read_text(encoding="utf-8"))
    assert (record["method"], record["settings"]) == ("shift-bias", {"nats": 0.5})
    certificate = tmp_path / "certificate.html"
    certified = evenhand(
        "certify", "lab:masked", out, "--out", certificate, "--resamples", "200", "--sentences", "200"
    )
    assert certified.returncode in (0, 5), certified.stderr
    assert "shift-bias" in certificate.read_text(encoding="utf-8")


BROKEN = {
    "that raises": (
        "[evenhand.measures]\nbad = broken:RAISES\n",
        "cannot be loaded: RuntimeError: out of order",
    ),
    "that takes a name": ("[evenhand.measures]\nSS = broken:NAMESAKE\n", "a name that evenhand has taken"),
    "that lacks something": ("[evenhand.measures]\nbad = broken:NAMESAKE\n", "it lacks name, version"),
}


def test_a_translator_makes_a_benchmark(evenhand: Command, tmp_path: Path) -> None:
    out = tmp_path / "backwards"
    ended = evenhand("data", "translate", "starter", "--to", "ne", "--translator", "reversing", "--out", out)
    published = evenhand("data", "publish", out, "--out", tmp_path / "ne.json")

    assert ended.returncode == published.returncode == 0, ended.stderr
    item = json.loads((tmp_path / "ne.json").read_text(encoding="utf-8"))["data"]["intrasentence"][0]
    assert item["target"] == item["target_original"][::-1]
    assert item["context"].count("BLANK") == 1


@pytest.mark.parametrize("fault", BROKEN)
def test_a_package_with_a_fault_is_named_and_can_be_left_out(
    run_evenhand_here: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    entry_points, said = BROKEN[fault]
    site = tmp_path / "site"
    info = site / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    (site / "broken.py").write_text(
        "NAMESAKE = object()\ndef __getattr__(name):\n    raise RuntimeError('out of order')\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    command = ["evaluate", SCORES, "--data", "starter", "--out", tmp_path / "runs"]

    done = run_evenhand_here(*command)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    told = " ".join(done.stderr.split())
    assert "the package broken" in told.lower()
    assert said in told
    assert run_evenhand_here(*command, environment={"EVENHAND_PLUGINS": "off"}).returncode == 0
