"""A model that can be asked: its capabilities, and the engine behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from itertools import count
from typing import Any

from evenhand.core.items import BLANK, Span, Task
from evenhand.core.progress import Progress
from evenhand.models.capabilities import (
    Embeds,
    FillsBlanks,
    Generates,
    JudgesNextSentence,
    Model,
    NotEmbedded,
    ScoresText,
    TextScore,
    fit_texts,
    refuse_unfit_texts,
    require,
)
from evenhand.models.description import record_of, warnings_of_texts
from evenhand.models.embedding import Vector, WordEmbedder
from evenhand.models.engine.execution import Answers, InputsDone, ScoringJob, execute
from evenhand.models.engine.memory import BatchMemory, Footprint, MemoryBudget
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.plan import ForwardInputs, ForwardPlan, PairInput, make_plan, merge_requests
from evenhand.models.engine.positions import PositionReader
from evenhand.models.engine.projection import Projection, SplitProjection
from evenhand.models.engine.requests import (
    Request,
    RequestGroup,
    Requests,
    RequestValues,
    requested_tokens,
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
from evenhand.models.measurable import MethodOptions, ScoringFacts
from evenhand.models.next_sentence import NextSentence
from evenhand.models.objectives.gap_contexts import GapContexts
from evenhand.models.objectives.held_out import HeldOutRows
from evenhand.models.objectives.layouts import RowLayout, choose_layout
from evenhand.models.objectives.objective import PretrainingObjective, PretrainingOptions
from evenhand.models.questions import Method, WordMethod
from evenhand.models.references import ModelError, ModelRef, UnscorableError, load_model
from evenhand.models.sentence_pairs import PairMethod
from evenhand.runs.records import ModelRecord
from evenhand.runs.store import Parts


class LanguageModel:
    """A loaded model with what it can do.

    ``score_fills``, ``score_texts``, ``score_followers`` and ``embed_words`` answer questions about one's own
    sentences, ``generate`` goes on from prompts; the audit hands over requests for a whole benchmark.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded

    @property
    def ref(self) -> ModelRef:
        """What it was loaded from."""
        return self.loaded.ref

    @property
    def record(self) -> ModelRecord:
        """What identifies it in records and fingerprints."""
        return record_of(self)

    @property
    def capabilities(self) -> frozenset[type]:
        """What it can be asked."""
        judges = {JudgesNextSentence} if self.judges_next_sentence else set()
        return self.family.capabilities | {Embeds} | judges

    def has_capability(self, capability: type) -> bool:
        """Whether it has a capability; the next-sentence head is loaded only if it is asked for."""
        if capability is JudgesNextSentence:
            return self.judges_next_sentence
        return capability is Embeds or capability in self.family.capabilities

    @property
    def family(self) -> Family:
        """How the model predicts tokens."""
        return self.loaded.family

    @property
    def tokenizer(self) -> Any:
        """What cuts texts into tokens."""
        return self.loaded.tokenizer

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
    def longest_input(self) -> int:
        """The most tokens that the model is given."""
        return longest_input(self.loaded) or MOST_TOKENS

    @property
    def reads_left_to_right(self) -> bool:
        """Whether a token is never given what comes after it."""
        return self.family.reads_left_to_right

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What it can be measured with."""
        return self.family.tasks(self)

    def method(self, task: Task, options: MethodOptions) -> Method:
        """How the candidates of a task are scored."""
        return self.family.method(self, task, options)

    def pair_method(self) -> PairMethod:
        """How the two sentences of a pair are scored."""
        return self.family.pair_method(self)

    def word_method(self) -> WordMethod:
        """How the probability of a word in a blank is read."""
        return self.family.word_method(self)

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

    def shows_unknown_word(self, requests: Requests) -> bool:
        """Whether requests show a word that the tokenizer does not know."""
        unknown = self.tokenizer.unk_token_id
        return unknown is not None and any(unknown in shown_tokens(request) for request in requests)

    def language_warnings(self, texts: Sequence[str], *, name: str, language: str) -> tuple[str, ...]:
        """Reasons to doubt that it knows the language of texts; ``name`` is what they are called."""
        return warnings_of_texts(
            self.ref.location, self.tokenizer, texts, name=name, language=language, revision=self.ref.revision
        )

    def answer_groups(
        self,
        groups: Sequence[RequestGroup],
        *,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[RequestValues]:
        """For each group, the natural log-probabilities of each of its requests, or why there are none."""
        return ScoringJob(self, groups, max_tokens=max_tokens).answers(parts=parts, progress=progress)

    def answer(
        self,
        requests: Sequence[Request],
        *,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: InputsDone | None = None,
    ) -> Answers:
        """Answer requests."""
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

    def score_fills(self, context: str, fills: Sequence[str]) -> list[TextScore]:
        """Token by token, each word in the ``BLANK`` of the context."""
        require(self, FillsBlanks, purpose="be asked for a word in a blank")
        refuse_unfit_texts([context], argument="context")
        refuse_unfit_texts(fills, argument="fills")
        if BLANK not in context:
            raise ModelError(f"The context has no {BLANK}: {context!r}.")
        requests = self.word_method().requests
        return self._text_scores([self._scorable(partial(requests, context, fill), fill) for fill in fills])

    def score_texts(self, texts: Sequence[str]) -> list[TextScore]:
        """Token by token, each text: from left to right, or at a mask of its own for a masked model."""
        require(self, ScoresText, purpose="be asked for the probability of a text")
        refuse_unfit_texts(texts, argument="texts")
        ask = partial(self.family.text_requests, self)
        return self._text_scores([self._scorable(partial(ask, text), text) for text in texts])

    def _scorable(self, ask: Callable[[], tuple[Request, ...]], text: str) -> tuple[Request, ...]:
        """Requests about a text that fit into the model."""
        try:
            requests = ask()
        except UnscorableError as reason:
            raise ModelError(f"{self.ref.id} cannot be asked about {text[:60]!r}: {reason}.") from None
        if not requests:
            raise ModelError(f"{self.ref.id} cannot be asked about {text[:60]!r}: it has no token.")
        problem = too_long(requests, self.longest_input)
        if problem:
            raise ModelError(f"{self.ref.id} cannot be asked about {text[:60]!r}: {problem}.")
        return requests

    def score_followers(self, first: str, seconds: Sequence[str]) -> list[float]:
        """Probability that each second sentence follows the first, by the next-sentence head."""
        if self.judge is None:
            raise ModelError(f"{self.loaded.ref.id} has no next-sentence head.")
        refuse_unfit_texts([first], argument="first")
        refuse_unfit_texts(seconds, argument="seconds")
        method = NextSentence(self.loaded.tokenizer, self.judge.record)

        def ask(second: str) -> tuple[Request, ...]:
            return (method.request(first, second),)

        requests = [request for second in seconds for request in self._scorable(partial(ask, second), second)]
        answers = self.answer(requests)
        return [math.exp(answers.of(number)[0]) for number in range(len(seconds))]

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
        refuse_unfit_texts(texts, argument="texts")
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
        require(self, Generates, purpose="write texts")
        return self.generator.generate(
            fit_texts(prompts, argument="prompts"),
            options or GenerationOptions(),
            parts=parts,
            progress=progress,
            max_tokens=max_tokens,
        )

    def overlong(self, prompts: Sequence[str], options: GenerationOptions) -> list[bool]:
        """Which prompts leave no room for the new tokens."""
        return self.generator.overlong(prompts, options)

    def _text_scores(self, requests_of: Sequence[tuple[Request, ...]]) -> list[TextScore]:
        answers = self.answer([request for requests in requests_of for request in requests])
        numbers = count()
        scores = []
        for requests in requests_of:
            tokens = [token for request in requests for token in requested_tokens(request)]
            values = [value for _ in requests for value in answers.of(next(numbers))]
            names = self.loaded.tokenizer.convert_ids_to_tokens(tokens)
            scores.append(TextScore(tokens=tuple(names), log_probabilities=tuple(values)))
        return scores


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
