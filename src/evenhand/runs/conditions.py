"""Conditions that gate a release: ``SS.low>55``, ``he-she.MALoR>1``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evenhand.core.errors import ConditionError, UnknownNameError
from evenhand.core.items import OVERALL, Task
from evenhand.runs.figures import Figure
from evenhand.runs.run import Run

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
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

    def value_in(self, run: Run) -> float:
        """The value that the condition is about.

        Raises:
            UnknownNameError: If the run has no such measure.
            ConditionError: If it has no such group, several that could be meant, or no value.
        """
        estimate = self._figure(run).estimate
        value = estimate.bound(self.bound)
        if math.isnan(value):
            raise ConditionError(
                f"The condition {self.text!r} cannot be judged for {run.name}: {estimate.reason}."
            )
        return value

    def holds(self, run: Run) -> bool:
        """Whether the condition is met."""
        return _OPERATORS[self.operator](self.value_in(run), self.threshold)

    def _figure(self, run: Run) -> Figure:
        figures = [figure for figure in run.figures if figure.measure == self.measure]
        self.refuse_unknown_measure(dict.fromkeys(figure.measure for figure in run.figures))
        names = dict.fromkeys(name for figure in figures for name in figure.group)
        for name in self.group:
            if name not in names and name not in KNOWN_GROUPS:
                raise UnknownNameError("group in the condition", name, names)
        fitting = [figure for figure in figures if _is_part(self.group, figure.group)]
        if not fitting:
            raise ConditionError(
                f"The condition {self.text!r} is about {'.'.join(self.group)}, but {run.name} has only "
                f"{', '.join(dict.fromkeys('.'.join(figure.group) for figure in figures))}."
            )
        shortest = min(len(figure.group) for figure in fitting)
        whole = [figure for figure in fitting if len(figure.group) == shortest]
        overall = [figure for figure in whole if figure.group[:1] == (WHOLE,)]
        chosen = overall or whole
        if len(chosen) > 1:
            raise ConditionError(
                f"The condition {self.text!r} may mean {', '.join(figure.key for figure in chosen)} of {run.name}. "
                "Write which."
            )
        return chosen[0]


def _is_part(group: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether the names stand in the other group, in their order."""
    rest = iter(whole)
    return all(name in rest for name in group)
