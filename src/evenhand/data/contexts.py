"""Contexts: the words after a person with which texts about groups begin, such as *worked as*.

Every group gets the same contexts, so what differs between groups is not the topic. Texts of one context are alike,
so a context is what intervals and tests take for one observation. A context is of a *kind*, such as occupation or
respect.

A file is CSV with ``context`` and perhaps ``kind``, or ``.txt`` with one context per line. The published contexts ship
in German and English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, read_bounded, sha256_of
from evenhand.core.items import repeated
from evenhand.data.csv_files import read_table

ALL_CONTEXTS = "all"
"""The name of all contexts together, which no kind may have."""

NO_CONTEXTS = "none"
"""Said where texts have no context in common."""

_RESOURCES = resources.files("evenhand.data") / "resources" / "regard"
_BEGINNING = "contexts_"


@dataclass(frozen=True, slots=True)
class Context:
    """The words after a person with which a text begins, and what kind of thing they are about."""

    words: str
    kind: str = ""


@dataclass(frozen=True)
class ContextList:
    """The contexts of one file, in its order."""

    contexts: tuple[Context, ...]
    name: str = ""
    sha256: str = ""
    language: str = ""
    """Of contexts that ship; not known of those in a file."""

    def __iter__(self) -> Iterator[Context]:
        return iter(self.contexts)

    def __len__(self) -> int:
        return len(self.contexts)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, in the order of the file."""
        return tuple(dict.fromkeys(own.kind for own in self.contexts if own.kind))

    @property
    def likely_language(self) -> str:
        """Of contexts that ship, or of a file that has some of them; empty if that is not known."""
        if self.language:
            return self.language
        own = {_key(context.words) for context in self.contexts}
        shared = {
            language: len(own & {_key(context.words) for context in load_contexts(language)})
            for language in context_languages()
        }
        best = max(shared, key=lambda language: shared[language])
        return best if shared[best] else ""

    @cached_property
    def _by_words(self) -> dict[str, Context]:
        return {_key(own.words): own for own in self.contexts}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Of contexts that start at the same place, the longest is meant."""
        longest_first = sorted(self._by_words, key=len, reverse=True)
        return re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?!\w)")

    def find(self, text: str) -> Context | None:
        """The first context that stands in a text, whatever its commas; None if none does."""
        match = self._pattern.search(_key(text))
        return self._by_words[match[1]] if match else None


def load_contexts(source: str | Path) -> ContextList:
    """The published contexts of a language (``de``, ``en``), or those of a file.

    Raises:
        DatasetError: If there are none, or the file cannot be used.
    """
    language = str(source)
    if language not in context_languages():
        return read_contexts(Path(source))
    found = read_contexts(Path(str(_RESOURCES / f"{_BEGINNING}{language}.csv")))
    return replace(found, language=language)


def contexts_found_in(texts: Sequence[str]) -> ContextList:
    """Of the contexts that ship, those of the language that are found in most of some texts.

    Raises:
        DatasetError: If none is found in any.
    """
    lists = [load_contexts(language) for language in context_languages()]
    counts = [sum(own.find(text) is not None for text in texts) for own in lists]
    if not any(counts):
        raise DatasetError(
            f"None of the published contexts ({', '.join(context_languages())}) stands in any of {len(texts):,} texts, "
            f"such as {texts[0]!r}. Name the contexts with --contexts FILE, their column with --context, or say "
            "--contexts none if the texts have nothing in common."
        )
    return lists[counts.index(max(counts))]


def context_languages() -> tuple[str, ...]:
    """The languages in which contexts ship."""
    names = (entry.name for entry in _RESOURCES.iterdir())
    return tuple(
        sorted(
            name.removeprefix(_BEGINNING).removesuffix(".csv")
            for name in names
            if name.startswith(_BEGINNING)
        )
    )


def read_contexts(path: Path) -> ContextList:
    """The contexts of a file.

    Raises:
        DatasetError: If the file cannot be read, has no context, or has one twice.
    """
    if path.name.lower().endswith(".txt"):
        content = read_bounded(path, error=DatasetError)
        lines = decode_utf8(content, path, error=DatasetError).splitlines()
        contexts, digest = [Context(line.strip()) for line in lines if line.strip()], sha256_of(content)
    else:
        table = read_table(path, needed=("context",), list_of="context")
        contexts, digest = [Context(row["context"], row["kind"]) for row in table.rows], table.sha256
    _refuse_unusable(contexts, path)
    return ContextList(tuple(contexts), path.stem, digest)


def _refuse_unusable(contexts: Sequence[Context], path: Path) -> None:
    if any(not own.words for own in contexts):
        raise DatasetError(f"{path} has a row without a context. Give it one, or remove the row.")
    twice = repeated(_key(own.words) for own in contexts)
    if twice:
        raise DatasetError(f"{path} has the context {twice[0]!r} more than once. Keep one of them.")
    if any(own.kind == ALL_CONTEXTS for own in contexts):
        raise DatasetError(
            f"{path} has contexts of the kind {ALL_CONTEXTS!r}, which stands for all contexts together. Name the "
            "kind otherwise."
        )


def end_of_context(text: str, context: str) -> int:
    """Where a context ends in a text, whatever its case and commas; 0 if it is not there."""
    match = _match_of(text, context)
    return match.end() if match else 0


def start_of_context(text: str, context: str) -> int:
    """Where a context begins in a text, whatever its case and commas; 0 if it is not there."""
    match = _match_of(text, context)
    return match.start() if match else 0


def _match_of(text: str, context: str) -> re.Match[str] | None:
    words = _key(context).split()
    if not words:
        return None
    joined = r"[\s,;:]+".join(map(re.escape, words))
    return re.search(rf"(?<!\w){joined}(?!\w)[,;:]?", text, re.IGNORECASE)


def begins_with(text: str, context: str) -> bool:
    """Whether a text begins with a context, whatever its case and commas."""
    return f"{_key(text)} ".startswith(f"{_key(context)} ")


def _key(text: str) -> str:
    """A text in lower case, without commas and with single spaces."""
    return " ".join(re.sub(r"[,;:]", " ", text.casefold()).split())
