"""Results of the probes for gender and occupation, and of the tests beside them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel


class Skipped(FrozenModel):
    """Why something was not scored, and how much of it."""

    reason: str
    count: int
    examples: tuple[str, ...]


class OccupationLean(FrozenModel):
    """One occupation: which side the model leans to, and how far."""

    occupation: str
    field: str | None
    log2_ratio: Estimate
    """Mean over structures of log2 P(male) / P(female); above 0 the model expects a man."""
    p_male: Number
    """Mean over structures of the probability of the male term (of all male terms, for names)."""
    p_female: Number
    n: int
    """Structures that could be scored."""


class Correlation(FrozenModel):
    """How the model's lean goes with the real share of women in each occupation."""

    source: str
    pearson: Estimate
    spearman: Estimate
    n: int
    shares: dict[str, Number] = Field(default_factory=dict)
    """The real share of women in each occupation that was counted, in percent."""


class MalorResult(FrozenModel):
    """Mean absolute log-ratio over occupations, for one experiment and direction."""

    kind: Literal["malor"] = "malor"
    experiment: str
    direction: str
    MALoR: Estimate
    signed_mean: Estimate
    """The offset that occupations share: above 0 the model expects a man whatever the occupation."""
    spread: Estimate = Field(
        default_factory=lambda: Estimate.undefined("the run is of a version that did not measure it")
    )
    """The mean distance of occupations from that offset."""
    by_field: dict[str, Estimate]
    """Signed means."""
    occupations: tuple[OccupationLean, ...]
    correlations: tuple[Correlation, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class PairsGroup(FrozenModel):
    """Pairs of sentences of one kind."""

    n: int
    ties: int
    score: Estimate
    """100 x share of pairs in which the more stereotypical sentence is more likely; neutral is 50."""


class CrowsPairsResult(FrozenModel):
    """CrowS-Pairs: how often the sentence with the stereotype is more likely than its twin."""

    kind: Literal["crows-pairs"] = "crows-pairs"
    method: str
    all: PairsGroup
    by_bias_type: dict[str, PairsGroup]
    by_direction: dict[str, PairsGroup]
    """``stereo`` and ``antistereo``, as the authors labelled the pairs."""
    skipped: tuple[Skipped, ...] = ()


class OccupationCosine(FrozenModel):
    """How alike an occupation's contextual vectors are beside a male and a female pronoun."""

    occupation: str
    cosine: Estimate
    n: int


class CosineResult(FrozenModel):
    """The cosine test on pairs of sentences that differ in the pronoun; 1 is neutral."""

    kind: Literal["cosine"] = "cosine"
    layer: int
    mean: Estimate
    occupations: tuple[OccupationCosine, ...]
    skipped: tuple[Skipped, ...] = ()


class ProfessionCosine(FrozenModel):
    """A profession's mean contextual vector against the gender direction; above 0 it points to the male side."""

    profession: str
    cosine: Number
    n: int
    """Sentences that it was seen in."""


class DirectBiasResult(FrozenModel):
    """Direct bias over a corpus: the mean absolute cosine of professions with the gender direction."""

    kind: Literal["direct-bias"] = "direct-bias"
    layer: int
    direct_bias: Estimate
    signed_mean: Estimate = Field(default_factory=lambda: Estimate.undefined("not measured"))
    """The mean of the signed cosines, in which professions of opposite sides cancel."""
    baseline: Estimate
    """The same for random directions: their mean, and the range in which most of them lie."""
    professions: tuple[ProfessionCosine, ...]
    sentences: int
    pronouns: dict[str, int] = Field(default_factory=dict)
    """Sentences with each pronoun that the direction was made of."""
    left_out: dict[str, int]
    """Sentences that were not used, or not for everything in them, by reason."""
    skipped: tuple[Skipped, ...] = ()


ProbeResult = Annotated[
    MalorResult | CrowsPairsResult | CosineResult | DirectBiasResult, Field(discriminator="kind")
]
