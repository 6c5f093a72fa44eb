"""What a German pronoun refers to: a person who is swapped, or perhaps a thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.twins.de.declension import ALL_SLOTS
from evenhand.twins.de.noun_genders import noun_genders
from evenhand.twins.de.phrases import PREPOSITIONS, NounPhrase
from evenhand.twins.de.pronouns import Pronoun, PronounUse, phrase_of_determiner
from evenhand.twins.de.reference_words import PEOPLE, PLACES, TIMES
from evenhand.twins.de.sentences import Clause, ClauseKind, GermanSentence
from evenhand.twins.de.subjects import certain_subjects, is_infinitive_clause
from evenhand.twins.de.things import is_frequent_noun, is_known_noun, is_neuter_person, is_thing
from evenhand.twins.de.words import SINGULAR, Ambiguous, verb_number, word_classes

_COORDINATORS = frozenset({"und", "oder", "aber", "denn", "doch", "sondern"})
_VERBS_OF_NAMES = frozenset({"hatte", "hat", "ging", "kam", "stand", "saß", "trat", "nahm", "sah", "lag"})
_MOVED_THEMSELVES = frozenset(
    {"öffnete", "hob", "legte", "setzte", "stellte", "schob", "wendete", "wandte", "spielte"}
)
"""What things do as well, with *sich*: *die Tür öffnete sich*."""
_SUBJECTS = frozenset({"ich", "du", "er", "sie", "es", "wir", "ihr", "man"})
_ANYTHING = frozenset({"alles", "etwas", "nichts", "jedes"})
_ALONE = frozenset(
    {
        *("dies", "dieses", "welches", "solches", "beides", "vieles", "einiges"),
        *("derlei", "dergleichen", "ersteres", "letzteres"),
    }
)
"""What may stand for a thing without a noun, as in *dies hat seinen Grund*."""


def check_references(sentence: GermanSentence, pronouns: Sequence[Pronoun]) -> list[Pronoun]:
    """The pronouns that refer to single persons; possessives of several are left out.

    Raises:
        Ambiguous: If one may refer to a thing, or to several persons.
    """
    girls = [phrase.noun for phrase in sentence.persons() if _is_of_children(phrase)]
    if girls and (
        pronouns or any(sentence.lower(at) == "es" for at in range(min(girls), len(sentence.words)))
    ):
        raise Ambiguous("girls are neuter, so the pronouns may be any")
    kept = []
    for pronoun in pronouns:
        if pronoun.may_be_plural and _is_plural(sentence, pronoun, pronouns):
            continue
        _reject_things(sentence, pronoun, pronouns)
        kept.append(pronoun)
    return kept


def _is_of_children(phrase: NounPhrase) -> bool:
    return any(reading.person.kind == "n" for reading in phrase.readings)


def _reject_things(sentence: GermanSentence, pronoun: Pronoun, pronouns: Sequence[Pronoun]) -> None:
    clause = sentence.clause_by_word[pronoun.at]
    if pronoun.male:
        _reject_anybody(sentence, pronoun, clause)
    if pronoun.male and pronoun.use is not PronounUse.SUBJECT:
        _reject_neuter(sentence, pronoun, clause)
    if pronoun.male and pronoun.use is PronounUse.POSSESSIVE:
        _reject_neuter_owners(sentence, pronoun, clause)
    if pronoun.use is PronounUse.POSSESSIVE:
        _reject_places_of_things(sentence, pronoun, clause)
    if pronoun.male and not _has_subject(sentence, pronoun, clause, pronouns):
        _reject_everything(sentence, pronoun, clause)
    _reject_later_things(sentence, pronoun, clause, pronouns)
    things = [
        thing
        for thing in _things_before(sentence, pronoun)
        if _may_be_meant(sentence, pronoun, thing, clause)
    ]
    if not things:
        return
    if pronoun.use is PronounUse.POSSESSIVE and _has_subject(sentence, pronoun, clause, pronouns):
        return
    are_inanimate = all(_is_inanimate(sentence, thing) for thing in things)
    if _is_human(sentence, pronoun, clause) and are_inanimate:
        return
    is_subject = pronoun.use is PronounUse.SUBJECT
    is_theirs = are_inanimate if _is_bare_dative(sentence, pronoun) else is_subject and _are_governed(things)
    if is_theirs and _follows_person(sentence, pronoun, pronouns):
        return
    raise Ambiguous("a pronoun may be about a thing")


def _are_governed(things: Sequence[NounPhrase]) -> bool:
    return all(thing.preposition for thing in things)


def _is_inanimate(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    """Whether a noun names a thing, or a place as in *in Dresden*."""
    is_place = phrase.determiner is None and phrase.preposition in {"in", "nach", "aus"}
    return is_place or is_thing(sentence.words[phrase.noun].text)


def _is_human(sentence: GermanSentence, pronoun: Pronoun, clause: Clause) -> bool:
    """Whether only a person can be meant: one who speaks, thinks or is spoken to, or has kin or a body."""
    classes = word_classes()
    if pronoun.use is PronounUse.POSSESSIVE:
        owned = phrase_of_determiner(sentence, pronoun.at)
        noun = sentence.words[owned.noun].text if owned else ""
        return noun in classes["human belongings"]
    verbs = classes["human verbs" if pronoun.use is PronounUse.SUBJECT else "speaking verbs"]
    if any(sentence.lower(at) == "sich" for at in clause.words):
        verbs -= _MOVED_THEMSELVES
    return any(
        sentence.lower(at) in verbs
        for at in clause.words
        if at not in sentence.phrases and not (sentence.words[at].capital and not sentence.words[at].starts)
    )


def _is_bare_dative(sentence: GermanSentence, pronoun: Pronoun) -> bool:
    """Whether *ihm* or *ihr* is a dative without a preposition: who is given something, seldom a thing."""
    is_dative = pronoun.use is PronounUse.OBJECT and pronoun.new in {"ihm", "ihr"}
    return is_dative and sentence.lower(pronoun.at - 1) not in PREPOSITIONS


def _reject_anybody(sentence: GermanSentence, pronoun: Pronoun, clause: Clause) -> None:
    """Reject *er* that may mean *jemand*; within a clause, only a possessive can refer to it."""
    anybody = word_classes()["impersonal subjects"]
    for at in range(pronoun.at):
        is_other = sentence.clause_by_word.get(at) is not clause or pronoun.use is PronounUse.POSSESSIVE
        if sentence.lower(at) in anybody and is_other:
            raise Ambiguous("a pronoun may be about anybody")


def _reject_neuter(sentence: GermanSentence, pronoun: Pronoun, clause: Clause) -> None:
    """Reject *ihm* and *sein* that may refer to an *es* of an earlier clause."""
    if sentence.lower(pronoun.at) == "ihn":
        return
    for other in sentence.clauses:
        may_be_it = other is not clause or pronoun.use is PronounUse.POSSESSIVE
        if may_be_it and other.words[0] < pronoun.at and sentence.lower(other.words[0]) == "es":
            raise Ambiguous("a pronoun may be about a thing")


def _reject_neuter_owners(sentence: GermanSentence, pronoun: Pronoun, clause: Clause) -> None:
    """Reject *sein* that may be a child's, though a man is the subject: *er brachte es zu seiner Mutter*."""
    nouns = [noun for noun in sentence.phrases if noun < pronoun.at and not sentence.phrases[noun].readings]
    if any(is_neuter_person(sentence.words[noun].text) for noun in nouns):
        raise Ambiguous("a possessive may be of a neuter noun or pronoun")
    for at in clause.words[1:]:
        is_thing_meant = any(
            noun < at and is_thing(sentence.words[noun].text) and _is_neuter(sentence.phrases[noun])
            for noun in nouns
        )
        if at < pronoun.at and sentence.lower(at) == "es" and not is_thing_meant:
            raise Ambiguous("a possessive may be of a neuter noun or pronoun")


