"""A model that can be asked: its capabilities, and the engine behind them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import BLANK
from evenhand.core.precision import Precision
from evenhand.core.spans import Span
from evenhand.models.backends import backend_of
from evenhand.models.capabilities import (
    Embeds,
    FillsBlanks,
    Generates,
    JudgesNextSentence,
    Model,
    NotEmbedded,
    ScoresText,
    TextScore,
)
from evenhand.models.embedding import Vector, WordEmbedder
from evenhand.models.engine.execution import Answers, InputsDone, execute
from evenhand.models.engine.forward_inputs import (
    CausalInput,
    ForwardInputs,
    MaskedInput,
    PairInput,
    Seq2SeqInput,
    merge_requests,
)
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.plan import ForwardPlan, make_plan
from evenhand.models.engine.projection import SplitProjection
from evenhand.models.engine.requests import Request, Tokens
from evenhand.models.engine.runners import PairRunner, Projection, Runner
from evenhand.models.engine.self_check import can_share_prefixes, choose_projection, runner_for
from evenhand.models.families.decoder import SentenceScore, start_token
from evenhand.models.families.encoder_decoder import SentinelBlank
from evenhand.models.families.masked import PseudoLogLikelihood, StepwiseBlank
from evenhand.models.families.next_sentence import NextSentence
from evenhand.models.generation import GeneratedText, GenerationOptions, TextProgress
from evenhand.models.generation.local import LocalGenerator
from evenhand.models.identity import record_of
from evenhand.models.limits import attention_window, length_of, longest_input
from evenhand.models.loading import Loaded, NextSentenceHead, load_next_sentence_head
from evenhand.models.references import Family, ModelError, ModelRef
from evenhand.runs.records import ModelRecord
from evenhand.runs.store import Parts

CPU_TOKENS = 1024
GPU_TOKENS = 16_384


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
        fills = {FillsBlanks} if self.family in (Family.MASKED, Family.SENTINEL) else set()
        scores = {ScoresText} if self.family in (Family.MASKED, Family.DECODER) else set()
        judges = {JudgesNextSentence} if self.judges_next_sentence else set()
        generates = {Generates} if self.family is not Family.MASKED else set()
        return frozenset({Embeds} | fills | scores | judges | generates)

    @property
    def family(self) -> Family:
        """How the model predicts tokens."""
        return self.loaded.family

    @cached_property
    def projection(self) -> Projection:
        """How hidden states become probabilities on this model."""
        return choose_projection(self.loaded)

    @property
    def is_split(self) -> bool:
        """Whether only the needed positions are projected to the vocabulary."""
        return isinstance(self.projection, SplitProjection)

    @cached_property
    def shares_prefixes(self) -> bool:
        """Whether what sequences share is computed once."""
        return can_share_prefixes(self.loaded, self.projection)

    @cached_property
    def next_sentence_head(self) -> NextSentenceHead | None:
        """The head that judges next sentences, if there is one."""
        return load_next_sentence_head(self.loaded)

    @property
    def judges_next_sentence(self) -> bool:
        """Whether the model has a next-sentence head."""
        return self.next_sentence_head is not None

    @cached_property
    def longest_input(self) -> int | None:
        """The most tokens that the model takes."""
        return longest_input(self.loaded)

    @property
    def decoder_start(self) -> int:
        """What an encoder-decoder's decoder starts with."""
        start = getattr(self.loaded.config, "decoder_start_token_id", None)
        return int(start) if start is not None else self.loaded.pad_id

    @property
    def default_budget(self) -> int:
        """Tokens in a batch, unless somebody knows better."""
        return GPU_TOKENS if self.loaded.device.type == "cuda" else CPU_TOKENS

    def shifted(self, ids: Tokens) -> Tokens:
        """A decoder's input for a text, as the model makes it in training."""
        labels = torch.tensor([ids], device=self.loaded.device)
        inputs = self.loaded.model.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
        return tuple(int(token) for token in inputs[0])

    def plan(
        self, requests: Sequence[Request], *, max_tokens: int | None = None, share_prefixes: bool = True
    ) -> tuple[ForwardPlan, ForwardInputs]:
        """Everything that has to be run to answer the requests."""
        share = share_prefixes and self.family is Family.DECODER and self.shares_prefixes
        share = share and self._fits_window(requests)
        with gc_disabled():
            forward = merge_requests(requests, share_prefixes=share)
            plan = make_plan(forward, max_tokens=max_tokens or self.default_budget, joined=share)
        return plan, forward

    def _fits_window(self, requests: Sequence[Request]) -> bool:
        """Whether no sequence is longer than the model's attention window, which joined rows have no notion of."""
        window = attention_window(self.loaded.config)
        return window is None or all(length_of(request) <= window for request in requests)

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
        return execute(plan, forward, self.runners(plan), parts=parts, progress=progress)

    def runners(self, plan: ForwardPlan) -> Mapping[type, Runner]:
        """A runner for each kind of input in a plan."""
        kinds = {type(entry) for entry in plan.inputs}
        runners: dict[type, Runner] = {}
        if kinds & {MaskedInput, CausalInput, Seq2SeqInput}:
            runner = runner_for(self.loaded, self.projection, share_prefixes=plan.joined)
            runners = {MaskedInput: runner, CausalInput: runner, Seq2SeqInput: runner}
        head = self.next_sentence_head if PairInput in kinds else None
        if head is not None:
            runners[PairInput] = PairRunner(
                head.model, self.loaded.device, self.loaded.pad_id, head.follows_class
            )
        return runners

    def score_fills(self, context: str, fills: Sequence[str]) -> list[TextScore]:
        """Token by token, each word in the ``BLANK`` of the context."""
        if BLANK not in context:
            raise ModelError(f"The context has no {BLANK}: {context!r}.")
        tokenizer = self.loaded.tokenizer
        match self.family:
            case Family.MASKED:
                asked = [StepwiseBlank(tokenizer).requests(context, fill) for fill in fills]
                return self._text_scores(
                    [list(requests) for requests in asked], [r.token for a in asked for r in a]
                )
            case Family.SENTINEL:
                steps = [
                    SentinelBlank(tokenizer, self.decoder_start).requests(context, fill) for fill in fills
                ]
                return self._text_scores(
                    [list(requests) for requests in steps], [r.tokens[0] for a in steps for r in a]
                )
            case _:
                raise ModelError(
                    f"{self.loaded.ref.id} ({self.family.value}) scores whole texts: use score_texts."
                )

    def score_texts(self, texts: Sequence[str]) -> list[TextScore]:
        """Token by token, each text: from left to right, or at a mask of its own for a masked model."""
        tokenizer = self.loaded.tokenizer
        if self.family is Family.DECODER:
            method = SentenceScore(tokenizer, start_token(tokenizer, self.loaded.config))
            causal = [method.request(text, str(number)) for number, text in enumerate(texts)]
            return self._text_scores([[r] for r in causal], [t for r in causal for t in r.ids[r.first :]])
        if self.family is Family.MASKED:
            masked = [PseudoLogLikelihood(tokenizer).requests(text) for text in texts]
            return self._text_scores(
                [list(requests) for requests in masked], [r.token for a in masked for r in a]
            )
        raise ModelError(f"{self.loaded.ref.id} ({self.family.value}) fills blanks: use score_fills.")

    def score_followers(self, first: str, seconds: Sequence[str]) -> list[float]:
        """Probability that each second sentence follows the first, by the next-sentence head."""
        if not self.judges_next_sentence:
            raise ModelError(f"{self.loaded.ref.id} has no next-sentence head.")
        method = NextSentence(self.loaded.tokenizer)
        answers = self.answer([method.request(first, second) for second in seconds])
        return [math.exp(answers.of(number)[0]) for number in range(len(seconds))]

    @cached_property
    def embedder(self) -> WordEmbedder:
        """What reads contextual vectors off the model."""
        # All layers of a batch are in memory at once, so there is room for fewer tokens.
        return WordEmbedder(self.loaded, max_tokens=max(CPU_TOKENS, self.default_budget // 4))

    def embed_words(
        self, texts: Sequence[str], spans: Sequence[Span], *, layer: int = -1
    ) -> list[Vector | NotEmbedded]:
        """The contextual vector of a span of characters in each text, at a layer.

        Layer 0 is the embeddings before any context, -1 the last. A decoder's vector of a word knows only what comes
        before the word.
        """
        return self.embedder.embed(texts, spans, layer=layer)

    @cached_property
    def generator(self) -> LocalGenerator:
        """What writes texts with the model."""
        return LocalGenerator(self.loaded)

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
        return self.generator.generate(
            prompts, options or GenerationOptions(), parts=parts, progress=progress, max_tokens=max_tokens
        )

    def _text_scores(self, asked: Sequence[Sequence[Request]], tokens: Sequence[int]) -> list[TextScore]:
        flat = [request for requests in asked for request in requests]
        answers = self.answer(flat)
        names = iter(self.loaded.tokenizer.convert_ids_to_tokens(list(tokens)))
        scores = []
        number = 0
        for requests in asked:
            values = [value for index in range(number, number + len(requests)) for value in answers.of(index)]
            scores.append(
                TextScore(tokens=tuple(next(names) for _ in values), log_probabilities=tuple(values))
            )
            number += len(requests)
        return scores


def load_model(
    model: str | ModelRef, *, device: str = "auto", precision: str = "fp32", revision: str | None = None
) -> Any:
    """Load a model by id or folder, ready to be asked; its id says which backend does it.

    Returns:
        A ``Model``. What more it has depends on the model, so the type says nothing; ``capabilities`` does.
    """
    if isinstance(model, str):
        name, pinned = ModelRef.parse(model)
        if precision not in set(Precision):
            raise UnknownNameError("precision", precision, [known.value for known in Precision])
        model = ModelRef(id=name, revision=revision or pinned, device=device, precision=precision)
    return backend_of(model.id).load(model)


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
