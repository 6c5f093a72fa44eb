"""Conditions that gate a release: ``SS.low>55``, ``he-she.MALoR>1``, ``coverage<99``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from evenhand.core.errors import ConditionError, UnknownNameError
from evenhand.core.items import OVERALL, Task
from evenhand.store.coverage import COVERAGE, Coverage, coverage_of
from evenhand.store.figures import FigureGroups, Group

if TYPE_CHECKING:
    from evenhand.store.run import Run

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
)
_OPERATOR_WORDS: Mapping[str, str] = MappingProxyType(
    {">=": "is at or above", "<=": "is at or below", ">": "is above", "<": "is below"}
)
_CONDITION = re.compile(r"\s*([\w.\- ]+?)\s*(>=|<=|>|<)\s*([+-]?\d+(?:\.\d+)?)\s*")
_BOUNDS = ("value", "low", "high")

WHOLE = OVERALL
KNOWN_GROUPS = (OVERALL, *(task.value for task in Task))
"""Groups that a run may lack although their names are right."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition: ``[group.]measure[.value|low|high]``, an operator and a number.

    A group may be left out where the figures of the whole are meant: ``SS`` is ``overall.SS``, or that of the only task
    there is; ``gender.SS`` is ``overall.gender.SS``.
    """

    text: str
    group: tuple[str, ...]
    measure: str
    bound: str
    operator: str
    threshold: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition; whether the figure exists is seen when it meets a run."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise ConditionError(
                f"The condition {text!r} is not understood. Write a measure, one of > >= < <=, and a number: "
                "'SS>60', 'intrasentence.ICAT<70', 'overall.gender.SS.low>50', 'he-she.MALoR>1'."
            )
        parts = match[1].split(".")
        bound = parts.pop() if len(parts) > 1 and parts[-1] in _BOUNDS else "value"
        return cls(
            text=text.strip(),
            group=tuple(parts[:-1]),
            measure=parts[-1],
            bound=bound,
            operator=match[2],
            threshold=float(match[3]),
        )

    def refuse_unknown_measure(self, measures: Iterable[str]) -> None:
        """Raise an UnknownNameError unless the measure is one of these, before anything is measured."""
        known = list(measures)
        if self.measure not in known:
            raise UnknownNameError("measure in the condition", self.measure, known)

    def group_in(self, figures: FigureGroups, *, of: str) -> Group:
        """The group of the only figure that the condition can be about.

        Args:
            figures: Those of a run, or those that it will have.
            of: The run or the instrument, for messages.

        Raises:
            UnknownNameError: If there is no such measure, or a group has a name that none has.
            ConditionError: If there is no such group, or several could be meant.
        """
        self.refuse_unknown_measure(figures)
        groups = list(dict.fromkeys(figures[self.measure]))
        names = dict.fromkeys(name for group in groups for name in group)
        for name in self.group:
            if name not in names and name not in KNOWN_GROUPS:
                raise UnknownNameError("group in the condition", name, names)
        fitting = [group for group in groups if _is_part(self.group, group)]
        if not fitting:
            about = f"is about {'.'.join(self.group)}" if self.group else "needs a group"
            raise ConditionError(
                f"The condition {self.text!r} {about}, but {of} has only "
                f"{', '.join('.'.join(group) for group in groups) or 'none for this measure'}."
            )
        shortest = min(map(len, fitting))
        whole = [group for group in fitting if len(group) == shortest]
        chosen = [group for group in whole if group[:1] == (WHOLE,)] or whole
        if len(chosen) > 1:
            keys = ", ".join(".".join((*group, self.measure)) for group in chosen)
            raise ConditionError(f"The condition {self.text!r} may mean {keys} of {of}. Write which.")
        return chosen[0]

    def value_in(self, run: Run) -> float:
        """The value that the condition is about.

        Raises:
            UnknownNameError: If the run has no such measure.
            ConditionError: If it has no such group, several that could be meant, or no value.
        """
        group = self.group_in(figure_groups_of(run), of=run.name)
        if self.measure == COVERAGE:
            return self._coverage_in(run, group)
        estimate = run.figure(".".join((*group, self.measure))).estimate
        value = estimate.bound(self.bound)
        if math.isnan(value):
            raise ConditionError(
                f"The condition {self.text!r} cannot be judged for {run.name}: {estimate.reason}."
            )
        return value

    def _coverage_in(self, run: Run, group: Group) -> float:
        if self.bound != "value":
            raise ConditionError(f"Coverage has no interval. Write {COVERAGE} without .{self.bound}.")
        coverage = run.coverage[group]
        if math.isnan(coverage.percent):
            raise ConditionError(
                f"The condition {self.text!r} cannot be judged for {run.name}: its coverage is {coverage}."
            )
        return coverage.percent

    def holds(self, run: Run) -> bool:
        """Whether the condition is met."""
        return _OPERATORS[self.operator](self.value_in(run), self.threshold)

    def coverage_in(self, run: Run) -> Coverage | None:
        """How many of the items that the condition is about have scores; one that names no task is about all tasks.

        None for a run of a model, and for a condition on coverage itself.
        """
        if not run.coverage or self.measure == COVERAGE:
            return None
        return coverage_of(run.coverage, self.group)

    def refuse_selected_scores(self, run: Run, *, least: float) -> None:
        """Raise a ConditionError where too few of the items that the condition is about have scores.

        Args:
            run: Any; one of a model has all the items that it was asked.
            least: Percent of the items; with 0 the coverage need not even be known.
        """
        coverage = self.coverage_in(run)
        if coverage is None or least <= 0:
            return
        if math.isnan(coverage.percent):
            raise ConditionError(
                f"The condition {self.text!r} is refused for {run.name}: its coverage is {coverage}. Give the scores "
                "with their whole dataset, or allow them with --min-coverage 0."
            )
        if coverage.percent < least:
            raise ConditionError(
                f"The condition {self.text!r} is refused for {run.name}: its coverage is {coverage}, below {least:g}%. "
                "Score the other items, or allow fewer with --min-coverage."
            )

    def reason_in(self, run: Run) -> str:
        """Why the gate is closed where the condition holds: ``LMS 94.2 is below 95``."""
        bound = () if self.bound == "value" else (self.bound,)
        name = ".".join((*self.group, self.measure, *bound))
        value = self._shown(self.value_in(run))
        return f"{name} {value} {_OPERATOR_WORDS[self.operator]} {self.threshold:g}"

    def _shown(self, value: float) -> str:
        """A value with as many digits as it takes to see that it is above or below the threshold."""
        shown = (f"{value:.{digits}f}" for digits in range(1, _MOST_DIGITS))
        return next(
            (text for text in shown if _side(float(text), self.threshold) == _side(value, self.threshold)),
            repr(value),
        )


def figure_groups_of(run: Run) -> FigureGroups:
    """By measure the groups of a run's figures; its coverage is among them where files gave the scores."""
    groups: dict[str, list[Group]] = {}
    for figure in run.figures:
        groups.setdefault(figure.measure, []).append(figure.group)
    return groups | ({COVERAGE: list(run.coverage)} if run.coverage else {})


def with_coverage(figures: FigureGroups) -> FigureGroups:
    """The figures that a run of a file of scores will have: those of its instrument, and coverage."""
    return {**figures, COVERAGE: [(), *(group for groups in figures.values() for group in groups)]}


def refuse_unknown_figures(conditions: Sequence[Condition], figures: FigureGroups, *, of: str) -> None:
    """Raise an error for conditions on figures that a run will not have; nothing is refused where none are known."""
    for condition in conditions if figures else ():
        condition.group_in(figures, of=of)


_MOST_DIGITS = 9


def _side(value: float, threshold: float) -> int:
    """On which side of a threshold a value lies: -1, 0 or 1."""
    return (value > threshold) - (value < threshold)


def _is_part(group: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether the names stand in the other group, in their order."""
    rest = iter(whole)
    return all(name in rest for name in group)