def _reject_places_of_things(sentence: GermanSentence, pronoun: Pronoun, clause: Clause) -> None:
    """Reject *er stellte den Stuhl an seinen Platz*: whose place it is nobody can tell."""
    behind = [sentence.words[at].text for at in clause.words if at > pronoun.at]
    if not PLACES.intersection(behind[:2]):
        return
    genders = "mn" if pronoun.male else "f"
    for noun, phrase in sentence.phrases.items():
        is_thing_of_clause = noun in clause.words and noun < pronoun.at and not phrase.readings
        if is_thing_of_clause and any(slot[1] in genders for slot in phrase.slots):
            raise Ambiguous("a possessive may be of a thing")


def _is_neuter(phrase: NounPhrase) -> bool:
    return any(slot[1] == "n" for slot in phrase.slots)


def _reject_everything(sentence: GermanSentence, pronoun: Pronoun, clause: Clause) -> None:
    """Reject *sein* that may refer to *alles*, or to *dies* before a verb."""
    earlier = [at for at in clause.words if at < pronoun.at]
    anything = {sentence.lower(at) for at in earlier} & _ANYTHING
    alone = any(sentence.lower(at) in _ALONE and verb_number(sentence.lower(at + 1)) for at in earlier)
    if pronoun.use is PronounUse.POSSESSIVE and (anything or alone):
        raise Ambiguous("a pronoun may be about a thing")


