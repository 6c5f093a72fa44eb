"""The lab's own probes: structures, occupations and terms whose true log-odds are known."""

from __future__ import annotations

from evenhand.core.files import sha256_of
from evenhand.core.probes import Experiment, Occupation, OccupationForm, ProbeSet, Structure, TermPairs
from evenhand.lab.world import World

LEANS_TO_MEN, LEANS_TO_WOMEN = "planted to lean to men", "planted to lean to women"


def lab_probes(language: str = "en") -> ProbeSet:
    """The probes of the lab's grammar. They do not depend on how strong the planted bias is."""
    lexicon = World(language, 0.0).lexicon
    structures = tuple(
        Structure(Experiment(experiment), number, _with_gaps(frame))
        for experiment, frames in lexicon.probes.items()
        for number, frame in enumerate(frames, start=1)
    )
    occupations = tuple(
        Occupation(word, side, (OccupationForm(word),))
        for pair in lexicon.occupations
        for word, side in zip(pair, (LEANS_TO_MEN, LEANS_TO_WOMEN), strict=True)
    )
    terms = {
        Experiment.HE_SHE: TermPairs(*((word,) for word in lexicon.pronouns)),
        Experiment.HIS_HER: TermPairs(*((word,) for word in lexicon.possessives)),
        Experiment.NAMES: TermPairs(*zip(*lexicon.names, strict=True)),
    }
    told = repr((structures, occupations, sorted(terms.items())))
    return ProbeSet(
        language=language,
        structures=structures,
        occupations=occupations,
        terms=terms,
        warnings=(),
        sha256=sha256_of(told.encode()),
    )


def _with_gaps(frame: str) -> str:
    return frame.replace("{gendered}", "[MASK]").replace("{occupation}", "[OCC]")
