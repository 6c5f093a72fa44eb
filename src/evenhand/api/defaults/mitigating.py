"""What suits a model where nothing else was chosen: data, options, recipes and plans. Decided here and nowhere else.

Models of the lab, and those that were mitigated from them, know the lab's words alone. So they are measured on its
items and probes, mitigated with its corpus, and allowed the rise of perplexity that its text makes unavoidable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from evenhand.api.defaults.certified_regard import NO_CLASSIFIER, CertifiedRegard, regard_measurement
from evenhand.api.defaults.measuring import default_instrument_options
from evenhand.certificate import CertificatePlan, Finetuning, HeldOutText, Margins, Measurement
from evenhand.certificate.margins import LAB_PERPLEXITY_MARGIN
from evenhand.core.errors import EvenhandError, MissingExtraError, shortlist
from evenhand.core.experiments import UNTRAINED_EXPERIMENTS, Experiment, in_order
from evenhand.core.items import Benchmark
from evenhand.core.planted_bias import PlantedBias
from evenhand.core.probes import ProbeSet
from evenhand.core.recipes import Precision, Recipe
from evenhand.core.settled import SettledSet
from evenhand.data.corpora import sentences
from evenhand.data.crows_pairs import load_pairs
from evenhand.data.labelled import load_labelled
from evenhand.data.layouts import load_dataset
from evenhand.data.probes import ProbeFiles, load_untrained_probes
from evenhand.data.settled import joined, load_settled, settled_in_text, settled_languages
from evenhand.data.stereoset import LAB, STARTER
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.knowledge.instrument import KnowledgeOptions
from evenhand.instruments.malor.instrument import MalorOptions, chosen_experiments
from evenhand.instruments.regard.results import NAME as REGARD
from evenhand.lab.corpus import Corpus
from evenhand.lab.items import lab_probes, lab_settled
from evenhand.lab.world import World
from evenhand.mitigation.mitigation import Mitigation, MitigationData, MitigationOptions
from evenhand.mitigation.pairs.matching import evaluation_sentences
from evenhand.mitigation.texts import (
    SentenceList,
    TrainingText,
    keep_back,
    text_sources,
)
from evenhand.mitigation.training_mitigation import TrainingMitigation, TrainingOptions
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.mitigation_records import find_mitigation_record, planted_bias_of
from evenhand.store.run import INSTRUMENTS

DEFAULT_LANGUAGE = "en"

LAB_ROUNDS = 2
"""Rounds of the lab's corpus that its models are mitigated with."""

LAB_QUALITY_MARGIN = LAB_PERPLEXITY_MARGIN / 100
"""By how much the perplexity of a lab model may rise, as a share.

One sentence in eight of the lab's text is about an occupation, with the bias that was planted; whoever evens it out
must be surprised there, so more of a rise is allowed for than elsewhere.
"""

CERTIFIED_SENTENCES = 2_000

FITTED_SENTENCES = 5_000
"""Sentences of the training text that the trivial baseline is fitted on."""

BUNDLED_PROBES = ProbeFiles()
"""Those of the package, without a file of anybody's own."""


def default_data(
    ref: ModelRef,
    corpora: Sequence[str | Path] = (),
    *,
    experiments: Sequence[str] = ("all",),
    language: str | None = None,
    held_out: Sequence[str | Path] = (),
    probe_files: ProbeFiles = BUNDLED_PROBES,
) -> MitigationData:
    """What a model is mitigated with: corpus, probes and held-out sentences.

    Args:
        ref: The model; one of the lab has a corpus and probes of its own.
        corpora: Files of text or of pairs, folders, or names of datasets; methods without training need none.
        experiments: Names of those to mitigate for, or ``all``.
        language: Of corpus and probes; a lab model's own or English if not given.
        held_out: Files of sentences to measure the quality on.
        probe_files: Structures, occupations and terms of one's own.
    """
    planted = planted_bias_of(ref.location)
    spoken = language or _language_of(planted)
    probes = _probes(planted, spoken, probe_files)
    lab_sources = (_lab_text(planted, spoken),) if planted else ()
    return MitigationData(
        sources=text_sources(corpora) if corpora else lab_sources,
        probes=probes,
        experiments=_trainable(probes, experiments),
        held_out=text_sources(held_out) if held_out else (),
        may_read_probes=planted is not None,
    )


def default_recipe(ref: ModelRef, mitigation: TrainingMitigation[Any]) -> Recipe:
    """The usual recipe of a method, or what suits a model of the lab; those are tiny, so they learn fast."""
    if planted_bias_of(ref.location) is None:
        return mitigation.recipe
    return mitigation.recipe.model_copy(
        update={"learning_rate": 1e-3, "epochs": 5, "quality_margin": LAB_QUALITY_MARGIN}
    )


def default_options(
    ref: ModelRef, mitigation: Mitigation[Any], options: MitigationOptions | None
) -> MitigationOptions:
    """Options of a mitigation, with the recipe that suits the model if it trains."""
    chosen = mitigation.options_type() if options is None else options
    if not (isinstance(chosen, TrainingOptions) and isinstance(mitigation, TrainingMitigation)):
        return chosen
    return replace(chosen, recipe=chosen.recipe or default_recipe(ref, mitigation))


