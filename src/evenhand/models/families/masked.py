"""Masked models (BERT, RoBERTa, XLM-R, ModernBERT, ...): a mask stands for a token, which is read there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from transformers.models.auto import modeling_auto as auto

from evenhand.core.items import BLANK
from evenhand.models.alignment import recovered_places
from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import MaskedRequest, TokenRequest, Tokens
from evenhand.models.engine.runners import MaskedRunner
from evenhand.models.families.family import AS_PUBLISHED, Family, Ways, unanswered
from evenhand.models.objectives.gap_contexts import MaskedContexts
from evenhand.models.objectives.held_out import HeldOutRows, masked_rows
from evenhand.models.objectives.pretraining import MaskedPretraining
from evenhand.models.references import UnscorableError
from evenhand.models.requests import HIDDEN, Fill, Recover, ScoringRequest, Train
from evenhand.models.tokenised_text import check_text_length, check_token_budget, filled_blanks
from evenhand.store.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.objective import PretrainingOptions

_MASKED = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
_CAUSAL = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES


def stepwise_blank(tokenizer: Any, text: str, word: str) -> Iterator[MaskedRequest]:
    """Step i: the word's first tokens stand in the blank, then one mask, then the right context.

    A text with several blanks is asked about each, the others filled.
    """
    for blank in filled_blanks(tokenizer, text, word):
        for step, token in enumerate(blank.word):
            ids = (*blank.before, *blank.word[:step], tokenizer.mask_token_id, *blank.after)
            yield MaskedRequest(ids, len(blank.before) + step, token)


def published_stepwise_blank(tokenizer: Any, text: str, word: str) -> Iterator[MaskedRequest]:
    """The same as text: earlier tokens are decoded, put before the mask, and tokenised anew.

    As in the code of the multilingual study: the word is tokenised alone, without the space that some tokenizers want
    inside a sentence. Where a text has several blanks, the first mask is read.
    """
    for shown, token in published_steps(tokenizer, text, word, tokenizer.mask_token):
        ids = tuple(tokenizer(shown)["input_ids"])
        if tokenizer.mask_token_id not in ids:
            raise UnscorableError("the context has no blank")
        yield MaskedRequest(ids, ids.index(tokenizer.mask_token_id), token)


def published_steps(tokenizer: Any, text: str, word: str, mask: str) -> Iterator[tuple[str, int]]:
    """For each token of a word, the text with the earlier ones and a mask as text, and the token."""
    check_text_length(text)
    check_text_length(word)
    tokens = tokenizer.encode(word, add_special_tokens=False)
    check_token_budget(len(text) + len(word), inputs=len(tokens))
    for step, token in enumerate(tokens):
        insertion = tokenizer.decode(tokens[:step])
        yield text.replace(BLANK, f"{insertion}{mask}"), token


def at_masks(tokenizer: Any, request: Recover) -> Iterator[MaskedRequest]:
    """Each token at a mask of its own, all others in place.

    Within words, the tokens to the right in the same word can be masked too, so that a rare word's later pieces do not
    give away the earlier ones.
    """
    tokenised, places = recovered_places(tokenizer, request)
    for place in places:
        ids = list(tokenised.ids)
        ids[place] = tokenizer.mask_token_id
        word = tokenised.words[place] if request.within_words else None
        later = place + 1
        while word is not None and later < len(ids) and tokenised.words[later] == word:
            ids[later] = tokenizer.mask_token_id
            later += 1
        yield MaskedRequest(tuple(ids), place, tokenised.ids[place])


class MaskedFamily(Family):
    """Sees both sides of a mask."""

    name = "masked"
    head_kind = HeadKind.POOLED
    encodes_pairs = True
    hides_words = True
    auto_class = "AutoModelForMaskedLM"
    capabilities = frozenset({Fill, Recover, Train})
    ways: ClassVar[Ways] = {
        (Fill, ""): (
            "stepwise-blank",
            "each token of the candidate at a single mask, after its earlier tokens",
        ),
        (Fill, AS_PUBLISHED): (
            "stepwise-blank, as text",
            "as published in 2023: earlier tokens inserted as text, the word tokenised alone",
        ),
        (Recover, ""): (
            "shared-tokens",
            "pseudo-log-likelihood of the tokens that both sentences share, each at a mask of its own",
        ),
    }

    def recognises(self, config: Any, _tokenizer: Any) -> bool:
        """By the class that Transformers has for the type, unless the model was made to predict the next token."""
        declared = set(getattr(config, "architectures", None) or ())
        causal_only = bool(getattr(config, "is_decoder", False) or getattr(config, "causal", False))
        predicts_next_only = set(_CAUSAL.values()) - set(_MASKED.values())
        return (
            not config.is_encoder_decoder
            and config.model_type in _MASKED
            and not causal_only
            and not declared & predicts_next_only
        )

    def runner(self, loaded: Loaded, projection: Projection, *, share_prefixes: bool) -> MaskedRunner:
        """See ``Family``; masked inputs share nothing."""
        del share_prefixes
        return MaskedRunner(projection, loaded.device, loaded.pad_id)

    def sample_requests(self, tokens: Tokens, tokenizer: Any) -> list[TokenRequest]:
        """See ``Family``."""
        mask = tokenizer.mask_token_id
        return [
            MaskedRequest((*tokens[:3], mask, *tokens[4:6]), 3, tokens[3]),
            MaskedRequest((tokens[0], mask), 1, tokens[1]),
        ]

    def token_requests(
        self, model: LanguageModel, request: ScoringRequest, group: str
    ) -> Sequence[MaskedRequest]:
        """Words step by step at a mask, texts with each token at a mask of its own."""
        del group
        tokenizer = model.loaded.tokenizer
        match request:
            case Fill(variant=variant):
                asked = published_stepwise_blank if variant == AS_PUBLISHED else stepwise_blank
                return tuple(asked(tokenizer, self._shown(tokenizer, request.text), request.word))
            case Recover():
                return tuple(at_masks(tokenizer, request))
        raise unanswered(model, request)

    def texts(self, model: LanguageModel, request: ScoringRequest) -> Iterable[tuple[str, bool]]:
        """As they are shown, with masks."""
        for text, special in super().texts(model, request):
            yield self._shown(model.loaded.tokenizer, text), special

    @staticmethod
    def _shown(tokenizer: Any, text: str) -> str:
        return text.replace(HIDDEN, tokenizer.mask_token) if HIDDEN in text else text

    def pretraining_objective(
        self, model: LanguageModel, sentences: Sequence[str], options: PretrainingOptions
    ) -> MaskedPretraining:
        """Masked language modelling."""
        return MaskedPretraining(sentences, model, options)

    def held_out_rows(self, model: LanguageModel, sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """A mask in place of some tokens."""
        return masked_rows(sentences, model.loaded.tokenizer, model.loaded.config, seed=seed)

    def gap_contexts(self, model: LanguageModel) -> MaskedContexts:
        """The earlier tokens of the word, then a mask."""
        tokenizer = model.loaded.tokenizer
        return MaskedContexts(tokenizer.mask_token_id, frozenset(tokenizer.all_special_ids))


MASKED = MaskedFamily()
