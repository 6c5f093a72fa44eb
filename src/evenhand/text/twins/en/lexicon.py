"""Which parts of speech an English word can have."""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto
from functools import cache, lru_cache

from evenhand.core.extras import require_extra
from evenhand.text.twins.word_lists import word_set


class Class(Flag):
    """Parts of speech; a word has all that it can be."""

    UNKNOWN = 0
    NOUN = auto()
    PLURAL = auto()
    """A noun that can be a plural."""
    VERB = auto()
    """A verb in its base form."""
    THIRD_PERSON = auto()
    PAST = auto()
    """A past tense or past participle."""
    ING = auto()
    ADJECTIVE = auto()
    ADVERB = auto()
    FINITE = VERB | THIRD_PERSON | PAST
    ANY_VERB = VERB | THIRD_PERSON | PAST | ING


_NEVER_ADVERBS = word_set(
    "cold dead pretty clean clear dear dirty fair firm good great green real rough sick still"
)
_LACKING_NOUNS = word_set("retreat resolve other others yoke bidding calling victuals merits hurts")
_CORRECTED = dict.fromkeys(_LACKING_NOUNS, Class.NOUN) | {"responsible": Class.ADJECTIVE}
"""What the lexicon does not know or has wrong."""


@lru_cache(maxsize=2**17)
def classes_of(word: str) -> Class:
    """The parts of speech of a word in lower case; none if it is not in the lexicon."""
    if word in _CORRECTED:
        return _CORRECTED[word]
    found = Class.UNKNOWN
    for part, lemmas in _lemmas_of()(word).items():
        if part == "NOUN":
            found |= Class.NOUN if word in lemmas else Class.NOUN | Class.PLURAL
        elif part in ("VERB", "AUX"):
            found |= _verb_form(word, tuple(lemmas))
        elif part == "ADJ":
            found |= Class.ADJECTIVE
        elif part == "ADV" and word not in _NEVER_ADVERBS:
            found |= Class.ADVERB
    if not found and word.endswith("ly"):
        return Class.ADVERB
    return found


@lru_cache(maxsize=2**15)
def verb_lemma(word: str) -> str | None:
    """The infinitive of a verb form in lower case, or None if the word is no verb."""
    lemmas = _lemmas_of()(word)
    of_verb = lemmas.get("VERB") or lemmas.get("AUX")
    return of_verb[0] if of_verb else None


def _verb_form(word: str, lemmas: tuple[str, ...]) -> Class:
    if word.endswith("ing") and word not in lemmas:
        return Class.ING
    form = Class.VERB if word in lemmas else Class.UNKNOWN
    if any(lemma != word for lemma in lemmas):
        form |= Class.THIRD_PERSON if word.endswith("s") else Class.PAST
    return form


@cache
def _lemmas_of() -> Callable[[str], dict[str, tuple[str, ...]]]:
    require_extra("train", "lemminflect", purpose="Swapping genders in English")
    # Of lemminflect only the table of known words is used: unknown words would load a pickled model.
    from lemminflect import getAllLemmas

    found: Callable[[str], dict[str, tuple[str, ...]]] = getAllLemmas
    return found
