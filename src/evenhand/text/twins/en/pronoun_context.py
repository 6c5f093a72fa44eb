"""How an English pronoun can be read, and the words around it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.tokens import Token, Tokens
from evenhand.text.twins.en.word_classes import WordClass, classes_of, verb_lemma


class PronounReading(Enum):
    """How a pronoun is read."""

    POSSESSIVE = auto()
    OBJECT = auto()
    UNCLEAR = auto()


@dataclass(frozen=True, slots=True)
class PronounContext:
    """A pronoun in its sentence."""

    tokens: Tokens
    at: int

    @property
    def before(self) -> Token:
        """The token before it."""
        return self.tokens[self.at - 1]

    def after(self, distance: int = 1) -> Token:
        """A token after it."""
        return self.tokens[self.at + distance]

    @property
    def verb(self) -> str | None:
        """The infinitive of the verb that it directly follows, or None if it follows no verb."""
        before = self.before
        if not before.is_word:
            return None
        if before.lower in ("do", "did", "does", "done", "have", "had", "has", "having", "doing"):
            return "do" if before.lower.startswith("d") else "have"
        if before.lower in grammar.BEHIND_AN_OBJECT or before.lower in grammar.ADVERBS:
            return None
        if classes_of(before.lower) & WordClass.ANY_VERB:
            return verb_lemma(before.lower)
        return None

    @property
    def follows_preposition(self) -> bool:
        """Whether it directly follows a preposition."""
        return self.before.lower in grammar.PREPOSITIONS or self.before.lower in (
            "near",
            "like",
            "round",
            "opposite",
        )


def possessive_if(certain: bool) -> PronounReading:
    """Possessive, or unclear."""
    return PronounReading.POSSESSIVE if certain else PronounReading.UNCLEAR


def object_if(certain: bool) -> PronounReading:
    """An object, or unclear."""
    return PronounReading.OBJECT if certain else PronounReading.UNCLEAR
