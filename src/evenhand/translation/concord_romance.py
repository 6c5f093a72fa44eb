"""Concord in Spanish and French: gender and number of what fills a blank, and of what it belongs to.

Three kinds of places are judged. After an article, a possessive or an adjective the blank has its forms, and those of a
noun that is known to follow (*su BLANK esposa*). After a copula it has the forms of the subject, which are those that
article, noun and verb share (*mi hermana es BLANK*). After a noun with its article it has theirs (*un hombre muy
BLANK*). In the latter two only adjectives are judged, since a noun there has a gender of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from evenhand.core.items import BLANK
from evenhand.translation.concord_tables import ENDS_A_CLAUSE, by_longest_ending, by_name, morphology

Forms: TypeAlias = frozenset[str]
"""Of ``ms``, ``fs``, ``mp``, ``fp``: gender and number."""

_ANY = frozenset({"ms", "fs", "mp", "fp"})
_SINGULAR = frozenset({"ms", "fs"})
_PLURAL = frozenset({"mp", "fp"})

_LONGEST_SUBJECT = 7
"""Words from its article on: in longer ones, a clause may begin that is not seen."""

_PRONOUNS = frozenset({"él", "ella", "ellos", "ellas", "il", "elle", "ils", "elles"})
_OBJECTS = frozenset({"la", "los", "las", "le", "les"})

_PLURALS = (("ces", "z"), ("ones", "ón"), ("aux", "al"), ("es", ""), ("s", ""), ("x", ""))
"""Endings of plurals, with those of their singulars."""


@dataclass(frozen=True, slots=True)
class BlankForms:
    """What is known of the place of a blank: the forms that fit, and whether only adjectives are judged there."""

    forms: Forms
    for_adjectives: bool


_UNKNOWN = BlankForms(_ANY, for_adjectives=True)


@dataclass(frozen=True, slots=True)
class ConcordRules:
    """What is known of a language with two genders.

    Attributes:
        before: Words before the blank, with the forms that they leave open.
        nouns: Nouns with their forms.
        adjectives: Inflected adjectives with theirs.
        words: Other words: those of one form for both genders, and those of which nothing is sure.
        endings: Endings with their forms, the longest that fits counts.
        adjective_endings: Endings that adjectives have and few nouns do.
        copulas: Verbs between a subject and its predicate, with the forms of their number.
        adverbs: Words that may stand between copula and predicate.
        before_copula: Words that may stand between subject and copula.
        clauses: Words with which a clause begins.
        both: Those among them that join two subjects.
        objects_follow: Words after which what looks like an article is an object.
    """

    before: Mapping[str, Forms]
    nouns: Mapping[str, Forms]
    adjectives: Mapping[str, Forms]
    words: Mapping[str, Forms]
    endings: Mapping[str, str]
    adjective_endings: tuple[str, ...]
    copulas: Mapping[str, Forms]
    adverbs: frozenset[str]
    before_copula: frozenset[str]
    clauses: frozenset[str]
    both: frozenset[str]
    objects_follow: frozenset[str]

    def agrees(self, context: str, word: str) -> bool | None:
        """Whether a word agrees with what stands around the blank; None if that cannot be told."""
        place = self._place(context)
        forms = self.forms_of(word)
        if _ANY in (place.forms, forms) or len(word.split()) != 1:
            return None
        if place.for_adjectives and not self._is_adjective(word):
            return None
        if forms & place.forms:
            return True if forms <= place.forms else None
        return False

    def forms_of(self, word: str) -> Forms:
        """The forms that a word can be; all if neither the tables nor its ending say."""
        folded = word.casefold()
        for table in (self.words, self.adjectives, self.nouns):
            if folded in table:
                return table[folded]
        for singular in _singulars(folded):
            for table in (self.words, self.nouns):
                if singular in table and table[singular] <= _SINGULAR:
                    return frozenset(form[0] + "p" for form in table[singular])
        return _forms(by_longest_ending(folded, self.endings) or "any")

    def _is_adjective(self, word: str) -> bool:
        folded = word.casefold()
        if folded in self.adjectives:
            return True
        is_noun = folded in self.nouns or any(singular in self.nouns for singular in _singulars(folded))
        return not is_noun and folded.endswith(self.adjective_endings)

    def _place(self, context: str) -> BlankForms:
        before, _, after = context.casefold().replace("’", "'").partition(BLANK.casefold())
        if before.rstrip()[-1:] in ENDS_A_CLAUSE:
            return _UNKNOWN
        words = re.findall(r"\w+'?|[^\w\s]", before)
        if words and words[-1] in self.before and words[-1] not in _PRONOUNS:
            is_object = words[-1] in _OBJECTS and words[-2:-1] and words[-2] in self.objects_follow
            return (
                _UNKNOWN if is_object else BlankForms(self._with_noun(words[-1], after), for_adjectives=False)
            )
        while words and words[-1] in self.adverbs:
            words.pop()
        if not words:
            return _UNKNOWN
        is_predicate = words[-1] in self.copulas
        forms = self._subject(words) if is_predicate else self._noun_before(words)
        return BlankForms(forms, for_adjectives=True)

    def _with_noun(self, word: str, after: str) -> Forms:
        """The forms that a word leaves open before a noun that may follow the blank."""
        following = re.match(r" (\w+)", after)
        forms = self.nouns.get(following[1], _ANY) if following else _ANY
        return (self.before[word] & forms) or self.before[word]

    def _subject(self, words: list[str]) -> Forms:
        """The forms of the subject of a copula, which is the last of the words."""
        *words, copula = words
        while words and words[-1] in self.before_copula:
            words.pop()
        begin = next(
            (place for place in range(len(words), 0, -1) if words[place - 1] in self.clauses | ENDS_A_CLAUSE),
            0,
        )
        subject, number = words[begin:], self.copulas[copula]
        has_two = begin > 0 and words[begin - 1] in self.both and number == _PLURAL
        if has_two or not 1 <= len(subject) <= _LONGEST_SUBJECT:
            return _ANY
        if subject[0] in _PRONOUNS:
            return (self.before[subject[0]] & number or _ANY) if len(subject) == 1 else _ANY
        if len(subject) == 1 or subject[0] not in self.before:
            return _ANY
        return self.before[subject[0]] & self.forms_of(subject[1]) & number or _ANY

    def _noun_before(self, words: list[str]) -> Forms:
        """The forms of a noun with its article that ends the words, where an adjective after it can only be its own."""
        if len(words) < 2 or words[-1] not in self.nouns or words[-2] not in self.before:
            return _ANY
        if len(words) > 2 and words[-3] not in self.copulas:
            return _ANY
        return self.before[words[-2]] & self.nouns[words[-1]] or _ANY


def _singulars(word: str) -> Iterator[str]:
    return (word.removesuffix(plural) + singular for plural, singular in _PLURALS if word.endswith(plural))


def _forms(names: str) -> Forms:
    return _ANY if names == "any" else frozenset(names.split())


def _forms_by_name(table: Mapping[str, str]) -> dict[str, Forms]:
    return {name: _forms(key) for name, key in by_name(table).items()}


def _spanish_adjective(masculine: str) -> dict[str, str]:
    stem = masculine.removesuffix("o")
    return {stem + "o": "ms", stem + "a": "fs", stem + "os": "mp", stem + "as": "fp"}


def _french_adjective(entry: str) -> dict[str, str]:
    masculine, _, irregular = entry.partition(":")
    feminine = irregular or masculine + "e"
    forms = {
        masculine: "ms mp" if masculine.endswith(("s", "x")) else "ms",
        feminine: "fs",
        feminine + "s": "fp",
    }
    if masculine.endswith("al"):
        return forms | {masculine.removesuffix("al") + "aux": "mp"}
    if masculine.endswith("eau"):
        return forms | {masculine + "x": "mp"}
    return forms if masculine.endswith(("s", "x")) else forms | {masculine + "s": "mp"}


@cache
def concord_rules(language: str) -> ConcordRules:
    """The rules of Spanish (``es``) or French (``fr``)."""
    tables = morphology(language)
    predicates = {name: names.split() for name, names in tables["predicates"].items()}
    inflect = _spanish_adjective if language == "es" else _french_adjective
    return ConcordRules(
        before=_forms_by_name(tables["before"]),
        nouns=_forms_by_name(tables["nouns"]),
        adjectives={
            form: _forms(names)
            for entry in tables["adjectives"]["inflected"].split()
            for form, names in inflect(entry).items()
        },
        words=_forms_by_name(tables["words"]),
        endings=by_name(tables["endings"]),
        adjective_endings=tuple(predicates["adjectives"]),
        copulas={
            **dict.fromkeys(predicates["singular"], _SINGULAR),
            **dict.fromkeys(predicates["plural"], _PLURAL),
        },
        adverbs=frozenset(predicates["adverbs"]),
        before_copula=frozenset(predicates["before_copula"]),
        clauses=frozenset(predicates["clauses"]),
        both=frozenset(predicates["both"]),
        objects_follow=frozenset(predicates["objects_follow"]),
    )
