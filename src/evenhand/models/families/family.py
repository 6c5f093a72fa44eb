"""What a family of models is: how it predicts tokens, and all that follows from it.

Everything that is special about a family stands in its own file. The rest of the package asks a model for what it can
do and never for its family by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from torch import nn

from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import TokenRequest, Tokens
from evenhand.models.engine.runners import ReadyRunner
from evenhand.models.model import missing_capability
from evenhand.models.requests import Continue, Fill, Recover, ScoringRequest, Train, filled_text
from evenhand.store.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.gap_contexts import GapContexts
    from evenhand.models.objectives.held_out import HeldOutRows
    from evenhand.models.objectives.objective import PretrainingObjective, PretrainingOptions

AS_PUBLISHED = "multilingual-2023"
"""The variant of requests that asks as the code of the multilingual study does."""

FIRST_TOKEN_APART = "stereoset-2021"  # noqa: S105 # no password
"""The variant that asks as StereoSet's code does."""


Ways: TypeAlias = Mapping[tuple[type, str], tuple[str, str]]
"""By request and variant: a short name and a description of how it is answered."""


class Family(ABC):
    """How models predict tokens. There is one object for each family."""

    name: str
    """As records have it."""
    auto_class: str
    """The class of Transformers that loads its models."""
    capabilities: frozenset[type]
    """Requests whose answers mean what the request says."""
    also_answers: frozenset[type] = frozenset()
    """Requests that are answered in a way of the family's own, which only some instruments can use."""
    hides_words = False
    """Whether a text is shown with some words hidden, besides the one that is asked for."""
    fills_by_sentence = False
    """Whether a word in a blank is answered by the probability of the whole sentence."""
    reads_left_to_right = False
    """Whether a token is never given what comes after it."""
    adds_special_tokens = True
    """Whether texts are shown with the special tokens that the tokenizer adds."""
    forward_options: Mapping[str, Any] = {}
    """Further arguments of a forward pass."""
    head_kind: HeadKind | None = None
    """What a new next-sentence head is; None where there is none."""
    encodes_pairs = False
    """Whether a tokenizer's own way to encode two sentences means something to its models."""
    ways: ClassVar[Ways] = {}
    """How requests are answered."""

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
    def sample_requests(self, tokens: Tokens, tokenizer: Any) -> list[TokenRequest]:
        """A few requests over nine tokens, to try a model with."""

    @abstractmethod
    def token_requests(
        self, model: LanguageModel, request: ScoringRequest, group: str
    ) -> Sequence[TokenRequest]:
        """What is asked of the model's tokens to answer a request.

        Args:
            model: The model.
            request: The request, one of those that the family answers.
            group: Requests of one group are likely to start alike.

        Raises:
            UnscorableError: If it cannot be asked.
        """

    def texts(self, _model: LanguageModel, request: ScoringRequest) -> Iterable[tuple[str, bool]]:
        """Texts that ``token_requests`` will tokenise, each with or without special tokens.

        They are tokenised ahead, all in one go. Nothing breaks if some are missing.
        """
        match request:
            case Fill(variant=""):
                yield filled_text(request.text, request.word)[0], True
            case Recover():
                yield request.text, True

    def is_whole(self, _model: LanguageModel, request: ScoringRequest) -> bool:
        """Whether the answers together are the probability of what is asked for."""
        return not isinstance(request, Recover)

    def pretraining_objective(
        self, model: LanguageModel, _sentences: Sequence[str], _options: PretrainingOptions
    ) -> PretrainingObjective:
        """How a model goes on learning from sentences."""
        raise missing_capability(model, Train, purpose="go on learning from sentences")

    def held_out_rows(self, model: LanguageModel, _sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """Sentences with some of their tokens hidden, chosen from a seed, which a model is asked for."""
        raise missing_capability(
            model, Train, purpose=f"be asked for hidden tokens of held-out text (seed {seed})"
        )

    def gap_contexts(self, model: LanguageModel) -> GapContexts:
        """How a sentence with a gap is shown to a model, to read what it expects there."""
        raise missing_capability(model, Train, purpose="be equalised")


def unanswered(model: LanguageModel, request: ScoringRequest) -> Exception:
    """The error for a request that the family does not answer."""
    kind = Continue if isinstance(request, Continue) else type(request)
    return missing_capability(model, kind, purpose=f"answer {type(request).__name__} requests")
