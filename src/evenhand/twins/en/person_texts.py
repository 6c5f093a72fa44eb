"""English texts about *the person*, told of a woman and of a man.

*They* of the person becomes *she*, with the verb that agrees with it. Where the twin of that swaps words about the
person, the text is told of a man; all others stay as they are. Where *they* may be several, the text is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evenhand.core.items import Span
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
from evenhand.twins.en import grammar
from evenhand.twins.en.grammar import word_set
from evenhand.twins.en.noun_uses import COPULAS, EnglishNounUses
from evenhand.twins.en.swapper import EnglishSwapper
from evenhand.twins.en.tokens import Tokens, in_case_of
from evenhand.twins.en.word_classes import WordClass, classes_of, may_describe

_ONE_PERSON = word_set("the a this that")
_THEY: Mapping[str, tuple[str, str, Role]] = MappingProxyType(
    {
        "they": ("she", "he", Role.SUBJECT),
        "them": ("her", "him", Role.OBJECT),
        "their": ("her", "his", Role.POSSESSIVE),
        "theirs": ("hers", "his", Role.STANDALONE_POSSESSIVE),
        "themselves": ("herself", "himself", Role.REFLEXIVE),
        "themself": ("herself", "himself", Role.REFLEXIVE),
    }
)
"""What stands for *they* of a woman and of a man, and its role."""
_THIRD_PERSON = MappingProxyType(
    {"were": "was", "are": "is", "have": "has", "do": "does", "'re": "'s", "'ve": "'s", "go": "goes"}
    | {"weren't": "wasn't", "aren't": "isn't", "haven't": "hasn't", "don't": "doesn't"}
)
_MODALS = word_set("will would can could shall should may might must ought cannot 'll 'd had did was")
_NEGATED = word_set("won't wouldn't can't couldn't shouldn't mustn't hadn't didn't")
_BEFORE_VERBS = word_set("still always never often only just even once sometimes usually")
_COLLECTIVES = word_set(
    "team family company group couple crowd government police audience class band staff people others both everyone "
    "everybody someone somebody anyone anybody each neighbours neighbors"
)
_TOGETHER = word_set("each all both together themselves")

_VERBS = WordClass.VERB | WordClass.PAST | WordClass.THIRD_PERSON

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
        person = tokens[persons[0]]
        replaced |= {person.span: in_case_of(person.text, "woman")}
        about_woman = _with(text, replaced)
        known = {
            place: Swap(Span(place, place + len(new)), new, in_case_of(new, male), role, male=False)
            for span, new in replaced.items()
            if (pronoun := _THEY.get(span.of(text).lower())) is not None
            for place, (_, male, role) in [(_moved(span.start, replaced), pronoun)]
        }
        return self._of_either(about_woman, person.start, known)

    def _of_either(
        self, about_woman: str, subject_at: int, known: Mapping[int, Swap]
    ) -> PersonVersions | Rejected:
        """Both versions, from the one about a woman.

        Args:
            about_woman: The text with *woman* for *person*, and with *she* for *they*.
            subject_at: Where *woman* begins.
            known: Swaps of what stands for *they*, by where it begins.
        """
        words = self._words(about_woman, subject_at, known)
        if isinstance(words, Rejected):
            return words
        own = words.own_pronouns(known=frozenset(known))
        told = words.said | own
        if len(told) > 1 or (known and own):
            return BOTH_GENDERS
        # Who writes *they* of the person does not write *she* or *he* of them as well; nor who writes one the other.
        unclear = told or (frozenset() if known else frozenset(Gender))
        of_person = words.of_person(unclear=unclear, known=frozenset(known))
        if isinstance(of_person, Rejected):
            return of_person
        if told != {Gender.MALE}:
            about_man = Twin.of(about_woman, of_person).text
            return PersonVersions(about_woman, about_man, Gender.FEMALE if told else None)
        return self._of_man(about_woman, words, [swap for swap in of_person if not swap.male])

    def _of_man(
        self, about_woman: str, words: GenderedWords, feminine: Sequence[Swap]
    ) -> PersonVersions | Rejected:
        """The versions of a text that tells a man, which only *woman* and *she* for *they* tell otherwise."""
        about_man = Twin.of(about_woman, feminine).text
        known = {
            place: Swap(Span(place, place + len(swap.new)), swap.new, swap.old, swap.role, male=True)
            for swap in feminine
            if swap.span.start != words.subject_at
            for place in [moved(swap.span.start, feminine)]
        }
        words_of_man = self._words(about_man, words.subject_at, known)
        if isinstance(words_of_man, Rejected):
            return words_of_man
        own = words_of_man.of_person(unclear=frozenset({Gender.MALE}), known=frozenset(known))
        if isinstance(own, Rejected):
            return own
        return PersonVersions(Twin.of(about_man, own).text, about_man, Gender.MALE)

    def _words(self, text: str, subject_at: int, known: Mapping[int, Swap]) -> GenderedWords | Rejected:
        twin = self._swapper.twin_given(text, known)
        if isinstance(twin, Rejected):
            return twin
        if all(swap.span.start != subject_at for swap in twin.swaps):
            return Rejected("a person who may be somebody else")
        return EnglishNounUses(text, subject_at=subject_at).sort(twin.swaps)


def _with(text: str, replacements: Mapping[Span, str]) -> str:
    for span, new in sorted(replacements.items(), key=lambda item: -item[0].start):
        text = text[: span.start] + new + text[span.end :]
    return text


def _moved(at: int, replacements: Mapping[Span, str]) -> int:
    """Where a place is after replacements before it."""
    return at + sum(
        len(new) - (span.end - span.start) for span, new in replacements.items() if span.start < at
    )


def _is_one(tokens: Tokens, at: int) -> bool:
    """Whether *person* is one who is named: *the person*, *an old person*, but not *another person* or *in person*."""
    if tokens[at].lower != "person" or (
        tokens[at + 1].lower in ("and", "or") and not _is_with_kin(tokens, at)
    ):
        return False
    before = at - 1
    while may_describe(tokens[before]):
        before -= 1
    is_said = tokens[before].lower == "a" and tokens[before - 1].lower in COPULAS | {"as"}
    return tokens[before].lower in _ONE_PERSON | {"an"} and not is_said


def _is_with_kin(tokens: Tokens, at: int) -> bool:
    """Whether *and their sister* follows, and no other word that may be of both of them."""
    words = tokens.lower()
    return words[at + 1 : at + 3] == ["and", "their"] and sum(word in _THEY for word in words) == 1


def _she_for_they(tokens: Tokens, person: int) -> dict[Span, str] | Rejected:
    """What stands for *they* of one person, and for the verbs that agree with it."""
    replaced: dict[Span, str] = {}
    theirs = [at for at, word in enumerate(tokens.lower()) if word in _THEY]
    others = {at for at in theirs if _is_object_of_person(tokens, at, person=person)}
    if others and len(theirs) > len(others):
        return SEVERAL_OR_ONE
    for at in theirs:
        word = tokens[at].lower
        if at in others:
            continue
        if at < person or _may_be_several(tokens, person=person, pronoun=at):
            return SEVERAL_OR_ONE
        replaced[tokens[at].span] = in_case_of(tokens[at].text, _THEY[word][0])
        if word == "they":
            verb = _verb_after(tokens, at)
            if isinstance(verb, Rejected):
                return verb
            replaced |= verb
    return replaced


def _is_object_of_person(tokens: Tokens, at: int, *, person: int) -> bool:
    """Whether the person does something to *them*, who are others then: *gave them a book*."""
    if tokens[at].lower != "them" or person > 2:
        return False
    between = [tokens[place] for place in range(person + 1, at)]
    verbs = [token for token in between if token.lower not in grammar.ADVERBS]
    is_auxiliary = [token.lower in grammar.AUXILIARIES for token in verbs[:-1]]
    return bool(verbs) and all(is_auxiliary) and bool(classes_of(verbs[-1].lower) & _VERBS)


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
    adverbs = grammar.ADVERBS | _BEFORE_VERBS
    while classes_of(tokens[before].lower) == WordClass.ADVERB or tokens[before].lower in adverbs:
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
