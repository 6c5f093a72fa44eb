"""Word vectors from files: the text format of FastText and word2vec, and FastText's own with parts of words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import DatasetError, require_extra

Vector = npt.NDArray[np.float32]

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The words of a text as they are written."""
    return _WORD.findall(text)


class WordVectors(Protocol):
    """Vectors of words by name."""

    dimensions: int

    def look_up(self, words: Iterable[str]) -> None:
        """Find these words, so that ``vector`` knows them."""
        ...

    def vector(self, word: str) -> Vector | None:
        """The vector of a word; None if there is none."""
        ...


class TextVectors:
    """Vectors of a ``.vec`` file, as FastText and word2vec write them: one word and its numbers per line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._vectors: dict[str, Vector | None] = {}
        with self._opened() as stream:
            header = stream.readline().split()
        if len(header) != 2 or not all(part.isdigit() for part in header):
            raise DatasetError(
                f"{path} does not begin with the number of words and of dimensions, as .vec files do. Give a .vec file "
                "of FastText or word2vec, or a .bin file of FastText."
            )
        self.dimensions = int(header[1])

    def look_up(self, words: Iterable[str]) -> None:
        """Read the file once for all words that were not asked for before."""
        wanted = {own for word in words for own in (word, word.lower())} - set(self._vectors)
        if not wanted:
            return
        by_bytes = {word.encode(): word for word in wanted}
        with self._opened() as stream:
            next(stream)
            for number, line in enumerate(stream, start=2):
                word = by_bytes.get(line[: max(0, line.find(b" "))])
                if word is not None:
                    self._vectors[word] = self._parsed(line, number)
        for word in wanted:
            self._vectors.setdefault(word, None)

    def vector(self, word: str) -> Vector | None:
        """The vector of a word as it is written, or in lower case."""
        self.look_up([word])
        vector = self._vectors[word]
        return self._vectors[word.lower()] if vector is None else vector

    def _opened(self) -> Any:
        try:
            return self._path.open("rb")
        except OSError as problem:
            raise DatasetError(f"{self._path} cannot be read: {problem.strerror or problem}.") from None

    def _parsed(self, line: bytes, number: int) -> Vector:
        try:
            vector = np.array(line.split()[1:], dtype=np.float32)
        except ValueError:
            vector = np.empty(0, dtype=np.float32)
        if len(vector) != self.dimensions or not np.isfinite(vector).all():
            raise DatasetError(
                f"{self._path}, line {number:,}: {self.dimensions:,} numbers are needed behind the word. The file is "
                "damaged; download it again."
            )
        return vector


class SubwordVectors:
    """Vectors of a ``.bin`` file of FastText, which has vectors of parts of words too, so that every word has one."""

    def __init__(self, path: Path) -> None:
        require_extra("vectors", "gensim", purpose="Reading .bin files of FastText")
        from gensim.models.fasttext import load_facebook_vectors

        try:
            self._vectors = load_facebook_vectors(str(path))
        except (OSError, ValueError, EOFError, NotImplementedError, UnicodeDecodeError) as problem:
            raise DatasetError(
                f"{path} cannot be read as a .bin file of FastText ({problem}). Download it again."
            ) from None
        self.dimensions = int(self._vectors.vector_size)

    def look_up(self, words: Iterable[str]) -> None:
        """All are known."""

    def vector(self, word: str) -> Vector | None:
        """The vector of a word, made of its parts if need be."""
        try:
            return np.asarray(self._vectors.get_vector(word), dtype=np.float32)
        except KeyError:  # a word shorter than the shortest part
            return None


def open_vectors(path: Path) -> WordVectors:
    """The vectors of a file, by its ending."""
    if not path.is_file():
        raise DatasetError(f"There is no file {path}. Give a .vec or .bin file of FastText.")
    return SubwordVectors(path) if path.suffix.lower() == ".bin" else TextVectors(path)
