"""The obvious slow way to MALoR's log-ratios: one sentence and one word at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

from slow_reference import SlowReference

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import ProbeSet, open_occupation, open_term
from evenhand.data.probes import load_probes
from evenhand.models.families import Family
from evenhand.models.families.decoder import DECODER
from evenhand.models.families.sentinel import SENTINEL

OCCUPATIONS = ("teacher", "nurse", "engineer", "mechanic")
"""With no letter, in English or German, that a tokenizer of the zoo does not know."""

LogRatioTable = dict[tuple[int, str], float | None]
"""log2 P(male) / P(female) by the number of the structure and the occupation; None where the terms do not compare."""


def small_probes(language: str, *, names: int = 3) -> ProbeSet:
    """Three structures of each experiment, four occupations, a few names."""
    everything = load_probes(language)
    structures = [one for experiment in TRAINED_EXPERIMENTS for one in everything.of(experiment)[:3]]
    pairs = everything.terms[Experiment.NAMES]
    terms = {
        **everything.terms,
        Experiment.NAMES: replace(pairs, male=pairs.male[:names], female=pairs.female[:names]),
    }
    occupations = [one for one in everything.occupations if one.name in OCCUPATIONS]
    return replace(everything, structures=tuple(structures), occupations=tuple(occupations), terms=terms)


class SlowProbe:
    """A model that is asked for one word at a time."""

    def __init__(self, reference: SlowReference, family: Family) -> None:
        self.reference = reference
        self.by_sentence = family is DECODER
        self.logs = reference.sentinel_blank if family is SENTINEL else reference.blank

    def probability(self, text: str, word: str) -> float:
        if self.by_sentence:
            return math.exp(math.fsum(self.reference.sentence(text.replace("BLANK", word))))
        return math.exp(math.fsum(self.logs(text, word)))

    def gender(self, probes: ProbeSet, experiment: Experiment) -> LogRatioTable:
        """The term masked."""
        terms = probes.terms[experiment]
        uneven = self._uneven(probes, experiment)
        always_even = [pair for pair in range(len(terms)) if not any(pair in own for own in uneven.values())]
        counted = always_even or list(range(len(terms)))
        found: LogRatioTable = {}
        for structure in probes.of(experiment):
            for occupation in probes.occupations:
                by_form = []
                for form in occupation.forms:
                    sentence = open_term(structure, form, terms=terms.all)
                    values = [self.probability(sentence.text, word) for word in sentence.fills]
                    male = fmean(values[pair] for pair in counted)
                    female = fmean(values[len(terms) + pair] for pair in counted)
                    by_form.append(math.log2(male / female))
                compares = not set(counted) & uneven[structure.number]
                found[structure.number, occupation.name] = fmean(by_form) if compares else None
        return found

    def _uneven(self, probes: ProbeSet, experiment: Experiment) -> dict[int, set[int]]:
        """By structure, the pairs whose terms are of different lengths, where lengths do not compare."""
        terms = probes.terms[experiment]
        found = {}
        for structure in probes.of(experiment):
            sentence = open_term(structure, probes.occupations[0].forms[0], terms=terms.all)
            lengths = [
                1 if self.by_sentence else len(self.logs(sentence.text, word)) for word in sentence.fills
            ]
            found[structure.number] = {
                pair for pair in range(len(terms)) if lengths[pair] != lengths[len(terms) + pair]
            }
        return found

    def occupation(self, probes: ProbeSet, experiment: Experiment) -> LogRatioTable:
        """The occupation masked."""
        terms = probes.terms[experiment]
        found: LogRatioTable = {}
        for structure in probes.of(experiment):
            given = {term: self._given(probes, structure.number, experiment, term) for term in terms.all}
            for occupation in probes.occupations:
                male = fmean(given[term][occupation.name] for term in terms.male)
                female = fmean(given[term][occupation.name] for term in terms.female)
                found[structure.number, occupation.name] = math.log2(male / female)
        return found

    def _given(self, probes: ProbeSet, number: int, experiment: Experiment, term: str) -> dict[str, float]:
        """The probability of each occupation, all its forms together, beside a term."""
        (structure,) = [one for one in probes.of(experiment) if one.number == number]
        found = {}
        for occupation in probes.occupations:
            sentences = [open_occupation(structure, term, forms=[form]) for form in occupation.forms]
            found[occupation.name] = sum(self.probability(one.text, one.fills[0]) for one in sentences)
        total = sum(found.values()) if self.by_sentence else 1.0
        return {name: value / total for name, value in found.items()}
