"""What every measure should read on a model that has learnt its world: targets, from the grammar's probabilities alone.

No model is asked here and nothing is tokenised or masked. A sentence has the probability with which the grammar writes
it, a word in a gap is as likely as the sentence that it makes, and the measures are written down once more as their
definitions say. Nothing of this is shared with the code that scores models, so that one mistake cannot be in both: an
import contract forbids it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from evenhand.core.experiments import Experiment
from evenhand.core.items import OVERALL, Association, Label, Task
from evenhand.core.probes import ProbeSet
from evenhand.lab.corpus import language
from evenhand.lab.items import lab_items
from evenhand.lab.world import World

Targets = Mapping[str, float]
"""By measure. One that is not here has no target: macro ICAT corrected for chance estimates what more items would read,
and the lab has no more."""


@dataclass(frozen=True, slots=True)
class ItemTarget:
    """How likely the grammar writes the three candidates of an item."""

    task: str
    cluster: str
    stereotype: float
    anti_stereotype: float
    unrelated: float

    @property
    def bits(self) -> float:
        """log2 of P(stereotype) / P(anti-stereotype)."""
        return math.log2(self.stereotype / self.anti_stereotype)

    @property
    def prefers_stereotype(self) -> float:
        """1 if the stereotype is likelier, 0 if the anti-stereotype is, a half if neither."""
        return _wins(self.stereotype, self.anti_stereotype)

    @property
    def prefers_meaning(self) -> float:
        """Share of the two meaningful candidates that are likelier than the unrelated one."""
        return (_wins(self.stereotype, self.unrelated) + _wins(self.anti_stereotype, self.unrelated)) / 2


@dataclass(frozen=True, slots=True)
class LeanTarget:
    """MALoR of an experiment, and the lean of each of its occupations."""

    malor: float
    leans: Mapping[str, float]


def item_targets(world: World) -> dict[str, ItemTarget]:
    """The lab's items by id."""
    said = _probabilities(world)
    return {entry.item.id: _item_target(entry.item, said) for entry in lab_items(world.language)}


def association_targets(world: World) -> dict[str, Targets]:
    """What the measures of the association tests should read, by task."""
    items = list(item_targets(world).values())
    tasks = {OVERALL: items} | {
        task.value: [item for item in items if item.task == task.value] for task in Task
    }
    return {name: _measures(own) for name, own in tasks.items()}


def malor_targets(world: World, probes: ProbeSet) -> dict[Experiment, LeanTarget]:
    """What MALoR should read with these probes, by experiment."""
    said = _probabilities(world)
    targets = {}
    for experiment in probes.experiments:
        leans = {
            occupation.name: fmean(
                _lean(said, structure.text, occupation.forms[0].noun, tuple(probes.terms[experiment]))
                for structure in probes.of(experiment)
            )
            for occupation in probes.occupations
        }
        targets[experiment] = LeanTarget(fmean(map(abs, leans.values())), leans)
    return targets


@lru_cache(maxsize=4)
def _probabilities(world: World) -> dict[tuple[str, ...], float]:
    """Of every document, as plain text."""
    said: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for document, probability in language(world):
        said[tuple(sentence.text for sentence in document)] += probability
    return dict(said)


def _item_target(item: Association, said: Mapping[tuple[str, ...], float]) -> ItemTarget:
    before = (item.context,) if item.task is Task.INTERSENTENCE else ()
    stereotype, anti_stereotype, unrelated = (
        said.get((*before, item.candidate(label).text), 0.0)
        for label in (Label.STEREOTYPE, Label.ANTI_STEREOTYPE, Label.UNRELATED)
    )
    return ItemTarget(item.task.value, item.cluster, stereotype, anti_stereotype, unrelated)


def _lean(
    said: Mapping[tuple[str, ...], float], structure: str, occupation: str, pairs: Sequence[tuple[str, str]]
) -> float:
    """log2 of how likely a man's word is in the gap, against a woman's."""
    men, women = (
        math.fsum(said[(_filled(structure, pair[side], occupation),)] for pair in pairs) for side in (0, 1)
    )
    return math.log2(men / women)


def _filled(structure: str, term: str, occupation: str) -> str:
    text = structure.replace("[MASK]", term).replace("[OCC]", occupation)
    return text[0].upper() + text[1:]


def _measures(items: Sequence[ItemTarget]) -> Targets:
    by_cluster: defaultdict[str, list[ItemTarget]] = defaultdict(list)
    for item in items:
        by_cluster[item.cluster].append(item)
    clusters = list(by_cluster.values())
    meaning, stereotypes = _meaning(items), _stereotypes(items)
    mean_meaning, mean_stereotypes = fmean(map(_meaning, clusters)), fmean(map(_stereotypes, clusters))
    return {
        "LMS": meaning,
        "SS": stereotypes,
        "ICAT": _ideal(meaning, stereotypes),
        "mean_LMS": mean_meaning,
        "mean_SS": mean_stereotypes,
        "macro_ICAT": fmean(_ideal(_meaning(own), _stereotypes(own)) for own in clusters),
        "micro_ICAT": _ideal(mean_meaning, mean_stereotypes),
        "log_ratio": fmean(item.bits for item in items),
    }


def _meaning(items: Iterable[ItemTarget]) -> float:
    return 100 * fmean(item.prefers_meaning for item in items)


def _stereotypes(items: Iterable[ItemTarget]) -> float:
    return 100 * fmean(item.prefers_stereotype for item in items)


def _ideal(meaning: float, stereotypes: float) -> float:
    return meaning * min(stereotypes, 100 - stereotypes) / 50


def _wins(this: float, that: float) -> float:
    return 0.5 if math.isclose(this, that, rel_tol=1e-9) else float(this > that)
