"""Conditions that gate a release: ``SS>60``, ``intrasentence.ICAT<70``, ``overall.gender.SS.low>50``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evenhand.core.errors import ConditionError, UnknownNameError
from evenhand.core.items import OVERALL, Task
from evenhand.instruments.association.results import MEASURE_NAMES, GroupResult, RunResult

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
)
_CONDITION = re.compile(r"\s*([\w.\- ]+?)\s*(>=|<=|>|<)\s*([+-]?\d+(?:\.\d+)?)\s*")
_TASKS = (*(task.value for task in Task), OVERALL)
_BOUNDS = ("value", "low", "high")


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition: ``[task.][bias type.]measure[.value|low|high]``, an operator and a number."""

    text: str
    task: str | None
    bias_type: str | None
    measure: str
    bound: str
    operator: str
    threshold: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise ConditionError(
                f"The condition {text!r} is not understood. Write a measure, one of > >= < <=, and a number: "
                "'SS>60', 'intrasentence.ICAT<70', 'overall.gender.SS.low>50'."
            )
        parts = match[1].split(".")
        task = parts.pop(0) if parts[0] in _TASKS else None
        bound = parts.pop() if len(parts) > 1 and parts[-1] in _BOUNDS else "value"
        measure = parts.pop() if parts else ""
        if measure not in MEASURE_NAMES:
            raise UnknownNameError("measure in the condition", measure, MEASURE_NAMES)
        if len(parts) > 1:
            raise UnknownNameError("task in the condition", parts[0], _TASKS)
        return cls(
            text=text.strip(),
            task=task,
            bias_type=parts[0] if parts else None,
            measure=measure,
            bound=bound,
            operator=match[2],
            threshold=float(match[3]),
        )

    def value_in(self, result: RunResult) -> float:
        """The value that the condition is about.

        Without a task, that is the overall one, or the only one there is.
        """
        estimate = self._group(result).estimate(self.measure)
        value = estimate.bound(self.bound)
        if math.isnan(value):
            raise ConditionError(
                f"The condition {self.text!r} cannot be judged for {result.name}: {estimate.reason}."
            )
        return value

    def holds(self, result: RunResult) -> bool:
        """Whether the condition is met."""
        return _OPERATORS[self.operator](self.value_in(result), self.threshold)

    def _group(self, result: RunResult) -> GroupResult:
        name = self.task or (OVERALL if OVERALL in result.tasks else next(iter(result.tasks)))
        if name not in result.tasks:
            raise ConditionError(
                f"The condition {self.text!r} is about {name}, but {result.name} has only "
                f"{', '.join(result.tasks)}."
            )
        task = result.tasks[name]
        if self.bias_type is None:
            return task
        if self.bias_type not in task.by_bias_type:
            raise UnknownNameError("bias type in the condition", self.bias_type, task.by_bias_type)
        return task.by_bias_type[self.bias_type]
