"""Equalising: teach a model its own distribution with the probability of gendered terms shared equally."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from evenhand.core.errors import DatasetError
from evenhand.core.recipes import Recipe
from evenhand.data.probes import gendered_vocabulary
from evenhand.mitigation.equalising.gaps import Gaps
from evenhand.mitigation.equalising.objective import Balance, EqualisingObjective
from evenhand.mitigation.equalising.selection import Finder, by_grammar, by_vocabulary, without_names
from evenhand.mitigation.method import Prepared, Wanted
from evenhand.mitigation.pairs.matching import EvaluationSentences, evaluation_sentences
from evenhand.mitigation.texts import digest_of_all
from evenhand.models.language_model import LanguageModel
from evenhand.runs.mitigation_records import TextRecord
from evenhand.text.digests import LowestDigests, digest_of
from evenhand.text.twins.languages import SWAPPERS, swapper_for
from evenhand.training.pretraining import pretraining_objective

MOST_REPLAYED = 50_000
"""Ordinary sentences that are kept in memory, chosen by their digests."""


@dataclass(frozen=True, slots=True)
class EqualiseMethod:
    """Even at the gaps, unchanged on ordinary sentences."""

    balance: Balance = field(default_factory=Balance)

    name = "equalise"
    recipe = Recipe(learning_rate=1e-4, epochs=8)
    """The usual one."""

    @property
    def settings(self) -> Mapping[str, float | int | str | bool]:
        """The balance."""
        return {"weight": self.balance.weight, "replayed": self.balance.replayed}

    def prepare(self, model: LanguageModel, wanted: Wanted) -> Prepared:
        """Find the gaps, and ordinary sentences to stay the same on."""
        texts: list[TextRecord] = []
        gaps = Gaps(model, max_tokens=wanted.recipe.max_tokens)
        probes = replace(wanted.probes, structures=()) if wanted.may_read_probes else wanted.probes
        unprobed = _Unprobed(wanted.text.read(texts), evaluation_sentences(probes))
        sample: LowestDigests[str] = LowestDigests(MOST_REPLAYED, distinct=True)
        for sentence in gaps.collect(unprobed, _finder(wanted)):
            sample.offer(digest_of(sentence), sentence)
        ordinary = sample.by_digest()
        gaps.refuse_if_missing(wanted.experiments)
        replay = pretraining_objective(ordinary, model, max_tokens=wanted.recipe.max_tokens)
        if not replay.examples:
            raise DatasetError("The corpus has no ordinary sentence to stay the same on. Give more text.")
        counts = {f"gaps for {experiment.value}": number for experiment, number in gaps.experiments.items()}
        left_out = {f"gaps left out: {reason}": number for reason, number in gaps.left_out.items()}
        return Prepared(
            objective=EqualisingObjective(model, gaps, replay=replay, balance=self.balance),
            corpus=tuple(texts),
            sha256=digest_of_all(
                [*(f"{gap.before} {gap.word} {gap.after}" for gap in gaps.found), *ordinary]
            ),
            counts={**counts, **left_out, "ordinary sentences": len(ordinary)},
            warnings=unprobed.warnings,
        )


class _Unprobed:
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


def _finder(wanted: Wanted) -> Finder:
    language = wanted.probes.language
    terms = {experiment: wanted.probes.terms[experiment] for experiment in wanted.experiments}
    find = (
        by_grammar(swapper_for(language), terms)
        if language in SWAPPERS
        else by_vocabulary(terms, gendered_vocabulary(language), language=language)
    )
    return without_names(find) if language == "en" else find