def _reject_later_things(
    sentence: GermanSentence, pronoun: Pronoun, clause: Clause, pronouns: Sequence[Pronoun]
) -> None:
    """Reject a pronoun that may refer to the subject after it, as in *sein Kreuz trägt jeder Mensch*."""
    if pronoun.use is PronounUse.OBJECT or _follows_person(sentence, pronoun, pronouns):
        return
    if pronoun.use is PronounUse.POSSESSIVE:
        later = clause
    else:
        place = sentence.clauses.index(clause)
        if clause.kind is not ClauseKind.SUBORDINATE or place + 1 >= len(sentence.clauses):
            return
        later = sentence.clauses[place + 1]
    subjects = set(certain_subjects(sentence, later))
    if _has_subject(sentence, pronoun, later, pronouns) or subjects - {*sentence.phrases}:
        return
    kinds = "f" if not pronoun.male else "mn" if pronoun.use is PronounUse.POSSESSIVE else "m"
    for phrase in sentence.phrases_of(later):
        if phrase.noun < pronoun.at or phrase.determiner_at == pronoun.at or phrase.determiner is None:
            continue
        if subjects and phrase.noun not in subjects:
            continue
        may_be_subject = any(slot[0] == "N" and slot[1] in kinds for slot in phrase.slots)
        if may_be_subject and not phrase.readings and not phrase.preposition:
            raise Ambiguous("a pronoun may be about a thing")


def _things_before(sentence: GermanSentence, pronoun: Pronoun) -> Iterator[NounPhrase]:
    lower = sentence.lower(pronoun.at)
    kinds = "f" if not pronoun.male else "m" if lower in {"er", "ihn"} else "mn"
    for phrase in sentence.phrases.values():
        if phrase.noun >= pronoun.at or phrase.readings or _is_part_of_name(sentence, phrase):
            continue
        if _is_unlisted_name(sentence, phrase):
            continue
        if any(slot[1] in kinds for slot in phrase.slots):
            yield phrase


