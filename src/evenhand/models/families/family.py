"""What a family of models is: how it predicts tokens, and all that follows from it.

Everything that is special about a family stands in its own file. The rest of the package asks a model for what it can
do and never for its family by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import nn

from evenhand.core.items import Task
from evenhand.core.protocols import DEFAULT_PROTOCOL
from evenhand.models.capabilities import FillsBlanks, ScoresText, Trains, missing_capability
from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import Request, Tokens
from evenhand.models.engine.runners import ReadyRunner
from evenhand.models.measurable import MethodOptions
from evenhand.models.next_sentence import NextSentence
from evenhand.models.questions import Continuation, Method, ScoreKind, WordMethod
from evenhand.models.references import ModelError
from evenhand.runs.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.gap_contexts import GapContexts
    from evenhand.models.objectives.held_out import HeldOutRows
    from evenhand.models.objectives.objective import PretrainingObjective, PretrainingOptions
    from evenhand.models.sentence_pairs import PairMethod


class Family(ABC):
    """How models predict tokens. There is one object for each family."""

    name: str
    """As records have it."""
    auto_class: str
    """The class of Transformers that loads its models."""
    capabilities: frozenset[type]
    reads_left_to_right = False
    """Whether a token is never given what comes after it."""
    adds_special_tokens = True
    """Whether texts are shown with the special tokens that the tokenizer adds."""
    forward_options: Mapping[str, Any] = {}
    """Further arguments of a forward pass."""
    head_kind: HeadKind | None = None
    """What a new next-sentence head is; None where there is none."""
    without_head = "Leave out --inter to score candidates by the probability of their tokens."
    """What can be done about a missing next-sentence head."""
    encodes_pairs = False
    """Whether a tokenizer's own way to encode two sentences means something to its models."""

    @abstractmethod
    def recognises(self, config: Any, tokenizer: Any) -> bool:
        """Whether a model with this configuration and tokenizer is of the family."""

    def text_start(self, _loaded: Loaded) -> int | None:
        """The token that is put before every text; None where the tokenizer does it, or there is none."""
        return None

    def body(self, network: Any) -> nn.Module:
        """The part of a network that makes hidden states of a text."""
        body: nn.Module = network.base_model
        return body

    @abstractmethod
    def runner(self, loaded: Loaded, projection: Projection, *, share_prefixes: bool) -> ReadyRunner:
        """What puts the family's requests through a model."""

    @abstractmethod
    def sample_requests(self, tokens: Tokens, tokenizer: Any) -> list[Request]:
        """A few requests over nine tokens, to try a model with."""

    def tasks(self, _model: LanguageModel) -> tuple[Task, ...]:
        """What a model can be measured with."""
        return (Task.INTRASENTENCE, Task.INTERSENTENCE)

    def method(self, model: LanguageModel, task: Task, options: MethodOptions) -> Method:
        """How the candidates of a task are scored.

        Raises:
            ModelError: If the model cannot do the task, or not in the way that was asked for.
        """
        if task is Task.INTRASENTENCE:
            if options.as_published and options.score is not None:
                raise ModelError(
                    f"Protocol {options.protocol.name} fixes the score; leave out --score or use {DEFAULT_PROTOCOL}."
                )
            return self.intrasentence_method(model, options)
        if options.inter is Continuation.NEXT_SENTENCE:
            return self.next_sentence_method(model)
        if options.inter is Continuation.PSEUDO_LIKELIHOOD:
            return self.pseudo_likelihood_method(model)
        return self.intersentence_method(model, options)

    @abstractmethod
    def intrasentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """How a word in the blank of a context is scored."""

    @abstractmethod
    def intersentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """How a sentence after a context is scored without a next-sentence head."""

    def next_sentence_method(self, model: LanguageModel) -> NextSentence:
        """How a sentence after a context is scored by a next-sentence head."""
        if model.judge is None:
            raise ModelError(
                f"{model.ref.id} has no next-sentence head. It can do: "
                f"{', '.join(task.value for task in self.tasks(model))} (--task). {self.without_head} Train a head "
                "with: evenhand train next-sentence."
            )
        return NextSentence(model.loaded.tokenizer, model.judge.record)

    def pseudo_likelihood_method(self, model: LanguageModel) -> Method:
        """How a sentence after a context is scored at masks."""
        raise ModelError(
            f"--inter {Continuation.PSEUDO_LIKELIHOOD.value} is for masked models; {model.ref.id} is a {self.name}. "
            "Leave it out."
        )

    @abstractmethod
    def pair_method(self, model: LanguageModel) -> PairMethod:
        """How the two sentences of a pair are scored."""

    def word_method(self, model: LanguageModel) -> WordMethod:
        """How the probability of a word in a blank is read, on which ``FillsBlanks`` and probes rest."""
        raise missing_capability(
            model, FillsBlanks, ScoresText, purpose="be asked for the probability of a word"
        )

    def text_requests(self, model: LanguageModel, _text: str) -> tuple[Request, ...]:
        """What is asked about a text, on which ``ScoresText`` rests."""
        raise missing_capability(model, ScoresText, purpose="score texts")

    def pretraining_objective(
        self, model: LanguageModel, _sentences: Sequence[str], _options: PretrainingOptions
    ) -> PretrainingObjective:
        """How a model goes on learning from sentences."""
        raise missing_capability(model, Trains, purpose="go on learning from sentences")

    def held_out_rows(self, model: LanguageModel, _sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """Sentences with some of their tokens hidden, chosen from a seed, which a model is asked for."""
        raise missing_capability(
            model, Trains, purpose=f"be asked for hidden tokens of held-out text (seed {seed})"
        )

    def gap_contexts(self, model: LanguageModel) -> GapContexts:
        """How a sentence with a gap is shown to a model, to read what it expects there."""
        raise missing_capability(model, Trains, purpose="be equalised")


def refuse_pseudo_likelihood(model: LanguageModel, kind: ScoreKind | None) -> None:
    """Refuse a score that only models with a mask have."""
    if kind in (ScoreKind.PLL, ScoreKind.PLL_WITHIN_WORD):
        raise ModelError(
            f"--score {kind.value} is for masked models; {model.ref.id} is a {model.family.name}."
        )
