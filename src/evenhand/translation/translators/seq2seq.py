"""``marian:MODEL``: sequence-to-sequence models from the hub or a folder: Marian, T5, M2M100 and their relatives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import TranslationError, how_to_install, require_extra
from evenhand.data.language_names import LANGUAGE_NAMES
from evenhand.translation.translators import (
    THREE_LETTERS,
    LanguagePair,
    RefusedText,
    TranslatorOptions,
    listed_cost,
    need_argument,
)
from evenhand.translation.translators.pieces import pieces

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
            "punctuation": _punctuation(tokenizer),
        }

    def convert(self, precision: torch.dtype) -> None:
        """Change the number format of the weights; answers in another format are kept apart."""
        self._model = self._model.to(precision)
        self.settings = {**self.settings, "precision": str(precision).removeprefix("torch.")}

    def prepare(self) -> tuple[str, ...]:
        """Say if texts are not prepared as in the training of the model."""
        if self.settings["punctuation"] != NOT_NORMALISED:
            return ()
        return (
            "Punctuation is not normalised as in the training of Marian models: that needs sacremoses. "
            f"{how_to_install('translate')}",
        )

    def translate(self, texts: Sequence[str]) -> list[str | RefusedText]:
        """The translation of each text, by the model's own way of decoding, without chance.

        A text that is too long for the model is cut after sentences, or between words.
        """
        parts = [self._pieces(text) for text in texts]
        encoded = [self._encoded(piece) for own in parts for piece in own]
        longest = self._longest_input()
        fitting = [place for place, tokens in enumerate(encoded) if len(tokens) <= longest]
        answers: dict[int, str] = {}
        for batch in _batches([len(encoded[place]) for place in fitting], rows=self._most_rows()):
            places = [fitting[place] for place in batch]
            answers |= zip(places, self._answers([encoded[place] for place in places]), strict=True)
        joined: list[str | RefusedText] = []
        first = 0
        for own in parts:
            answered = [answers.get(place) for place in range(first, first + len(own))]
            first += len(own)
            whole = [answer for answer in answered if answer is not None]
            joined.append(
                " ".join(whole).strip()
                if len(whole) == len(own)
                else RefusedText(
                    f"it has a word that is longer than the {longest:,} tokens that the model takes"
                )
            )
        return joined

    def _pieces(self, text: str) -> list[str]:
        longest = self._longest_input()
        return pieces(text, lambda piece: len(self._encoded(piece)) <= longest) or [text]

    def _encoded(self, text: str) -> list[int]:
        """The tokens of a text; longer ones than the model takes are no reason to warn here."""
        normalised = self._tokenizer.normalize(text) if _has_normaliser(self._tokenizer) else text
        return list(self._tokenizer(self._prefix + normalised, verbose=False)["input_ids"])

    def _most_rows(self) -> int:
        """How many texts fit into memory with the scores of a step: one over the vocabulary for each beam."""
        from evenhand.models.engine.memory import SCORE_COPIES, MemoryBudget

        vocabulary: int = self._model.get_input_embeddings().num_embeddings
        beams: int = self._model.generation_config.num_beams or 1
        return max(1, MemoryBudget.on(self._device).bytes // (SCORE_COPIES * 4 * vocabulary * beams))

    def _answers(self, rows: list[list[int]]) -> list[str]:
        """The translations of a batch, in halves where memory does not suffice."""
        from evenhand.models.engine.halving import attempt

        answers = attempt(lambda: self._generate(rows))
        if answers is not None:
            return answers
        if len(rows) == 1:
            raise TranslationError(
                f"There is not enough memory to translate a text of {len(rows[0]):,} tokens. Use a smaller model, or a "
                "larger device."
            )
        half = len(rows) // 2
        return [*self._answers(rows[:half]), *self._answers(rows[half:])]

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


NORMALISED = "normalised by sacremoses"
NOT_NORMALISED = "not normalised: sacremoses is not installed"


def _has_normaliser(tokenizer: Any) -> bool:
    """Whether a tokenizer is Marian's, which has a step that its own call leaves out."""
    return hasattr(tokenizer, "punc_normalizer")


def _punctuation(tokenizer: Any) -> str:
    if not _has_normaliser(tokenizer):
        return "as it is"
    return NORMALISED if find_spec("sacremoses") else NOT_NORMALISED


def _batches(lengths: Sequence[int], *, rows: int) -> list[list[int]]:
    """The places of texts, longest first, in batches of at most so many that stay within the budget of tokens."""
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        count = len(batches[-1]) + 1 if batches else 1
        if batches and count <= rows and lengths[batches[-1][0]] * count <= MOST_TOKENS:
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
    """Loads models without code of their own: safetensors, or pickled tensors where the user allows them."""

    name = "marian"
    summary = "a sequence-to-sequence model from the hub or a folder: marian:MODEL"

    def open(self, argument: str, languages: LanguagePair) -> Seq2SeqTranslator:
        """The model, on a GPU where there is one; safetensors only."""
        return self.open_with(argument, languages, TranslatorOptions())

    def open_with(
        self, argument: str, languages: LanguagePair, options: TranslatorOptions
    ) -> Seq2SeqTranslator:
        """The model, on a GPU where there is one.

        Raises:
            ModelError: If it cannot be loaded, or has pickled weights alone and they are not allowed.
            TranslationError: If it has no weights to translate with.
        """
        require_extra("hf", purpose="The translator marian")
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        from evenhand.models.description import weights_digest
        from evenhand.models.loading import choose_device
        from evenhand.models.model_files import WEIGHTS, loading_explained
        from evenhand.models.references import ModelRef

        name, revision = ModelRef.parse(need_argument(argument, form="marian:MODEL, a hub id or a folder"))
        ref = ModelRef(id=name, revision=revision, allow_pickle_weights=options.allow_pickle_weights)
        device = choose_device("auto")
        with loading_explained(ref, WEIGHTS), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
            tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
            model, report = AutoModelForSeq2SeqLM.from_pretrained(
                name,
                revision=revision,
                use_safetensors=None if options.allow_pickle_weights else True,
                weights_only=True,  # tensors alone: a pickle of anything else is refused
                output_loading_info=True,
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
