"""A model that can be asked: its capabilities, and the engine behind them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from itertools import chain, islice

from evenhand.core.items import overlong_reason
from evenhand.core.progress import Progress, activity
from evenhand.models.description import record_of, warnings_of_texts
from evenhand.models.embedding import WordEmbedder, WordPosition
from evenhand.models.engine.execution import Answers as TokenAnswers
from evenhand.models.engine.execution import InputsDone, execute
from evenhand.models.engine.memory import BatchMemory, Footprint, MemoryBudget
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.plan import ForwardInputs, ForwardPlan, PairInput, make_plan, merge_requests
from evenhand.models.engine.positions import PositionReader
from evenhand.models.engine.projection import Projection, SplitProjection
from evenhand.models.engine.requests import PairRequest, TokenRequest, Tokens, shown_tokens, too_long
from evenhand.models.engine.runners import PairRunner, Runner
from evenhand.models.engine.self_check import SelfCheck
from evenhand.models.families import Family
from evenhand.models.judges import Judge, load_judge
from evenhand.models.limits import MOST_TOKENS, batch_tokens, fits_window, longest_input, longest_tree
from evenhand.models.loading import Loaded
from evenhand.models.model import (
    NOT_FINITE,
    ItemCounter,
    Model,
    ScoringFacts,
    answers_of,
    check_requests,
    has_messages,
    missing_capability,
    require,
    spread_over_items,
)
from evenhand.models.next_sentence import HEAD_DESCRIPTIONS, PairEncoder
from evenhand.models.objectives.gap_contexts import GapContexts
from evenhand.models.objectives.held_out import HeldOutRows
from evenhand.models.objectives.layouts import RowLayout, choose_layout
from evenhand.models.objectives.objective import PretrainingObjective, PretrainingOptions
from evenhand.models.references import ModelError, ModelRef, UnscorableError, load_model
from evenhand.models.requests import Answer, Continue, Embed, Fill, Follow, Request, ScoringRequest, Write
from evenhand.models.tokenised_text import prepare
from evenhand.models.writing import TextWriter
from evenhand.store.jobs import Parts
from evenhand.store.records import ModelRecord

UNKNOWN_WORD = "it has a word that the tokenizer does not know"


@dataclass(slots=True)
class _Prepared:
    """What requests ask of a model's tokens, each with its place among them; or why they cannot be asked."""

    problems: list[str | None]
    scored: list[tuple[int, ScoringRequest, tuple[TokenRequest, ...]]] = field(default_factory=list)
    embedded: list[tuple[int, WordPosition]] = field(default_factory=list)
    written: list[tuple[int, Write, Tokens]] = field(default_factory=list)


