"""Prompts: groups of people in contexts, and what a model is to go on from: *Die Frau arbeitete als*.

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
from evenhand.core.sampling import sample
from evenhand.data.contexts import Context, context_languages, load_contexts, read_contexts
from evenhand.data.csv_files import read_table
from evenhand.data.language_names import LANGUAGE_TAG
from evenhand.text.gender_marking import words_telling_gender

_RESOURCES = resources.files("evenhand.data") / "resources" / "regard"


@dataclass(frozen=True, slots=True)
class PersonGroup:
    """A group of people, and how a text begins that is about one of them."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class RegardPrompt:
    """What a model goes on from."""

    group: PersonGroup
    context: Context

    @property
    def text(self) -> str:
        """Group and context, with single spaces."""
        return " ".join(f"{self.group.words} {self.context.words}".split())


@dataclass(frozen=True)
class PromptSet:
    """Every group in every context, in one language."""

    name: str
    language: str
    groups: tuple[PersonGroup, ...]
    contexts: tuple[Context, ...]

    def __post_init__(self) -> None:
        _refuse_groups(self.groups)
        _refuse_contexts(self.contexts, self.language)

    @cached_property
    def prompts(self) -> tuple[RegardPrompt, ...]:
        """Context by context."""
        return tuple(RegardPrompt(group, context) for context in self.contexts for group in self.groups)

    @cached_property
    def sha256(self) -> str:
        """Digest of what is asked."""
        rows = [
            [prompt.group.name, prompt.group.words, prompt.context.words, prompt.context.kind]
            for prompt in self.prompts
        ]
        return sha256_of(json.dumps([self.language, rows]).encode())

    def sampled(self, limit: int | None) -> PromptSet:
        """The prompts of a sample of contexts over their kinds; all of them if there is no limit."""
        return replace(self, contexts=sample(self.contexts, limit, cluster=lambda context: context.kind))


def load_prompts(
    language: str, *, groups: str | Path | None = None, contexts: str | Path | None = None
) -> PromptSet:
    """Groups and contexts of a language: those that ship, or those of files.

    Args:
        language: Of the texts.
        groups: CSV with ``group`` and ``words``.
        contexts: CSV with ``context`` and perhaps ``kind``, or ``.txt`` with one context per line.

    Raises:
        DatasetError: If a file cannot be used, or nothing ships in the language.
    """
    if not LANGUAGE_TAG.fullmatch(language):
        raise DatasetError(f"The language {language!r} is no tag such as de or en.")
    known = context_languages()
    for kind, file in (("groups", groups), ("contexts", contexts)):
        if file is None and language not in known:
            raise DatasetError(
                f"No {kind} ship in the language {language!r}, only in {', '.join(known)}. Give a file with --{kind}."
            )
    names = [Path(own).stem for own in (groups, contexts) if own is not None]
    return PromptSet(
        name=" and ".join(names) or f"regard prompts ({language})",
        language=language,
        groups=read_groups(Path(groups) if groups else Path(str(_RESOURCES / f"groups_{language}.csv"))),
        contexts=(read_contexts(Path(contexts)) if contexts else load_contexts(language)).contexts,
    )


def read_groups(path: Path) -> tuple[PersonGroup, ...]:
    """Groups from a CSV file with ``group`` and ``words``.

    Raises:
        DatasetError: If the file cannot be read, or a row lacks its name or its words.
    """
    groups = []
    for row in read_table(path, needed=("group", "words")).rows:
        if not (row["group"] and row["words"]):
            raise DatasetError(f"{row.place}: a group needs a name and words, such as female,The woman.")
        groups.append(PersonGroup(row["group"], row["words"]))
    return tuple(groups)


def _refuse_groups(groups: Sequence[PersonGroup]) -> None:
    if len(groups) < 2:
        there = f"There is one group, {groups[0].name}" if groups else "There are no groups"
        raise DatasetError(
            f"{there}; at least two are needed, because regard is compared between them. Add a row with group and "
            "words."
        )
    for what, values in (
        ("name", [group.name for group in groups]),
        ("words", [group.words.casefold() for group in groups]),
    ):
        if twice := repeated(values):
            raise DatasetError(
                f"Two groups have the {what} {twice[0]!r}. Every group needs its own name and its own words."
            )


def _refuse_contexts(contexts: Sequence[Context], language: str) -> None:
    if not contexts:
        raise DatasetError("There are no contexts. Give at least one, such as: worked as")
    for context in contexts:
        told = words_telling_gender(context.words, language)
        if told:
            raise DatasetError(
                f"The context {context.words!r} tells a gender already ({', '.join(told)}), so what a model writes "
                "would depend on that and not on the group alone. Write it without."
            )
