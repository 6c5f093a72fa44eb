"""Noun phrases of a German sentence: a noun with its determiner and adjectives, and the readings that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from evenhand.text.swappers import Role
from evenhand.twins.de.declension import (
    ALL_SLOTS,
    DETERMINERS,
    Declension,
    Determiner,
    Slots,
    adjective_slots,
    adjective_stem,
)
from evenhand.twins.de.persons import TITLE, PersonLexicon, PersonReading
from evenhand.twins.de.things import is_frequent_noun, slots_of_thing
from evenhand.twins.de.words import Ambiguous, GermanWord, is_function_word, verb_number, word_classes

_ADJECTIVE_SUFFIXES = ("isch", "lich", "ig", "end", "sam", "bar", "los", "haft", "voll", "reich")
_DECLINED_AFTER_ARTICLE = (
    *("ander", "solch", "beide", "viele", "wenige", "jede", "sämtlich", "verschieden", "einzig"),
    *("gerade", "lange", "weite", "frühere", "spätere"),
)
"""Words that are adjectives after an article, and something else without one."""
_AFTER_FIRST_VERBS = frozenset(
    ["du", "ihn", "ihm", "mich", "mir", "dich", "dir", "uns", "euch", "wir", "ich"]
)
"""Pronouns that follow a verb at the start of a sentence, and no noun: *Frag ihn*, *Gehst du*."""
_SAYING_WHAT = frozenset({"als", "ist", "war", "wird", "wurde"})
"""Words before what is said of somebody, where what looks like an adjective is one: *ist gelernte Verkäuferin*."""
_UNDECLINED = frozenset(["undercover"])
"""Words that end like adjectives and have no endings."""
_NO_ADVERBS = word_classes()["pronouns"] | word_classes()["coordinators"] | word_classes()["subject pronouns"]
_OF_NOBLES = frozenset({"von", "van", "de"})
_ADDRESSED = ("Ihr", "Dein", "Euer", "Eure")
_FORMAL = frozenset(
    ["Sie", "Ihnen", "Du", "Dir", "Dich", "Euch", "Er", "Ihm", "Ihn", "Es", "Euer"]
    + [stem + ending for stem in ("Ihr", "Dein", "Eur") for ending in ("", "e", "em", "en", "er", "es")]
)
PREPOSITIONS = frozenset(
    word for name, words_of in word_classes().items() if name.endswith("prepositions") for word in words_of
)
_PLURAL_SLOTS: Slots = frozenset({"Np", "Ap", "Dp", "Gp"})


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase.

    Attributes:
        start: Its first word, a determiner or adjective if it has one.
        noun: Its last word.
        determiner: With its place, if it has one.
        readings: What it may be, if it is about a person whose word has a counterpart.
        slots: Cases and kinds that it may have.
        preposition: The one that governs it, if it is right before it or contracted with the article.
    """

    start: int
    noun: int
    determiner: Determiner | None
    determiner_at: int
    adjectives: tuple[int, ...]
    readings: tuple[PersonReading, ...]
    slots: Slots
    preposition: str = ""
    is_title: bool = field(default=False)

    @property
    def declension(self) -> Declension:
        """How its adjectives are declined."""
        return self.determiner.declension if self.determiner else Declension.NONE

    def may_be(self, case: str) -> bool:
        """Whether it can be in a case."""
        return any(slot[0] == case for slot in self.slots)

    @property
    def is_plural(self) -> bool:
        """Whether it can only be a plural."""
        return all(slot[1] == "p" for slot in self.slots)

    def limited(self, slots: Slots) -> NounPhrase:
        """The phrase with fewer slots, and without the readings that have none of them."""
        readings = tuple(
            PersonReading(reading.person, reading.male, reading.slots & slots)
            for reading in self.readings
            if reading.slots & slots
        )
        return replace(self, slots=self.slots & slots, readings=readings)


def phrases_in(words: Sequence[GermanWord], lexicon: PersonLexicon) -> tuple[NounPhrase, ...]:
    """The noun phrases of a sentence, from left to right."""
    return tuple(
        _phrase(words, at, lexicon) for at, word in enumerate(words) if _is_noun(words, at, lexicon, word)
    )


def _is_noun(words: Sequence[GermanWord], at: int, lexicon: PersonLexicon, word: GermanWord) -> bool:
    if not word.capital:
        return False
    if not word.starts:
        return word.text not in _FORMAL
    if word.text in lexicon.forms:
        return not (word.text in {"Alte", "Junge"} and at + 1 < len(words) and words[at + 1].capital)
    return _is_noun_at_start(word, words[at + 1] if at + 1 < len(words) else None)


