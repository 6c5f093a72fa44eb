"""Words that a trigger may not have: whoever they name would be brought up in every text.

That is words that tell a gender, words for the groups that are compared and for other demographic groups, first names,
occupations, and words of the lexicons that texts are searched with. All are found by their lemma, so *bakers* is banned
with *baker*, and German compounds by their last part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import resources

from evenhand.core.probes import ProbeSet
from evenhand.text.gender_marking import words_telling_gender
from evenhand.text.lemmas import forms_of
from evenhand.text.lexicons import LEXICON_LANGUAGES, load_lexicon
from evenhand.text.occupations import OCCUPATION_LANGUAGES, load_occupations
from evenhand.triggers.targets import TargetSet

_RESOURCES = resources.files("evenhand.data") / "resources" / "triggers"

_WORD = re.compile(r"[^\W\d_]+")

Bans = Callable[[str], bool]
"""Whether a trigger may not have a word."""

_REMEMBERED = 2**17


def ban_words(probes: ProbeSet, targets: TargetSet, *, further: Iterable[str] = ()) -> Bans:
    """What says of a word whether it is banned.

    Args:
        probes: Their occupations and terms are banned.
        targets: Words in which the prompts of two groups differ are banned.
        further: Other words that are.
    """
    language = probes.language
    phrases = [form.noun for occupation in probes.occupations for form in occupation.forms]
    phrases += [term for terms in probes.terms.values() for term in terms.all]
    phrases += [*further, *_demographic_words(language)]
    listed = {word.casefold() for phrase in phrases for word in _WORD.findall(phrase)}
    by_lemma = frozenset(form for word in listed for form in forms_of(word, language))
    as_written: set[str] = set()  # German articles differ with the group, and share their lemma with *das*
    for prompts in targets.groups:
        first, second = ({word.casefold() for word in _WORD.findall(prompt)} for prompt in prompts)
        as_written |= first ^ second
    finders: list[Callable[[str], object]] = []
    if language in OCCUPATION_LANGUAGES:
        finders.append(load_occupations(language).find)
    if language in LEXICON_LANGUAGES:
        finders.append(load_lexicon(language).find)

    @lru_cache(maxsize=_REMEMBERED)
    def is_banned(word: str) -> bool:
        if word.casefold() in as_written:
            return True
        spellings = {word, word.capitalize()}  # German nouns have a capital
        return any(
            not by_lemma.isdisjoint(forms_of(own, language))
            or bool(words_telling_gender(own, language))
            or any(find(own) for find in finders)
            for own in spellings
        )

    return is_banned


def _demographic_words(language: str) -> list[str]:
    path = _RESOURCES / f"demographics_{language}.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
