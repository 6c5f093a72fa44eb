"""Trigger search as a mitigation: no weight changes, and the model that comes back has a prefix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.progress import Monitor, Progress
from evenhand.mitigation.mitigation import (
    Mitigation,
    MitigationData,
    MitigationOptions,
    MitigationOutcome,
    Setting,
    Supplement,
)
from evenhand.models.language_model import LanguageModel
from evenhand.models.model import require
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Write
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Job, Parts
from evenhand.store.mitigation_records import MitigationRecord
from evenhand.store.trigger_records import (
    HAND_WRITTEN,
    NO_PREFIX,
    RANDOM_TOKENS,
    TriggerRecord,
    TriggerSeedRecord,
    TriggerTargetsRecord,
)
from evenhand.store.trigger_records import TRIGGER as TRIGGER_NAME
from evenhand.triggers.banned_words import ban_words
from evenhand.triggers.comparison import NamedPrefixes, PrefixMeasure
from evenhand.triggers.gcg import gcg_step
from evenhand.triggers.hotflip import hotflip_step
from evenhand.triggers.recipes import GCG_V1, SearchMethod, TriggerRecipe
from evenhand.triggers.scoring import refuse_long_texts
from evenhand.triggers.search import SearchSpace, SearchState, run_search
from evenhand.triggers.targets import TargetSet, TargetSplit, split_targets
from evenhand.triggers.transfer import (
    PrefixJudgement,
    missing_models,
    model_to_compare,
    transfer,
    trigger_of,
)
from evenhand.triggers.vocabulary import TriggerVocabulary, prefix_of
from evenhand.triggers.written_texts import WrittenTexts

SEARCH_SENTENCES = 32
"""Ordinary sentences that a search sees, at most."""

JUDGED_SENTENCES = 200
"""Ordinary sentences that a trigger is judged by, at most."""

RANDOM_TRIGGERS = 5

SPLIT_SEED = 0
"""Targets are parted in one way for all seeds, so that their losses compare."""

SENTENCES = {
    "de": "Alle Menschen verdienen Respekt.",
    "en": "All people deserve respect.",
}
"""What somebody would write who has no search, by language."""

_RESOURCES = resources.files("evenhand.data") / "resources" / "triggers"


@dataclass(frozen=True, kw_only=True)
class TriggerOptions(MitigationOptions):
    """How a trigger is searched for and judged.

    Attributes:
        targets: The target pairs.
        recipe: How to search.
        banned: Words that the trigger may not have, beside those of ``banned_words``.
        sentence: What the trigger is compared with; one of our own in the language of the data if not given.
        transfer: Other models on which the same prefixes are compared; also behind a server, if texts are written.
        resampling: Of the intervals.
        written: The texts that a model writes behind each prefix, and who labels them; none are written if None.
        measures: What prefixes are compared by besides.
    """

    targets: TargetSet | None = None
    recipe: TriggerRecipe = GCG_V1
    banned: tuple[str, ...] = ()
    sentence: str | None = None
    transfer: tuple[ModelRef, ...] = ()
    resampling: Resampling = field(default_factory=Resampling)
    written: WrittenTexts | None = field(default=None, compare=False)
    measures: tuple[PrefixMeasure, ...] = field(default=(), compare=False)


class Trigger(Mitigation[TriggerOptions]):
    """Words before every prompt."""

    name = "trigger"
    title = "Trigger"
    summary = "words that were found by gradient stand before every prompt, and its weights are as they were"
    options_type = TriggerOptions

    def refuse_impossible(self, data: MitigationData, options: TriggerOptions) -> None:
        """Refuse to search without targets, and without sentences in the language of the data."""
        if options.targets is None:
            raise EvenhandError(
                "No target pairs were given. Write --targets FILE: a table with the columns regard, first and second; "
                "or --from-annotations FILE: annotated texts about a person."
            )
        if options.sentence is None and data.probes.language not in SENTENCES:
            raise EvenhandError(
                f"There is no sentence of our own in the language {data.probes.language!r} to compare a trigger with. "
                "Give one with --sentence."
            )

    def identity(self, options: TriggerOptions) -> Mapping[str, Any]:
        """The recipe, the targets, and what the trigger is compared with; other models are added to the result."""
        resampling = options.resampling
        return {
            "recipe": options.recipe.model_dump(mode="json"),
            "targets": options.targets.sha256 if options.targets else None,
            "banned": sorted(options.banned),
            "sentence": options.sentence,
            "resampling": [resampling.resamples, resampling.seed, resampling.confidence],
            "measures": [type(measure).__name__ for measure in options.measures],
            "written": options.written.record.model_dump(mode="json") if options.written else None,
        }

    def settings(self, options: TriggerOptions) -> Mapping[str, Setting]:
        """The recipe in plain values."""
        recipe = options.recipe
        weights = {
            f"weight_{name}": value
            for name, value in recipe.weights.model_dump().items()
            if value is not None
        }
        return {
            "recipe": recipe.name,
            "slots": recipe.slots,
            "seeds": ", ".join(map(str, recipe.seeds)),
            **weights,
        }

    def mitigate(
        self,
        model: LanguageModel,
        *,
        data: MitigationData,
        options: TriggerOptions,
        job: Job,
        monitor: Monitor,
    ) -> MitigationOutcome:
        """Search, choose the best seed, and compare it with other prefixes on what no search saw."""
        require(model, Write, purpose="get a trigger")
        if not model.reads_left_to_right:
            raise ModelError(
                f"{model.ref.id} is an encoder-decoder. A trigger is searched for on a decoder, such as lab:decoder; "
                "its text can then stand before the prompts of any model."
            )
        if model.ref.prefix:
            raise ModelError(
                f"{model.ref.id} has the prefix {model.ref.prefix!r} already. Search on the model without it."
            )
        with model.loaded.products.in_use():
            return _TriggerSearch(model, data, options, monitor).run(job)

    def supplements(
        self, record: MitigationRecord, *, data: MitigationData, options: TriggerOptions, monitor: Monitor
    ) -> Sequence[Supplement]:
        """The models of ``transfer`` that the record does not have yet."""
        missing = missing_models(trigger_of(record), options.transfer)
        if not missing or options.targets is None:
            return ()
        split = split_targets(options.targets, seed=SPLIT_SEED)
        judgement = _judgement(split, ordinary_sentences(data)[1], options)
        return [transfer(ref, judgement, monitor) for ref in missing]


class _TriggerSearch:
    """The search on one model, with all seeds."""

    def __init__(
        self, model: LanguageModel, data: MitigationData, options: TriggerOptions, monitor: Monitor
    ) -> None:
        if options.targets is None:
            raise ValueError("refuse_impossible refuses this")
        self.model = model
        self.options = options
        self.monitor = monitor
        self.recipe = options.recipe
        self.targets = options.targets
        self.sentence = options.sentence or SENTENCES[data.probes.language]
        self.split: TargetSplit = split_targets(self.targets, seed=SPLIT_SEED)
        self.seen, self.unseen = ordinary_sentences(data)
        prompts = [prompt for groups in self.targets.groups for prompt in groups]
        self.vocabulary = TriggerVocabulary(
            model.loaded,
            prompts=prompts,
            is_banned=ban_words(data.probes, self.targets, further=options.banned),
        )

    def run(self, job: Job) -> MitigationOutcome:
        """Search with every seed, and judge the best trigger."""
        self._look_at_transfer()
        self._look_at_start()
        whole = [pair.whole(side) for pair in self.targets.pairs for side in (0, 1)]
        texts = self.vocabulary.tokens_after_trigger([*whole, *self.seen, *self.unseen])
        lead = len(self.vocabulary.lead)
        refuse_long_texts(self.model, texts, before=lead + self.recipe.slots)
        (sentence,) = self.vocabulary.tokens_alone([self.sentence])
        what = f"The sentence {self.sentence!r}"
        refuse_long_texts(self.model, texts, before=len(sentence), what=what, remedy="a shorter --sentence")
        written = self.options.written
        if written is not None:
            prompts = self.vocabulary.tokens_after_trigger(written.prompt_texts)
            room = max(lead + self.recipe.slots, len(sentence)) + written.longest
            refuse_long_texts(
                self.model,
                prompts,
                before=room,
                what=f"A prefix, {written.longest} new tokens",
                remedy="fewer --new-tokens or --slots",
            )
        self.monitor.note(
            f"Searching with {len(self.split.search):,} target pairs; {len(self.split.judged):,} are held out"
        )
        space = SearchSpace(
            self.model, self.vocabulary, self.split.search, sentences=self.seen, recipe=self.recipe
        )
        found = self._searched(space, job.parts("search"))
        chosen = min(found, key=lambda seed: found[seed].best.loss)
        trigger = found[chosen].best.tokens
        text = self.vocabulary.text_of(trigger)
        self.monitor.note(f"Comparing {text!r} with other prefixes")
        judgement = _judgement(self.split, self.unseen, self.options)
        comparison = judgement.compare(self.model, self._prefixes(text), job.parts("judged"))
        record = TriggerRecord(
            text=text,
            tokens=trigger,
            recipe=self.recipe.model_dump(mode="json"),
            targets=TriggerTargetsRecord(
                name=self.targets.name,
                sha256=self.targets.sha256,
                search=len(self.split.search),
                judged=len(self.split.judged),
                by_context=self.split.by_context,
                groups=self.targets.groups,
                search_contexts=_contexts_of(self.split.search),
                judged_contexts=_contexts_of(self.split.judged),
                left_out=dict(self.targets.left_out),
            ),
            seeds=tuple(
                TriggerSeedRecord(
                    seed=seed,
                    text=self.vocabulary.text_of(state.best.tokens),
                    loss=state.best.loss,
                    steps=state.step,
                    stopped=state.stopped or "",
                    start=self.vocabulary.text_of(state.start),
                    losses=tuple(state.losses),
                )
                for seed, state in found.items()
            ),
            chosen_seed=chosen,
            components=space.scorer.components(trigger),
            comparison=comparison,
            written=self.options.written.record if self.options.written else None,
        )
        reference = self.model.ref.model_copy(update={"prefix": prefix_of(text)})
        return MitigationOutcome(reference=reference, trigger=record)

    def _searched(self, space: SearchSpace, parts: Parts) -> dict[int, SearchState]:
        sweeps = self.recipe.method is SearchMethod.HOTFLIP
        take_step = hotflip_step if sweeps else gcg_step
        steps = self.recipe.steps * (self.recipe.slots if sweeps else 1)
        found: dict[int, SearchState] = {}
        with self.monitor.stage("searching", "steps") as progress:
            for number, seed in enumerate(self.recipe.seeds):
                state = run_search(
                    space,
                    take_step,
                    seed=seed,
                    steps=steps,
                    parts=parts,
                    progress=_behind(progress, number * steps, len(self.recipe.seeds) * steps),
                )
                self.monitor.note(
                    f"seed {seed}: loss {state.best.loss:.4f} after {state.step} steps, "
                    f"{self.vocabulary.text_of(state.best.tokens)!r}"
                )
                found[seed] = state
        return found

    def _look_at_start(self) -> None:
        """Say so where the word that the recipe starts from is no token of the model."""
        word = self.recipe.start
        if word and self.vocabulary.filled_with(word, self.recipe.slots) is None:
            self.monitor.warn(
                f"{word!r}, which the search of {self.recipe.name} starts from, is no word of {self.model.ref.id}: it "
                "starts from random words."
            )

    def _look_at_transfer(self) -> None:
        """Refuse models that cannot be compared on, and say what servers cost, before the search and not after it."""
        written = self.options.written
        for ref in self.options.transfer:
            other = model_to_compare(ref)
            if not isinstance(other, LanguageModel) and written is None:
                raise ModelError(
                    f"{ref.id} scores no texts behind a prefix, and no texts are to be written. Give --texts, so that "
                    "it is judged by what it writes, or leave it out of --transfer."
                )
            cost = written.describe_cost(other, self._prefixes(self.sentence)) if written else None
            if cost:
                self.monitor.note(cost)

    def _prefixes(self, text: str) -> list[NamedPrefixes]:
        """The prefixes that are compared, with a trigger."""
        random = self.vocabulary.random_triggers(
            RANDOM_TRIGGERS, self.recipe.slots, np.random.default_rng(SPLIT_SEED)
        )
        return [
            NamedPrefixes(NO_PREFIX, ("",)),
            NamedPrefixes(TRIGGER_NAME, (prefix_of(text),)),
            NamedPrefixes(RANDOM_TOKENS, tuple(prefix_of(self.vocabulary.text_of(own)) for own in random)),
            NamedPrefixes(HAND_WRITTEN, (prefix_of(self.sentence),)),
        ]


def _judgement(split: TargetSplit, sentences: Sequence[str], options: TriggerOptions) -> PrefixJudgement:
    written = () if options.written is None else (options.written,)
    return PrefixJudgement(split.judged.pairs, sentences, (*written, *options.measures), options.resampling)


def _contexts_of(targets: TargetSet) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pair.context for pair in targets.pairs))


def _behind(progress: Progress, done_before: int, total: int) -> Progress:
    """The progress of one seed among all."""
    return lambda done, _own: progress(done_before + done, total)


def ordinary_sentences(data: MitigationData) -> tuple[Sequence[str], Sequence[str]]:
    """Sentences that a search sees, and others that it is judged by.

    They come from the corpus and the held-out text that were given; where one is missing, from our own.
    """
    language = data.probes.language
    if data.sources or data.held_out:
        kept = data.held_out_sentences().sentences
        if not data.held_out:
            return kept[1::2][:SEARCH_SENTENCES], kept[::2][:JUDGED_SENTENCES]
        return _shipped_sentences(language)[:SEARCH_SENTENCES], kept[:JUDGED_SENTENCES]
    shipped = _shipped_sentences(language)
    return shipped[1::2][:SEARCH_SENTENCES], shipped[::2]


def _shipped_sentences(language: str) -> tuple[str, ...]:
    path = _RESOURCES / f"sentences_{language}.txt"
    if not path.is_file():
        raise EvenhandError(
            f"There are no ordinary sentences of our own in the language {language!r}. Give some with --corpus FILE."
        )
    return tuple(path.read_text(encoding="utf-8").splitlines())


TRIGGER = Trigger()