def trained_reference(ref: ModelRef, options: MitigationOptions) -> ModelRef:
    """How a model is loaded to be mitigated: in bf16 where that was asked for and its own weights are not trained."""
    recipe = options.recipe if isinstance(options, TrainingOptions) else None
    if recipe is None or recipe.lora is None or recipe.precision is not Precision.BF16:
        return ref
    return ref.model_copy(update={"precision": Precision.BF16})


@dataclass(frozen=True, kw_only=True)
class CertifyOptions:
    """What two models are certified on. What is not given suits the models.

    Attributes:
        trained: Experiments that were trained on; read from the record of the mitigation if None.
        margins: By how much quality may be lower.
        held_out: Files of text that no training saw, to measure perplexity on; that of the lab for its models.
        sentences: How many sentences are drawn of them.
        corpus: Files of text that the mitigation learned from, to fit the trivial baseline on.
        settled_text: Files of text whose settled sentences are asked beside those of the package; the held-out text
            if none is given.
        data: Association items: a dataset's name, a file, or a benchmark.
        crows_pairs: CrowS-Pairs by name or as a file.
        instruments: Further instruments by name, with their options.
        labelled: Text with labels, to fine-tune classifiers on.
        finetuning: How they are fine-tuned.
        language: Of the mitigation, or of a lab model, if None.
        probe_files: Structures, occupations and terms of one's own, asked in the place of the package's.
        regard: The texts that both models write, and who labels them; none are written if None.
        resampling: Number of resamples, seed and confidence level.
    """

    trained: tuple[str, ...] | None = None
    margins: Margins | None = None
    held_out: tuple[str | Path, ...] = ()
    sentences: int = CERTIFIED_SENTENCES
    corpus: tuple[str | Path, ...] = ()
    settled_text: tuple[str | Path, ...] = ()
    data: str | Path | Benchmark | None = None
    crows_pairs: str | Path | None = None
    instruments: Mapping[str, InstrumentOptions | None] = field(default_factory=dict)
    labelled: Path | None = None
    finetuning: Finetuning = field(default_factory=Finetuning)
    language: str | None = None
    probe_files: ProbeFiles = BUNDLED_PROBES
    regard: CertifiedRegard | None = None
    resampling: Resampling = field(default_factory=Resampling)


def default_plan(
    before: ModelRef, options: CertifyOptions, *, after: ModelRef | None = None
) -> CertificatePlan:
    """What an original and a mitigated model are measured on.

    Args:
        before: The original; one of the lab is measured on the lab's own probes, items and text.
        options: What was chosen.
        after: The mitigated model, whose record says in which language it was mitigated.
    """
    planted = planted_bias_of(before.location)
    mitigation = find_mitigation_record(after.location) if after else None
    language = options.language or (mitigation.language if mitigation else None) or _language_of(planted)
    lab_text = _lab_text(planted, language) if planted else None
    measurements = [*_measurements(before, planted, language, options)]
    if after and mitigation and mitigation.language == language:
        _refuse_unmeasured(after, options.trained or mitigation.experiments, measurements)
    if options.regard:
        measurements.append(
            regard_measurement(before, options.regard, language=language, mitigation=mitigation)
        )
    return CertificatePlan(
        measurements=tuple(measurements),
        held_out=_held_out(lab_text, options),
        passages=HeldOutText.sample_passages(sentences(options.held_out).by_document())
        if options.held_out
        else None,
        training_text=training_sentences(
            default_data(before, options.corpus, language=language, probe_files=options.probe_files)
        )
        if lab_text or options.corpus
        else (),
        labelled=load_labelled(options.labelled) if options.labelled else None,
        trained=options.trained,
        margins=options.margins or default_margins(before),
        finetuning=options.finetuning,
        resampling=options.resampling,
    )


