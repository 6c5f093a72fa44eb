"""English texts about *the person*, told of a woman and of a man.

*They* of the person becomes *she*, with the verb that agrees with it, and the twin of that is about a man. Where *they*
may be several, the text is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evenhand.core.items import Span
from evenhand.text.person_texts import (
    BOTH_GENDERS,
    NO_PERSON,
    SEVERAL_PERSONS,
    Gender,
    GenderedWords,
    NounUse,
    PersonVersions,
    versions_of_told_text,
)
from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.grammar import word_set
from evenhand.text.twins.en.pronouns import PRONOUNS
from evenhand.text.twins.en.swapper import EnglishSwapper
from evenhand.text.twins.en.tokens import Tokens, in_case_of
from evenhand.text.twins.en.word_classes import WordClass, classes_of, may_describe
from evenhand.text.twins.twin import NO_GENDERED_WORD, Rejected, Swap, Twin

_ONE_PERSON = word_set("the a this that")
_THEY = MappingProxyType(
    {
        "they": "she",
        "them": "her",
        "their": "her",
        "theirs": "hers",
        "themselves": "herself",
        "themself": "herself",
    }
)
_THIRD_PERSON = MappingProxyType(
    {"were": "was", "are": "is", "have": "has", "do": "does", "'re": "'s", "'ve": "'s", "go": "goes"}
    | {"weren't": "wasn't", "aren't": "isn't", "haven't": "hasn't", "don't": "doesn't"}
)
_MODALS = word_set("will would can could shall should may might must ought cannot 'll 'd had did was")
_NEGATED = word_set("won't wouldn't can't couldn't shouldn't mustn't hadn't didn't")
_COLLECTIVES = word_set(
    "team family company group couple crowd government police audience class band staff people others both everyone "
    "everybody someone somebody anyone anybody each neighbours neighbors"
)
_TOGETHER = word_set("each all both together themselves")
_REGARDED = word_set("known regarded seen described viewed remembered thought considered")
_COPULAS = word_set("is was be been being became become becomes remained remains 's wasn't isn't")

SEVERAL_OR_ONE = Rejected("they may be several")
UNCLEAR_VERB = Rejected("a verb after they whose form is not certain")


class EnglishPersonTexts:
    """Tells English texts of a woman and of a man."""

    language = "en"

    def __init__(self) -> None:
        self._swapper = EnglishSwapper()

    def versions(self, text: str) -> PersonVersions | Rejected:
        """Both versions of a text, or why they cannot be told."""
        tokens = Tokens(text)
        persons = [at for at, word in enumerate(tokens.lower()) if word in ("person", "persons")]
        if not persons:
            found = versions_of_told_text(text, self._swapper)
            return NO_PERSON if found == NO_GENDERED_WORD else found
        if len(persons) > 1 or not _is_one(tokens, persons[0]):
            return SEVERAL_PERSONS
        replaced = _she_for_they(tokens, persons[0])
        if isinstance(replaced, Rejected):
            return replaced
        if replaced and not PRONOUNS.isdisjoint(tokens.lower()):
            return BOTH_GENDERS
        person = tokens[persons[0]]
        about_woman = _with(text, {**replaced, person.span: in_case_of(person.text, "woman")})
        twin = self._swapper.twin(about_woman)
        if isinstance(twin, Rejected):
            return twin
        subject = next((swap for swap in twin.swaps if swap.old.lower() == "woman"), None)
        if subject is None:
            return Rejected("a person who may be somebody else")
        words = GenderedWords.of(
            twin.swaps, subject_at=subject.span.start, use_of=lambda swap: _use_of(Tokens(about_woman), swap)
        )
        if isinstance(words, Rejected):
            return words
        tells_female = Gender.FEMALE in words.said or (not replaced and words.tell(Gender.FEMALE))
        if words.tell(Gender.MALE):
            if tells_female or len(words.pronouns) > 1:
                return BOTH_GENDERS
            about_man = Twin.of(about_woman, [subject]).text
            whole = self._swapper.twin(about_man)
            return (
                whole if isinstance(whole, Rejected) else PersonVersions(whole.text, about_man, Gender.MALE)
            )
        return PersonVersions(about_woman, twin.text, Gender.FEMALE if tells_female else None)


def _with(text: str, replacements: Mapping[Span, str]) -> str:
    for span, new in sorted(replacements.items(), key=lambda item: -item[0].start):
        text = text[: span.start] + new + text[span.end :]
    return text


def _is_one(tokens: Tokens, at: int) -> bool:
    """Whether *person* is one who is named: *the person*, *an old person*, but not *another person* or *in person*."""
    if tokens[at].lower != "person" or tokens[at + 1].lower in ("and", "or"):
        return False
    before = at - 1
    while may_describe(tokens[before]):
        before -= 1
    is_said = tokens[before].lower == "a" and tokens[before - 1].lower in _COPULAS | {"as"}
    return tokens[before].lower in _ONE_PERSON | {"an"} and not is_said


def _she_for_they(tokens: Tokens, person: int) -> dict[Span, str] | Rejected:
    """What stands for *they* of one person, and for the verbs that agree with it."""
    replaced: dict[Span, str] = {}
    for at, word in enumerate(tokens.lower()):
        if word not in _THEY:
            continue
        if at < person or _may_be_several(tokens, person=person, pronoun=at):
            return SEVERAL_OR_ONE
        replaced[tokens[at].span] = in_case_of(tokens[at].text, _THEY[word])
        if word == "they":
            verb = _verb_after(tokens, at)
            if isinstance(verb, Rejected):
                return verb
            replaced |= verb
    return replaced


def _may_be_several(tokens: Tokens, *, person: int, pronoun: int) -> bool:
    """Whether a plural or a group stands before a pronoun, or something behind it says that they are several."""
    is_part = tokens[pronoun].lower == "them" and tokens[pronoun - 1].lower == "of"
    if tokens[pronoun + 1].lower in _TOGETHER or is_part:
        return True
    for at in range(pronoun):
        word = tokens[at].lower
        if at == person or not tokens[at].is_word:
            continue
        if word in _COLLECTIVES or word in grammar.NUMERALS - {"one"}:
            return True
        classes = classes_of(word)
        is_verb = bool(classes & WordClass.THIRD_PERSON) and _may_be_predicate(tokens, at, person)
        if classes & WordClass.PLURAL and not is_verb and word not in grammar.BEHIND_AN_OBJECT:
            return True
    return False


def _may_be_predicate(tokens: Tokens, at: int, person: int) -> bool:
    """Whether a word such as *smiles* directly follows its subject, perhaps behind an adverb."""
    before = at - 1
    while classes_of(tokens[before].lower) == WordClass.ADVERB or tokens[before].lower in grammar.ADVERBS:
        before -= 1
    return before == person or tokens[before].lower in ("who", "she", "he", "it", "and")


def _verb_after(tokens: Tokens, pronoun: int) -> dict[Span, str] | Rejected:
    """The verb of *they* as it is after *she*; empty where it stays as it is."""
    if tokens[pronoun - 1].lower in ("are", "were", "do", "have", "don't", "aren't", "weren't", "haven't"):
        return UNCLEAR_VERB
    at = pronoun + 1
    while tokens[at].lower in grammar.ADVERBS or classes_of(tokens[at].lower) == WordClass.ADVERB:
        at += 1
    verb = tokens[at]
    if verb.lower in _MODALS | _NEGATED:
        return {}
    if verb.lower in _THIRD_PERSON:
        is_past = verb.lower.startswith("were")
        if not is_past and _goes_on(tokens, at):
            return UNCLEAR_VERB
        return {verb.span: in_case_of(verb.text, _THIRD_PERSON[verb.lower])}
    classes = classes_of(verb.lower)
    if classes & WordClass.PAST and not classes & WordClass.VERB:
        return {}
    if classes & WordClass.VERB and not classes & WordClass.PAST and not _goes_on(tokens, at):
        return {verb.span: _third_person(verb.text)}
    return UNCLEAR_VERB


def _goes_on(tokens: Tokens, verb: int) -> bool:
    """Whether another verb in the present may follow that would have to agree as well: *they sing and dance*."""
    return any(
        tokens[at].lower in ("and", "or", "but") and bool(classes_of(tokens[at + 1].lower) & WordClass.VERB)
        for at in range(verb + 1, len(tokens))
    )


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def _use_of(tokens: Tokens, swap: Swap) -> NounUse:
    """Whom a noun is about: it is said of the person behind *as a* and *was a*."""
    at = next(place for place in range(len(tokens)) if tokens[place].start == swap.span.start)
    before = at - 1
    while tokens[before].is_hyphen or (
        tokens[before].lower not in _COPULAS and (may_describe(tokens[before]) or tokens.hyphen_after(before))
    ):
        before -= 1
    article = tokens[before].lower if tokens[before].lower in grammar.DETERMINERS else ""
    if article:
        before -= 1
    while tokens[before].lower in grammar.ADVERBS:
        before -= 1
    lead = tokens[before].lower
    if lead == "as":
        is_regarded = tokens[before - 1].lower in _REGARDED or tokens[before - 2].lower in _REGARDED
        is_clear = article in ("a", "an", "") or (article == "the" and is_regarded)
        return NounUse.PERSON if is_clear else NounUse.UNCLEAR
    return NounUse.PERSON if lead in _COPULAS else NounUse.OTHER
