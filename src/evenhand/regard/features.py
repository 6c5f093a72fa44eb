"""Features: how texts become what a head takes. What is fitted is fitted on training rows alone.

A head names what it needs (``GivesMatrix``, ``GivesSequences``, ``GivesTokens``), features have what they have. Another
package adds its own with an entry point of the group ``evenhand.regard_features``.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.files import MAX_STORED_BYTES, sha256_of_file
from evenhand.core.registry import Registry, lacks
from evenhand.stats.classification import Integers
from evenhand.stats.resampling import Floats

Matrix: TypeAlias = Floats | sparse.csr_array
"""One row per text."""


@dataclass(frozen=True, slots=True, eq=False)
class TextRows:
    """Texts, and the number of each in the file that it comes from."""

    texts: tuple[str, ...]
    numbers: Integers

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextRows:
        """Texts that are numbered from 0."""
        return cls(tuple(texts), np.arange(len(texts), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, places: Integers) -> TextRows:
        """The rows at these places."""
        return TextRows(tuple(self.texts[place] for place in places), self.numbers[places])


@dataclass(frozen=True, slots=True, eq=False)
class ComponentState:
    """Features or a head as files: plain values, arrays, and files of their own. Nothing in it can run code."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


class FittedFeatures(Protocol):
    """Features that know their training rows."""

    def state(self) -> ComponentState:
        """All that is needed to restore them."""
        ...


@runtime_checkable
class GivesMatrix(Protocol):
    """Turns texts into rows of numbers."""

    def matrix(self, rows: TextRows) -> Matrix:
        """One row of numbers per text."""
        ...


@runtime_checkable
class GivesSequences(Protocol):
    """Turns texts into one vector per word."""

    def sequences(self, rows: TextRows) -> list[npt.NDArray[np.float32]]:
        """For each text an array of shape (words, dimensions) with at least one row."""
        ...


@runtime_checkable
class GivesTokens(Protocol):
    """Turns texts into tokens of an encoder that can be trained further."""

    def tokens(self, rows: TextRows) -> list[list[int]]:
        """The token numbers of each text, at least one."""
        ...


class Features(Protocol):
    """A way to turn texts into numbers, before it has seen any."""

    @property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 of the files that it reads, by name."""
        ...

    def prepare(self, rows: TextRows) -> None:
        """Told all texts once, so that what does not depend on training rows is looked up in one go."""
        ...

    def fit(self, rows: TextRows) -> FittedFeatures:
        """Fitted on training rows."""
        ...


class FeatureKind(Protocol):
    """An entry of the registry."""

    summary: str
    argument: str
    """What stands behind the colon of ``vectors:FILE``; empty if nothing does."""

    def open(self, argument: str, *, device: str) -> Features:
        """Features from what stands behind the colon, computed on a device (cpu, cuda or auto)."""
        ...

    def restore(self, state: ComponentState, argument: str, *, device: str) -> FittedFeatures:
        """Fitted features from a classifier's folder, on a device."""
        ...


FEATURES: Registry[FeatureKind] = Registry(
    "kind of features",
    "evenhand.regard_features",
    order=("tfidf", "embeddings", "vectors", "sentence", "encoder"),
    check=lambda entry: lacks(entry, "summary", "argument", "open", "restore"),
)


def split_name(text: str) -> tuple[str, str]:
    """The kind and the argument of ``kind:argument``, refusing one that lacks its argument or has one too many."""
    name, _, argument = text.partition(":")
    kind = FEATURES.get(name)
    if kind.argument and not argument:
        raise EvenhandError(
            f"The features {name!r} need {kind.argument.lower()} behind a colon: {name}:{kind.argument}."
        )
    if argument and not kind.argument:
        raise EvenhandError(f"The features {name!r} take nothing behind a colon; {argument!r} was given.")
    return name, argument


def open_features(text: str, *, device: str = "auto") -> Features:
    """The features of a name such as ``tfidf`` or ``vectors:cc.de.300.vec``."""
    name, argument = split_name(text)
    return FEATURES.get(name).open(argument, device=device)


