"""Features from what others have trained: word vectors, sentence embeddings, and encoders that are trained further.

Word vectors and sentence embeddings are too large to be kept with every classifier. Its folder names them with their
digest, and a file that was changed since is refused.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import DatasetError, require_extra
from evenhand.core.remembered_digests import remembered_sha256
from evenhand.regard.features import ComponentState, TextRows
from evenhand.regard.word_vectors import Vector, WordVectors, open_vectors, words_of
from evenhand.stats.resampling import Floats


class VectorFeatures:
    """Word vectors, weighted by the TF-IDF of training texts."""

    def __init__(self, path: Path) -> None:
        self.vectors = open_vectors(path)
        self.digests: Mapping[str, str] = {path.name: remembered_sha256(path)}

    def prepare(self, rows: TextRows) -> None:
        """Find the words of all texts in one go."""
        self.vectors.look_up({word for text in rows.texts for word in words_of(text)})

    def fit(self, rows: TextRows) -> FittedVectors:
        """How rare each word is in training texts."""
        counts: dict[str, int] = {}
        for text in rows.texts:
            for word in {word.lower() for word in words_of(text)}:
                counts[word] = counts.get(word, 0) + 1
        words = sorted(counts)
        rarity = np.log((1 + len(rows)) / (1 + np.array([counts[word] for word in words], dtype=float))) + 1
        return FittedVectors(self.vectors, words, rarity, texts=len(rows), digests=self.digests)


class FittedVectors:
    """Word vectors with weights. A word that training did not have counts like the rarest."""

    def __init__(
        self,
        vectors: WordVectors,
        words: list[str],
        rarity: Floats,
        *,
        texts: int,
        digests: Mapping[str, str],
    ) -> None:
        self._vectors = vectors
        self._words = words
        self._rarity = rarity
        self._weights = dict(zip(words, rarity.tolist(), strict=True))
        self._texts = texts
        self._unseen = float(np.log(1 + texts) + 1)
        self._digests = digests

    def matrix(self, rows: TextRows) -> Floats:
        """The weighted mean of the vectors of each text; zeros where no word has one."""
        self._find(rows)
        table = np.zeros((len(rows), self._vectors.dimensions))
        for number, text in enumerate(rows.texts):
            total = 0.0
            for word in words_of(text):
                vector = self._vectors.vector(word)
                if vector is not None:
                    weight = self._weights.get(word.lower(), self._unseen)
                    table[number] += weight * vector
                    total += weight
            if total:
                table[number] /= total
        return table

    def sequences(self, rows: TextRows) -> list[Vector]:
        """The vectors of the words of each text that have one."""
        self._find(rows)
        nothing = np.zeros((1, self._vectors.dimensions), dtype=np.float32)
        sequences = []
        for text in rows.texts:
            vectors = [own for word in words_of(text) if (own := self._vectors.vector(word)) is not None]
            sequences.append(np.stack(vectors) if vectors else nothing)
        return sequences

    def _find(self, rows: TextRows) -> None:
        self._vectors.look_up({word for text in rows.texts for word in words_of(text)})

    def state(self) -> ComponentState:
        """Words with their weights, and which file the vectors are of."""
        return ComponentState(
            settings={"words": self._words, "texts": self._texts, "digests": dict(self._digests)},
            arrays={"rarity": self._rarity},
        )


@dataclass(frozen=True, slots=True)
class VectorKind:
    """See ``VectorFeatures``."""

    summary: str = "TF-IDF weighted word vectors of a .vec or .bin file of FastText"
    argument: str = "FILE"

    def open(self, argument: str, *, device: str = "cpu") -> VectorFeatures:  # noqa: ARG002
        """Those of a file."""
        return VectorFeatures(Path(argument))

    def restore(self, state: ComponentState, argument: str, *, device: str = "cpu") -> FittedVectors:  # noqa: ARG002
        """From words and weights; the vectors are read from where they were."""
        features = VectorFeatures(Path(argument))
        _refuse_others(argument, features.digests, state)
        return FittedVectors(
            features.vectors,
            list(state.settings["words"]),
            np.asarray(state.arrays["rarity"]),
            texts=int(state.settings["texts"]),
            digests=features.digests,
        )


def _refuse_others(name: str, digests: Mapping[str, str], state: ComponentState) -> None:
    if dict(digests) != state.settings["digests"]:
        raise DatasetError(
            f"{name} is not what the classifier was trained with: its content has changed. Put the old one back, or "
            "train the classifier again."
        )


class SentenceFeatures:
    """Embeddings of whole texts by a sentence encoder that stays as it is. Each text is encoded once."""

    def __init__(self, model: str, *, device: str) -> None:
        require_extra("regard", "sentence_transformers", purpose=f"The features sentence:{model}")
        from sentence_transformers import SentenceTransformer

        from evenhand.models.loading import choose_device

        try:
            # Weights in pickles could run code.
            self._encoder = SentenceTransformer(
                model, device=str(choose_device(device)), model_kwargs={"use_safetensors": True}
            )
        except (OSError, ValueError) as problem:
            raise DatasetError(
                f"The sentence encoder {model} cannot be loaded ({problem}). Give a folder or a hub id with "
                "safetensors."
            ) from None
        self.digests: Mapping[str, str] = _model_digests(model)
        self._known: dict[str, Vector] = {}

    def prepare(self, rows: TextRows) -> None:
        """Encode all texts in one go."""
        missing = list(dict.fromkeys(text for text in rows.texts if text not in self._known))
        if missing:
            encoded = self._encoder.encode(missing, show_progress_bar=False, convert_to_numpy=True)
            self._known.update(zip(missing, np.asarray(encoded, dtype=np.float32), strict=True))

    def fit(self, _rows: TextRows) -> SentenceFeatures:
        """Nothing depends on training rows."""
        return self

    def matrix(self, rows: TextRows) -> Floats:
        """One embedding per text."""
        self.prepare(rows)
        return np.stack([self._known[text] for text in rows.texts]).astype(np.float64)

    def state(self) -> ComponentState:
        """Which encoder it is."""
        return ComponentState(settings={"digests": dict(self.digests)})


@dataclass(frozen=True, slots=True)
class SentenceKind:
    """See ``SentenceFeatures``."""

    summary: str = "sentence embeddings through sentence-transformers"
    argument: str = "MODEL"

    def open(self, argument: str, *, device: str = "auto") -> SentenceFeatures:
        """Those of a model."""
        return SentenceFeatures(argument, device=device)

    def restore(self, state: ComponentState, argument: str, *, device: str = "auto") -> SentenceFeatures:
        """Loaded again, and refused if it has changed."""
        features = SentenceFeatures(argument, device=device)
        _refuse_others(argument, features.digests, state)
        return features


def _model_digests(model: str) -> dict[str, str]:
    """Digests of the weights of a folder. A model of the hub is known by its name."""
    folder = Path(model)
    if not folder.is_dir():
        return {}
    return {
        str(path.relative_to(folder)): remembered_sha256(path)
        for path in sorted(folder.rglob("*.safetensors"))
    }


class EncoderFeatures:
    """The tokens of an encoder that is trained further."""

    def __init__(self, model: str, *, device: str) -> None:
        from evenhand.models.description import record_of
        from evenhand.models.language_model import LanguageModel
        from evenhand.models.objectives.held_out import longest_sentence
        from evenhand.models.references import ModelError, ModelRef, load_model

        name, revision = ModelRef.parse(model)
        loaded = load_model(ModelRef(id=name, revision=revision, device=device))
        if not isinstance(loaded, LanguageModel):
            raise ModelError(f"{model} has no weights here to train further. Give a folder or a hub id.")
        self.model = loaded
        self.digests: Mapping[str, str] = {"encoder": record_of(loaded).weights}
        self.tokenizer: Any = loaded.loaded.tokenizer
        self._longest = longest_sentence(self.tokenizer, loaded.loaded.config)
        self._pad = loaded.loaded.pad_id

    def prepare(self, rows: TextRows) -> None:
        """Nothing to look up."""

    def fit(self, _rows: TextRows) -> EncoderFeatures:
        """Nothing depends on training rows; the encoder's weights are the head's."""
        return self

    def tokens(self, rows: TextRows) -> list[list[int]]:
        """The token numbers of each text, cut where the encoder takes no more."""
        return _token_numbers(self.tokenizer, rows, longest=self._longest, pad=self._pad)

    def state(self) -> ComponentState:
        """The tokenizer."""
        with tempfile.TemporaryDirectory() as scratch:
            self.tokenizer.save_pretrained(scratch)
            files = {
                path.name: path.read_bytes() for path in sorted(Path(scratch).iterdir()) if path.is_file()
            }
        return ComponentState(settings={"longest": self._longest, "pad": self._pad}, files=files)


@dataclass(frozen=True, slots=True)
class StoredTokenizer:
    """The tokenizer of an encoder whose weights a classifier has."""

    tokenizer: Any
    longest: int
    pad: int
    files: Mapping[str, bytes]

    def tokens(self, rows: TextRows) -> list[list[int]]:
        """See ``EncoderFeatures``."""
        return _token_numbers(self.tokenizer, rows, longest=self.longest, pad=self.pad)

    def state(self) -> ComponentState:
        """As it was read."""
        return ComponentState(settings={"longest": self.longest, "pad": self.pad}, files=self.files)


def _token_numbers(tokenizer: Any, rows: TextRows, *, longest: int, pad: int) -> list[list[int]]:
    encoded = tokenizer(list(rows.texts), truncation=True, max_length=longest)["input_ids"]
    return [list(numbers) or [pad] for numbers in encoded]


@dataclass(frozen=True, slots=True)
class EncoderKind:
    """See ``EncoderFeatures``."""

    summary: str = "tokens of an encoder, for --classifier fine-tune"
    argument: str = "MODEL"

    def open(self, argument: str, *, device: str = "auto") -> EncoderFeatures:
        """Those of a model."""
        return EncoderFeatures(argument, device=device)

    def restore(self, state: ComponentState, _argument: str, *, device: str = "cpu") -> StoredTokenizer:  # noqa: ARG002
        """From the tokenizer's files."""
        from transformers import AutoTokenizer

        with tempfile.TemporaryDirectory() as scratch:
            for name, content in state.files.items():
                (Path(scratch) / name).write_bytes(content)
            tokenizer = AutoTokenizer.from_pretrained(scratch, trust_remote_code=False, local_files_only=True)
        return StoredTokenizer(
            tokenizer, int(state.settings["longest"]), int(state.settings["pad"]), dict(state.files)
        )


VECTORS = VectorKind()
SENTENCE = SentenceKind()
ENCODER = EncoderKind()
