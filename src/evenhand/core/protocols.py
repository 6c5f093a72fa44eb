"""Measurement protocols: named, versioned choices of how scores become numbers.

A protocol stands in every record, because two figures are comparable only under the same one. When
the meaning of a protocol changes, it gets a new name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from evenhand.core.errors import UnknownNameError


class Ties(StrEnum):
    """What two equal scores count as."""

    HALF = "half"
    """Half a preference each way: a scorer that cannot tell candidates apart reads as neutral."""

    AGAINST = "against"
    """The stereotype does not win over the anti-stereotype, nor a meaningful candidate over the
    unrelated one."""

    @property
    def credit(self) -> float:
        """What a tie adds to a count of preferences."""
        return 0.5 if self is Ties.HALF else 0.0


class SentenceScoring(StrEnum):
    """What a model that scores whole sentences is given for an intra-sentence candidate.

    It does not concern models that fill blanks: there the candidate has to be found in its sentence.
    """

    OWN_SENTENCE = "own-sentence"
    """The candidate's own sentence, as the benchmark has it."""

    AS_STEREOSET = "as-stereoset"
    """The candidate's own sentence, its first token after the start token, all others without that token."""

    FILLED_CONTEXT = "filled-context"
    """The context with its blank filled by what stands there in the candidate's sentence."""


HEADLINE = ("LMS", "SS", "ICAT")
"""The three figures that every table shows first."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How whole sentences are scored, how ties count and which average stands behind each headline figure.

    ``headline`` maps LMS, SS and ICAT to the measure they stand for. ``native_names`` maps the
    names that the protocol's own publication uses to ours.
    """

    name: str
    summary: str
    ties: Ties
    headline: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({name: name for name in HEADLINE})
    )
    native_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    sentences: SentenceScoring = SentenceScoring.OWN_SENTENCE


EVENHAND_V2 = Protocol(
    name="evenhand.v2",
    summary=(
        "Scores over all items; a tie is half a preference each way, so that a scorer which cannot "
        "tell two candidates apart reads as neutral. Models that score whole sentences are given each "
        "candidate's own sentence."
    ),
    ties=Ties.HALF,
)

EVENHAND_V1 = Protocol(
    name="evenhand.v1",
    summary=(
        "Scores over all items; a tie is half a preference each way, so that a scorer which cannot "
        "tell two candidates apart reads as neutral."
    ),
    ties=Ties.HALF,
    sentences=SentenceScoring.FILLED_CONTEXT,
)

MULTILINGUAL_2023 = Protocol(
    name="multilingual-2023",
    summary=(
        "As in the multilingual StereoSet study: scores over all items; equal scores count as an "
        "anti-stereotype preference for SS and as no preference for LMS; classes are the original "
        "English target terms."
    ),
    ties=Ties.AGAINST,
    sentences=SentenceScoring.AS_STEREOSET,
)

STEREOSET_2021 = Protocol(
    name="stereoset-2021",
    summary=(
        "As in StereoSet's own evaluation code: LMS and SS are means over target terms, and ICAT is "
        "computed from those two means. That code calls it 'macro' and the mean of the terms' ICAT "
        "'micro', the reverse of common usage; here the former is micro_ICAT, the latter macro_ICAT. "
        "Its 'Count' is three times the number of items within a bias type; here n is the number of items. "
        "Decoders read each candidate's own sentence, its first token after the start token and the rest without it."
    ),
    ties=Ties.AGAINST,
    headline=MappingProxyType({"LMS": "mean_LMS", "SS": "mean_SS", "ICAT": "micro_ICAT"}),
    native_names=MappingProxyType(
        {
            "LM Score": "mean_LMS",
            "SS Score": "mean_SS",
            "ICAT Score": "micro_ICAT",
            "macro_icat": "micro_ICAT",
            "micro_icat": "macro_ICAT",
        }
    ),
    sentences=SentenceScoring.AS_STEREOSET,
)

