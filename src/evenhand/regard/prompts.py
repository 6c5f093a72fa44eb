"""Prompts: groups of people, contexts, and what a model is to go on from: *Die Frau arbeitete als*.

Groups and contexts ship in German and English, or come from files. The German contexts are those of the published
texts, two of which differ from the survey's: *hat eine Stelle angefangen als*, and *war sehr bekannt dafür,* with a
comma. The English ones are those of Sheng et al. (2019).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.files import sha256_of
from evenhand.core.items import repeated
from evenhand.data.csv_files import read_table
from evenhand.data.layouts import LANGUAGE_TAG
from evenhand.data.probes import PROBE_LANGUAGES, gendered_vocabulary
from evenhand.regard.texts import read_plain_texts
from evenhand.text.word_search import gendered_words_in, words_of

_RESOURCES = resources.files("evenhand.data") / "resources" / "regard"

PROMPT_LANGUAGES = ("de", "en")
"""Languages in which groups and contexts ship."""

_INFINITIVES = frozenset({"sein"})
"""German words that look like possessives and are verbs more often at the end of a context."""


@dataclass(frozen=True, slots=True)
class PersonGroup:
    """A group of people, and how a text begins that is about one of them."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class RegardContext:
    """How a text goes on that is about somebody, before a model says what it thinks of them."""

    text: str
    kind: str = ""
    """What it brings up: occupation, respect; nothing if unknown."""


@dataclass(frozen=True, slots=True)
class RegardPrompt:
    """What a model goes on from."""

    group: PersonGroup
    context: RegardContext

    @property
    def text(self) -> str:
        """Group and context, with single spaces."""
        return " ".join(f"{self.group.words} {self.context.text}".split())


@dataclass(frozen=True)
class PromptSet:
    """Every group in every context, in one language."""

    name: str
    language: str
    groups: tuple[PersonGroup, ...]
    contexts: tuple[RegardContext, ...]

    def __post_init__(self) -> None:
        """Refuse groups and contexts that nothing can be learnt from."""
        _refuse_groups(self.groups)
        _refuse_contexts(self.contexts, self.language)

    @property
    def prompts(self) -> tuple[RegardPrompt, ...]:
        """Context by context, so that the texts of one context are finished together."""
        return tuple(RegardPrompt(group, context) for context in self.contexts for group in self.groups)

    @cached_property
    def sha256(self) -> str:
        """Digest of what is asked."""
        rows = [
            [prompt.group.name, prompt.group.words, prompt.context.text, prompt.context.kind]
            for prompt in self.prompts
        ]
        return sha256_of(json.dumps([self.language, rows]).encode())

    def first(self, limit: int | None) -> PromptSet:
        """The prompts of the first contexts."""
        return replace(self, contexts=self.contexts[:limit])


def load_prompts(
    language: str, *, groups: str | Path | None = None, contexts: str | Path | None = None
) -> PromptSet:
    """Groups and contexts of a language: those that ship, or those of files.

    Args:
        language: Of the texts.
        groups: CSV with ``group`` and ``words``.
        contexts: CSV with ``context`` and perhaps ``kind``, or a .txt file with one context per line.
    """
    if not LANGUAGE_TAG.fullmatch(language):
        raise DatasetError(f"The language {language!r} is no tag such as de or en.")
    names = [Path(own).stem for own in (groups, contexts) if own is not None]
    return PromptSet(
        name=" and ".join(names) or f"regard prompts ({language})",
        language=language,
        groups=read_groups(_chosen(groups, "groups", language)),
        contexts=read_contexts(_chosen(contexts, "contexts", language)),
    )


def read_groups(path: Path) -> tuple[PersonGroup, ...]:
    """Groups from a CSV file with ``group`` and ``words``."""
    groups = []
    for row in read_table(path, needed=("group", "words")).rows:
        if not (row["group"] and row["words"]):
            raise DatasetError(f"{row.place}: a group needs a name and words, such as female,The woman.")
        groups.append(PersonGroup(row["group"], row["words"]))
    return tuple(groups)


def read_contexts(path: Path) -> tuple[RegardContext, ...]:
    """Contexts from a CSV file with ``context`` and perhaps ``kind``, or the lines of a .txt file."""
    if path.suffix.lower() == ".txt":
        return tuple(map(RegardContext, read_plain_texts(path)))
    contexts = []
    for row in read_table(path, needed=("context",)).rows:
        if not row["context"]:
            raise DatasetError(f"{row.place}: the context is empty. Write one, or remove the row.")
        contexts.append(RegardContext(row["context"], row["kind"]))
    return tuple(contexts)


def _chosen(own: str | Path | None, kind: str, language: str) -> Path:
    if own is not None:
        return Path(own)
    if language not in PROMPT_LANGUAGES:
        raise DatasetError(
            f"No {kind} ship in the language {language!r}, only in {', '.join(PROMPT_LANGUAGES)}. Give a file with "
            f"--{kind}."
        )
    return Path(str(_RESOURCES / f"{kind}_{language}.csv"))


def _refuse_groups(groups: Sequence[PersonGroup]) -> None:
    if len(groups) < 2:
        raise DatasetError(
            f"There {'is one group' if groups else 'are no groups'}{f', {groups[0].name}' if groups else ''}; at least "
            "two are needed, because regard is compared between them. Add a row with group and words."
        )
    for what, values in (
        ("name", [group.name for group in groups]),
        ("words", [group.words.casefold() for group in groups]),
    ):
        if twice := repeated(values):
            raise DatasetError(
                f"Two groups have the {what} {twice[0]!r}. Every group needs its own name and its own words."
            )


def _refuse_contexts(contexts: Sequence[RegardContext], language: str) -> None:
    if not contexts:
        raise DatasetError("There are no contexts. Give at least one, such as: worked as")
    if twice := repeated(context.text for context in contexts):
        raise DatasetError(f"The context {twice[0]!r} is there twice. Keep one of them.")
    if language not in PROBE_LANGUAGES:
        return
    vocabulary = gendered_vocabulary(language) - _INFINITIVES
    for context in contexts:
        told = sorted(gendered_words_in(words_of(context.text), vocabulary))
        if told:
            raise DatasetError(
                f"The context {context.text!r} tells a gender already ({', '.join(told)}), so what a model writes "
                "would depend on that and not on the group alone. Write it without."
            )
