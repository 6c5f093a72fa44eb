"""Counterfactual data: go on with the model's own pre-training on sentences and their twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.files import sha256_of
from evenhand.core.probes import Experiment
from evenhand.core.recipes import Recipe
from evenhand.data.corpus_sources import CorpusSource
from evenhand.mitigation.method import Prepared, Wanted
from evenhand.mitigation.pairs.building import PairOptions, build_pairs
from evenhand.mitigation.pairs.counts import PairCounts
from evenhand.mitigation.pairs.names import NamelessSentences, names_in
from evenhand.mitigation.pairs.twin_pairs import PairSide, TwinPair, read_twin_pairs
from evenhand.mitigation.texts import HeldOutSentences, PairFile, digest_of_all
from evenhand.models.language_model import LanguageModel
from evenhand.runs.mitigation_records import TextRecord
from evenhand.text.twins.twin import Swapper
from evenhand.training.pretraining import pretraining_objective

PAIRS_FILE = "pairs.jsonl"


@dataclass(frozen=True, slots=True)
class CounterfactualMethod:
    """Both sentences of every pair, with the objective that the model was first taught with.

    Attributes:
        whole_words: For masked models: hide all tokens of a word or none.
        make_swapper: Makes what writes the twins; that of the probes' language if not given.
    """

    whole_words: bool = False
    make_swapper: Callable[[], Swapper] | None = None

    name = "counterfactual"
    recipe = Recipe(learning_rate=2e-5)
    """The usual one."""

    @property
    def settings(self) -> Mapping[str, float | int | str | bool]:
        """Whether whole words are hidden."""
        return {"whole_words": self.whole_words}

    def prepare(self, model: LanguageModel, wanted: Wanted) -> Prepared:
        """Make the pairs that are not there yet, and train on both sides of those that are not held out."""
        texts: list[TextRecord] = []
        warnings: list[str] = []
        sentences: list[str] = []
        held_out = 0
        for pair, is_held_out in self._pairs(wanted, texts, warnings):
            if is_held_out:
                held_out += 1
            else:
                sentences += pair.sentences
        if not sentences:
            raise DatasetError(
                f"Nothing is left to train on: all {held_out:,} pairs are among the held-out sentences. Give more "
                "text, or other sentences with --held-out FILE."
            )
        counts = {"pairs": len(sentences) // 2, "pairs left out as held out": held_out}
        return Prepared(
            objective=pretraining_objective(
                sentences, model, whole_words=self.whole_words, max_tokens=wanted.recipe.max_tokens
            ),
            corpus=tuple(texts),
            sha256=digest_of_all(sentences),
            counts=counts,
            warnings=tuple(warnings),
        )

    def _pairs(
        self, wanted: Wanted, texts: list[TextRecord], warnings: list[str]
    ) -> Iterator[tuple[TwinPair, bool]]:
        """Every pair, and whether it is held out.

        What was made of a held-out sentence by putting in other names is held out, too. A file of pairs does not tell
        what its pairs were made of, so there it is every pair that differs from a held-out sentence in names alone.
        """
        held_out = wanted.text.held_out
        files = [source for source in wanted.text.sources if isinstance(source, PairFile)]
        others = [source for source in wanted.text.sources if not isinstance(source, PairFile)]
        renamed = NamelessSentences(held_out.sentences, names=_names(wanted, files))
        if others:
            for pair in self._made(others, wanted, texts, warnings):
                is_repeat = pair.original is PairSide.NEITHER
                yield pair, _has(held_out, pair) or (is_repeat and renamed.hold(pair))
        for source in files:
            for pair in _of_file(source, wanted, texts):
                yield pair, _has(held_out, pair) or renamed.hold(pair)

    def _made(
        self, sources: Sequence[CorpusSource], wanted: Wanted, texts: list[TextRecord], warnings: list[str]
    ) -> Iterator[TwinPair]:
        path = wanted.scratch / PAIRS_FILE
        probes = replace(wanted.probes, structures=()) if wanted.may_read_probes else wanted.probes
        options = PairOptions(probes, wanted.experiments, make_swapper=self.make_swapper)
        report = wanted.text.report or (lambda _done, _total: None)
        counts = build_pairs(sources, path, options=options, report=report)
        texts += [
            TextRecord(name=source.name, sha256=source.sha256, sentences=source.sentences)
            for source in counts.sources
        ]
        warnings += _warnings(counts)
        return read_twin_pairs(path)


def _has(held_out: HeldOutSentences, pair: TwinPair) -> bool:
    return any(sentence in held_out for sentence in pair.sentences)


def _names(wanted: Wanted, files: Sequence[PairFile]) -> set[str]:
    """Names that can have been put into a sentence: those of the probes, and those of files made with others."""
    table = wanted.probes.terms.get(Experiment.NAMES)
    return {*(table.all if table else ()), *(name for file in files for name in names_in(file.pairs()))}


def _of_file(source: PairFile, wanted: Wanted, texts: list[TextRecord]) -> Iterator[TwinPair]:
    asked = set(wanted.experiments)
    found = read = 0
    for pair in source.pairs():
        read += 1
        if asked & set(pair.experiments):
            found += 1
            yield pair
    if not found:
        names = ", ".join(experiment.value for experiment in wanted.experiments)
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
