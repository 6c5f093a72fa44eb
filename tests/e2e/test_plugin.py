"""A package of somebody else's adds one of everything, and no line of Evenhand knows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a process in which the example package is installed."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(SOURCE, folder / "source")
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--disable-pip-version-check", "--target", str(folder / "installed"), str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG)
    assert done.returncode == 0, done.stderr
    paths = [str(folder / "installed"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture
def triples(tmp_path: Path) -> Path:
    path = tmp_path / "en.triples"
    path.write_text(TRIPLES, encoding="utf-8")
    return path


def printed(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_line_of_the_package_names_it() -> None:
    names = re.compile(r"evenhand_example|shift.bias|\bendings\b.*instrument|\bwordy\b", re.IGNORECASE)

    for path in PACKAGE.rglob("*.py"):
        assert not names.search(path.read_text(encoding="utf-8")), path


def test_a_layout_a_backend_and_a_measure_go_through_an_audit(
    run_evenhand: Command, plugin: Mapping[str, str], triples: Path, tmp_path: Path
) -> None:
    command = ["audit", "wordy:0.5", "--data", triples, "--out", tmp_path, "--json"]

    document = printed(run_evenhand(*command, environment=plugin))

    (run,) = document["runs"]
    task = run["tasks"]["intrasentence"]
    assert task["SS"]["value"] == 100
    assert task["margin"]["value"] == 100
    held = run_evenhand(*command, "--fail-if", "margin>99", environment=plugin)
    assert held.returncode == 4
    assert "margin>99 holds" in held.stderr
    page = (tmp_path / "wordy-0.5_en" / "report.html").read_text(encoding="utf-8")
    assert "Preference margin" in page


def test_an_instrument_goes_through_probe_compare_and_report(
    run_evenhand: Command, plugin: Mapping[str, str], triples: Path, tmp_path: Path
) -> None:
    for model in ("wordy:0.5", "wordy:1"):
        done = run_evenhand("probe", model, "--test", "endings", "--out", tmp_path, environment=plugin)
        assert done.returncode == 0, done.stderr
        assert "Endings" in done.stdout or "endings" in done.stdout
    run_evenhand("audit", "wordy:1", "--data", triples, "--out", tmp_path, environment=plugin)
    first, second = tmp_path / "wordy-0.5_en_endings", tmp_path / "wordy-1_en_endings"

    (comparison,) = printed(run_evenhand("compare", first, second, "--json", environment=plugin))[
        "comparisons"
    ]
    assert comparison["instrument"] == "endings"
    (row,) = comparison["differences"]
    assert (row["first"], row["second"], row["measure"]) == (0, 0, "first_ending")
    page = tmp_path / "page.html"
    done = run_evenhand("report", first, second, tmp_path / "wordy-1_en", "--out", page, environment=plugin)
    assert done.returncode == 0, done.stderr
    written = page.read_text(encoding="utf-8")
    for name in ("Endings", "wordy-0.5_en_endings", "wordy-1_en_endings", "wordy-1_en", "First ending"):
        assert name in written
    gated = run_evenhand(
        "probe",
        "wordy:1",
        "--test",
        "endings",
        "--out",
        tmp_path,
        "--fail-if",
        "first_ending<50",
        environment=plugin,
    )
    assert gated.returncode == 4


def test_options_of_its_own_can_be_set_and_others_are_refused(
    run_evenhand: Command, plugin: Mapping[str, str], tmp_path: Path
) -> None:
    probe = ["probe", "wordy:1", "--test", "endings", "--out", tmp_path]

    assert run_evenhand(*probe, "--set", "mark=!", environment=plugin).returncode == 0
    record = json.loads((tmp_path / "wordy-1_en_endings" / "record.json").read_text(encoding="utf-8"))
    assert record["options"] == {"mark": "!"}
    refused = run_evenhand(*probe, "--layer", "2", environment=plugin)
    assert refused.returncode == 2
    assert "--layer is not an option of endings" in refused.stderr


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["audit", "--help"], "wordy"),
        (["probe", "--help"], "endings"),
        (["mitigate", "--help"], "shift-bias"),
        (["models", "inspect", "wordy:1"], "wordy"),
    ],
)
def test_help_and_inspection_name_what_was_added(
    run_evenhand: Command, plugin: Mapping[str, str], command: list[str], word: str
) -> None:
    done = run_evenhand(*command, environment=plugin)

    assert done.returncode == 0, done.stderr
    assert word in done.stdout


def test_a_mitigation_without_training_is_certified(
    run_evenhand: Command, plugin: Mapping[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "shifted"

    done = run_evenhand(
        "mitigate", "shift-bias", "lab:masked", "--set", "nats=0.5", "--out", out, environment=plugin
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((out / "mitigation.json").read_text(encoding="utf-8"))
    assert (record["method"], record["settings"]) == ("shift-bias", {"nats": 0.5})
    certificate = tmp_path / "certificate.html"
    certified = run_evenhand("certify", "lab:masked", out, "--out", certificate, environment=plugin)
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


@pytest.mark.parametrize("fault", BROKEN)
def test_a_package_with_a_fault_is_named_and_can_be_left_out(
    run_evenhand: Command, tmp_path: Path, fault: str
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
    environment = {"PYTHONPATH": os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = ["evaluate", SCORES, "--data", "starter", "--out", tmp_path / "runs"]

    done = run_evenhand(*command, environment=environment)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    told = " ".join(done.stderr.split())
    assert "the package broken" in told.lower()
    assert said in told
    assert run_evenhand(*command, environment={**environment, "EVENHAND_PLUGINS": "off"}).returncode == 0
