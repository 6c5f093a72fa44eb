"""Which method scores which task, from the names of options."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Task
from evenhand.models.continuations import Continuation
from evenhand.models.measurable import Measurable, MethodOptions
from evenhand.models.questions import Method, ScoreKind

Choice = TypeVar("Choice", bound=StrEnum)


def choose_method(
    model: Measurable, task: Task, *, protocol: str, inter: str | None = None, score: str | None = None
) -> Method:
    """The method for a task.

    Raises:
        UnknownNameError: If an option has no such value.
        ModelError: If the model cannot do the task, or not in the way that was asked for.
    """
    options = MethodOptions(
        protocol,
        inter=_parse(inter, Continuation, "way to score the inter-sentence task"),
        score=_parse(score, ScoreKind, "score"),
    )
    return model.method(task, options)


def _parse(text: str | None, choices: type[Choice], kind: str) -> Choice | None:
    """The choice of this value; names that explain themselves do as well as published letters."""
    if text is None:
        return None
    for name, choice in choices.__members__.items():
        if text in (choice.value, name.lower().replace("_", "-")):
            return choice
    raise UnknownNameError(kind, text, [choice.value for choice in choices])
