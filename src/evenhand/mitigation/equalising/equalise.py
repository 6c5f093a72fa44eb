"""Equalising: teach a model its own distribution with the probability of gendered terms shared equally."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.probes import ProbeSet, TermPairs
from evenhand.core.recipes import Recipe
from evenhand.data.probes import gendered_pairs
from evenhand.mitigation.equalising.gaps import GapCollector, OrdinarySentence, TermFinder, finder_for
from evenhand.mitigation.equalising.gendered_tokens import GenderedWordTokens
from evenhand.mitigation.equalising.objective import Balance, EqualisingObjective
from evenhand.mitigation.equalising.original import FrozenOriginal, OriginalBesideAdapters
from evenhand.mitigation.equalising.replay import Passages, Replay
from evenhand.mitigation.equalising.subjects import Retelling, RetoldSentences, Subjects
from evenhand.mitigation.mitigation import Setting
from evenhand.mitigation.pairs.matching import EvaluationSentences, evaluation_sentences
from evenhand.mitigation.texts import digest_of_all
from evenhand.mitigation.training_mitigation import (
    MitigationInputs,
    PreparedObjective,
    TrainingMitigation,
    TrainingOptions,
)
from evenhand.models.language_model import LanguageModel
from evenhand.store.mitigation_records import TextRecord
from evenhand.text.digests import LowestDigests, digest_of
from evenhand.text.swappers import SWAPPERS, swapper_for

MOST_REPLAYED = 50_000
"""Ordinary sentences that are kept in memory, chosen by their digests."""

MOST_PASSAGES = 2_000
"""Passages that are kept in memory: with two dozen sentences each, as much text as the ordinary sentences."""

_USUAL = Balance()


@dataclass(frozen=True, kw_only=True)
class EqualiseOptions(TrainingOptions):
    """How much evening out counts beside staying the same."""

    balances: tuple[float, ...] = field(
        default=(_USUAL.weight,),
        metadata={"help": "How much evening out counts. Of several, each is tried and the best is kept."},
    )
    replayed: int = field(
        default=_USUAL.replayed,
        metadata={"help": "Tokens of ordinary sentences that go with a batch of gaps."},
    )

    def __post_init__(self) -> None:
        for weight in self.balances:
            Balance(weight, self.replayed)
        if not self.balances or len(set(self.balances)) != len(self.balances):
            raise EvenhandError(
                f"The balances {', '.join(f'{weight:g}' for weight in self.balances) or '(none)'} must be at least "
                "one, all different."
            )


class EqualiseMitigation(TrainingMitigation[EqualiseOptions]):
    """Even at the gaps, unchanged on ordinary sentences."""

    name = "equalise"
    title = "Equalising"
    summary = (
        "its own predictions were taught back to it with the probability of gendered terms shared equally"
    )
    options_type = EqualiseOptions
    recipe = Recipe(learning_rate=1e-4, epochs=8)

    def variants(self, options: EqualiseOptions) -> dict[float, EqualiseOptions]:
        """One for each balance."""
        return {weight: replace(options, balances=(weight,)) for weight in options.balances}

    def settings(self, options: EqualiseOptions) -> Mapping[str, Setting]:
        """The balance."""
        return {"weight": options.balances[0], "replayed": options.replayed}

    def prepare(
        self, model: LanguageModel, inputs: MitigationInputs, options: EqualiseOptions
    ) -> PreparedObjective:
        """Find the gaps, and ordinary sentences to stay the same on."""
        texts: list[TextRecord] = []
        language = inputs.probes.language
        collector = GapCollector(model, max_tokens=inputs.recipe.max_tokens)
        probes = replace(inputs.probes, structures=()) if inputs.may_read_probes else inputs.probes
        unprobed = _UnprobedSentences(inputs.text.read(texts), evaluation_sentences(probes))
        sample: LowestDigests[OrdinarySentence] = LowestDigests(MOST_REPLAYED, distinct=True)
        terms = {experiment: inputs.probes.terms[experiment] for experiment in inputs.experiments}
        find, passages = finder_for(language, terms), Passages(unprobed, most=MOST_PASSAGES)
        retold = _retold(passages, model, inputs.probes, find)
        for sentence in collector.collect(retold, find):
            sample.offer(digest_of(sentence.text), sentence)
        ordinary = sample.by_digest()
        collector.refuse_if_missing(inputs.experiments)
        words = GenderedWordTokens.of(_gendered_pairs(inputs.probes), collector.tokens_of)
        replay = Replay(
            ordinary,
            model,
            passages=passages.kept,
            words=words,
            max_tokens=inputs.recipe.max_tokens,
        )
        if not replay.examples:
            raise DatasetError("The corpus has no ordinary sentence to stay the same on. Give more text.")
        counts = {
            f"gaps for {experiment.value}": number for experiment, number in collector.experiments.items()
        }
        rejections = {f"gaps left out: {reason}": number for reason, number in collector.rejections.items()}
        return PreparedObjective(
            objective=EqualisingObjective(
                model,
                collector,
                replay=replay,
                original=OriginalBesideAdapters()
                if inputs.recipe.lora
                else FrozenOriginal(model.loaded.model),
                balance=Balance(options.balances[0], options.replayed),
                telling=words.tokens,
            ),
            corpus=tuple(texts),
            sha256=digest_of_all(
                [
                    *(f"{gap.before} {gap.word} {gap.after}" for gap in collector.gaps),
                    *(sentence.text for sentence in ordinary),
                    *passages.kept,
                ]
            ),
            counts={
                **counts,
                **rejections,
                "ordinary sentences": len(ordinary),
                "of them without a gendered word": sum(sentence.is_neutral for sentence in ordinary),
                "sentences with a neutral subject": retold.with_neutral_subjects,
                "sentences with a gendered subject": retold.with_gendered_subjects,
                "passages": len(passages.kept),
            },
            warnings=unprobed.warnings,
        )


class _UnprobedSentences:
    """Sentences without those that the model is judged by."""

    def __init__(self, sentences: Iterable[str], evaluation: EvaluationSentences) -> None:
        self._sentences = sentences
        self._evaluation = evaluation
        self._left_out = 0

    def __iter__(self) -> Iterator[str]:
        for sentence in self._sentences:
            if sentence in self._evaluation:
                self._left_out += 1
            else:
                yield sentence

    @property
    def warnings(self) -> tuple[str, ...]:
        """How many there were, once all are read."""
        if not self._left_out:
            return ()
        return (
            f"{self._left_out:,} sentences of the corpus are sentences that the probes ask. They are left out of the "
            "training.",
        )


def _gendered_pairs(probes: ProbeSet) -> Iterator[TermPairs]:
    """Words that tell a gender, or the group that experiments about others ask for."""
    yield from probes.terms.values()
    if any(pairs.tell_gender for pairs in probes.terms.values()):
        yield gendered_pairs(probes.language)


def _retold(
    sentences: Iterable[str], model: LanguageModel, probes: ProbeSet, find: TermFinder
) -> RetoldSentences:
    """For languages whose grammar is known, and where nouns do not tell a gender."""
    subjects = Subjects.of(probes)
    if probes.language not in SWAPPERS or not subjects.neutral:
        return RetoldSentences(sentences, None, find)
    whole = not model.gap_contexts().sees_only_before
    retelling = Retelling(swapper_for(probes.language), subjects, needs_whole_sentences=whole)
    return RetoldSentences(sentences, retelling, find)


EQUALISE = EqualiseMitigation()
