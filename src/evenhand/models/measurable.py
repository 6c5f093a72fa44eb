"""What instruments ask of a model: how it is to be asked, and its answers.

Models in this process answer requests about tokens, planned together; others are asked about plain text through their
capabilities (``text_model``). An instrument does not see the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from evenhand.core import protocols
from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Task
from evenhand.core.protocols import EVENHAND_V2, MULTILINGUAL_2023, get_protocol
from evenhand.models.capabilities import Model
from evenhand.models.engine.requests import Requests, RequestValues
from evenhand.models.questions import Continuation, Method, ScoreKind, WordMethod

if TYPE_CHECKING:
    from evenhand.core.progress import Progress
    from evenhand.models.engine.requests import RequestGroup
    from evenhand.models.sentence_pairs import PairMethod
    from evenhand.runs.store import Parts


Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """How candidates are to be scored; what is None suits the model."""

    protocol: protocols.Protocol = EVENHAND_V2
    inter: Continuation | None = None
    score: ScoreKind | None = None

    @property
    def as_published(self) -> bool:
        """Whether the methods of the multilingual study are asked for."""
        return self.protocol.name == MULTILINGUAL_2023.name


@dataclass(frozen=True, slots=True)
class ScoringFacts:
    """How answers are computed, for records."""

    max_tokens: int | None = None
    """Tokens in a batch, unless somebody knows better."""
    memory: int | None = None
    """Most bytes that a batch takes beside the weights."""
    only_needed_positions: bool = False
    shared_prefixes: bool = False


class Measurable(Model, Protocol):
    """A model that says how it is to be asked and answers what its own methods request."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What it can be measured with."""
        ...

    @property
    def tokenizer(self) -> Any:
        """What cuts its texts into tokens; None where it is asked about plain text."""
        ...

    @property
    def longest_input(self) -> int | None:
        """The most tokens that it takes; None where nothing limits it."""
        ...

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that its answers depend on."""
        ...

    @property
    def scoring_facts(self) -> ScoringFacts:
        """How answers are computed."""
        ...

    def method(self, task: Task, options: MethodOptions) -> Method:
        """How the candidates of a task are scored.

        Raises:
            ModelError: If it cannot do the task, or not in the way that was asked for.
        """
        ...

    def pair_method(self) -> PairMethod:
        """How the two sentences of a pair are scored."""
        ...

    def word_method(self) -> WordMethod:
        """How the probability of a word in a blank is read."""
        ...

    def shows_unknown_word(self, requests: Requests) -> bool:
        """Whether requests show a word that the tokenizer does not know."""
        ...

    def language_warnings(self, texts: Sequence[str], *, name: str, language: str) -> tuple[str, ...]:
        """Reasons to doubt that it knows the language of texts; ``name`` is what they are called."""
        ...

    def answer_groups(
        self,
        groups: Sequence[RequestGroup],
        *,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[RequestValues]:
        """For each group, the natural log-probabilities of each of its requests, or why there are none.

        Args:
            groups: What its methods request.
            max_tokens: Most tokens in a batch.
            parts: Where answers are kept as they come, so that an interrupted job goes on.
            progress: Told how many items are done.
        """
        ...


def choose_method(
    model: Measurable,
    task: Task,
    *,
    protocol: str | protocols.Protocol,
    inter: str | None = None,
    score: str | None = None,
) -> Method:
    """The method for a task.

    Raises:
        UnknownNameError: If an option has no such value.
        ModelError: If the model cannot do the task, or not in the way that was asked for.
    """
    return model.method(task, method_options(protocol, inter=inter, score=score))


def method_options(
    protocol: str | protocols.Protocol, *, inter: str | None = None, score: str | None = None
) -> MethodOptions:
    """How candidates are to be scored, from the names of the choices.

    Raises:
        UnknownNameError: If an option has no such value.
    """
    return MethodOptions(
        get_protocol(protocol),
        inter=_parse(inter, Continuation, "way to score the inter-sentence task"),
        score=_parse(score, ScoreKind, "score"),
    )


def _parse(text: str | None, choices: type[Choice], kind: str) -> Choice | None:
    """The choice of this value; names that explain themselves do as well as published letters."""
    if text is None:
        return None
    for name, choice in choices.__members__.items():
        if text in (choice.value, name.lower().replace("_", "-")):
            return choice
    raise UnknownNameError(kind, text, [choice.value for choice in choices])