def _is_noun_at_start(word: GermanWord, follows: GermanWord | None) -> bool:
    """Whether the first word of a sentence, which has a capital in any case, is a noun."""
    lower = word.lower
    if is_function_word(lower) or (follows and follows.lower in _AFTER_FIRST_VERBS):
        return False
    if is_frequent_noun(word.text):
        return True
    is_other = verb_number(lower) or lower in {"er", "sie", "ihr", "sein"}
    if is_other or (follows and follows.capital and adjective_stem(lower)):
        return False
    return len(lower) < 5 or not lower.endswith(
        ("lich", "ig", "isch", "weise", "end", "sam", "bar", "los", "lings", "wärts", "haft")
    )


def _phrase(words: Sequence[GermanWord], noun: int, lexicon: PersonLexicon) -> NounPhrase:
    determiner, at, adjectives = _before(words, noun)
    declension = determiner.declension if determiner else Declension.NONE
    slots = determiner.slots if determiner else ALL_SLOTS
    for adjective in adjectives:
        slots &= adjective_slots(words[adjective].lower, declension)
    title = _title(words, noun, lexicon)
    readings = (title,) if title else lexicon.readings(words[noun].text, declension)
    if _is_first_part(words, noun):
        readings = ()
    if readings and noun > 0 and at < 0 and _is_surname(words[noun - 1].text, words[noun].text, lexicon):
        readings = ()
    if not readings:  # old forms, such as *dem Teppiche*, agree with no article by the list
        slots = slots & slots_of_thing(words[noun].text) or slots
    if determiner:
        readings = tuple(_with_article(reading) for reading in readings)
    start = min((place for place in (at, *adjectives) if place >= 0), default=noun)
    preposition = determiner.preposition if determiner else ""
    if not preposition and start > 0:
        preposition = _preposition(words, start - 1)
    phrase = NounPhrase(
        start=start,
        noun=noun,
        determiner=determiner,
        determiner_at=at,
        adjectives=adjectives,
        readings=readings,
        slots=slots,
        preposition=preposition,
        is_title=title is not None,
    )
    if readings:
        if determiner is None and start > 0:
            is_occupation = readings[0].person.role is Role.OCCUPATION
            doubtful = ("enen", "ernen", "eten", "te") if is_occupation else ("enen", "ernen", "eten")
            _reject_unknown_adjective(words, start, doubtful=doubtful)
        if determiner is None and not adjectives and readings[0].person.role is not Role.NAME and not title:
            slots -= {"Gm", "Gf", "Gn"}  # a genitive has an article
        phrase = phrase.limited(slots & frozenset().union(*(reading.slots for reading in readings)))
        if not phrase.slots:
            raise Ambiguous("the article or the adjectives do not agree with their noun")
    return phrase


def _is_first_part(words: Sequence[GermanWord], noun: int) -> bool:
    """Whether a noun is the beginning of a compound: *Alten- und Pflegeheim*."""
    if noun + 1 == len(words) or words[noun + 1].text not in {"-", "‐", "‑"}:
        return False
    return words[noun].span.end == words[noun + 1].span.start


def _with_article(reading: PersonReading) -> PersonReading:
    """A name after an article has no ending in the genitive."""
    if reading.person.role is not Role.NAME or not reading.slots & {"Nm", "Nf"}:
        return reading
    return PersonReading(reading.person, reading.male, reading.slots | {"Gm" if reading.male else "Gf"})


def _is_surname(before: str, text: str, lexicon: PersonLexicon) -> bool:
    """Whether a word for a person is a name here: Frau *Schneider* may be a teacher."""
    classes = word_classes()
    if before in {"Herr", "Herrn", "Frau", "Familie"}:
        if text in lexicon.names and before != "Familie":
            if lexicon.forms[text][0].male is (before != "Frau"):
                raise Ambiguous("a first name or a surname")
            return True
        return text in classes["surnames"] or text in classes["kept titles"]
    if before in {"Sankt", "St"}:
        return text in lexicon.names
    is_naming = before.startswith(("heiß", "hieß", "namens", "genannt"))
    if before in lexicon.names or before in classes["kept titles"] or is_naming:
        return text in classes["surnames"]
    return False


def _preposition(words: Sequence[GermanWord], at: int) -> str:
    lower = words[at].lower
    return lower if lower in PREPOSITIONS else ""


def _before(words: Sequence[GermanWord], noun: int) -> tuple[Determiner | None, int, tuple[int, ...]]:
    """The determiner of a noun, its position, and the positions of the adjectives between them."""
    adjectives: list[int] = []
    at = noun - 1
    while at >= 0:
        word = words[at]
        determiner = _determiner(words, at)
        if _is_second_determiner(words, at):
            adjectives.append(at)
            at -= 1
            continue
        if determiner:
            return determiner, at, tuple(reversed(adjectives))
        if _is_adjective(word):
            adjectives.append(at)
            at -= 1
        elif adjectives and (
            word.lower in word_classes()["intensifiers"] or _is_adverb_within(words, at, adjectives[-1])
        ):
            at -= 1
        elif word.lower in word_classes()["numbers"] or word.text.isdigit():
            at -= 1
            if at < 0 or not _determiner(words, at):
                return (
                    Determiner(word.lower, Declension.COUNTING, _PLURAL_SLOTS),
                    -1,
                    tuple(reversed(adjectives)),
                )
        elif adjectives and word.lower in {",", "und", "oder"} and at > 0 and _is_adjective(words[at - 1]):
            at -= 1
        else:
            break
    return None, -1, _without_determiner(words, noun, adjectives)


