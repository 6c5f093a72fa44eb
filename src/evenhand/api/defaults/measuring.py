"""What suits a model that is measured: models of the lab know the lab's words alone, so they get its own items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.core.progress import activity
from evenhand.data.layouts import load_dataset
from evenhand.data.stereoset import LAB
from evenhand.instruments.instrument import Instrument, InstrumentOptions
from evenhand.instruments.knowledge.instrument import KnowledgeOptions
from evenhand.instruments.malor.chosen_probes import probes_of
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.lab.items import lab_probes, lab_settled
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import planted_bias_of

if TYPE_CHECKING:
    from evenhand.instruments.regard.audit import RegardOptions


def default_instrument_options(
    instrument: Instrument[Any], ref: ModelRef, options: InstrumentOptions
) -> InstrumentOptions:
    """Options of an instrument with the data that suit the model."""
    if instrument.name == "regard":  # whose options take a second to import
        return _with_open_classifier(suited_regard_options(ref, cast("RegardOptions", options)))
    planted = planted_bias_of(ref.location)
    if planted is None or options.data is not None:
        return options
    language = options.language or planted.language
    if instrument.name == "association":
        return replace(options, data=load_dataset(LAB.name, language=language), language=language)
    if isinstance(options, MalorOptions):
        return _with_lab_probes(options, language)
    if isinstance(options, KnowledgeOptions) and not options.corpus:
        return replace(options, data=lab_settled(language), language=language)
    return replace(options, language=language) if instrument.name == "direct-bias" else options


def _with_lab_probes(options: MalorOptions, language: str) -> MalorOptions:
    """The lab's probes, or one's own from files; whether the model knows words is always asked in words of the lab."""
    if not (options.structures or options.occupations or options.terms):
        return replace(options, data=lab_probes(language), language=language)
    own = probes_of(replace(options, language=language))
    probes = replace(own, settled=lab_settled(language))
    return replace(options, data=probes, language=language, structures=None, occupations=None, terms=None)


def suited_regard_options(ref: ModelRef, options: RegardOptions) -> RegardOptions:
    """Options of regard that suit the model: the lab plants gaps in what its models say as it is, in one language."""
    planted = planted_bias_of(ref.location)
    if planted is None or planted.regard_gap is None:
        return options
    return replace(
        options,
        language=options.language or planted.language,
        temperature=1.0 if options.temperature is None else options.temperature,
        top_p=1.0 if options.top_p is None else options.top_p,
    )


def _with_open_classifier(options: RegardOptions) -> RegardOptions:
    """The options with the classifier itself in the place of its folder, and with the sample that people labelled."""
    if not isinstance(options.classifier, str | Path):
        return options
    from evenhand.regard.classifier import open_classifier
    from evenhand.regard.labelling import ClassifierLabeller
    from evenhand.regard.texts import read_regard_texts

    sample = read_regard_texts(list(options.labelled)) if options.labelled else None
    with activity(f"opening the classifier {options.classifier}"):
        labeller = ClassifierLabeller(open_classifier(options.classifier), sample)
    return replace(options, classifier=labeller, labelled=())
