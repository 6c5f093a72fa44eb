"""What a German sentence is rejected for: words without a counterpart, unlisted persons, nouns that may be things."""

from __future__ import annotations

import re
from functools import lru_cache

from evenhand.text.swappers import Role
from evenhand.twins.de.declension import (
    ALL_SLOTS,
    DETERMINERS,
    Declension,
    Determiner,
    adjective_slots,
    adjective_stem,
)
from evenhand.twins.de.noun_pairs import AGENT_ENDINGS, looks_gendered
from evenhand.twins.de.persons import PersonLexicon, german_lexicon
from evenhand.twins.de.phrases import PREPOSITIONS, NounPhrase
from evenhand.twins.de.pronouns import phrase_of_determiner
from evenhand.twins.de.sentences import RELATIVES, GermanSentence
from evenhand.twins.de.things import is_known_noun, is_thing, slots_of_thing
from evenhand.twins.de.words import (
    PLURAL,
    Ambiguous,
    is_function_word,
    verb_number,
    word_classes,
)

_BOTH = re.compile(
    r"\w[:*/_(](?:-?in(?:nen)?\b|r\b|e\b|n\b)|[a-zäöüß]Innen\b|\b(?:er|sie|ihr|sein)[/*](?:er|sie|ihr|sein)"
)

_WORDS = re.compile(r"[^\W\d_]+")

MOST_WORDS = 50
"""Longer sentences are rarely read without a mistake."""

_SAYING_WHAT = frozenset(
    {"als", "ist", "war", "wird", "wurde", "bin", "bist", "sei", "wäre", "bleibt", "blieb", "nicht"}
)

_FOND = frozenset(
    {"lieber", "liebe", "guter", "teurer", "teure", "geliebter", "geliebte", "armer", "alter", "werter"}
)

_ADJECTIVAL_ENDINGS = ("iger", "loser", "ender", "licher", "ischer", "samer", "barer")

_TITLE_ENDINGS = ("ist", "isten", "ent", "enten", "ant", "anten", "rat", "rats", "eur", "rätin")

_PERSONAL = frozenset({"er", "sie", "ihn", "ihm"})

_RULERS = frozenset(["König", "Königin", "Kaiser", "Kaiserin", "Zar", "Zarin", "Herzog", "Herzogin"])

_HOLY = frozenset({"Papst", "Papstes", "Papste", "Päpstin", "Sankt"})

_PLANTS = frozenset(
    {"Iris", "Erika", "Rose", "Viola", "Jasmin", "Linde", "Margerite", "Heide", "Dahlia", "Flora"}
)
_FOOD = frozenset(
    {"Berliner", "Amerikaner", "Wiener", "Frankfurter", "Hamburger", "Krakauer", "Nürnberger", "Thüringer"}
)
_OTHERS = frozenset({"anderen", "andern", "beiden", "übrigen", "meisten", "einen", "wenigsten"})
_SEVERAL_OTHERS = frozenset({"andere", "anderen", "andern", "alle", "allen", "viele", "vielen", "einige"})
_PLURAL_ALSO = frozenset({"diese", "jene", "andere", "solche", "manche", "keine", "dieselben", "diejenigen"})
_WITHOUT_NOUN = frozenset({"das", "dies", "dieses", "welches", "solches", "ein", "eines"})


def reject_unpaired_words(text: str, lexicon: PersonLexicon) -> None:
    """Reject words that have no certain counterpart.

    Raises:
        Ambiguous: With the reason.
    """
    if text.count(" ") >= MOST_WORDS:
        raise Ambiguous("a sentence too long to be read with certainty")
    if _BOTH.search(text):
        raise Ambiguous("a word of both genders")
    classes = word_classes()
    words = _WORDS.findall(text)
    spoken = f" {' '.join(words).lower()} "
    if any(idiom in spoken for idiom in _idioms()):
        raise Ambiguous("an idiom")
    if classes["games and tools"].intersection(words) and classes["of games and tools"].intersection(words):
        raise Ambiguous("a noun may name a person or a thing")
    for word in words:
        if word in classes["words of one sex"]:
            raise Ambiguous("a word that fits one gender")
        if word in classes["unpaired"]:
            raise Ambiguous("a gendered word without a certain counterpart")
        if word in classes["gendered adjectives"]:
            raise Ambiguous("an adjective that fits one gender")
    before = ""
    for word in words:
        if word[0].isupper() and word.lower().endswith(_gendered_endings()):
            _reject_unknown(word, before, lexicon)
        before = word


@lru_cache(maxsize=1)
def _idioms() -> tuple[str, ...]:
    return tuple(f" {idiom.replace('_', ' ')} " for idiom in sorted(word_classes()["idioms"]))


