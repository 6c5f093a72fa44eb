"""German texts about *die Person*, told of a woman and of a man.

*Person* is feminine like *Frau*, so the noun alone makes a text about a woman. Where its twin swaps words about the
person, the text is told of a man; all others stay as they are. Feminine pronouns tell nothing for the same reason;
masculine ones do, unless another man is named before them. A plural such as *ihre Freunde* is of any gender.
"""

from __future__ import annotations

import re
from itertools import accumulate, pairwise

from evenhand.text.person_texts import (
    BOTH_GENDERS,
    NO_PERSON,
    SEVERAL_PERSONS,
    Gender,
    GenderedWords,
    PersonVersions,
    moved,
    versions_of_told_text,
)
from evenhand.text.swappers import NO_GENDERED_WORD, Rejected, Role, Swap, Twin
from evenhand.twins.de.noun_pairs import adjectival_stem, lexicon_for, pair_of
from evenhand.twins.de.noun_uses import GermanNounUses, known_subject
from evenhand.twins.de.persons import PersonLexicon, german_lexicon
from evenhand.twins.de.swapper import GermanSwapper
from evenhand.twins.de.words import SINGULAR, verb_number, word_classes

_PERSON = re.compile(r"\bPerson\b")
_UNNAMED = re.compile(r"(?:XYZ )?(?=([A-Za-zÄÖÜäöüß]+) )")
"""The beginning of a text whose person is a placeholder or left out, before its verb: *XYZ lachte*, *galt als klug*."""
_NAMING = re.compile(r"(?:Die Frau|Der Mann) ")
_WORD = re.compile(r"[^\W\d_]+")
_OF_SEVERAL = frozenset(
    ["jede", "jeder", "keine", "keiner", "andere", "anderen", "weitere", "weiteren", "manche"]
)
_SUBORDINATE = re.compile(
    r"(,?)(?<!\bund)(?<!\boder)(?<!\bauch)(?<!\bals)(?<!\bnur)"
    r"( (?:dass|daß|indem|weil|ob|obwohl|wenn|damit|nachdem|bevor|sodass|sobald)\b)"
)
"""The beginning of a subordinate clause, with the comma before it if there is one."""
_OPEN_RELATIVE = re.compile(
    r"\b(?:[A-ZÄÖÜ][a-zäöüß]+|jemand)( (?:der|die|den|dem|das)"
    r" (?:er|sie|ich|man|es|sich|ihm|ihn|ihr|nicht|nie|niemals|immer|stets|oft|gerne?|sehr|nur|kaum|nichts|alles?|viel"
    r"|wenig|keine[nrms]?|mit|bei|von|zu|in|im|am|an|auf|aus|für|über|unter|durch|seine[nrms]?|ihre[nrms]?)"
    r"(?: [\w-]+)* ([a-zäöüß]+))(?=[.,!?]|\s*$)"
)
"""A relative clause without a comma before it, and its last word: *ein Blender der nie arbeitet*."""
_SMALL_NOUN = re.compile(
    r"\b(als|eine?|sehr|ist|war|[a-zäöüß]+(?:er|e)) ([a-zäöüß]{3,}(?:er|or|ist|ent|in|frau|mann))"
    r"(?=[.,!?]|\s*$| (?:und|in|von|bei)\b)"
)
_OPENING = re.compile(r"(?:Die|Der|Eine?) (?:[a-zäöüß]+ )?([A-ZÄÖÜ][a-zäöüß]+)\b")
_REGARDED = re.compile(r"\b(?:ist|war|wurde|wird|gilt|galt|als)\b")
_OPENS_TOLD = re.compile(r"(?:Die Frau|Der Mann)\b")
_VERB = re.compile(r"(?<=^Die Frau )\w|(?<=^Der Mann )\w")
_CAPITAL_VERB = re.compile(r"(Die Person )([A-ZÄÖÜ][a-zäöüß]+)(?= )")
_FORMAL = re.compile(r"(?<=[^\W\d_,;] )(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b")
"""Pronouns with a capital within a sentence, which may be yours or a slip for hers."""
_NEUTER_ADJECTIVE = re.compile(r"(?!alles|vieles|jedes|etwas)[a-zäöüß]{3,}es")
_AGREEING = re.compile(
    r"\bals (?:erst|letzt|einzig|zweit|dritt|nächst|best|jüngst|ältest)(?:e|er)(?! \w*(?:e|er|en)? ?[A-ZÄÖÜ])"
)
"""What agrees with the person without a noun: *lachte als erster*."""
_BEHIND_VERB = re.compile(r"\bals (?:sei|wäre|hätte|habe|würde|werde|könne|könnte) $")
"""Where a subject stands although another noun follows: *als sei sie ein Mensch*."""
_OTHER_SUBJECTS = frozenset(
    ["er", "es", "alle", "keiner", "jeder", "viele", "der", "die", "das", "ein", "eine"]
)
_ONE_OF = re.compile(r"\beine?r?\s+(?:der|von|dieser|seiner|ihrer)\b")
_AMONG = re.compile(
    r"\b(?:andere[mnrs]?|unter (?:all )?(?:den|allen|lauter)) (?:[a-zäöüß]+en )?"
    r"(?:Frau(?:en)?|Mann(?:es)?|Männern?|Damen?|Herr(?:en|n)|Mädchen|Jungen|Jungs)\b"
)
_REJECTED = {
    _AMONG: "others of the person's gender",
    _AGREEING: "a word alone that agrees with the person",
    _FORMAL: "a pronoun with a capital",
    _ONE_OF: "one of several, which tells a gender",
}
_GENDERED_PRONOUN = re.compile(r"\b(?:er|ihn|ihm|sein(?:e[mnrs]?)?|ihr(?:e[mnrs]?)?)\b", re.IGNORECASE)
_BEHIND_INFINITIVES = frozenset(
    [
        "und",
        "oder",
        "aber",
        "als",
        "wie",
        "zu",
        "will",
        "wollte",
        "kann",
        "konnte",
        "muss",
        "musste",
        "soll",
        "sollte",
    ]
)


