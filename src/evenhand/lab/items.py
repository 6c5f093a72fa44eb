"""The questions of the lab: association items and probes, whose true answers are known, and settled sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.files import sha256_of
from evenhand.core.items import BLANK, Association, Benchmark, Candidate, Label, Task
from evenhand.core.planted_bias import ProbePart
from evenhand.core.probes import Occupation, OccupationForm, ProbeSet, Structure, TermPairs
from evenhand.core.settled import PronounRole, SettledBy, SettledSet, settled_twins
from evenhand.lab.corpus import STATEMENTS, Corpus
from evenhand.lab.frames import ProbeLists
from evenhand.lab.grammar import realise
from evenhand.lab.world import Target, World

NAME = "lab"

LICENCE = "CC BY 4.0"


@dataclass(frozen=True, slots=True)
class LabItem:
    """An item, whom it is about, and which opposites it sets against each other."""

    item: Association
    target: Target
    opposites: int

    def planted(self, world: World) -> float:
        """log2 of P(stereotype) / P(anti-stereotype) in a world."""
        return world.planted(self.target, self.opposites)


def lab_items(language: str = "en", seed: int = 0) -> tuple[LabItem, ...]:
    """An item for each target and pair of opposites in each task; the seed chooses frames and order.

    Items do not depend on how strong the planted bias is.
    """
    return tuple(_items(World(language, 0.0), np.random.default_rng([seed, 0x17E])))


def lab_benchmark(language: str = "en", seed: int = 0) -> Benchmark:
    """The items as a benchmark."""
    items = tuple(entry.item for entry in lab_items(language, seed))
    text = stereoset_layout(items, language)
    return Benchmark(
        name=NAME,
        language=language,
        items=items,
        source=f"{language}.json",
        sha256=sha256_of(text.encode()),
        licence=LICENCE,
    )


def stereoset_layout(items: tuple[Association, ...], language: str) -> str:
    """The items in StereoSet's JSON layout."""
    data = {task.value: [_row(item) for item in items if item.task is task] for task in Task}
    document = {"version": "1.0", "language": language, "licence": LICENCE, "data": data}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _row(item: Association) -> dict[str, object]:
    return {
        "id": item.id,
        "bias_type": item.bias_type,
        "target": item.target,
        "target_original": item.cluster,
        "context": item.context,
        "sentences": [
            {
                "id": candidate.id,
                "sentence": candidate.text,
                "gold_label": candidate.label.value,
                **({"word": candidate.word} if candidate.word else {}),
            }
            for candidate in item.candidates
        ],
    }


def _items(world: World, generator: np.random.Generator) -> Iterator[LabItem]:
    corpus = Corpus(world)
    lexicon = world.lexicon
    for task in Task:
        for target in world.targets:
            count = len(world.opposites(target.bias_type))
            frames = generator.permutation(STATEMENTS)
            unrelated = generator.permutation(len(lexicon.thing_attributes))
            openings = generator.permutation(len(lexicon.openings))
            for opposites in range(count):
                frame = int(frames[opposites % STATEMENTS])
                words = (
                    *world.stereotype(target, opposites),
                    lexicon.thing_attributes[int(unrelated[opposites % len(unrelated)])],
                )
                if task is Task.INTRASENTENCE:
                    sentences = [corpus.statement(target, frame, word) for word in words]
                    start, end = sentences[0].span("attribute")
                    context = f"{sentences[0].text[:start]}{BLANK}{sentences[0].text[end:]}"
                    noun = sentences[0].text[slice(*sentences[0].span("noun"))]
                    fills: list[str | None] = [
                        sentence.text[slice(*sentence.span("attribute"))] for sentence in sentences
                    ]
                else:
                    opening = lexicon.openings[int(openings[opposites % len(openings)])]
                    noun = target.noun.plural
                    context = realise(opening, noun=noun).text
                    continuation = lexicon.continuations[frame % len(lexicon.continuations)]
                    sentences = [realise(continuation, attribute=word) for word in words]
                    fills = [None, None, None]
                identity = f"lab-{task.value[:5]}-{target.name.lower()}-{opposites + 1:02}"
                first, second, third = (
                    Candidate(f"{identity}-{label.value}", sentence.text, label, fill)
                    for label, sentence, fill in zip(Label, sentences, fills, strict=True)
                )
                item = Association(
                    id=identity,
                    language=world.language,
                    bias_type=target.bias_type,
                    target=noun,
                    cluster=target.name,
                    task=task,
                    context=context,
                    candidates=(first, second, third),
                )
                yield LabItem(item, target, opposites)


