"""``marian:MODEL``: sequence-to-sequence models from the hub or a folder: Marian, T5, M2M100 and their relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import TranslationError, require_extra
from evenhand.data.language_names import LANGUAGE_NAMES
from evenhand.translation.translators import (
    THREE_LETTERS,
    LanguagePair,
    listed_cost,
    need_argument,
)

if TYPE_CHECKING:
    import torch

MOST_TOKENS = 8_192
"""Tokens of a batch, padding included."""

_LONGER = 2
_AT_LEAST = 16
"""A translation may have so many times the tokens of its text, and so many more."""


class Seq2SeqTranslator:
    """Translates with a model on this machine, in batches of texts of similar length."""

    batch_size = 512
    concurrency = 1

    def __init__(
        self, model: Any, tokenizer: Any, *, device: torch.device, weights: str, languages: LanguagePair
    ) -> None:
        self.cost = listed_cost("marian")
        self._model = model
        self._tokenizer = tokenizer
        self._device = device
        self._prefix, self._first_token = _direction(model, tokenizer, languages)
        self.settings: Mapping[str, str] = {
            "weights": weights,
            "beams": str(model.generation_config.num_beams or 1),
        }

    def translate(self, texts: Sequence[str]) -> list[str]:
        """The translation of each text, by the model's own way of decoding, without chance."""
        encoded = [self._tokenizer(self._prefix + text)["input_ids"] for text in texts]
        longest = self._longest_input()
        for text, tokens in zip(texts, encoded, strict=True):
            if len(tokens) > longest:
                raise TranslationError(
                    f"A text has {len(tokens):,} tokens, and the model takes {longest:,}: {text[:80]!r}... Shorten it, "
                    "or use another translator."
                )
        answers: dict[int, str] = {}
        for batch in _batches([len(tokens) for tokens in encoded]):
            answers |= zip(batch, self._generate([encoded[place] for place in batch]), strict=True)
        return [answers[place] for place in range(len(texts))]

    def _generate(self, rows: list[list[int]]) -> list[str]:
        import torch

        padded = self._tokenizer.pad({"input_ids": rows}, return_tensors="pt").to(self._device)
        limits = [min(_LONGER * len(row) + _AT_LEAST, self._longest_input() - 1) for row in rows]
        options = {} if self._first_token is None else {"forced_bos_token_id": self._first_token}
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=padded["input_ids"],
                attention_mask=padded["attention_mask"],
                do_sample=False,
                max_new_tokens=max(limits),
                max_length=None,
                **options,
            )
        # A text must not get a longer answer for being in a batch with longer ones.
        cut = [answer[: limit + 1] for answer, limit in zip(written.tolist(), limits, strict=True)]
        return [text.strip() for text in self._tokenizer.batch_decode(cut, skip_special_tokens=True)]

    def _longest_input(self) -> int:
        config = self._model.config
        positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        return min(int(positions or MOST_TOKENS), MOST_TOKENS)


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """The places of texts, longest first, in batches that stay within the budget of tokens."""
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= MOST_TOKENS:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def _direction(model: Any, tokenizer: Any, languages: LanguagePair) -> tuple[str, int | None]:
    """How a model is told the languages: what stands before a text, and the first token of its answer."""
    if model.config.model_type == "t5":
        source, target = (LANGUAGE_NAMES.get(tag, tag) for tag in (languages.source, languages.target))
        return f"translate {source} to {target}: ", None
    codes = list(
        getattr(tokenizer, "supported_language_codes", None) or ()
    )  # Marian, several target languages
    if codes:
        return f"{_code_of(codes, languages.target)} ", None
    if hasattr(tokenizer, "get_lang_id"):  # M2M100
        _code_of(list(tokenizer.lang_code_to_token), languages.target)
        tokenizer.src_lang = languages.source
        return "", int(tokenizer.get_lang_id(languages.target))
    return "", None


def _code_of(codes: Sequence[str], language: str) -> str:
    tags = {language.casefold(), THREE_LETTERS.get(language, language)}
    for code in codes:
        if code.strip("<>").partition("_")[0].casefold() in tags:
            return code
    raise TranslationError(
        f"The model does not translate into {language!r}; it knows {', '.join(sorted(codes)[:20])}. Use another model."
    )


class Seq2SeqKind:
    """Loads models: safetensors only, no code of their own."""

    name = "marian"
    summary = "a sequence-to-sequence model from the hub or a folder: marian:MODEL"

    def open(self, argument: str, languages: LanguagePair) -> Seq2SeqTranslator:
        """The model, on a GPU where there is one."""
        require_extra("hf", purpose="The translator marian")
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        from evenhand.models.description import weights_digest
        from evenhand.models.loading import choose_device
        from evenhand.models.model_files import WEIGHTS, loading_explained
        from evenhand.models.references import ModelRef

        name, revision = ModelRef.parse(need_argument(argument, form="marian:MODEL, a hub id or a folder"))
        ref = ModelRef(id=name, revision=revision)
        device = choose_device("auto")
        with loading_explained(ref, WEIGHTS):
            tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
            model, report = AutoModelForSeq2SeqLM.from_pretrained(
                name, revision=revision, use_safetensors=True, output_loading_info=True
            )
        if report["missing_keys"]:
            raise TranslationError(
                f"{name} has no weights for {len(report['missing_keys'])} parts of {type(model).__name__}; they would "
                "be random. Use a checkpoint that was trained to translate."
            )
        return Seq2SeqTranslator(
            model.eval().to(device),
            tokenizer,
            device=device,
            weights=f"{name}, {weights_digest(ref, model.config)}",
            languages=languages,
        )


SEQ2SEQ = Seq2SeqKind()