class TfidfFeatures:
    """TF-IDF of words, of pairs of words and of characters within words."""

    digests: Mapping[str, str] = {}

    def prepare(self, rows: TextRows) -> None:
        """Nothing to look up."""

    def fit(self, rows: TextRows) -> FittedTfidf:
        """Vocabulary and weights of training texts."""
        vectorizers = {name: _vectorizer(name) for name in _ANALYZERS}
        for vectorizer in vectorizers.values():
            try:
                vectorizer.fit(rows.texts)
            except ValueError as problem:
                raise DatasetError(
                    f"TF-IDF finds nothing to count in {len(rows):,} texts ({problem}). Give texts with words, and "
                    "more of them."
                ) from None
        return FittedTfidf(vectorizers)


_HIGHEST_IDF = 100.0
"""Above what any number of texts gives, which is 1 + ln(1 + texts) at most."""

_ANALYZERS: Mapping[str, Mapping[str, Any]] = {
    "words": {"analyzer": "word", "token_pattern": r"(?u)\b\w+\b", "ngram_range": (1, 2)},
    # An n-gram of a single text tells nothing about others, and most n-grams of characters are of that kind.
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5), "min_df": 2},
}


def _vectorizer(name: str, vocabulary: Sequence[str] | None = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**_ANALYZERS[name], sublinear_tf=True, vocabulary=vocabulary)


class FittedTfidf:
    """TF-IDF with its vocabulary."""

    def __init__(self, vectorizers: Mapping[str, Any]) -> None:
        self._vectorizers = vectorizers

    def matrix(self, rows: TextRows) -> sparse.csr_array:
        """One row per text; columns are words and pairs, then characters."""
        blocks = [vectorizer.transform(rows.texts) for vectorizer in self._vectorizers.values()]
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))

    def state(self) -> ComponentState:
        """Terms in the order of their columns, and their weights."""
        return ComponentState(
            settings={
                name: vectorizer.get_feature_names_out().tolist()
                for name, vectorizer in self._vectorizers.items()
            },
            arrays={name: np.asarray(vectorizer.idf_) for name, vectorizer in self._vectorizers.items()},
        )


@dataclass(frozen=True, slots=True)
class TfidfKind:
    """See ``TfidfFeatures``."""

    summary: str = "TF-IDF of words and characters; needs no download"
    argument: str = ""

    def open(self, _argument: str, *, device: str = "cpu") -> TfidfFeatures:  # noqa: ARG002
        """New features."""
        return TfidfFeatures()

    def restore(self, state: ComponentState, _argument: str, *, device: str = "cpu") -> FittedTfidf:  # noqa: ARG002
        """From terms and weights."""
        vectorizers = {}
        for name in _ANALYZERS:
            vectorizers[name] = _vectorizer(name, state.settings[name])
            weights = state.arrays[name]
            if not ((weights >= 0) & (weights < _HIGHEST_IDF)).all():
                raise ValueError(f"the weights of {name} are none that texts give")
            vectorizers[name].idf_ = weights
        return FittedTfidf(vectorizers)


TFIDF = TfidfKind()


