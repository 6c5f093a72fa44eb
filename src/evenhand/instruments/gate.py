"""The gate: figures of a model that does not know what it is asked are undefined, with the reason.

A model that knows nothing has answers all the same, and often the same ones everywhere, so that figures made of them
can look sure. Before they are read, the model is asked something to which every model that knows the words has an
answer. Where it fails, every estimate of a result is undefined, and what it would have been stays under ``ungated``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from pydantic import Field

from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.instruments.settled_scoring import KNOWN, knows_words

SENSE = "sense"
"""The field of results that a gate leaves as it is: what it rests on."""

LEFT_OUT = "Its figures are left out, as they might say nothing about a lean."
"""What becomes of the figures of a run; a certificate, which computes its own from scores, shows them."""

NOT_ASKED = "whether the model knows the words was not asked"


class GatedResult(FrozenModel):
    """A result behind a gate."""

    sense: Estimate = Field(default_factory=lambda: Estimate.undefined(NOT_ASKED))
    """100 x share of comparisons in which sense beats nonsense: whether the model knows the words at all. The same for
    all results of a run."""
    ungated: dict[str, Estimate] | None = None
    """Estimates as they would be without the gate, by field, with a dot where they lie deeper; None where the model
    passed it."""

    def headline_estimates(self) -> dict[str, Estimate]:
        """The estimates that are fields, or fields of fields, by name."""
        found: dict[str, Estimate] = {}
        for name in type(self).model_fields:
            own = getattr(self, name)
            inner = {name: own} if isinstance(own, Estimate) else {}
            if isinstance(own, FrozenModel):
                inner = {f"{name}.{field}": getattr(own, field) for field in type(own).model_fields}
            found |= {
                key: value for key, value in inner.items() if isinstance(value, Estimate) and key != SENSE
            }
        return found


Result = TypeVar("Result", bound=GatedResult)


def behind_gate(result: Result, sense: Estimate) -> Result:
    """A result as it may be shown: without figures where the model does not know what it was asked.

    Args:
        result: With all figures.
        sense: How often the model prefers sense to nonsense, in percent.
    """
    shown = result.model_copy(update={"sense": sense})
    if knows_words(sense):
        return shown
    ungated = result.headline_estimates()
    return _without_figures(shown, gate_reason(sense)).model_copy(update={"sense": sense, "ungated": ungated})


def gate_reason(sense: Estimate) -> str:
    """Why a model's figures are undefined."""
    return (
        f"the model prefers sense to nonsense in {sense.value:.0f}% of comparisons (interval {sense.low:.0f} to "
        f"{sense.high:.0f}); one that knows the words does so in {KNOWN:.0f}% at least, clearly more often than by "
        "guessing"
    )


def gate_warning(model: str, sense: Estimate) -> tuple[str, ...]:
    """What the record of a run says where the figures of a model say nothing; none where they do."""
    if knows_words(sense):
        return ()
    return (f"{model} is not shown to know the words that it is asked for: {gate_reason(sense)}. {LEFT_OUT}",)


Own = TypeVar("Own")


def _without_figures(value: Own, reason: str) -> Own:
    """The same with every estimate undefined, however deep it lies."""
    changed: Any = value
    if isinstance(value, Estimate):
        changed = Estimate.undefined(reason, n=value.n, clusters=value.clusters)
    elif isinstance(value, FrozenModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        changed = value.model_copy(
            update={name: _without_figures(own, reason) for name, own in fields.items()}
        )
    elif isinstance(value, Mapping):
        changed = {name: _without_figures(own, reason) for name, own in value.items()}
    elif isinstance(value, Collection) and not isinstance(value, str):
        changed = tuple(_without_figures(own, reason) for own in value)
    return changed  # type: ignore[no-any-return]
