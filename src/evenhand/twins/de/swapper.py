"""German twins: persons are swapped with all that agrees with them, and sentences without a rule are rejected."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenhand.text.swappers import NO_GENDERED_WORD, Rejected, Role, Swap, Twin
from evenhand.twins.de.agreement import Possessor, phrase_swaps, relative_swaps, swap_of
from evenhand.twins.de.cases import decide_cases
from evenhand.twins.de.persons import PersonLexicon, german_lexicon
from evenhand.twins.de.pronouns import (
    HER,
    HIS,
    Pronoun,
    PronounUse,
    classify_sie,
    phrase_of_determiner,
    pronouns_in,
)
from evenhand.twins.de.references import check_references
from evenhand.twins.de.rejections import (
    reject_possible_things,
    reject_unclear_persons,
    reject_unpaired_words,
)
from evenhand.twins.de.sentences import GermanSentence
from evenhand.twins.de.words import Ambiguous

_HYPHENATED_WORDS = re.compile(r"[^\W\d_]+(?:[-‐‑][^\W\d_]+)*")

_PRONOUNS = HIS | HER | {"er", "ihn", "ihm", "sie"}

_ROLES = {PronounUse.SUBJECT: Role.SUBJECT, PronounUse.OBJECT: Role.OBJECT}


class GermanSwapper:
    """Writes twins of German sentences.

    A word is swapped if every way to read it gives the same twin. Where its case, its number or its referent is not
    certain, the sentence is rejected.
    """

    language = "de"

    def __init__(self, lexicon: PersonLexicon | None = None) -> None:
        self._lexicon = lexicon or german_lexicon()

    def twin(self, sentence: str) -> Twin | Rejected:
        """The sentence's twin, or why it has none."""
        return self.twin_about(sentence, subject_at=-1)

    def twin_about(self, sentence: str, *, subject_at: int) -> Twin | Rejected:
        """The twin of a sentence in which the noun that begins here is known to be the subject of its clause."""
        if not self._may_be_about_somebody(sentence):
            return NO_GENDERED_WORD
        try:
            swaps = self._swaps(sentence, subject_at)
        except Ambiguous as reason:
            return Rejected(str(reason))
        if not swaps:
            return NO_GENDERED_WORD
        return Twin.of(sentence, swaps)

    def _may_be_about_somebody(self, sentence: str) -> bool:
        for match in _HYPHENATED_WORDS.finditer(sentence):
            word = match[0]
            if word.lower() in _PRONOUNS or (word[0].isupper() and self._lexicon.knows(word)):
                return True
        return False

    def _swaps(self, text: str, subject_at: int) -> tuple[Swap, ...]:
        reject_unpaired_words(text, self._lexicon)
        sentence = GermanSentence.read(text, self._lexicon, known_subject=subject_at)
        reject_unclear_persons(sentence)
        classify_sie(sentence)
        decide_cases(sentence)
        reject_possible_things(sentence)
        pronouns = check_references(sentence, list(pronouns_in(sentence)))
        possessors = {
            pronoun.at: Possessor(pronoun.new, pronoun.male)
            for pronoun in pronouns
            if pronoun.use is PronounUse.POSSESSIVE
        }
        swaps = [*_person_swaps(sentence, possessors), *relative_swaps(sentence)]
        done = {swap.span.start for swap in swaps}
        swaps += [
            _pronoun_swap(sentence, pronoun)
            for pronoun in pronouns
            if sentence.words[pronoun.at].span.start not in done
        ]
        return tuple(sorted(swaps, key=lambda swap: swap.span.start))


def _person_swaps(sentence: GermanSentence, possessors: dict[int, Possessor]) -> Iterator[Swap]:
    for phrase in sentence.persons():
        reading = phrase.readings[0]
        slot = min(reading.slots)
        yield from phrase_swaps(sentence.words, phrase, reading, slot=slot, possessors=possessors)


def _pronoun_swap(sentence: GermanSentence, pronoun: Pronoun) -> Swap:
    word = sentence.words[pronoun.at]
    if pronoun.use is not PronounUse.POSSESSIVE:
        return swap_of(word, pronoun.new, _ROLES[pronoun.use], male=pronoun.male)
    ending = word.lower.removeprefix("sein" if pronoun.male else "ihr")
    is_before_noun = phrase_of_determiner(sentence, pronoun.at) is not None
    role = Role.POSSESSIVE if is_before_noun else Role.STANDALONE_POSSESSIVE
    return swap_of(word, pronoun.new + ending, role, male=pronoun.male)