class EmbeddingFeatures:
    """Embeddings that were computed elsewhere, one row per row of the texts' file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.table, self._texts = read_embeddings(path)
        self.digests = {path.name: sha256_of_file(path)}

    def prepare(self, rows: TextRows) -> None:
        """Refuse embeddings that are not of these rows."""
        refuse_other_rows(self.path, self.table, self._texts, rows)

    def fit(self, _rows: TextRows) -> EmbeddingFeatures:
        """Nothing depends on training rows."""
        return self

    def matrix(self, rows: TextRows) -> Floats:
        """The embeddings of the rows."""
        return self.table[rows.numbers]

    def state(self) -> ComponentState:
        """Only how many numbers a text has: new texts come with embeddings of their own."""
        return ComponentState(settings={"dimensions": self.table.shape[1]})


@dataclass(frozen=True, slots=True)
class MissingEmbeddings:
    """Stands for the embeddings of texts to be labelled until somebody gives them."""

    dimensions: int

    def matrix(self, _rows: TextRows) -> Floats:
        """Refused."""
        raise EvenhandError(
            f"This classifier was trained on embeddings that were computed elsewhere, {self.dimensions:,} numbers per "
            "text. Give those of the texts to label with --embeddings FILE.npz."
        )

    def state(self) -> ComponentState:
        """As it was read."""
        return ComponentState(settings={"dimensions": self.dimensions})

    def given(self, path: Path, rows: TextRows) -> EmbeddingFeatures:
        """The embeddings of rows from a file."""
        features = EmbeddingFeatures(path)
        if features.table.shape[1] != self.dimensions:
            raise DatasetError(
                f"{path} has {features.table.shape[1]:,} numbers per text; the classifier was trained on "
                f"{self.dimensions:,}. Compute the embeddings with the same encoder."
            )
        features.prepare(rows)
        return features


@dataclass(frozen=True, slots=True)
class EmbeddingKind:
    """See ``EmbeddingFeatures``."""

    summary: str = (
        "embeddings that were computed elsewhere, .npz or .npy, one row per text in the order of the file"
    )
    argument: str = "FILE"

    def open(self, argument: str, *, device: str = "cpu") -> EmbeddingFeatures:  # noqa: ARG002
        """Those of a file."""
        return EmbeddingFeatures(Path(argument))

    def restore(
        self,
        state: ComponentState,
        _argument: str,
        *,
        device: str = "cpu",  # noqa: ARG002
    ) -> MissingEmbeddings:
        """The embeddings of new texts have to be given."""
        return MissingEmbeddings(int(state.settings["dimensions"]))


EMBEDDINGS = EmbeddingKind()

_TABLE_NAMES = ("X", "embeddings", "arr_0")
_TEXT_NAMES = ("texts", "text")


def read_embeddings(path: Path) -> tuple[Floats, tuple[str, ...] | None]:
    """The table of an .npy or .npz file, and the texts of its rows if the file has them. Pickles are never loaded.

    In an .npz file the table is ``X``, ``embeddings`` or the only array without a name, and ``texts`` are the texts.
    """
    if not path.is_file():
        raise DatasetError(f"There is no file {path}. Check the path.")
    try:
        _refuse_large(path)
        with path.open("rb") as stream:
            content = np.load(stream, allow_pickle=False)
            is_table = isinstance(content, np.ndarray)
            arrays = {"X": content} if is_table else {name: content[name] for name in content.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as problem:
        raise DatasetError(
            f"{path} cannot be read as .npy or .npz without pickles ({problem}). Write it with "
            "np.savez(FILE, X=embeddings, texts=np.array(texts))."
        ) from None
    name = next((name for name in _TABLE_NAMES if name in arrays), None)
    if name is None:
        raise DatasetError(f"{path} has the arrays {', '.join(arrays)}; the embeddings are looked for as X.")
    table = arrays[name]
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.number) or np.iscomplexobj(table):
        raise DatasetError(
            f"{path}: {name} has the shape {table.shape} and the type {table.dtype}; one row of numbers per text is "
            "needed."
        )
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise DatasetError(
            f"{path}: row {row} of {name} (from 0) has a value that is not a number. Compute it again."
        )
    texts = next((arrays[name] for name in _TEXT_NAMES if name in arrays), None)
    return table.astype(np.float64), None if texts is None else tuple(map(str, texts.tolist()))


def _refuse_large(path: Path) -> None:
    """Refuse what would fill the memory; a small archive can hold a large table."""
    size = path.stat().st_size
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    if size > MAX_STORED_BYTES:
        raise DatasetError(f"{path} holds {size:,} bytes; at most {MAX_STORED_BYTES:,} are read.")


def refuse_other_rows(path: Path, table: Floats, texts: tuple[str, ...] | None, rows: TextRows) -> None:
    """Refuse embeddings that are of other texts, or of the same texts in another order, as far as the file tells."""
    if len(rows) and len(table) <= int(rows.numbers.max()):
        raise DatasetError(
            f"{path} has embeddings of {len(table):,} texts, and row {int(rows.numbers.max()):,} (from 0) is asked "
            "for. The embeddings must be in the order of the texts, one row per text."
        )
    if texts is None:
        return
    if len(texts) != len(table):
        raise DatasetError(f"{path} has {len(table):,} embeddings and {len(texts):,} texts. Write it again.")
    for text, number in zip(rows.texts, rows.numbers.tolist(), strict=True):
        if texts[number].strip() != text.strip():
            raise DatasetError(
                f"{path}, row {number} (from 0), is the embedding of {_short(texts[number])}, and the text there is "
                f"{_short(text)}. Put the embeddings into the order of the texts."
            )


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
