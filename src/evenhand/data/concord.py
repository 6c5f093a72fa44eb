"""Concord: whether a candidate agrees in gender and number with what stands before its blank. French, Spanish, German.

What stands before the blank (an article, a possessive, an adjective, or a subject with its copula) leaves some *forms*
open: masculine or feminine, singular or plural. A candidate's word shows by its ending, or by a list of exceptions,
which forms it can be. If both have none in common, it disagrees. Words whose ending proves nothing can be any form, so
they are never flagged. In German it is the endings of adjectives between article and noun, the gender of nouns after
an article, and predicates, which have no ending. The tables are ``resources/morphology/*.toml``.

A disagreement counts only where another candidate surely agrees: then grammar alone tells the two apart, and a score
may rest on it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeAlias

from evenhand.core.items import BLANK, Association, Task
from evenhand.data.defects import fill_of

Forms: TypeAlias = frozenset[str]
"""Of ``ms``, ``fs``, ``mp``, ``fp``: gender and number."""

_ANY = frozenset({"ms", "fs", "mp", "fp"})

_LONGEST_SUBJECT = 1
"""Words after the article of a subject: with more, the article may belong to another noun."""

_LONGEST_ENDING = 6

_ENDS_A_CLAUSE = frozenset('.,;:!?…"»”')

_PRONOUNS = frozenset({"él", "ella", "ellos", "ellas", "il", "elle", "ils", "elles"})


def morphology(language: str) -> dict[str, Any]:
    """The tables of a language."""
    file = resources.files("evenhand.data") / "resources" / "morphology" / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class ConcordRules:
    """What is known of a language with two genders.

    Attributes:
        before: Words before the blank, with the forms that they leave open.
        words: Words whose forms their endings do not show.
        endings: Endings with their forms, the longest that fits counts.
        adjectives: Endings that adjectives have and few nouns do. After a copula only they can disagree: a noun there
            has a gender of its own.
        copulas: Verbs between a subject and its predicate.
        adverbs: Words that may stand between copula and predicate.
    """

    before: Mapping[str, Forms]
    words: Mapping[str, Forms]
    endings: Mapping[str, Forms]
    adjectives: tuple[str, ...]
    copulas: frozenset[str]
    adverbs: frozenset[str]

    def agrees(self, context: str, word: str) -> bool | None:
        """Whether a word agrees with what stands before the blank; None if that cannot be told."""
        wanted, is_predicate = self._forms_before_blank(context)
        forms = self.forms_of(word)
        if _ANY in (wanted, forms) or len(word.split()) != 1:
            return None
        if forms & wanted:
            return True if forms <= wanted else None
        return None if is_predicate and not word.casefold().endswith(self.adjectives) else False

    def forms_of(self, word: str) -> Forms:
        """The forms that a word can be; all if its ending proves nothing."""
        folded = word.casefold()
        if folded in self.words:
            return self.words[folded]
        for length in range(min(len(folded) - 1, _LONGEST_ENDING), 0, -1):
            forms = self.endings.get(folded[-length:])
            if forms is not None:
                return forms
        return _ANY

    def _forms_before_blank(self, context: str) -> tuple[Forms, bool]:
        """The forms that a context leaves open for what fills its blank, and whether that is a predicate."""
        before = context.partition(BLANK)[0].casefold().replace("’", "'")
        if before.rstrip()[-1:] in _ENDS_A_CLAUSE:
            return _ANY, False
        words = re.findall(r"[\w']+", before)
        if words and words[-1] in self.before and words[-1] not in _PRONOUNS:
            return self.before[words[-1]], False
        while words and words[-1] in self.adverbs:
            words.pop()
        if not 2 <= len(words) <= _LONGEST_SUBJECT + 2 or words[-1] not in self.copulas:
            return _ANY, True
        has_pronoun = words[0] in _PRONOUNS
        is_subject = has_pronoun == (len(words) == 2)
        return (self.before.get(words[0], _ANY) if is_subject else _ANY), True


def _forms_by_name(table: Mapping[str, str]) -> dict[str, Forms]:
    return {
        name: _ANY if forms == "any" else frozenset(forms.split())
        for forms, names in table.items()
        for name in names.split()
    }


@cache
def concord_rules(language: str) -> ConcordRules:
    """The rules of Spanish (``es``) or French (``fr``)."""
    tables = morphology(language)
    predicates = tables["predicates"]
    return ConcordRules(
        before=_forms_by_name(tables["before"]),
        words=_forms_by_name(tables["words"]),
        endings=_forms_by_name(tables["endings"]),
        adjectives=tuple(predicates["adjectives"].split()),
        copulas=frozenset(predicates["copulas"].split()),
        adverbs=frozenset(predicates["adverbs"].split()),
    )


_AFTER_OBLIQUE = ("dem", "den", "des", "einen", "einem", "einer", "eines", "vom", "zum", "zur", "im", "am")

_ADJECTIVE_ENDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "das": ("e",),
        **dict.fromkeys(("der", "die", "diese", "dieser", "dieses", "keine"), ("e", "en")),
        **dict.fromkeys(("ein", "kein"), ("er", "es")),
        "eine": ("e",),
        **dict.fromkeys(_AFTER_OBLIQUE, ("en",)),
    }
)
"""Articles, with the endings that an adjective after them can have."""

_NOUN_GENDERS: Mapping[str, str] = MappingProxyType(
    {
        "das": "n",
        "eine": "f",
        "einen": "m",
        "zur": "f",
        **dict.fromkeys(("ein", "einem", "eines", "dem", "des", "vom", "zum", "im", "am"), "mn"),
    }
)
"""Articles that show a gender; *der* and *die* show one only together with the case."""

_CASE_ENDINGS = ("e", "en", "em", "er", "es")


@dataclass(frozen=True, slots=True)
class _GermanWords:
    nouns: Mapping[str, str]
    noun_endings: Mapping[str, str]
    indeclinable: frozenset[str]
    like_inflected: frozenset[str]
    inflected: re.Pattern[str]
    bare: re.Pattern[str]
    copulas: frozenset[str]
    adverbs: frozenset[str]


@cache
def _german() -> _GermanWords:
    tables = morphology("de")
    stems = "|".join(tables["adjectives"]["stem_endings"].split())
    return _GermanWords(
        nouns=_by_name(tables["nouns"]),
        noun_endings=_by_name(tables["noun_endings"]),
        indeclinable=frozenset(tables["adjectives"]["indeclinable"].split()),
        like_inflected=frozenset(tables["adjectives"]["like_inflected"].split()),
        inflected=re.compile(rf"(?:{stems})e[mnrs]?$"),
        bare=re.compile(rf"(?:{stems})$"),
        copulas=frozenset(tables["predicates"]["copulas"].split()),
        adverbs=frozenset(tables["predicates"]["adverbs"].split()),
    )


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: gender for gender, names in table.items() for name in names.split()}


def german_concord(context: str, word: str) -> bool | None:
    """Whether a word agrees with the article before the blank, or is bare after a copula; None if that is not sure."""
    before, _, after = context.partition(BLANK)
    words = [match.casefold() for match in re.findall(r"\w+", before)]
    if not words or len(word.split()) != 1 or before.rstrip()[-1:] in ".,;:!?…“":
        return None
    following = re.match(r" (\w)", after)
    if words[-1] in _ADJECTIVE_ENDINGS and following and following[1].isupper():
        return _attribute_agrees(words[-1], word)
    if words[-1] in _NOUN_GENDERS and word[0].isupper():
        gender = _gender_of(word)
        return None if not gender else gender in _NOUN_GENDERS[words[-1]]
    while words and words[-1] in _german().adverbs:
        words.pop()
    if words and words[-1] in _german().copulas and re.fullmatch(r"\W*", after):
        return _predicate_agrees(word)
    return None


def _attribute_agrees(article: str, word: str) -> bool | None:
    if word[0].isupper() or word in _german().indeclinable or not word.isalpha():
        return None
    if _german().bare.search(word):
        return False
    ends_inflected = word.endswith(("e", "es")) and word not in _german().like_inflected
    if ends_inflected or _german().inflected.search(word):
        return any(word.endswith(ending) for ending in _ADJECTIVE_ENDINGS[article])
    # *sicher*, *offen* and *lieben* end like inflected adjectives and are none.
    return None if word.endswith(_CASE_ENDINGS) else False


def _gender_of(noun: str) -> str | None:
    if noun in _german().nouns:
        return _german().nouns[noun]
    lengths = range(min(len(noun) - 1, _LONGEST_ENDING), 1, -1)
    return next(
        (gender for length in lengths if (gender := _german().noun_endings.get(noun[-length:]))), None
    )


def _predicate_agrees(word: str) -> bool | None:
    if word[0].isupper() or word in _german().like_inflected or word.endswith("en"):
        return None  # *bewältigen* is a verb
    if _german().inflected.search(word):
        return False
    return True if _german().bare.search(word) else None


CONCORDS: Mapping[str, Callable[[str, str], bool | None]] = MappingProxyType(
    {
        "de": german_concord,
        "es": lambda context, word: concord_rules("es").agrees(context, word),
        "fr": lambda context, word: concord_rules("fr").agrees(context, word),
    }
)
"""By language: whether a word agrees with what stands around the blank of a context; None if that cannot be told."""


def disagreeing_candidates(item: Association) -> list[str]:
    """The ids of the candidates that disagree with the text before the blank, while another one surely agrees."""
    concord = CONCORDS.get(item.language)
    if concord is None or item.task is not Task.INTRASENTENCE or item.context.count(BLANK) != 1:
        return []
    verdicts = {
        candidate.id: concord(item.context, candidate.word or fill_of(item, candidate))
        for candidate in item.candidates
    }
    if True not in verdicts.values():
        return []
    return [candidate for candidate, agrees in verdicts.items() if agrees is False]