class LanguageModel(Model):
    """A model in this process: its family says how requests become tokens, the engine answers them."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.ref = loaded.ref
        self.tokenizer = loaded.tokenizer
        self.also_answers = loaded.family.also_answers
        self.hides_words = loaded.family.hides_words
        self.reads_left_to_right = loaded.family.reads_left_to_right
        self.takes_messages = bool(getattr(loaded.tokenizer, "chat_template", None))

    @property
    def record(self) -> ModelRecord:
        """What identifies it in records and fingerprints."""
        return record_of(self)

    @property
    def capabilities(self) -> frozenset[type]:
        """What it can be asked."""
        judges = {Follow} if self.judges_next_sentence else set()
        return self.family.capabilities | {Embed} | judges

    def has_capability(self, capability: type) -> bool:
        """Whether it has a capability; the next-sentence head is loaded only if it is asked for."""
        if capability is Follow:
            return self.judges_next_sentence
        return capability is Embed or capability in self.family.capabilities

    @property
    def fills_by_sentence(self) -> bool:
        """Whether it reads from left to right, so that what follows a word counts only in the whole sentence."""
        return self.family.fills_by_sentence

    def way_of(self, request: type, variant: str = "") -> tuple[str, str] | None:
        """See ``Model``."""
        if request is Follow and self.judge is not None:
            return "next-sentence", HEAD_DESCRIPTIONS[self.judge.record.kind]
        return self.family.ways.get((request, variant))

    @property
    def family(self) -> Family:
        """How the model predicts tokens."""
        return self.loaded.family

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that its answers depend on."""
        return {name: version(name) for name in ("torch", "transformers", "tokenizers")}

    @property
    def scoring_facts(self) -> ScoringFacts:
        """How answers are computed, for records."""
        return ScoringFacts(
            max_tokens=batch_tokens(self.loaded.device),
            memory=self.memory.bytes,
            only_needed_positions=self.is_split,
            shared_prefixes=self.shares_prefixes,
        )

    @cached_property
    def memory(self) -> MemoryBudget:
        """What one batch may take beside the weights."""
        return MemoryBudget.on(self.loaded.device, self.ref.memory)

    @cached_property
    def batch_memory(self) -> BatchMemory:
        """What fits into one batch."""
        footprint = Footprint.of_model(self.loaded.model, projects_all=not self.is_split)
        return BatchMemory(self.memory, footprint)

    @cached_property
    def self_check(self) -> SelfCheck:
        """Which fast ways give the same numbers on this model."""
        return SelfCheck(self.loaded, self.memory)

    @cached_property
    def projection(self) -> Projection:
        """How hidden states become probabilities on this model."""
        return self.self_check.projection

    @cached_property
    def position_reader(self) -> PositionReader:
        """What reads it, and copies of it, at chosen places."""
        return PositionReader(self.projection, self.memory)

    @property
    def row_layout(self) -> RowLayout:
        """How rows of tokens are laid out for it in training."""
        return choose_layout(self.loaded, shares_prefixes=self.shares_prefixes)

    @property
    def is_split(self) -> bool:
        """Whether only the needed positions are projected to the vocabulary."""
        return isinstance(self.projection, SplitProjection)

    @property
    def shares_prefixes(self) -> bool:
        """Whether what sequences share is computed once."""
        return self.self_check.shares_prefixes

    @cached_property
    def judge(self) -> Judge | None:
        """What judges next sentences, if there is anything."""
        return load_judge(self.loaded)

    @property
    def judges_next_sentence(self) -> bool:
        """Whether the model has a next-sentence head."""
        return self.judge is not None

    @cached_property
    def longest_input(self) -> int:  # type: ignore[override] # read when it is first asked for
        """The most tokens that the model is given."""
        return longest_input(self.loaded) or MOST_TOKENS

    def pretraining_objective(
        self, sentences: Sequence[str], options: PretrainingOptions
    ) -> PretrainingObjective:
        """The objective that it was first taught with, over other sentences."""
        return self.family.pretraining_objective(self, sentences, options)

    def held_out_rows(self, sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """Sentences with some of their tokens hidden, chosen from a seed, which the model is asked for."""
        return self.family.held_out_rows(self, sentences, seed=seed)

    def gap_contexts(self) -> GapContexts:
        """How a sentence with a gap is shown to it, to read what it expects there."""
        return self.family.gap_contexts(self)

    def plan(
        self, requests: Sequence[TokenRequest], *, max_tokens: int | None = None, share_prefixes: bool = True
    ) -> tuple[ForwardPlan, ForwardInputs]:
        """Everything that has to be run to answer the requests."""
        if not self.reads_left_to_right:  # the methods of a decoder put the prefix before every text
            self.ref.refuse_prefix()
        memory, config = self.batch_memory, self.loaded.config
        share = share_prefixes and self.shares_prefixes and fits_window(config, requests)
        longest = min(longest_tree(config), memory.longest_row) if share else None
        with gc_disabled():
            forward = merge_requests(requests, share_prefixes=share, longest_tree=longest)
            tokens = max_tokens or batch_tokens(self.loaded.device)
            plan = make_plan(forward, max_tokens=tokens, memory=memory, joined=share)
        return plan, forward

    def language_warnings(self, texts: Sequence[str], *, name: str, language: str) -> tuple[str, ...]:
        """Reasons to doubt that it knows the language of texts; ``name`` is what they are called."""
        return warnings_of_texts(
            self.ref.location, self.tokenizer, texts, name=name, language=language, revision=self.ref.revision
        )

    def token_requests(
        self,
        requests: Sequence[ScoringRequest],
        *,
        items: Sequence[str] | None = None,
        known_words: bool = False,
    ) -> list[tuple[TokenRequest, ...] | str]:
        """For each request what is asked of tokens, or why it cannot be asked. Arguments are as of ``answer``."""
        found = self._token_requests(requests, items or [""] * len(requests), known_words=known_words)
        return [
            asked if isinstance(asked, str) else too_long(asked, self.longest_input) or asked
            for asked in found
        ]

    def _token_requests(
        self, requests: Sequence[ScoringRequest], items: Sequence[str], *, known_words: bool
    ) -> list[tuple[TokenRequest, ...] | str]:
        with gc_disabled(), activity("splitting texts into tokens"):
            self._tokenise_ahead(requests)
            return [
                self._asked_of_tokens(request, item, known_words=known_words)
                for request, item in zip(requests, items, strict=True)
            ]

    def _tokenise_ahead(self, requests: Sequence[ScoringRequest]) -> None:
        texts: list[tuple[str, bool]] = []
        for request in requests:
            if isinstance(request, Follow) or _overlong(request):
                continue
            with suppress(UnscorableError):
                texts += self.family.texts(self, request)
        for special in (True, False):
            prepare(self.tokenizer, (text for text, own in texts if own is special), special=special)

    def _asked_of_tokens(
        self, request: ScoringRequest, item: str, *, known_words: bool
    ) -> tuple[TokenRequest, ...] | str:
        if isinstance(request, Follow):
            if self.judge is None:
                raise missing_capability(self, Follow, purpose="judge next sentences")
            ((ids, types),) = PairEncoder(self.tokenizer, self.judge.record).encode(
                [(request.first, request.second)]
            )
            return (PairRequest(ids, types),)
        overlong = _overlong(request)
        if overlong:
            return overlong
        if has_messages(request) and not self.reads_left_to_right:
            return "only models that read from left to right are asked with messages"
        try:
            asked = tuple(self.family.token_requests(self, request, _group_of(request, item)))
        except UnscorableError as reason:
            return str(reason)
        if known_words and self._shows_unknown_word(asked):
            return UNKNOWN_WORD
        return asked

    def _shows_unknown_word(self, requests: Sequence[TokenRequest]) -> bool:
        unknown = self.tokenizer.unk_token_id
        return unknown is not None and any(unknown in shown_tokens(request) for request in requests)

    def _prepare(
        self, requests: Sequence[Request], items: Sequence[str], *, whole_items: bool, known_words: bool
    ) -> _Prepared:
        check_requests(requests)
        prepared = _Prepared([None] * len(requests))
        problems = prepared.problems
        scored = [(place, own) for place, own in enumerate(requests) if isinstance(own, ScoringRequest)]
        names = [items[place] for place, _ in scored]
        asked = self._token_requests([own for _, own in scored], names, known_words=known_words)
        for (place, request), own in zip(scored, asked, strict=True):
            if isinstance(own, str):
                problems[place] = own
            else:
                prepared.scored.append((place, request, own))
        embedded = [(place, own) for place, own in enumerate(requests) if isinstance(own, Embed)]
        if embedded:
            self.ref.refuse_prefix()
            positions = self.embedder.positions([own for _, own in embedded])
            for (place, _), position in zip(embedded, positions, strict=True):
                if isinstance(position, str):
                    problems[place] = position
                else:
                    prepared.embedded.append((place, position))
        written = [(place, own) for place, own in enumerate(requests) if isinstance(own, Write)]
        if written:
            require(self, Write, purpose="write texts")
            prompts = self.writer.prompts([own for _, own in written])
            for (place, write), prompt in zip(written, prompts, strict=True):
                if isinstance(prompt, str):
                    problems[place] = prompt
                else:
                    prepared.written.append((place, write, prompt))
        self._refuse_long(prepared, items if whole_items else None)
        prepared.scored = [own for own in prepared.scored if problems[own[0]] is None]
        prepared.embedded = [own for own in prepared.embedded if problems[own[0]] is None]
        prepared.written = [own for own in prepared.written if problems[own[0]] is None]
        return prepared

    def _refuse_long(self, prepared: _Prepared, items: Sequence[str] | None) -> None:
        """Note what is too long for the model; with items, also put the problem of a request to all of its item."""
        if items is None:
            for place, _, own in prepared.scored:
                prepared.problems[place] = too_long(own, self.longest_input)
            return
        of_item: dict[str, list[TokenRequest]] = {}
        for place, _, own in prepared.scored:
            of_item.setdefault(items[place], []).extend(own)
        long_items = [too_long(own, self.longest_input) for own in of_item.values()]
        spread = spread_over_items([*prepared.problems, *long_items], [*items, *of_item])
        prepared.problems[:] = spread[: len(items)]

    def problems(self, requests: Sequence[Request]) -> list[str | None]:
        """See ``Model``."""
        return self._prepare(requests, [""] * len(requests), whole_items=False, known_words=False).problems

    def answer(
        self,
        requests: Sequence[Request],
        *,
        items: Sequence[str] | None = None,
        whole_items: bool = False,
        known_words: bool = False,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answer requests, planned together. See ``Model``."""
        asked = self._prepare(
            requests,
            items or [""] * len(requests),
            whole_items=whole_items and items is not None,
            known_words=known_words,
        )
        answers = [Answer(problem=problem) for problem in asked.problems]
        token_requests = [one for _, _, own in asked.scored for one in own]
        plan, forward = ForwardPlan((), (), joined=False), ForwardInputs()
        if asked.scored:
            with activity("planning batches"):
                plan, forward = self.plan(token_requests, max_tokens=max_tokens)

        inputs = iter(forward.places)
        counted: list[tuple[Hashable, Hashable]] = []
        for place, _, own in asked.scored:
            name = items[place] if items else place
            counted += [(name, where[0]) for where in islice(inputs, len(own)) if where is not None]
        counted += [(items[place] if items else place, position) for place, position in asked.embedded]
        for place, write, _ in asked.written:
            counted += [(items[place] if items else (place, text), text) for text in answers_of(write)]
        counter = ItemCounter(counted)

        def done(finished: Iterable[Hashable]) -> None:
            if progress:
                progress(*counter.add(finished))

        if asked.scored:
            products = self.loaded.products
            found = execute(plan, forward, self.runners(plan), parts=parts, progress=done, products=products)
            numbers = iter(range(len(token_requests)))
            for place, request, own in asked.scored:
                answers[place] = self._answer(request, found, list(islice(numbers, len(own))))
        if asked.embedded:
            vectors = self.embedder.vectors([own for _, own in asked.embedded], parts=parts, done=done)
            for place, position in asked.embedded:
                answers[place] = vectors[position]
        if asked.written:
            prompts = {write: prompt for _, write, prompt in asked.written}
            texts = self.writer.texts(prompts, parts=parts, done=done, max_tokens=max_tokens)
            for place, write, _ in asked.written:
                answers[place] = texts[write]
        return answers

    def _answer(self, request: ScoringRequest, found: TokenAnswers, numbers: Sequence[int]) -> Answer:
        problem = next(filter(None, map(found.problem, numbers)), None) if found.missing else None
        if problem:
            return Answer(problem=problem)
        logs = tuple(chain.from_iterable(map(found.of, numbers)))
        if not all(map(math.isfinite, logs)):
            return Answer(logs, NOT_FINITE)
        return Answer(logs, is_whole=isinstance(request, Follow) or self.family.is_whole(self, request))

    def answer_tokens(
        self,
        requests: Sequence[TokenRequest],
        *,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: InputsDone | None = None,
    ) -> TokenAnswers:
        """Answer requests about tokens."""
        plan, forward = self.plan(requests, max_tokens=max_tokens)
        runners, products = self.runners(plan), self.loaded.products
        return execute(plan, forward, runners, parts=parts, progress=progress, products=products)

    def runners(self, plan: ForwardPlan) -> Mapping[type, Runner]:
        """A runner for each kind of input in a plan."""
        kinds = {type(entry) for entry in plan.inputs}
        runners: dict[type, Runner] = {}
        for kind in kinds - {PairInput}:  # a family has one
            runners[kind] = self.family.runner(self.loaded, self.projection, share_prefixes=plan.joined)
        if PairInput in kinds and self.judge is not None:
            runners[PairInput] = PairRunner(self.judge, self.loaded.device, self.loaded.pad_id)
        return runners

    @cached_property
    def embedder(self) -> WordEmbedder:
        """What reads contextual vectors off the model."""
        return WordEmbedder(self.loaded, self.memory)

    def layer_number(self, layer: int) -> int:
        """A layer counted from the embeddings, which are 0; a negative one is counted from the last, which is -1."""
        return self.embedder.layer_number(layer)

    @cached_property
    def writer(self) -> TextWriter:
        """What writes texts with the model."""
        return TextWriter(self.loaded, self.memory)


def _overlong(request: ScoringRequest) -> str | None:
    return overlong_reason(request.text, request.word) if isinstance(request, Fill) else None


def _group_of(request: ScoringRequest, item: str) -> str:
    """Requests of one group are likely to start alike."""
    if not isinstance(request, Continue):
        return item
    if request.messages:
        return item or repr(request.messages)
    return item or request.prefix or request.text if request.prefix else f"{item or request.text} alone"


def load_language_model(
    model: str | ModelRef, *, device: str = "auto", precision: str = "fp32", revision: str | None = None
) -> LanguageModel:
    """Load a model into this process.

    Raises:
        ModelError: If the model lives elsewhere, so that its weights are out of reach.
    """
    loaded: Model = load_model(model, device=device, precision=precision, revision=revision)
    if not isinstance(loaded, LanguageModel):
        raise ModelError(
            f"{loaded.ref.id} runs outside this process, and its weights are needed here. Give a folder or a model of "
            "the hub."
        )
    return loaded