@lru_cache(maxsize=1)
def _gendered_endings() -> tuple[str, ...]:
    return tuple(sorted(word_classes()["gendered endings"]))


def _reject_unknown(word: str, before: str, lexicon: PersonLexicon) -> None:
    if lexicon.knows(word) or before in {"Herr", "Herrn", "Frau"} or before in lexicon.names:
        return
    raise Ambiguous("a gendered word without a certain counterpart")


def reject_unclear_persons(sentence: GermanSentence) -> None:
    """Reject pronouns without a noun (*jeder*, *dieser*), and persons that the lists do not have.

    Raises:
        Ambiguous: If there is one.
    """
    relatives = {clause.relative_at for clause in sentence.clauses}
    standalone = word_classes()["standalone pronouns"]
    for at, word in enumerate(sentence.words):
        if not word.is_word or at in relatives or at in sentence.phrases:
            continue
        determiner = DETERMINERS.get(word.lower)
        stands_alone = word.lower in standalone or (
            determiner is not None
            and not determiner.preposition
            and (
                determiner.declension in {Declension.DEFINITE, Declension.STRONG}
                or _needs_noun(word.lower, determiner)
            )
            and word.lower not in _WITHOUT_NOUN
        )
        if not stands_alone or phrase_of_determiner(sentence, at) is not None or _is_adjective(sentence, at):
            continue
        if not _is_about_thing(sentence, at):
            raise Ambiguous("a pronoun without a noun")
    _reject_unlisted(sentence)
    _reject_honours(sentence)
    _reject_appositions(sentence)
    _reject_unlisted_appositions(sentence)
    _reject_saints(sentence)
    for phrase in sentence.persons():
        _reject_plants_and_food(sentence, phrase)
        _reject_farm_names(sentence, phrase)
        _reject_rulers(sentence, phrase)
        following = sentence.by_start.get(phrase.noun + 1)
        if phrase.readings[0].person.role is Role.NAME and following and _is_byname(sentence, following):
            raise Ambiguous("an article behind a name")


def _is_about_thing(sentence: GermanSentence, at: int) -> bool:
    before = sentence.lower(at - 1)
    is_about_others = sentence.lower(at) in _SEVERAL_OTHERS and before not in DETERMINERS
    if sentence.known_subject >= 0 and is_about_others:
        return True
    return (
        _is_one_of_things(sentence, at)
        or _has_noun_further_on(sentence, at)
        or _is_relative_of_thing(sentence, at)
        or _is_neuter_or_plural(sentence, at)
    )


def _is_neuter_or_plural(sentence: GermanSentence, at: int) -> bool:
    """Whether what follows shows that it is no single person: *dem, was er tat*, *diese sind*."""
    if sentence.lower(at + 1) == "," and sentence.lower(at + 2) in {"was", "wie", "worauf", "wovon"}:
        return sentence.lower(at) in {"dem", "des", "dessen"}
    if sentence.lower(at) == "die" and sentence.lower(at + 1) in _OTHERS:
        return True
    if sentence.lower(at) in {"andere", "anderes", "übrige"} and sentence.lower(at - 1) in {"alles", "das"}:
        return True
    if sentence.lower(at) == "dem" and sentence.lower(at + 1) == "so":
        return True
    if sentence.lower(at) not in _PLURAL_ALSO:
        return False
    return verb_number(sentence.lower(at + 1)) == PLURAL and not is_function_word(sentence.lower(at + 1))


def _is_relative_of_thing(sentence: GermanSentence, at: int) -> bool:
    """Whether it directly follows a noun that is not swapped and agrees with it: *der Brief, den*."""
    comma = at - 1 if sentence.lower(at - 1) == "," else at - 2
    is_governed = comma == at - 1 or sentence.lower(at - 1) in PREPOSITIONS
    antecedent = sentence.phrases.get(comma - 1)
    if sentence.lower(comma) != "," or not is_governed or antecedent is None or antecedent.readings:
        return False
    relative = DETERMINERS.get(sentence.lower(at))
    kinds = {slot[1] for slot in antecedent.slots}
    agrees = relative is not None and any(slot[1] in kinds for slot in relative.slots)
    if sentence.lower(at) not in RELATIVES or not agrees:
        return False
    is_at_hand = antecedent.determiner is not None and not antecedent.preposition
    persons = [phrase for phrase in sentence.persons() if phrase.noun < at]
    return is_at_hand or is_thing(sentence.words[antecedent.noun].text) or not persons


def _is_one_of_things(sentence: GermanSentence, at: int) -> bool:
    """Whether it is *eine der Fragen*, one of several things."""
    phrase = sentence.by_start.get(at + 1)
    if phrase is None or phrase.readings or phrase.determiner is None:
        return False
    return sentence.lower(at).startswith(("ein", "kein", "jede")) and bool(phrase.slots & {"Gp"})