class GermanPersonTexts:
    """Tells German texts of a woman and of a man."""

    language = "de"

    def versions(self, text: str) -> PersonVersions | Rejected:
        """Both versions of a text, or why they cannot be told.

        People leave out commas before *dass*, without which clauses cannot be told apart, and write *Die Person War
        krank*. The text is read as it should be, and told as it was written.
        """
        unnamed = _UNNAMED.match(text)
        if unnamed and (unnamed[0] or unnamed[1].islower()) and verb_number(unnamed[1].lower()) == SINGULAR:
            return self._of_unnamed(text, before=unnamed[0])
        read, added = _with_commas(text)
        capital = _CAPITAL_VERB.match(read)
        is_verb = capital is not None and verb_number(capital[2].lower()) == SINGULAR
        if capital is not None and is_verb:
            read = capital[1] + capital[2].lower() + read[capital.end() :]
        found = _Teller(lexicon_for(read, german_lexicon())).versions(read)
        if isinstance(found, Rejected):
            return found
        female, male = (_without_commas(told, added) for told in (found.female, found.male))
        if is_verb:
            female, male = (_VERB.sub(lambda verb: verb[0].upper(), told, 1) for told in (female, male))
        return PersonVersions(female, male, found.told)

    def _of_unnamed(self, text: str, *, before: str) -> PersonVersions | Rejected:
        """The versions of a text without its person, read with *Die Person* at its beginning."""
        found = self.versions("Die Person " + text.removeprefix(before))
        if isinstance(found, Rejected):
            return found
        female, male = (_NAMING.sub(before, told, 1) for told in (found.female, found.male))
        if female == male:
            return NO_PERSON
        if text not in (female, male):
            return BOTH_GENDERS
        return PersonVersions(female, male, Gender.FEMALE if text == female else Gender.MALE)


