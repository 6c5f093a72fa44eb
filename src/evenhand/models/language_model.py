"""A model that can be asked: its capabilities, and the engine behind them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from itertools import chain

from evenhand.core.items import Span, overlong_reason
from evenhand.core.progress import Progress, activity
from evenhand.models.description import record_of, warnings_of_texts
from evenhand.models.embedding import Vector, WordEmbedder
from evenhand.models.engine.execution import Answers as TokenAnswers
from evenhand.models.engine.execution import InputsDone, ScoringJob, execute
from evenhand.models.engine.memory import BatchMemory, Footprint, MemoryBudget
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.plan import ForwardInputs, ForwardPlan, PairInput, make_plan, merge_requests
from evenhand.models.engine.positions import PositionReader
from evenhand.models.engine.projection import Projection, SplitProjection
from evenhand.models.engine.requests import (
    PairRequest,
    Request,
    RequestGroup,
    RequestValues,
    shown_tokens,
    too_long,
)
from evenhand.models.engine.runners import PairRunner, Runner
from evenhand.models.engine.self_check import SelfCheck
from evenhand.models.families import Family
from evenhand.models.generation import GeneratedText, GenerationOptions, TextProgress
from evenhand.models.generation.local import LocalGenerator
from evenhand.models.judges import Judge, load_judge
from evenhand.models.limits import MOST_TOKENS, batch_tokens, fits_window, longest_input, longest_tree
from evenhand.models.loading import Loaded
from evenhand.models.model import (
    NOT_FINITE,
    Model,
    NotEmbedded,
    ScoringFacts,
    check_requests,
    check_texts,
    checked_texts,
    missing_capability,
    require,
)
from evenhand.models.next_sentence import HEAD_DESCRIPTIONS, PairEncoder
from evenhand.models.objectives.gap_contexts import GapContexts
from evenhand.models.objectives.held_out import HeldOutRows
from evenhand.models.objectives.layouts import RowLayout, choose_layout
from evenhand.models.objectives.objective import PretrainingObjective, PretrainingOptions
from evenhand.models.references import ModelError, ModelRef, UnscorableError, load_model
from evenhand.models.requests import Answer, Continue, Embed, Fill, Follow, ScoringRequest, Write
from evenhand.models.tokenised_text import prepare
from evenhand.store.jobs import Parts
from evenhand.store.records import ModelRecord

UNKNOWN_WORD = "it has a word that the tokenizer does not know"


class LanguageModel(Model):
    """A model in this process: its family says how requests become tokens, the engine answers them."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.ref = loaded.ref
        self.tokenizer = loaded.tokenizer
        self.also_answers = loaded.family.also_answers
        self.hides_words = loaded.family.hides_words
        self.reads_left_to_right = loaded.family.reads_left_to_right

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
        self, requests: Sequence[Request], *, max_tokens: int | None = None, share_prefixes: bool = True
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
        whole_items: bool = False,
        known_words: bool = False,
    ) -> list[tuple[Request, ...] | str]:
        """For each request what is asked of tokens, or why it cannot be asked. Arguments are as of ``answer``."""
        with gc_disabled(), activity("splitting texts into tokens"):
            self._tokenise_ahead(requests)
            found = [
                self._token_requests(request, items[place] if items else "", known_words=known_words)
                for place, request in enumerate(requests)
            ]
        if whole_items and items:
            self._refuse_whole_items(found, items)
            return found
        return [
            asked if isinstance(asked, str) else too_long(asked, self.longest_input) or asked
            for asked in found
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

    def _token_requests(
        self, request: ScoringRequest, item: str, *, known_words: bool
    ) -> tuple[Request, ...] | str:
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
        try:
            asked = tuple(self.family.token_requests(self, request, _group_of(request, item)))
        except UnscorableError as reason:
            return str(reason)
        if known_words and self._shows_unknown_word(asked):
            return UNKNOWN_WORD
        return asked

    def _refuse_whole_items(self, found: list[tuple[Request, ...] | str], items: Sequence[str]) -> None:
        """Put the reason of one request to all of its item, also where any of them is too long."""
        reasons: dict[str, str] = {}
        asked: dict[str, list[Request]] = {}
        for item, own in zip(items, found, strict=True):
            if isinstance(own, str):
                reasons.setdefault(item, own)
            else:
                asked.setdefault(item, []).extend(own)
        for item, of_item in asked.items():
            problem = too_long(of_item, self.longest_input)
            if problem:
                reasons.setdefault(item, problem)
        for place, item in enumerate(items):
            found[place] = reasons.get(item, found[place])

    def _shows_unknown_word(self, requests: Sequence[Request]) -> bool:
        unknown = self.tokenizer.unk_token_id
        return unknown is not None and any(unknown in shown_tokens(request) for request in requests)

    def answer(
        self,
        requests: Sequence[ScoringRequest],
        *,
        items: Sequence[str] | None = None,
        whole_items: bool = False,
        known_words: bool = False,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answer requests, planned together. See ``Model``."""
        check_requests(requests)
        asked = self.token_requests(requests, items=items, whole_items=whole_items, known_words=known_words)
        groups = [
            RequestGroup(items[place] if items else str(place), own)
            for place, own in enumerate(asked)
            if not isinstance(own, str)
        ]
        job = ScoringJob(self, groups, max_tokens=max_tokens)
        values = iter(job.answers(parts=parts, progress=progress))
        return [
            Answer(problem=own) if isinstance(own, str) else self._answer(request, next(values))
            for request, own in zip(requests, asked, strict=True)
        ]

    def _answer(self, request: ScoringRequest, values: RequestValues) -> Answer:
        if isinstance(values, str):
            return Answer(problem=values)
        logs = tuple(chain.from_iterable(values))
        if not all(map(math.isfinite, logs)):
            return Answer(logs, NOT_FINITE)
        return Answer(logs, is_whole=isinstance(request, Follow) or self.family.is_whole(self, request))

    def answer_tokens(
        self,
        requests: Sequence[Request],
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

    def embed_words(
        self, texts: Sequence[str], spans: Sequence[Span], *, layer: int = -1
    ) -> list[Vector | NotEmbedded]:
        """The contextual vector of a span of characters in each text, at a layer.

        Layers are numbered as by ``layer_number``. A decoder's vector of a word knows only what comes before the word.
        """
        self.ref.refuse_prefix()
        check_texts(texts, argument="texts")
        return self.embedder.embed(texts, spans, layer=layer)

    @cached_property
    def generator(self) -> LocalGenerator:
        """What writes texts with the model."""
        return LocalGenerator(self.loaded, self.memory)

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions | None = None,
        *,
        parts: Parts | None = None,
        progress: TextProgress | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[GeneratedText]:
        """The texts of each prompt, in the order of the prompts; nothing runs before the first is asked for.

        Args:
            prompts: Texts to go on from, read as they are needed.
            options: How texts are decoded.
            parts: Keep every finished batch; what they hold already is not generated again.
            progress: Called after every batch.
            max_tokens: Most tokens in a batch: padded prompts and new tokens of all rows.
        """
        require(self, Write, purpose="write texts")
        return self.generator.generate(
            checked_texts(prompts, argument="prompts"),
            options or GenerationOptions(),
            parts=parts,
            progress=progress,
            max_tokens=max_tokens,
        )

    def overlong(self, prompts: Sequence[str], options: GenerationOptions) -> list[bool]:
        """Which prompts leave no room for the new tokens."""
        return self.generator.overlong(prompts, options)


def _overlong(request: ScoringRequest) -> str | None:
    return overlong_reason(request.text, request.word) if isinstance(request, Fill) else None


def _group_of(request: ScoringRequest, item: str) -> str:
    """Requests of one group are likely to start alike."""
    if not isinstance(request, Continue):
        return item
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
