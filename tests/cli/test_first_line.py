"""A sign of life: every command that takes long says what it does before it imports anything heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "polars", "scipy", "numpy")

SCRIPT = """
import importlib, sys
module = importlib.import_module("evenhand.cli.{module}")
def say(message):
    heavy = sorted({heavy!r} & sys.modules.keys())
    print(message, "after", *heavy)
    raise SystemExit(0)
module.say = say
from evenhand.cli.app import app
sys.argv = ["evenhand", *{arguments!r}]
app()
"""


@pytest.mark.parametrize(
    ("module", "arguments", "line"),
    [
        ("audit", ["audit", "lab:masked"], "Auditing lab:masked"),
        ("audit", ["audit"], "Auditing the embedded models"),
        ("probe", ["probe", "lab:masked"], "Probing lab:masked"),
        ("evaluate", ["evaluate", "scores.json", "--data", "starter"], "Evaluating scores.json"),
        ("compare", ["compare", "runs/a", "runs/b"], "Comparing 2 runs"),
        ("report", ["report", "runs/a", "--out", "page.html"], "Reading runs/a"),
        ("mitigate", ["mitigate", "equalise", "lab:masked", "--out", "even"], "Mitigating lab:masked"),
        ("certify", ["certify", "lab:masked", "even"], "Certifying even"),
        ("study", ["study", "lab:masked", "--out", "study"], "Studying lab:masked"),
        ("pairs", ["data", "counterfactual", "--corpus", "novels"], "Searching novels"),
        ("models", ["models", "inspect", "lab:masked"], "Inspecting lab:masked"),
        ("lab", ["lab", "build", "--out", "model"], "Building model"),
    ],
)
def test_the_first_line_comes_before_heavy_imports(module: str, arguments: list[str], line: str) -> None:
    script = SCRIPT.format(module=module, arguments=arguments, heavy=set(HEAVY))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout == f"{line} after\n", done.stderr