def _is_part_of_name(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    """Whether a bare noun directly follows a title or a name."""
    before = sentence.phrases.get(phrase.start - 1)
    return phrase.determiner is None and before is not None and bool(before.readings)


def _is_unlisted_name(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    """Whether a noun without an article is in no list of nouns, or is the subject of a verb, as only names are.

    Such a name is kept, as in English. One that ends like *Rösli* is neuter. Without the extra ``german`` too few nouns
    are known to take all others for names.
    """
    noun = sentence.words[phrase.noun]
    is_bare = phrase.determiner is None and not phrase.adjectives
    if not is_bare or phrase.slots != ALL_SLOTS or noun.text.endswith(("li", "le", "el", "erl")):
        return False
    if noun_genders().kinds and not (is_known_noun(noun.text) or is_frequent_noun(noun.text)):
        return True
    if phrase.preposition:
        return False
    before, after = (verb_number(sentence.lower(at)) for at in (phrase.noun - 1, phrase.noun + 1))
    spoken = before == SINGULAR and sentence.lower(phrase.noun - 1) in word_classes()["human verbs"]
    is_followed = sentence.lower(phrase.noun + 1) in word_classes()["human verbs"] | _VERBS_OF_NAMES
    return (after == SINGULAR and is_followed) or (spoken and sentence.lower(phrase.noun + 1) != ",")


def _may_be_meant(sentence: GermanSentence, pronoun: Pronoun, thing: NounPhrase, clause: Clause) -> bool:
    """Whether a pronoun may refer to a thing; only a possessive refers to a noun of its own clause."""
    if thing.preposition and sentence.words[thing.noun].text in TIMES:
        return False
    if sentence.clause_by_word.get(thing.noun) is not clause:
        return True
    if pronoun.use is PronounUse.POSSESSIVE:
        return True
    return any(sentence.lower(at) in _COORDINATORS for at in range(thing.noun + 1, pronoun.at))


def _persons(sentence: GermanSentence, *, male: bool) -> Iterator[NounPhrase]:
    for phrase in sentence.persons():
        if any(
            reading.male is male and any(slot[1] != "p" for slot in reading.slots)
            for reading in phrase.readings
        ):
            yield phrase


def _has_subject(
    sentence: GermanSentence, pronoun: Pronoun, clause: Clause, pronouns: Sequence[Pronoun]
) -> bool:
    """Whether the subject of the clause, or of the clause that it goes on with, is a person of the pronoun's gender."""
    before = _continued(sentence, clause)
    if before is not None:
        return _has_subject(sentence, pronoun, before, pronouns)
    for other in pronouns:
        if other.use is PronounUse.SUBJECT and other.male is pronoun.male and other.at in clause.words:
            return True
    return any(
        phrase.noun in clause.words
        and not phrase.preposition
        and phrase.may_be("N")
        and phrase.determiner_at != pronoun.at
        for phrase in _persons(sentence, male=pronoun.male)
    )


def _continued(sentence: GermanSentence, clause: Clause) -> Clause | None:
    """The clause whose subject a clause without one shares: *er stand auf und ging*, *er kam, um zu helfen*."""
    place = sentence.clauses.index(clause)
    if place == 0 or sentence.words[clause.words[0]].starts:
        return None
    forms = [sentence.lower(at) for at in clause.words]
    joined = forms[0] in {"und", "oder", "aber"} and len(forms) > 1 and verb_number(forms[1]) == SINGULAR
    if joined:
        joined = not (len(forms) > 2 and forms[2] in _SUBJECTS) and not certain_subjects(sentence, clause)
    purpose = forms[0] in {"um", "ohne", "statt", "anstatt"} and is_infinitive_clause(sentence, clause)
    return sentence.clauses[place - 1] if joined or purpose else None


def _follows_person(sentence: GermanSentence, pronoun: Pronoun, pronouns: Sequence[Pronoun]) -> bool:
    if any(
        other.use is PronounUse.SUBJECT and other.male is pronoun.male and other.at < pronoun.at
        for other in pronouns
    ):
        return True
    return any(
        phrase.noun < pronoun.at and not phrase.preposition and phrase.may_be("N")
        for phrase in _persons(sentence, male=pronoun.male)
    )


def _is_plural(sentence: GermanSentence, pronoun: Pronoun, pronouns: Sequence[Pronoun]) -> bool:
    """Whether *ihr-* or *sie* refers to several persons.

    Raises:
        Ambiguous: If that is not certain.
    """
    clause = sentence.clause_by_word[pronoun.at]
    own = phrase_of_determiner(sentence, pronoun.at)
    women = [phrase for phrase in _persons(sentence, male=False) if phrase is not own]
    others = [other for other in pronouns if not other.male and not other.may_be_plural]
    several = _several_before(sentence, pronoun)
    if pronoun.use is PronounUse.OBJECT:
        women = [phrase for phrase in women if phrase.noun < pronoun.at]
        if not women or several:
            raise Ambiguous("sie may be one woman or several persons")
        return False
    if _has_subject(sentence, pronoun, clause, pronouns):
        if any(_are_persons(sentence, phrase) for phrase in several):
            raise Ambiguous("ihr may be of one woman or of several persons")
        return False
    if (women or others) and not several:
        return False
    in_clause = [phrase for phrase in several if phrase.noun in clause.words and phrase.may_be("N")]
    they = any(not single and at in clause.words for at, single in sentence.subjects.items())
    if not women and not others and clause.has_plural_verb and (in_clause or they):
        return True
    raise Ambiguous("ihr may be of one woman or of several persons")


def _several_before(sentence: GermanSentence, pronoun: Pronoun) -> list[NounPhrase]:
    own = phrase_of_determiner(sentence, pronoun.at)
    return [
        phrase
        for phrase in sentence.phrases.values()
        if phrase is not own
        and phrase.noun < pronoun.at
        and (
            phrase.is_plural
            or sentence.words[phrase.noun].text in PEOPLE
            or (not phrase.readings and "Np" in phrase.slots and _looks_plural(sentence, phrase))
        )
    ]


def _looks_plural(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    text = sentence.words[phrase.noun].text
    article = sentence.lower(phrase.determiner_at) if phrase.determiner_at >= 0 else ""
    return article in {"die", "diese", "ihre", "seine", "meine", "unsere"} and text.endswith(
        ("en", "er", "n", "s", "e")
    )


def _are_persons(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    return bool(phrase.readings) or sentence.words[phrase.noun].text in PEOPLE
