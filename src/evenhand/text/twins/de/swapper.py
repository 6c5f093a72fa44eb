"""German twins: persons change places, and articles, adjectives and pronouns agree with them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenhand.text.twins.de.agreement import Possessor, exchanged, swap_of
from evenhand.text.twins.de.cases import decide_cases
from evenhand.text.twins.de.nouns import Lexicon, german_lexicon
from evenhand.text.twins.de.pronouns import (
    HER,
    HIS,
    Pronoun,
    Use,
    determined_by,
    pronouns_in,
    settle_she,
)
from evenhand.text.twins.de.references import check_references
from evenhand.text.twins.de.refusals import refuse_pronouns_without_noun, refuse_unfit
from evenhand.text.twins.de.relatives import relative_swaps
from evenhand.text.twins.de.sentences import GermanSentence
from evenhand.text.twins.de.words import Unsure
from evenhand.text.twins.twin import LeftOut, Role, Swap, Twin

_WORDS = re.compile(r"[^\W\d_]+(?:[-‐‑][^\W\d_]+)*")
_PRONOUNS = HIS | HER | {"er", "ihn", "ihm", "sie"}
_ROLES = {Use.SUBJECT: Role.SUBJECT, Use.OBJECT: Role.OBJECT}
_NOBODY = "no word about a man or a woman"


class GermanSwapper:
    """Writes twins of German sentences.

    A word is exchanged if every way to read it gives the same twin. Where its case, its number or whom it is about is
    not certain, the sentence is left out.
    """

    language = "de"

    def __init__(self) -> None:
        self._lexicon: Lexicon = german_lexicon()

    def twin(self, sentence: str) -> Twin | LeftOut:
        """The sentence's twin, or why it has none."""
        if not self._may_be_about_somebody(sentence):
            return LeftOut(_NOBODY)
        try:
            swaps = self._swaps(sentence)
        except Unsure as reason:
            return LeftOut(str(reason))
        if not swaps:
            return LeftOut(_NOBODY)
        return Twin(_applied(sentence, swaps), swaps)

    def _may_be_about_somebody(self, sentence: str) -> bool:
        for match in _WORDS.finditer(sentence):
            word = match[0]
            if word.lower() in _PRONOUNS or (word[0].isupper() and self._lexicon.knows(word)):
                return True
        return False

    def _swaps(self, text: str) -> tuple[Swap, ...]:
        refuse_unfit(text)
        sentence = GermanSentence.read(text, self._lexicon)
        refuse_pronouns_without_noun(sentence)
        settle_she(sentence)
        decide_cases(sentence)
        found = check_references(sentence, list(pronouns_in(sentence)))
        possessors = {
            pronoun.at: Possessor(pronoun.new, pronoun.male)
            for pronoun in found
            if pronoun.use is Use.POSSESSIVE
        }
        swaps = [*_of_persons(sentence, possessors), *relative_swaps(sentence)]
        done = {swap.span.start for swap in swaps}
        swaps += [
            _of_pronoun(sentence, pronoun)
            for pronoun in found
            if sentence.words[pronoun.at].span.start not in done
        ]
        return tuple(sorted(swaps, key=lambda swap: swap.span.start))


def _of_persons(sentence: GermanSentence, possessors: dict[int, Possessor]) -> Iterator[Swap]:
    for phrase in sentence.persons():
        reading = phrase.readings[0]
        slot = min(reading.slots)
        yield from exchanged(sentence.words, phrase, reading, slot=slot, possessors=possessors)


def _of_pronoun(sentence: GermanSentence, pronoun: Pronoun) -> Swap:
    word = sentence.words[pronoun.at]
    if pronoun.use is not Use.POSSESSIVE:
        return swap_of(word, pronoun.new, _ROLES[pronoun.use], male=pronoun.male)
    ending = word.lower.removeprefix("sein" if pronoun.male else "ihr")
    is_before_noun = determined_by(sentence, pronoun.at) is not None
    role = Role.POSSESSIVE if is_before_noun else Role.STANDALONE_POSSESSIVE
    return swap_of(word, pronoun.new + ending, role, male=pronoun.male)


def _applied(sentence: str, swaps: tuple[Swap, ...]) -> str:
    pieces: list[str] = []
    end = 0
    for swap in swaps:
        pieces += (sentence[end : swap.span.start], swap.new)
        end = swap.span.end
    return "".join((*pieces, sentence[end:]))
