"""What suits a model for mitigation: which corpus, which probes, which experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.core.planted_bias import PlantedBias
from evenhand.core.probes import Experiment, ProbeSet
from evenhand.core.recipes import Recipe
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.instrument import chosen_experiments
from evenhand.lab.corpus import Corpus
from evenhand.lab.items import lab_probes
from evenhand.lab.world import World
from evenhand.mitigation.mitigate import Material
from evenhand.mitigation.texts import SentenceList, text_sources
from evenhand.models.references import ModelRef
from evenhand.runs.mitigation_records import planted_bias_of

LAB_ROUNDS = 2
"""Rounds of the lab's corpus that its models are mitigated with."""

LAB_QUALITY_MARGIN = 0.05
"""By how much the perplexity of a lab model may rise, as a share.

One sentence in nine of the lab's text is about an occupation, with the bias that was planted; whoever evens it out must
be surprised there, so more of a rise is allowed for than elsewhere.
"""

DEFAULT_LANGUAGE = "en"


def material_for(
    ref: ModelRef,
    corpora: Sequence[str | Path] = (),
    *,
    experiments: Sequence[str] = ("all",),
    language: str | None = None,
    held_out: Sequence[str | Path] = (),
) -> Material:
    """Corpus, probes and experiments for a model.

    Args:
        ref: The model; one of the lab has a corpus and probes of its own.
        corpora: Files of text or of pairs, folders, or names of datasets.
        experiments: Names of those to train for, or ``all``.
        language: Of corpus and probes; a lab model's own or English if not given.
        held_out: Files of sentences to measure the quality on.

    Raises:
        EvenhandError: If a model that is none of the lab's is given no corpus.
    """
    planted = planted_bias_of(ref.location)
    spoken = language or (planted.language if planted else DEFAULT_LANGUAGE)
    probes = load_probes(spoken) if planted is None else lab_probes(spoken)
    if planted is None and not corpora:
        raise EvenhandError(
            "No corpus was given. Write --corpus PATH: text files, folders, hub:NAME, or pairs from evenhand data "
            "counterfactual."
        )
    return Material(
        sources=text_sources(corpora) if corpora or planted is None else (lab_text(planted, spoken),),
        probes=probes,
        experiments=_chosen(probes, experiments),
        held_out=text_sources(held_out) if held_out else (),
        may_read_probes=planted is not None,
    )


def recipe_for(ref: ModelRef, usual: Recipe) -> Recipe:
    """A method's usual recipe, or what suits a model of the lab; those are tiny, so they learn fast."""
    if planted_bias_of(ref.location) is None:
        return usual
    return usual.model_copy(update={"learning_rate": 1e-3, "epochs": 5, "quality_margin": LAB_QUALITY_MARGIN})


def lab_text(planted: PlantedBias, language: str) -> SentenceList:
    """The corpus of the world that a model of the lab was made from, each sentence once."""
    documents = Corpus(World(language, planted.strength)).rounds(LAB_ROUNDS)
    sentences = dict.fromkeys(sentence.text for document in documents for sentence in document)
    return SentenceList(f"the lab's corpus ({language}, {planted.strength:+g} bits)", tuple(sentences))


def _chosen(probes: ProbeSet, names: Sequence[str]) -> tuple[Experiment, ...]:
    chosen = {experiment for name in names for experiment in chosen_experiments(probes, name)}
    return tuple(experiment for experiment in Experiment if experiment in chosen)