def training_sentences(data: MitigationData) -> tuple[str, ...]:
    """Some of what a mitigation learns from: the first sentences of each source that are not held out.

    Sentences that the probes ask are left out, everywhere but in the lab, whose text has hardly any others. A shift
    that is fitted on it may know of held-out occupations and structures what no mitigation may, which makes it a harder
    rival.
    """
    held_out = data.held_out_sentences()
    asked = evaluation_sentences(replace(data.probes, structures=()) if data.may_read_probes else data.probes)
    texts = (TrainingText((source,), held_out).read([]) for source in data.sources)
    unasked = ((sentence for sentence in text if sentence not in asked) for text in texts)
    return tuple(
        sentence for text in unasked for sentence in islice(text, -(-FITTED_SENTENCES // len(data.sources)))
    )


def default_margins(
    before: ModelRef, texts: Sequence[str] = (), *, quality_margin: float | None = None
) -> Margins:
    """Margins as they are written on the command line; those not named are the usual ones, or the lab's.

    Args:
        before: The original.
        texts: Such as ``perplexity=0.5%``.
        quality_margin: By how much the perplexity might rise in a mitigation that is certified, as a share.
    """
    if quality_margin is None and planted_bias_of(before.location) is not None:
        quality_margin = LAB_QUALITY_MARGIN
    return Margins.parse(texts, perplexity=None if quality_margin is None else 100 * quality_margin)


def _measurements(
    before: ModelRef, planted: PlantedBias | None, language: str, options: CertifyOptions
) -> Iterator[Measurement]:
    probes = _probes(planted, language, options.probe_files)
    if not planted:
        probes = probes.joined(load_untrained_probes(language).without(probes.experiments))
    yield Measurement("malor", MalorOptions(data=probes, direction="both"))
    data = options.data or (LAB if planted else STARTER).name
    benchmark = data if isinstance(data, Benchmark) else load_dataset(data, language=language)
    yield Measurement("association", AuditOptions(data=benchmark))
    if planted or language in settled_languages():
        yield Measurement("knowledge", KnowledgeOptions(data=_settled(planted, language, options)))
    if options.crows_pairs:
        pairs = load_pairs(options.crows_pairs, language=options.language)
        yield Measurement("crows-pairs", InstrumentOptions(data=pairs))
    for name, own in options.instruments.items():
        if name == REGARD and own is None:
            if options.regard is None:
                raise EvenhandError(NO_CLASSIFIER)
            continue  # it is measured as was chosen
        instrument = INSTRUMENTS.get(name)
        yield Measurement(
            name, default_instrument_options(instrument, before, own or instrument.options_type())
        )


def _refuse_unmeasured(after: ModelRef, trained: Sequence[str], measurements: Sequence[Measurement]) -> None:
    """Refuse to judge a mitigation by nothing: what it was trained for has to be asked."""
    asked = {
        str(experiment)
        for measurement in measurements
        if isinstance(measurement.options, MalorOptions) and isinstance(measurement.options.data, ProbeSet)
        for experiment in measurement.options.data.experiments
    }
    missing = [name for name in trained if name not in asked]
    if missing:
        raise EvenhandError(
            f"{after.id} was trained for {' and '.join(missing)}, which the bundled sentences do not ask. Give the "
            "files that it was trained with: --structures, --occupations and --terms, as far as there are any."
        )


def _settled(planted: PlantedBias | None, language: str, options: CertifyOptions) -> SettledSet:
    """The sentences of the package or of the lab, and those of the text that was given, the held-out one if no other.

    Raises:
        EvenhandError: If text was given for its settled sentences, and has none.
    """
    own = lab_settled(language) if planted else load_settled(language)
    if options.settled_text:
        of_text = settled_in_text(sentences(options.settled_text), language=language)
        if not of_text.sentences:
            raise EvenhandError(
                f"No settled sentence was found in {shortlist(map(str, options.settled_text))}: none in which a name, "
                "a title, a noun or an earlier pronoun settles the gender of a pronoun. Leave --settled-text away, or "
                "give more text."
            )
        return joined(own, of_text)
    if not options.held_out:
        return own
    try:
        of_text = settled_in_text(sentences(options.held_out), language=language)
    except MissingExtraError:  # twins are not what the text was given for
        return own
    return joined(own, of_text) if of_text.sentences else own


def _held_out(lab_text: SentenceList | None, options: CertifyOptions) -> HeldOutText | None:
    """The text that was given; for a lab model what mitigations keep back of the lab's own."""
    if options.held_out:
        numbered = sentences(options.held_out).by_document()
        return HeldOutText.sample_documents(numbered, most=options.sentences)
    if lab_text is None:
        return None
    return HeldOutText.sample(keep_back((lab_text,)).sentences, most=options.sentences)


def _language_of(planted: PlantedBias | None) -> str:
    return planted.language if planted else DEFAULT_LANGUAGE


def _probes(planted: PlantedBias | None, language: str, files: ProbeFiles) -> ProbeSet:
    if planted is None:
        return files.load(language)
    if files.given:
        raise EvenhandError(
            f"A model of the lab knows only the lab's own words, so it takes no {' or '.join(files.given)} of yours. "
            "Leave them out, or use another model."
        )
    return lab_probes(language)


def _lab_text(planted: PlantedBias, language: str) -> SentenceList:
    """The corpus of the world that a model of the lab was made from, each sentence once."""
    documents = Corpus(World(language, planted.strength)).rounds(LAB_ROUNDS)
    texts = dict.fromkeys(sentence.text for document in documents for sentence in document)
    return SentenceList(f"the lab's corpus ({language}, {planted.strength:+g} bits)", tuple(texts))


def _trainable(probes: ProbeSet, names: Sequence[str]) -> tuple[Experiment, ...]:
    """Experiments that a mitigation may be trained for."""
    chosen = _chosen(probes, names)
    reserved = [experiment.value for experiment in chosen if experiment in UNTRAINED_EXPERIMENTS]
    if reserved:
        raise EvenhandError(
            f"{' and '.join(reserved)} is a pair of words that certificates ask because no mitigation is trained for "
            f"it. Give the experiment in your files another name, such as my-{reserved[0]}."
        )
    return chosen


def _chosen(probes: ProbeSet, names: Sequence[str]) -> tuple[Experiment, ...]:
    return in_order(experiment for name in names for experiment in chosen_experiments(probes, name))