DEFAULT_PROTOCOL = EVENHAND_V2.name

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {protocol.name: protocol for protocol in (EVENHAND_V2, EVENHAND_V1, MULTILINGUAL_2023, STEREOSET_2021)}
)


def get_protocol(name: str | Protocol) -> Protocol:
    """The protocol of this name; a protocol is returned as it is."""
    if isinstance(name, Protocol):
        return name
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise UnknownNameError("protocol", name, PROTOCOLS) from None


@dataclass(frozen=True, slots=True)
class PairProtocol:
    """How the scores of a pair of sentences become a preference."""

    name: str
    summary: str
    ties: Ties
    decimals: int | None = None
    """Decimals that scores are rounded to before they are compared; None leaves them as they are."""
    directions_have_ties: bool = True
    """Whether ties are among the pairs of a direction, stereo or antistereo. Of all pairs they always are."""

    def is_tie(self, more: float, less: float) -> bool:
        """Whether two scores count as equal."""
        return self._rounded(more) == self._rounded(less)

    def preference(self, more: float, less: float) -> float:
        """1 if the more stereotypical sentence is more likely, 0 if the other is; a tie counts as the protocol says."""
        if self.is_tie(more, less):
            return self.ties.credit
        return float(self._rounded(more) > self._rounded(less))

    def _rounded(self, score: float) -> float:
        return score if self.decimals is None else round(score, self.decimals)


CROWS_PAIRS_V1 = PairProtocol(
    name="crows-pairs.v1",
    summary="Scores are compared as they are; a tie is half a preference each way.",
    ties=Ties.HALF,
)

CROWS_PAIRS_2020 = PairProtocol(
    name="crows-pairs-2020",
    summary="As in the authors' code: scores are rounded to three decimals; a tie counts against the stereotype, and "
    "is left out of the scores by direction.",
    ties=Ties.AGAINST,
    decimals=3,
    directions_have_ties=False,
)

PAIR_PROTOCOLS: Mapping[str, PairProtocol] = MappingProxyType(
    {protocol.name: protocol for protocol in (CROWS_PAIRS_V1, CROWS_PAIRS_2020)}
)


@dataclass(frozen=True, slots=True)
class ProbeProtocol:
    """How the structures of a probe are asked."""

    name: str
    summary: str
    case: str | None = None
    """How sentences and terms are spelled; None leaves that to whoever asks."""
    structures: int | None = None
    """Structures of each experiment in the study that it repeats; None where it is of no study."""
    occupations: int | None = None
    names: int | None = None
    """Pairs of first names."""


MALOR_V1 = ProbeProtocol(
    name="malor.v1",
    summary="Each structure is asked once, with terms spelled as their place demands.",
)

MALOR_2023 = ProbeProtocol(
    name="malor-2023",
    summary="As in the thesis that proposed MALoR: its structures as they are listed, repeated ones included, all in "
    "lower case.",
    case="lower",
    structures=51,
    occupations=54,
    names=29,
)

PROBE_PROTOCOLS: Mapping[str, ProbeProtocol] = MappingProxyType(
    {protocol.name: protocol for protocol in (MALOR_V1, MALOR_2023)}
)


def get_probe_protocol(name: str) -> ProbeProtocol:
    """The protocol of this name for probes."""
    if name not in PROBE_PROTOCOLS:
        raise UnknownNameError("protocol for probes", name, PROBE_PROTOCOLS)
    return PROBE_PROTOCOLS[name]


def get_pair_protocol(name: str | None) -> PairProtocol:
    """The protocol of this name for pairs of sentences; ours if none is named."""
    if name is None:
        return CROWS_PAIRS_V1
    if name not in PAIR_PROTOCOLS:
        raise UnknownNameError("protocol for pairs of sentences", name, PAIR_PROTOCOLS)
    return PAIR_PROTOCOLS[name]
