"""Gates: conditions that make a command exit with a code of its own, and what is refused before they are judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from evenhand.cli.output import CONDITION_HOLDS, say, warn
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.store.conditions import Condition
    from evenhand.store.run import Run


def conditions_of(
    texts: Sequence[str] | None, *, measures: Iterable[str] = (), min_coverage: float | None = None
) -> list[Condition]:
    """The conditions of ``--fail-if``, once it is clear that there can be such measures.

    Args:
        texts: As they are written.
        measures: Those that runs can have, as far as they are known before anything is read.
        min_coverage: ``--min-coverage``, which needs conditions.
    """
    from evenhand.store.conditions import Condition

    if min_coverage is not None and not texts:
        raise EvenhandError("--min-coverage is for the conditions of --fail-if. Give both, or leave it out.")
    conditions = [Condition.parse(text) for text in texts or ()]
    known = list(measures)
    for condition in conditions if known else ():
        condition.refuse_unknown_measure(known)
    return conditions


def refuse_conditions(
    conditions: Sequence[Condition], runs: Sequence[Run], *, min_coverage: float | None = None
) -> None:
    """Refuse conditions on figures that a run does not have, and on selected scores.

    Args:
        conditions: Those of the command.
        runs: What they are judged for.
        min_coverage: Percent of the items that need scores; 99 if not given.
    """
    from evenhand.store.conditions import figure_groups_of, refuse_unknown_figures
    from evenhand.store.coverage import LEAST_COVERAGE

    least = LEAST_COVERAGE if min_coverage is None else min_coverage
    for run in runs if conditions else ():
        refuse_unknown_figures(conditions, figure_groups_of(run), of=run.name)
        for condition in conditions:
            condition.refuse_selected_scores(run, least=least)
        for coverage in dict.fromkeys(condition.coverage_in(run) for condition in conditions):
            if coverage is not None and not coverage.is_enough:
                warn(f"{run.name}: conditions are judged on selected scores; the coverage is {coverage}.")


def close_gate(conditions: Sequence[Condition], runs: Sequence[Run]) -> None:
    """Exit with a code of its own when a condition holds for any run."""
    prefixes = {run.name: f"{run.name}: " if len(runs) > 1 else "" for run in runs}
    reasons = [
        f"{prefixes[run.name]}{condition.reason_in(run)}"
        for run in runs
        for condition in conditions
        if condition.holds(run)
    ]
    for reason in reasons:
        say(f"Gate closed: {reason}")
    if reasons:
        raise typer.Exit(CONDITION_HOLDS)