def _has_noun_further_on(sentence: GermanSentence, at: int) -> bool:
    """Whether words that belong to its adjective part it from a thing: *die ihm vertraute Straße*."""
    determiner = DETERMINERS.get(sentence.lower(at))
    classes = word_classes()
    following = sentence.lower(at + 1)
    opens = following in PREPOSITIONS | classes["pronouns"] | classes["adverbs"]
    if determiner is None or not opens or sentence.lower(at - 1) in {",", "und", "oder"}:
        return False
    for place in range(at + 1, len(sentence.words)):
        if not sentence.words[place].is_word:
            return False
        phrase = sentence.phrases.get(place)
        if phrase is None or phrase.determiner is not None:
            continue
        adjective = sentence.lower(place - 1)
        slots = determiner.slots & adjective_slots(adjective, determiner.declension)
        is_participle = (adjective_stem(adjective) or "").endswith(("end", "t", "en"))
        if is_participle and slots & slots_of_thing(sentence.words[place].text):
            return not phrase.readings
    return False


def reject_possible_things(sentence: GermanSentence) -> None:
    """Reject *den Läufer* and its like, which may be a carpet; as a subject it is taken for a person.

    Raises:
        Ambiguous: If there is one.
    """
    for phrase in sentence.persons():
        is_object = all(slot in {"Am", "Dm"} for slot in phrase.slots)
        is_plain = not phrase.adjectives and not phrase.preposition
        if is_object and is_plain and sentence.words[phrase.noun].text in word_classes()["also things"]:
            raise Ambiguous("a noun may name a person or a thing")


def _needs_noun(lower: str, determiner: Determiner) -> bool:
    """Whether it is a form of *ein* or *mein* with an ending; *sein* and *ihr* are pronouns too."""
    return (
        determiner.declension is Declension.POSSESSIVE
        and determiner.stem not in {"sein", "ihr"}
        and lower != determiner.stem
    )


def _reject_honours(sentence: GermanSentence) -> None:
    """Reject *gnädige Frau*, which has no male counterpart."""
    for phrase in sentence.persons():
        if sentence.lower(phrase.start - 1) == "gnä" or sentence.lower(phrase.start - 2) == "gnä":
            raise Ambiguous("a gendered word without a certain counterpart")
        noun = sentence.words[phrase.noun]
        is_address = phrase.start == phrase.noun and not phrase.is_title and not phrase.preposition
        if noun.text in {"Herr", "Dame"} and is_address:
            raise Ambiguous("a gendered word without a certain counterpart")
        is_master = noun.text == "Herrn" and sentence.lower(phrase.determiner_at) == "zum"
        if is_master and any("mach" in word.lower for word in sentence.words):
            raise Ambiguous("a gendered word without a certain counterpart")
        honoured = any(
            sentence.lower(at).startswith(("gnädig", "geehrt", "verehrt")) for at in phrase.adjectives
        )
        if honoured and not phrase.is_title and sentence.words[phrase.noun].text in {"Frau", "Frauen"}:
            raise Ambiguous("a gendered word without a certain counterpart")


def _reject_appositions(sentence: GermanSentence) -> None:
    """Reject a person in apposition to a noun that is not swapped: *Samana, unser Lehrer,*."""
    for phrase in sentence.persons():
        before = sentence.phrases.get(phrase.start - 2)
        ends = phrase.noun + 1 >= len(sentence.words) or not sentence.words[phrase.noun + 1].is_word
        ends = ends or (phrase.determiner is None and phrase.is_plural)
        if before is None or before.readings or sentence.lower(phrase.start - 1) != "," or not ends:
            continue
        named = sentence.phrases.get(before.start - 1)
        is_said_of_it = (phrase.determiner is None) is phrase.is_plural
        if is_said_of_it and not (named and named.readings):
            raise Ambiguous("what is said of somebody who is not listed")


def _reject_unlisted_appositions(sentence: GermanSentence) -> None:
    """Reject a person with an apposition that is not swapped: *mein Bruder, der Schlawiner,*."""
    for phrase in sentence.phrases.values():
        if phrase.readings or phrase.determiner is None or sentence.lower(phrase.start - 1) != ",":
            continue
        before = sentence.phrases.get(phrase.start - 2)
        is_of_person = before is not None and bool(before.readings)
        following = sentence.lower(phrase.noun + 1)
        if (is_of_person or sentence.lower(phrase.start - 2) in _PERSONAL) and not (
            verb_number(following) or following == "und"
        ):
            raise Ambiguous("an occupation that is not listed")


