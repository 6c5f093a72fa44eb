"""``--help`` groups options and names what is registered, also by other packages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from running import Command

from evenhand.cli.help import REGISTERED, filled
from evenhand.store.run import INSTRUMENTS

PANELS = {
    ("audit",): ("Model", "Data", "Scoring", "Statistics", "Output", "Execution"),
    ("probe",): ("Model", "Data", "Scoring", "Statistics", "Output", "Execution"),
    ("evaluate",): ("Data", "Scoring", "Statistics", "Output", "Execution"),
    ("compare",): ("Scoring", "Statistics", "Output"),
    ("mitigate", "equalise"): ("Model", "Data", "Training", "Output", "Execution"),
    ("certify",): ("Model", "Data", "Regard", "Certificate", "Statistics", "Output", "Execution"),
    ("study",): ("Model", "Data", "Training", "Certificate", "Statistics", "Output", "Execution"),
}


@pytest.fixture
def other_instrument() -> Iterator[str]:
    """An instrument that another package might add."""
    INSTRUMENTS.register("tea-leaves", INSTRUMENTS.get("malor"))
    yield "tea-leaves"
    INSTRUMENTS.unregister("tea-leaves")


@pytest.mark.parametrize("command", PANELS)
def test_options_are_in_groups(run_evenhand_here: Command, command: tuple[str, ...]) -> None:
    shown = run_evenhand_here(*command, "--help").stdout
    headings = [line.split()[1] for line in shown.splitlines() if line.startswith("╭─")]
    assert set(headings) - {"Arguments", "Options"} == set(PANELS[command])
    assert "$" not in shown


def test_an_instrument_of_another_package_is_named(run_evenhand_here: Command, other_instrument: str) -> None:
    assert other_instrument in run_evenhand_here("probe", "--help").stdout


@pytest.mark.parametrize("kind", REGISTERED)
def test_every_placeholder_stands_for_names(kind: str) -> None:
    assert filled(f"One of ${kind}.") == f"One of {', '.join(REGISTERED[kind]())}."


def test_other_dollars_stay() -> None:
    assert filled("It costs $5 or $unknown.") == "It costs $5 or $unknown."