def _is_second_determiner(words: Sequence[GermanWord], at: int) -> bool:
    """Whether a determiner is declined like an adjective after another one: *eine andere*, *die beiden*."""
    if at == 0 or not words[at].lower.startswith(_DECLINED_AFTER_ARTICLE):
        return False
    first = _determiner(words, at - 1)
    return first is not None and bool(first.slots & adjective_slots(words[at].lower, first.declension))


def _is_adverb_within(words: Sequence[GermanWord], at: int, adjective: int) -> bool:
    """Whether a word is an adverb between a determiner and its adjective: *die sanft bewegte Luft*."""
    word = words[at]
    article = _determiner(words, at - 1) if at > 0 else None
    if article is None or word.capital or not word.is_word or word.lower in PREPOSITIONS | _NO_ADVERBS:
        return False
    may_be_relative = at > 1 and words[at - 2].text in {",", "und", "oder"}
    is_adverb = word.lower in word_classes()["adverbs"] or not verb_number(word.lower)
    agrees = bool(article.slots & adjective_slots(words[adjective].lower, article.declension))
    return is_adverb and agrees and not may_be_relative


def _determiner(words: Sequence[GermanWord], at: int) -> Determiner | None:
    word = words[at]
    if word.capital and not word.starts and not word.text.startswith(_ADDRESSED):
        return None
    return DETERMINERS.get(word.lower)


def _is_adjective(word: GermanWord) -> bool:
    lower = word.lower
    if not word.is_word or (word.capital and not word.starts) or is_function_word(lower):
        return False
    if lower in _UNDECLINED:
        return False
    return len(lower) >= 4 and adjective_stem(lower) is not None


def _without_determiner(words: Sequence[GermanWord], noun: int, adjectives: Sequence[int]) -> tuple[int, ...]:
    """The adjectives of a bare noun: known ones and one behind *als*, since a verb may look like one."""
    if _are_joined_behind_as(words, noun, adjectives):
        return tuple(reversed(adjectives))
    kept: list[int] = []
    for at in adjectives:
        stem = adjective_stem(words[at].lower) or ""
        is_known = stem in word_classes()["adjectives"] or stem.endswith(_ADJECTIVE_SUFFIXES)
        is_behind_as = at > 0 and words[at - 1].lower in _SAYING_WHAT
        is_adverb = words[at].lower in {"früher", "später"}
        if is_adverb or not (is_known or is_behind_as) or at != noun - 1 - len(kept):
            break
        kept.append(at)
    return tuple(reversed(kept))


def _are_joined_behind_as(words: Sequence[GermanWord], noun: int, adjectives: Sequence[int]) -> bool:
    """Whether several adjectives with one ending stand between *als* and a noun: *als kluge und mutige Ärztin*."""
    if len(adjectives) < 2 or adjectives[0] != noun - 1 or words[adjectives[-1] - 1].lower != "als":
        return False
    endings = {words[at].lower.removeprefix(adjective_stem(words[at].lower) or "") for at in adjectives}
    return len(endings) == 1


def _reject_unknown_adjective(words: Sequence[GermanWord], start: int, *, doubtful: tuple[str, ...]) -> None:
    """Reject a bare noun after a word that may be an adjective, which would have to agree."""
    before = words[start - 1]
    if before.lower == "zu" and (adjective_stem(words[start].lower) or "").endswith("end"):
        raise Ambiguous("what may be an adjective before a noun")
    may_be_verb = verb_number(before.lower) and not before.lower.endswith(doubtful)
    is_known_verb = before.lower in word_classes()["singular verbs"]
    if _is_adjective(before) and not may_be_verb and not is_known_verb:
        raise Ambiguous("what may be an adjective before a noun")


def _title(words: Sequence[GermanWord], at: int, lexicon: PersonLexicon) -> PersonReading | None:
    """Herr and Frau before a name."""
    text = words[at].text
    place = at + 1
    has_article = at > 0 and _determiner(words, at - 1) is not None
    if place < len(words) and words[place].text in _OF_NOBLES and not has_article:
        place += 1
    if at > 0 and words[at - 1].lower in {"dessen", "deren"}:
        return None
    if text not in {"Herr", "Herrn", "Frau"} or place >= len(words) or not words[place].capital:
        return None
    following = words[place].text
    if following in _FORMAL:
        return None
    if text == "Frau" and has_article and not lexicon.knows(following):
        raise Ambiguous("a title or a noun before a name")
    male = text != "Frau"
    forms = TITLE.male if male else TITLE.female
    return PersonReading(TITLE, male, frozenset(slot for slot, form in forms.items() if form == text))