def _reject_unlisted(sentence: GermanSentence) -> None:
    """Reject what seems to be an occupation or a name that the lists do not have."""
    for phrase in sentence.phrases.values():
        if phrase.readings:
            continue
        if phrase.declension is Declension.POSSESSIVE and sentence.words[phrase.noun].text.endswith(
            _ADJECTIVAL_ENDINGS
        ):
            raise Ambiguous("an occupation that is not listed")
        if phrase.determiner is not None:
            _reject_article_before_name(sentence, phrase)
            continue
        before = sentence.phrases.get(phrase.start - 1)
        named = before.readings if before is not None and not before.is_plural else ()
        is_bare = not phrase.preposition and not phrase.adjectives
        if any(reading.person.role is Role.NOUN for reading in named) and is_bare:
            raise Ambiguous("a name that is not listed")
        text = sentence.words[phrase.noun].text
        is_known = sentence.known_subject >= 0
        if any(sentence.lower(at) in _FOND for at in phrase.adjectives) and not (
            is_known and is_known_noun(text)
        ):
            raise Ambiguous("a name that is not listed")
        if _may_be_occupation(text, phrase, before=sentence.lower(phrase.start - 1), is_known=is_known):
            raise Ambiguous("an occupation that is not listed")


def _may_be_occupation(text: str, phrase: NounPhrase, *, before: str, is_known: bool) -> bool:
    """Whether what is said of somebody may tell a gender; of nobody known, any noun behind *als* may."""
    if is_known:
        return before in _SAYING_WHAT and looks_gendered(text)
    is_any = before == "als" and phrase.slots == ALL_SLOTS and not text.endswith("kraft")
    return is_any or (before in _SAYING_WHAT and text.endswith(AGENT_ENDINGS) and not is_thing(text))


def _is_byname(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    """Whether a phrase after a name may belong to it, as in *Karl der Große*."""
    is_nominative = (
        sentence.lower(phrase.determiner_at) in {"der", "die"} and phrase.declension is Declension.DEFINITE
    )
    return is_nominative and (bool(phrase.readings) or sentence.words[phrase.noun].text.endswith("e"))


def _reject_farm_names(sentence: GermanSentence, phrase: NounPhrase) -> None:
    """Reject an article that belongs to the noun after the next: *der Oberleitner Bauer*, *dem Herrn Kanzlisten*."""
    before = sentence.phrases.get(phrase.start - 1)
    has_article = before is not None and before.determiner is not None
    is_surname = before is not None and has_article and sentence.words[before.noun].text.endswith("er")
    if before is not None and is_surname and not before.readings and phrase.determiner is None:
        raise Ambiguous("an article apart from its noun")
    following = sentence.phrases.get(phrase.noun + 1)
    is_unlisted = phrase.is_title and following is not None and not following.readings
    if is_unlisted and sentence.words[phrase.noun + 1].text.endswith(_TITLE_ENDINGS):
        raise Ambiguous("an occupation that is not listed")


def _reject_saints(sentence: GermanSentence) -> None:
    """Reject *der heilige Martin*, *Sankt Nikolaus* and the pope, who are persons of history or always men."""
    for at, word in enumerate(sentence.words):
        is_holy = word.lower.startswith("heilig") and at + 1 in sentence.phrases
        is_named = is_holy and sentence.words[at + 1].text in german_lexicon().names
        if is_named or word.text in _HOLY:
            raise Ambiguous("a pope or a saint")


def _reject_plants_and_food(sentence: GermanSentence, phrase: NounPhrase) -> None:
    """Reject *die Iris am Fenster* and *zwei Berliner beim Bäcker*, which may be a flower and pastry."""
    text = sentence.words[phrase.noun].text
    is_food = text in _FOOD and phrase.start > 0 and not phrase.preposition and not phrase.adjectives
    if is_food or (phrase.determiner is not None and text in _PLANTS):
        raise Ambiguous("a noun may name a person or a thing")


def _reject_rulers(sentence: GermanSentence, phrase: NounPhrase) -> None:
    """Reject *Königin Luise*, who is one person of history."""
    following = sentence.phrases.get(phrase.noun + 1)
    is_named = following is not None and any(
        reading.person.role is Role.NAME for reading in following.readings
    )
    if is_named and sentence.words[phrase.noun].text in _RULERS:
        raise Ambiguous("a ruler called by name")


def _reject_article_before_name(sentence: GermanSentence, phrase: NounPhrase) -> None:
    """Reject *der alte Sam Hawkens*, whose article would not change."""
    following = sentence.phrases.get(phrase.noun + 1)
    article = sentence.lower(phrase.determiner_at) if phrase.determiner_at >= 0 else ""
    if (
        following is not None
        and following.determiner is None
        and not following.readings
        and article in {"der", "den", "die"}
    ):
        raise Ambiguous("a name that is not listed")


def _is_adjective(sentence: GermanSentence, at: int) -> bool:
    return any(at in phrase.adjectives for phrase in sentence.phrases.values())
