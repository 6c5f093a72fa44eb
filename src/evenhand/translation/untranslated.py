"""Words of the source that a translation still has.

Four words in a row of a sentence show by themselves that nobody translated them; fewer may be a loan, such as *summa
cum laude*. A single word may be the same in both languages, as *hospital* is; whether the language has it is looked up
in the word lists of simplemma. A word that yet another language has is a loan.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec

from evenhand.core.items import BLANK, Association, Task
from evenhand.data.fill_forms import fills_of

FEWEST_IN_A_ROW = 4
"""Words of the source in a row that a translation still has."""

FEWEST_UNKNOWN = 2
"""Words of the source in a sentence that the language does not have."""

LOAN_LANGUAGES = ("de", "es", "fr", "it", "nl", "pt")
"""Languages that share loans: what one of them has, as *quiche*, may be said in any. More lists would take long."""

SHORTEST_WORD = 4
"""Letters of a word below which nothing is said about it."""

WORD_LIST_LANGUAGES = (
    *("ca", "cs", "da", "de", "en", "es", "et", "fi", "fr", "hu", "id", "it", "lt", "lv"),
    *("ms", "nb", "nl", "nn", "pl", "pt", "ro", "sk", "sl", "sq", "sv", "tr"),
)
"""Languages with Latin letters that simplemma has word lists of."""

_WORD = re.compile(r"[^\W\d_]+")


def has_word_lists() -> bool:
    """Whether the word lists are installed."""
    return find_spec("simplemma") is not None


@lru_cache(maxsize=2**16)
def is_word_of(word: str, language: str) -> bool:
    """Whether a language has a word, as far as its word list goes; in German also as a noun."""
    import simplemma

    return any(simplemma.is_known(form, lang=language) for form in (word, word.capitalize()))


def shares_words(text: str, original: str) -> bool:
    """Whether a text has words of its source that stand together there, names aside."""
    words = _WORD.findall(original.replace(BLANK, "."))
    own = _WORD.findall(text)
    runs = {tuple(own[start : start + FEWEST_IN_A_ROW]) for start in range(len(own))}
    return any(
        # Names stay as they are, and begin with a capital.
        tuple(run) in runs and not any(word[0].isupper() for word in run)
        for run in (
            words[start : start + FEWEST_IN_A_ROW] for start in range(len(words) - FEWEST_IN_A_ROW + 1)
        )
    )


def untranslated_words(item: Association, source: Association) -> list[str]:
    """The words of the source that an item still has and that its language does not: candidates' words and the target.

    Of whole sentences, those with two such words; one may be a loan.
    """
    originals = fills_of(source)
    pairs = [(item.target, source.target)]
    if item.task is Task.INTRASENTENCE:
        pairs += [(fill, originals.get(identity, "")) for identity, fill in fills_of(item).items()]
    found = [text for text, original in pairs if _is_kept(text, original, item.language)]
    texts = {candidate.id: candidate.text for candidate in source.candidates}
    sentences = [(item.context, source.context)]
    if item.task is Task.INTERSENTENCE:
        sentences += [(candidate.text, texts.get(candidate.id, "")) for candidate in item.candidates]
    for text, original in sentences:
        words = set(_WORD.findall(original.replace(BLANK, " ")))
        kept = [word for word in _WORD.findall(text) if word in words and _is_foreign(word, item.language)]
        if len(set(kept)) >= FEWEST_UNKNOWN:
            found += kept
    return list(dict.fromkeys(found))


def _is_kept(text: str, original: str, language: str) -> bool:
    """Whether a word or some words are those of the source, names aside, and not all of them belong to the language."""
    words = _WORD.findall(text)
    return text.casefold() == original.casefold() and any(_is_foreign(word, language) for word in words)


def _is_foreign(word: str, language: str) -> bool:
    may_be_word = len(word) >= SHORTEST_WORD and word.islower()  # *iPad* is a name
    return may_be_word and not any(is_word_of(word, known) for known in (language, *LOAN_LANGUAGES))
