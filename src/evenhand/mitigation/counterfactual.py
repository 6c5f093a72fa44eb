"""Counterfactual data: go on with the model's own pre-training on sentences and their twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import Experiment
from evenhand.core.files import sha256_of
from evenhand.core.progress import no_progress
from evenhand.core.recipes import Recipe
from evenhand.data.corpus_sources import CorpusSource
from evenhand.mitigation.mitigation import Setting
from evenhand.mitigation.pairs.building import PairOptions, build_pairs
from evenhand.mitigation.pairs.counts import PairCounts
from evenhand.mitigation.pairs.joining import NamelessSentences, names_in
from evenhand.mitigation.pairs.twin_pairs import PairSide, TwinPair, read_twin_pairs
from evenhand.mitigation.texts import HeldOutSentences, PairFile, digest_of_all
from evenhand.mitigation.training_mitigation import (
    MitigationInputs,
    PreparedObjective,
    TrainingMitigation,
    TrainingOptions,
)
from evenhand.models.language_model import LanguageModel
from evenhand.store.mitigation_records import TextRecord
from evenhand.text.swappers import Swapper
from evenhand.training.pretraining import pretraining_objective

PAIRS_FILE = "pairs.jsonl"


@dataclass(frozen=True, kw_only=True)
class CounterfactualOptions(TrainingOptions):
    """How a model goes on learning from pairs."""

    whole_words: bool = field(
        default=False, metadata={"help": "Masked models: hide all tokens of a word or none."}
    )


class CounterfactualMitigation(TrainingMitigation[CounterfactualOptions]):
    """Both sentences of every pair, with the objective that the model was first taught with."""

    name = "counterfactual"
    title = "Counterfactual data"
    summary = "it went on learning from sentences and their twins, in which men and women have changed places"
    options_type = CounterfactualOptions
    recipe = Recipe(learning_rate=2e-5)

    def __init__(self, make_swapper: Callable[[], Swapper] | None = None) -> None:
        """Write twins with the swapper of the probes' language, or with another."""
        self.make_swapper = make_swapper

    def settings(self, options: CounterfactualOptions) -> Mapping[str, Setting]:
        """Whether whole words are hidden."""
        return {"whole_words": options.whole_words}

    def prepare(
        self, model: LanguageModel, inputs: MitigationInputs, options: CounterfactualOptions
    ) -> PreparedObjective:
        """Make the pairs that are not there yet, and train on both sides of those that are not held out."""
        texts: list[TextRecord] = []
        warnings: list[str] = []
        sentences: list[str] = []
        held_out = 0
        for pair, is_held_out in self._pairs(inputs, texts, warnings):
            if is_held_out:
                held_out += 1
            else:
                sentences += pair.sentences
        if not sentences:
            raise DatasetError(
                f"Nothing is left to train on: all {held_out:,} pairs are among the held-out sentences, or about "
                "occupations that are held out for the certificate. Give more text, or other sentences with --held-out "
                "FILE."
            )
        counts = {"pairs": len(sentences) // 2, "pairs left out as held out": held_out}
        return PreparedObjective(
            objective=pretraining_objective(
                sentences, model, whole_words=options.whole_words, max_tokens=inputs.recipe.max_tokens
            ),
            corpus=tuple(texts),
            sha256=digest_of_all(sentences),
            counts=counts,
            warnings=tuple(warnings),
        )

    def _pairs(
        self, inputs: MitigationInputs, texts: list[TextRecord], warnings: list[str]
    ) -> Iterator[tuple[TwinPair, bool]]:
        """Every pair, and whether it is held out.

        What was made of a held-out sentence by putting in other names is held out, too. A file of pairs does not tell
        what its pairs were made of, so there it is every pair that differs from a held-out sentence in names alone.
        So is every pair about an occupation that no training may see.
        """
        held_out = inputs.text.held_out
        files = [source for source in inputs.text.sources if isinstance(source, PairFile)]
        others = [source for source in inputs.text.sources if not isinstance(source, PairFile)]
        renamed = NamelessSentences(held_out.sentences, names=_names(inputs, files))
        unseen = inputs.text.unseen
        if others:
            for pair in self._built_pairs(others, inputs, texts, warnings):
                is_repeat = pair.original is PairSide.NEITHER
                kept_back = _has(held_out, pair) or (is_repeat and renamed.hold(pair))
                yield pair, kept_back or pair.male in unseen
        for source in files:
            for pair in _pairs_of_file(source, inputs, texts):
                yield pair, _has(held_out, pair) or renamed.hold(pair) or pair.male in unseen

    def _built_pairs(
        self,
        sources: Sequence[CorpusSource],
        inputs: MitigationInputs,
        texts: list[TextRecord],
        warnings: list[str],
    ) -> Iterator[TwinPair]:
        path = inputs.scratch / PAIRS_FILE
        probes = replace(inputs.probes, structures=()) if inputs.may_read_probes else inputs.probes
        options = PairOptions(probes, inputs.experiments, make_swapper=self.make_swapper)
        progress = inputs.text.progress or no_progress
        counts = build_pairs(sources, path, options=options, report=progress)
        texts += [
            TextRecord(name=source.name, sha256=source.sha256, sentences=source.sentences)
            for source in counts.sources
        ]
        warnings += _warnings(counts)
        return read_twin_pairs(path)


def _has(held_out: HeldOutSentences, pair: TwinPair) -> bool:
    return any(sentence in held_out for sentence in pair.sentences)


def _names(inputs: MitigationInputs, files: Sequence[PairFile]) -> set[str]:
    """Names that can have been put into a sentence: those of the probes, and those of files made with others."""
    table = inputs.probes.terms.get(Experiment.NAMES)
    return {*(table.all if table else ()), *(name for file in files for name in names_in(file.pairs()))}


def _pairs_of_file(source: PairFile, inputs: MitigationInputs, texts: list[TextRecord]) -> Iterator[TwinPair]:
    experiments = set(inputs.experiments)
    used = read = 0
    for pair in source.pairs():
        read += 1
        if experiments & set(pair.experiments):
            used += 1
            yield pair
    if not used:
        names = ", ".join(experiment.value for experiment in inputs.experiments)
        raise DatasetError(f"None of the {read:,} pairs of {source.name} is for {names}.")
    texts.append(TextRecord(name=source.name, sha256=_sha256(source.path), sentences=read))


def _warnings(counts: PairCounts) -> Iterator[str]:
    if counts.overlap:
        yield (
            f"{counts.overlap:,} sentences of the corpus are sentences that the probes ask. They are left out of the "
            "training."
        )
    for experiment in counts.by_experiment:
        if not experiment.pairs:
            yield f"No sentence was found for {experiment.experiment}."


def _sha256(path: Path) -> str:
    return sha256_of(path.read_bytes())


COUNTERFACTUAL = CounterfactualMitigation()