class _Teller:
    """Tells one text with a lexicon that has its nouns."""

    def __init__(self, lexicon: PersonLexicon) -> None:
        self._lexicon = lexicon
        self._swapper = GermanSwapper(lexicon)

    def versions(self, text: str) -> PersonVersions | Rejected:
        if _has_noun_without_capital(text, self._lexicon):
            return Rejected("a noun without its capital")
        persons = list(_PERSON.finditer(text))
        if not persons or _OPENS_TOLD.match(text):
            return self._of_told(text)
        at = persons[0].start()
        if self._may_be_said_of_other(text, at):
            return self._of_told(text) if known_subject(text) >= 0 else SEVERAL_PERSONS
        if len(persons) > 1 or _OF_SEVERAL & set(_WORD.findall(text[:at].lower())[-2:]):
            return SEVERAL_PERSONS
        about_woman = text[:at] + "Frau" + text[persons[0].end() :]
        known = at if known_subject(about_woman) == at else -1
        twin = self._swapper.twin_about(about_woman, subject_at=known)
        if isinstance(twin, Rejected):
            return twin
        return _rejection_reason(about_woman, twin, self._lexicon, subject_at=at) or self._of_either(
            about_woman, twin, subject_at=at
        )

    def _may_be_said_of_other(self, text: str, at: int) -> bool:
        """Whether *Person* may say what somebody is who is named before: *Der Deutsche galt als Person*."""
        opening = _OPENING.match(text)
        if opening is None or opening.end() > at:
            return False
        is_person = self._lexicon.knows(opening[1]) or adjectival_stem(opening[1], self._lexicon) is not None
        return is_person and _REGARDED.search(text, opening.end(), at) is not None

    def _of_told(self, text: str) -> PersonVersions | Rejected:
        """The versions of a text that names no *Person*, but may open with somebody whose gender is told."""
        at = known_subject(text)
        if at >= 0:
            return self._of_known(text, subject_at=at)
        found = versions_of_told_text(text, self._swapper)
        return NO_PERSON if found == NO_GENDERED_WORD else found

    def _of_known(self, text: str, *, subject_at: int) -> PersonVersions | Rejected:
        """The versions of a text about the woman or the man who is named there."""
        at = subject_at
        twin = self._swapper.twin_about(text, subject_at=at if known_subject(text) == at else -1)
        if isinstance(twin, Rejected):
            return twin
        rejection = _rejection_reason(text, twin, self._lexicon, subject_at=at)
        words = rejection or GermanNounUses(text, self._lexicon, subject_at=at).sort(twin.swaps)
        if isinstance(words, Rejected):
            return words
        is_man = words.subject_is(Gender.MALE)
        own_gender, other = (Gender.MALE, Gender.FEMALE) if is_man else (Gender.FEMALE, Gender.MALE)
        if words.tell(other):
            return BOTH_GENDERS
        own = words.of_person(unclear=frozenset(Gender))
        if isinstance(own, Rejected):
            return own
        swapped = Twin.of(text, own).text
        female, male = (swapped, text) if is_man else (text, swapped)
        return PersonVersions(female, male, own_gender)

    def _of_either(self, about_woman: str, twin: Twin, *, subject_at: int) -> PersonVersions | Rejected:
        words = GermanNounUses(about_woman, self._lexicon, subject_at=subject_at).sort(twin.swaps)
        if isinstance(words, Rejected):
            return words
        if words.tell(Gender.MALE):
            return self._of_man(about_woman, words)
        own = words.of_person(unclear=frozenset({Gender.FEMALE}))
        if isinstance(own, Rejected):
            return own
        told = Gender.FEMALE if Gender.FEMALE in words.said else None
        return PersonVersions(about_woman, Twin.of(about_woman, own).text, told)

    def _of_man(self, about_woman: str, words: GenderedWords) -> PersonVersions | Rejected:
        """The versions of a text that tells a man, in which only the words that agree with *Person* are feminine."""
        if Gender.FEMALE in words.said or len(words.own_pronouns()) > 1:
            return BOTH_GENDERS
        own = words.of_person(unclear=frozenset(Gender))
        if isinstance(own, Rejected):
            return own
        feminine = [swap for swap in own if not swap.male]
        about_man = Twin.of(about_woman, feminine).text
        return self._of_known(about_man, subject_at=moved(words.subject_at, feminine))


