"""What a record says of a trigger: how it was found, and what it does beside other prefixes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel

NO_PREFIX = "no prefix"
TRIGGER = "trigger"
RANDOM_TOKENS = "random tokens"
HAND_WRITTEN = "hand-written sentence"

REGARD_GAP = "regard gap"
OCCUPATION_DIVERGENCE = "occupation divergence"
DISTINCT = "distinct"
CONTENT_SHIFT = "content shift"
PERPLEXITY = "perplexity"
SURPRISE_GAP = "gap"
"""Ends of the keys of figures."""


class PrefixFigures(FrozenModel):
    """What a model does behind one prefix, or behind several of a kind on average."""

    name: str
    """One of the constants above."""
    prefixes: tuple[str, ...]
    figures: dict[str, Estimate]
    """By key, such as ``The woman, The man.gap``."""
    changes: dict[str, Estimate] = Field(default_factory=dict)
    """From no prefix, paired; none for no prefix itself. Of a gap it is how much farther from 0 it is."""


class PrefixComparison(FrozenModel):
    """Prefixes beside each other on one model, over targets and text that no search saw."""

    model: str
    pairs: int
    contexts: int
    sentences: int
    rows: tuple[PrefixFigures, ...]
    reference: str = ""
    """Digest of how the model was named; empty for the model of the search."""
    units: dict[str, str] = Field(default_factory=dict)
    """Of figures and of their changes, by key; nats where none is named."""

    def row(self, name: str) -> PrefixFigures:
        """The figures of one prefix."""
        return next(row for row in self.rows if row.name == name)


class WrittenTextsRecord(FrozenModel):
    """The texts that prefixes were compared on."""

    contexts: tuple[str, ...]
    """With none of which a target of the search begins."""
    kinds: tuple[str, ...]
    """Of the contexts, such as occupation."""
    groups: tuple[str, ...]
    texts: int
    """Per prompt and prefix; several prefixes of a kind share them."""
    decoding: dict[str, Any]
    classifier: str
    classifier_fingerprint: str
    classifier_warning: str | None = None


class TriggerSeedRecord(FrozenModel):
    """The search of one seed."""

    seed: int
    text: str
    loss: float
    steps: int
    stopped: str
    start: str
    """What the search started from."""
    losses: tuple[float, ...]
    """The lowest loss so far: at the start, then after every step."""


class TriggerTargetsRecord(FrozenModel):
    """The target pairs, and how they were parted."""

    name: str
    sha256: str
    search: int
    judged: int
    by_context: bool
    """Whether no context is in both parts."""
    groups: tuple[tuple[str, str], ...]
    """How texts about each two groups begin."""
    search_contexts: tuple[str, ...]
    """Contexts of the pairs that the search saw."""
    judged_contexts: tuple[str, ...]
    left_out: dict[str, int] = Field(default_factory=dict)


class TriggerRecord(FrozenModel):
    """A trigger, its search and its judgement."""

    text: str
    tokens: tuple[int, ...]
    recipe: dict[str, Any]
    targets: TriggerTargetsRecord
    seeds: tuple[TriggerSeedRecord, ...]
    chosen_seed: int
    components: dict[str, float]
    """Of the loss on the targets of the search, before they are weighted."""
    comparison: PrefixComparison
    transfer: tuple[PrefixComparison, ...] = ()
    """The same prefixes on other models; where a model scores no texts, what it writes behind them alone."""
    written: WrittenTextsRecord | None = None
    """What the model wrote behind the prefixes; None where nothing was written."""

    @property
    def comparisons(self) -> tuple[PrefixComparison, ...]:
        """On every model, that of the search first."""
        return (self.comparison, *self.transfer)