LEANS_TO_MEN, LEANS_TO_WOMEN = "planted to lean to men", "planted to lean to women"


def lab_probes(language: str = "en") -> ProbeSet:
    """The probes whose answers lessons have taught. They do not depend on how strong the planted bias is."""
    return probe_part(ProbePart.TAUGHT, language)


def probe_part(part: ProbePart, language: str = "en") -> ProbeSet:
    """The probes that lessons have; or with structures, occupations or names in their place that no lesson has."""
    world = World(language, 0.0)
    taught, held_out = world.taught_lists, world.held_out_lists
    return _probe_set(
        world,
        {
            ProbePart.TAUGHT: taught,
            ProbePart.STRUCTURES: replace(taught, frames=held_out.frames),
            ProbePart.OCCUPATIONS: replace(taught, occupations=held_out.occupations),
            ProbePart.NAMES: replace(taught, names=held_out.names),
        }[part],
    )


def held_out_probes(language: str = "en") -> ProbeSet:
    """Structures that no lesson has, with occupations and names that no lesson has."""
    world = World(language, 0.0)
    return _probe_set(world, world.held_out_lists)


def _probe_set(world: World, lists: ProbeLists) -> ProbeSet:
    structures = tuple(
        Structure(experiment, number, _with_gaps(frame))
        for experiment, frames in lists.frames.items()
        for number, frame in frames.items()
    )
    occupations = tuple(
        Occupation(word, side, (OccupationForm(word),))
        for pair in lists.occupations
        for word, side in zip(pair, (LEANS_TO_MEN, LEANS_TO_WOMEN), strict=True)
    )
    terms = {
        experiment: TermPairs(*zip(*world.gendered_pairs(experiment, lists), strict=True))
        for experiment in TRAINED_EXPERIMENTS
    }
    content = repr((structures, occupations, sorted(terms.items())))
    return ProbeSet(
        language=world.language,
        structures=structures,
        occupations=occupations,
        terms=terms,
        warnings=(),
        sha256=sha256_of(content.encode()),
        settled=lab_settled(world.language),
    )


ONE_NAME_IN = 3
"""Of the pairs of names that lessons have, each settled frame takes one in so many; together they take all."""

_SETTLED_ROLES = {Experiment.HE_SHE: PronounRole.SUBJECT, Experiment.HIS_HER: PronounRole.POSSESSIVE}


def lab_settled(language: str = "en") -> SettledSet:
    """Sentences of the lab's words in which a name settles the gender of a pronoun."""
    world = World(language, 0.0)
    lexicon = world.lexicon
    gaps = {Experiment.HE_SHE: lexicon.pronouns, Experiment.HIS_HER: lexicon.possessives}
    rows = [
        (experiment, frame.format(who="{" + "|".join(names) + "}", gendered="[" + "|".join(gap) + "]"))
        for experiment, gap in gaps.items()
        for number, frame in enumerate(lexicon.settled[experiment.value])
        for names in world.taught_lists.names[number % ONE_NAME_IN :: ONE_NAME_IN]
    ]
    twins = [
        settled_twins(
            written,
            pair=f"lab {number}",
            nonsense=lexicon.things[number // 2 % len(lexicon.things)].singular,
            settled_by=SettledBy.NAME,
            role=_SETTLED_ROLES[experiment],
        )
        for number, (experiment, written) in enumerate(rows, start=1)
    ]
    return SettledSet(
        name=NAME,
        language=language,
        sentences=tuple(sentence for pair in twins for sentence in pair),
        sha256=sha256_of("\n".join(written for _, written in rows).encode()),
    )


def _with_gaps(frame: str) -> str:
    return frame.replace("{gendered}", "[MASK]").replace("{occupation}", "[OCC]")