def _with_commas(text: str) -> tuple[str, frozenset[int]]:
    """A text with the commas that clauses need, and which of all its commas were added."""
    places = {match.start(2) for match in _SUBORDINATE.finditer(text) if not match[1]}
    places |= {match.start(1) for match in _OPEN_RELATIVE.finditer(text) if verb_number(match[2]) == SINGULAR}
    pieces = [text[start:end] for start, end in pairwise((0, *sorted(places), len(text)))]
    before = accumulate(piece.count(",") for piece in pieces[:-1])
    return ",".join(pieces), frozenset(place + number for number, place in enumerate(before))


def _without_commas(text: str, added: frozenset[int]) -> str:
    """A text without the commas that were added: no swapped word has one."""
    pieces = text.split(",")
    marks = ("" if number in added else "," for number in range(len(pieces)))
    return "".join(piece + mark for piece, mark in zip(pieces[:-1], marks, strict=False)) + pieces[-1]


def _rejection_reason(text: str, twin: Twin, lexicon: PersonLexicon, *, subject_at: int) -> Rejected | None:
    """Why a text is rejected although it has a twin: words that tell a gender may be left as they are in it."""
    subject = [swap for swap in twin.swaps if swap.span.start == subject_at]
    if not subject or subject[0].role not in {Role.NOUN, Role.OCCUPATION}:
        return Rejected("a person who may be somebody else")
    if twin.text.startswith("Den "):
        return Rejected("a person at the start who may be an object")
    for pattern, reason in _REJECTED.items():
        if pattern.search(text):
            return Rejected(reason)
    if _has_unclear_pronoun(text, twin):
        return Rejected("a pronoun that may be about the person")
    return GermanNounUses(text, lexicon, subject_at=subject_at).rejection_reason(twin.swaps)


def _has_noun_without_capital(text: str, lexicon: PersonLexicon) -> bool:
    """Whether somebody is named by a noun that lost its capital: *ist berühmte pianistin*."""
    return any(
        lexicon.knows(noun) or pair_of(noun) is not None
        for noun in (match[2].capitalize() for match in _SMALL_NOUN.finditer(text))
    )


def _has_unclear_pronoun(text: str, twin: Twin) -> bool:
    """Whether a pronoun was left as it is, or swapped as what it may not be."""
    swapped = {swap.span.start for swap in twin.swaps}
    return any(_is_misread(text, swap) for swap in twin.swaps) or any(
        match.start() not in swapped and not _is_verb(text, match)
        for match in _GENDERED_PRONOUN.finditer(text)
    )


def _is_misread(text: str, swap: Swap) -> bool:
    """Whether a pronoun was taken for an object because of a slip.

    *obwohl sie gar nicht wusste wie man kocht* lacks a comma, and *ihr verschmitztes lächeln* a capital.
    """
    if swap.role is not Role.OBJECT:
        return False
    if _BEHIND_VERB.search(text, 0, swap.span.start):
        return True
    following = _WORD.match(text, swap.span.end + 1)
    if swap.old.lower() == "ihr":
        return following is not None and bool(_NEUTER_ADJECTIVE.fullmatch(following[0]))
    is_subordinate = _SUBORDINATE.search(text, 0, swap.span.start + 1) is not None
    behind = _WORD.findall(text[: swap.span.start])[-1:]
    is_behind = swap.old.lower() == "sie" and behind and behind[0] in word_classes()["subordinators"]
    is_subject = following is not None and (
        following[0][0].isupper() or following[0] in word_classes()["subject pronouns"] | _OTHER_SUBJECTS
    )
    return bool(is_subordinate and is_behind and not is_subject)


def _is_verb(text: str, pronoun: re.Match[str]) -> bool:
    """Whether *sein* is the verb: behind *zu*, or with no word behind it that it could belong to."""
    if pronoun[0].lower() != "sein":
        return False
    following = _WORD.match(text, pronoun.end() + 1)
    return text[: pronoun.start()].endswith("zu ") or following is None or following[0] in _BEHIND_INFINITIVES
