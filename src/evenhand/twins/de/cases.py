"""The case of a German noun phrase about a person, decided by its words and its clause."""

from __future__ import annotations

from dataclasses import replace

from evenhand.text.swappers import Role
from evenhand.twins.de.agreement import different_outcomes
from evenhand.twins.de.declension import ALL_SLOTS, Slots
from evenhand.twins.de.noun_pairs import AGENT_ENDINGS, looks_gendered
from evenhand.twins.de.phrases import PREPOSITIONS, NounPhrase
from evenhand.twins.de.sentences import Clause, ClauseKind, GermanSentence
from evenhand.twins.de.subjects import OBJECTS, is_nominative, is_predicative, possible_subjects
from evenhand.twins.de.things import is_thing
from evenhand.twins.de.words import BECOMING, Ambiguous, has_stem, word_classes

_ALSO_SUBORDINATORS = frozenset({"während", "seit", "bis"})
_WITH_INFINITIVE = frozenset({"um", "ohne", "statt", "anstatt"})
_OF_SEVERAL = frozenset({"sind", "waren", "wären", "seien", "wurden", "hatten", "wollten", "beide", "alle"})
_OTHER_SUBJECTS = frozenset(["ich", "du", "er", "wir", "man", "jeder", "jemand", "niemand", "keiner", "es"])


def decide_cases(sentence: GermanSentence) -> None:
    """Narrow every phrase to the slots that it can be in.

    Raises:
        Ambiguous: If a phrase about a person could be swapped in more than one way.
    """
    for phrase in list(sentence.phrases.values()):
        _apply_preposition(sentence, phrase)
    for noun in sorted(sentence.phrases):
        phrase = sentence.phrases[noun]
        if _opens_as_subject(sentence, phrase):
            sentence.narrow(phrase.limited(_with_case("N")))
            continue
        if len(different_outcomes(sentence.words, phrase)) > 1:
            sentence.narrow(_narrowed_or_unread(sentence, phrase))
    _reject_unknown_subjects(sentence)


def _opens_as_subject(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    """Whether a phrase is known to be the subject: no other follows the verb, as in *Die Frau habe ich gesehen*."""
    is_known = sentence.words[phrase.noun].span.start == sentence.known_subject
    if not is_known or phrase.start or not phrase.may_be("N"):
        return False
    verb = next((at for at in range(phrase.noun + 1, len(sentence.words)) if sentence.words[at].is_word), -1)
    if verb != phrase.noun + 1:  # a comma
        return True
    behind = verb + 1
    while sentence.lower(behind) in OBJECTS | {"sich"} | word_classes()["adverbs"]:
        behind += 1
    if sentence.lower(behind) in _OTHER_SUBJECTS:
        return False
    other = sentence.by_start.get(behind)
    is_other = other is not None and not other.preposition and all(slot[0] == "N" for slot in other.slots)
    return not is_other or sentence.lower(verb) in word_classes()["copulas"] | BECOMING


def _reject_unknown_subjects(sentence: GermanSentence) -> None:
    """Reject predicates of somebody who is not swapped, such as an unlisted name."""
    for clause in sentence.clauses:
        if not is_predicative(sentence, clause):
            continue
        _reject_unlisted_predicates(sentence, clause)
        if sentence.has_known_subject(clause):
            continue
        last = sentence.lower(clause.words[-1])
        names = any(sentence.lower(at).startswith(("heiß", "hieß")) for at in clause.words)
        is_perfect = last.startswith("ge") and last not in {"gewesen", "geworden"}
        if names or is_perfect or last.endswith("t"):
            continue
        bare = [
            phrase for phrase in sentence.phrases_of(clause) if not phrase.preposition and phrase.may_be("N")
        ]
        persons = [phrase for phrase in bare if phrase.readings and not phrase.is_plural]
        others = [at for at in possible_subjects(sentence, clause) if at in sentence.phrases]
        unknown = [at for at in others if not sentence.phrases[at].readings]
        if unknown and persons and all(slot[0] == "N" for phrase in persons for slot in phrase.slots):
            raise Ambiguous("what is said of somebody who is not listed")


def _reject_unlisted_predicates(sentence: GermanSentence, clause: Clause) -> None:
    """Reject predicates that the lists do not have, as in *er ist also Simulant*."""
    for phrase in sentence.phrases_of(clause):
        text = sentence.words[phrase.noun].text
        if phrase.preposition or phrase.readings or text in word_classes()["surnames"] or is_thing(text):
            continue
        is_bare = phrase.determiner is None and phrase.start - 1 not in sentence.phrases
        may_tell = sentence.known_subject < 0 or looks_gendered(text)
        if is_bare and text.endswith(AGENT_ENDINGS) and may_tell:
            raise Ambiguous("an occupation that is not listed")
        article = sentence.lower(phrase.determiner_at) if phrase.determiner_at >= 0 else ""
        if (article in {"der", "dieser"} and text.endswith("e")) or (
            article == "die" and text.endswith("ste")
        ):
            raise Ambiguous("what is said of somebody who is not listed")


def _with_case(cases: str) -> Slots:
    return frozenset(slot for slot in ALL_SLOTS if slot[0] in cases)


def _of_number(*, plural: bool) -> Slots:
    return frozenset(slot for slot in ALL_SLOTS if (slot[1] == "p") is plural)


def _apply_preposition(sentence: GermanSentence, phrase: NounPhrase) -> None:
    if not phrase.preposition:
        return None
    cases = _cases_of(phrase.preposition)
    clause = sentence.clause_by_word.get(phrase.start)
    if phrase.preposition in _ALSO_SUBORDINATORS and clause and clause.kind is ClauseKind.SUBORDINATE:
        return _without_preposition(sentence, phrase)
    if phrase.preposition in _WITH_INFINITIVE and clause and _has_infinitive(sentence, clause):
        return _without_preposition(sentence, phrase)
    limited = phrase.limited(_with_case(cases))
    if limited.slots:
        sentence.narrow(limited)
        return None
    return _without_preposition(sentence, phrase)


def _has_infinitive(sentence: GermanSentence, clause: Clause) -> bool:
    """Whether a clause has *zu* before its verb or within it, as in *auszuziehen*."""
    last = sentence.lower(clause.words[-1])
    return any(sentence.lower(at) == "zu" for at in clause.words) or (
        "zu" in last[2:-3] and last.endswith("n")
    )


def _without_preposition(sentence: GermanSentence, phrase: NounPhrase) -> None:
    """Treat the word before a phrase as a conjunction or a verb particle, not as a preposition."""
    sentence.narrow(
        NounPhrase(
            phrase.start,
            phrase.noun,
            phrase.determiner,
            phrase.determiner_at,
            phrase.adjectives,
            phrase.readings,
            phrase.slots,
            is_title=phrase.is_title,
        )
    )


def _cases_of(preposition: str) -> str:
    classes = word_classes()
    if preposition in classes["accusative prepositions"]:
        return "A"
    if preposition in classes["dative prepositions"]:
        return "D"
    return "AD" if preposition in classes["two-way prepositions"] else "G"


def _narrowed_or_unread(sentence: GermanSentence, phrase: NounPhrase) -> NounPhrase:
    """The phrase in its case; in a text about a known person, others behind a preposition need none: they stay."""
    before = sentence.said_with(phrase)
    governed = before if before is not None and before.preposition else phrase
    is_somebodys = phrase.determiner is not None and phrase.determiner.stem in {"sein", "ihr"}
    is_governed = bool(governed.preposition) or (is_somebodys and not phrase.may_be("N"))
    is_other = sentence.known_subject >= 0 and is_governed and not _is_contracted(governed)
    if not is_other:
        return _narrowed_to_case(sentence, phrase)
    try:
        return _narrowed_to_case(sentence, phrase)
    except Ambiguous:
        return replace(phrase, readings=())


def _is_contracted(phrase: NounPhrase) -> bool:
    return phrase.determiner is not None and bool(phrase.determiner.preposition)


def _narrowed_to_case(sentence: GermanSentence, phrase: NounPhrase) -> NounPhrase:
    clause = sentence.clause_by_word[phrase.noun]
    for narrowed in (_like_said, _like_neighbour, _by_number, _by_nominative, _by_oblique):
        phrase = narrowed(sentence, phrase, clause)
        if len(different_outcomes(sentence.words, phrase)) == 1:
            return phrase
    raise Ambiguous("the case of a noun is not certain")


def _like_said(sentence: GermanSentence, phrase: NounPhrase, _clause: Clause) -> NounPhrase:
    """What is said of a known person beside another such noun is of one person too: *als Arzt und Dichter*."""
    before = sentence.said_with(phrase)
    if sentence.known_subject < 0 or before is None or not before.slots or not phrase.may_be("N"):
        return phrase
    is_said = before.readings and not before.preposition and before.may_be("N")
    is_said = is_said and all(slot[1] != "p" for slot in before.slots)
    return phrase.limited(_with_case("N") & _of_number(plural=False)) if is_said else phrase


def _like_neighbour(sentence: GermanSentence, phrase: NounPhrase, _clause: Clause) -> NounPhrase:
    """Phrases joined by *und*, and appositions, have the same case."""
    before = sentence.lower(phrase.start - 1)
    neighbour = sentence.phrases.get(phrase.start - 2)
    title = sentence.phrases.get(phrase.start - 1)
    if title is not None and title.is_title and phrase.determiner is None:
        return _agreeing_with(phrase, title, singular=True)
    if before in {"und", "oder", "sowie"} and neighbour is not None:
        cases = {slot[0] for slot in neighbour.slots}
        if len(cases) == 1 or neighbour.preposition:
            return _agreeing_with(phrase, neighbour, singular=False)
    is_apposition = (
        before == "," and phrase.noun + 1 < len(sentence.words) and sentence.lower(phrase.noun + 1) == ","
    )
    if is_apposition and neighbour is not None and neighbour.readings and phrase.determiner is not None:
        alone = neighbour.noun + 1 < len(sentence.words) and _is_subject_before(sentence, neighbour)
        if alone:
            return phrase.limited(_with_case("N"))
    return phrase


def _is_subject_before(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    clause = sentence.clause_by_word[phrase.noun]
    if all(slot[0] == "N" for slot in phrase.slots):
        return True
    return not phrase.preposition and is_nominative(sentence, phrase, clause) is True


def _agreeing_with(phrase: NounPhrase, like: NounPhrase, *, singular: bool) -> NounPhrase:
    slots = _with_case("".join(slot[0] for slot in like.slots))
    limited = phrase.limited(slots & _of_number(plural=False) if singular else slots)
    if not limited.slots:
        raise Ambiguous("nouns that belong together do not agree")
    return limited


def _by_number(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> NounPhrase:
    """Singular or plural, where the form does not tell, as in *er ist Lehrer*."""
    numbers = {slot[1] == "p" for slot in phrase.slots}
    if len(numbers) == 1:
        return phrase
    if phrase.determiner is None:
        return _number_without_determiner(sentence, phrase, clause)
    if phrase.slots <= {"Nm", "Gp"}:
        return phrase.limited(_with_case("G" if _follows_noun(sentence, phrase) else "N"))
    if phrase.slots <= {"Am", "Dp"}:
        objects = [
            other for other in sentence.phrases_of(clause) if other.may_be("A") and other.noun > phrase.noun
        ]
        gives = _has_verb(sentence, clause, "dative verbs") or _has_verb(sentence, clause, "giving verbs")
        if gives or any(not other.preposition for other in objects):
            raise Ambiguous("a noun may be one person or several")
        return phrase.limited(_with_case("A"))
    return phrase


def _number_without_determiner(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> NounPhrase:
    following = sentence.phrases.get(phrase.noun + 1)
    is_before_name = following is not None and following.determiner is None
    says_what = sentence.lower(phrase.start - 1) == "als" or is_predicative(sentence, clause)
    is_of_one = says_what and not phrase.preposition and sentence.has_known_subject(clause)
    is_one = is_of_one or (
        says_what and clause.has_singular_verb and not _may_be_of_several(sentence, clause)
    )
    if is_before_name or is_one:
        return phrase.limited(_of_number(plural=False))
    if phrase.adjectives:
        return phrase
    raise Ambiguous("a noun may be one person or several")


def _may_be_of_several(sentence: GermanSentence, clause: Clause) -> bool:
    forms = {sentence.lower(at) for at in clause.words}
    joins = any(
        sentence.lower(phrase.start - 1) in {"und", "oder", "sowie"} and phrase.start - 2 in sentence.phrases
        for phrase in sentence.phrases_of(clause)
    )
    last = sentence.lower(clause.words[-1])
    return joins or bool(forms & _OF_SEVERAL) or (last == "haben" and "sich" in forms)


def _by_nominative(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> NounPhrase:
    cases = {slot[0] for slot in phrase.slots}
    if phrase.preposition or "N" not in cases or cases == {"N"}:
        return phrase
    if phrase.determiner is None and sentence.lower(phrase.start - 1) == "als":
        objects = [at for at in clause.words if sentence.lower(at) in OBJECTS]
        if any(sentence.lower(at - 1) not in PREPOSITIONS for at in objects):
            raise Ambiguous("the case of a noun is not certain")
        return phrase.limited(_with_case("N"))
    is_named = phrase.start - 1 in sentence.phrases or any(
        "nenn" in sentence.lower(at) for at in clause.words
    )
    if phrase.determiner is None and not phrase.is_title and is_named:
        raise Ambiguous("the case of a noun is not certain")
    verdict = is_nominative(sentence, phrase, clause)
    if verdict is None:
        raise Ambiguous("whether a noun is the subject is not certain")
    return phrase.limited(_with_case("N" if verdict else "ADG"))


def _by_oblique(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> NounPhrase:
    """Dative or genitive: *der Lehrerin*."""
    cases = {slot[0] for slot in phrase.slots}
    if cases != {"D", "G"}:
        return phrase
    if any(slot[1] == "p" for slot in phrase.slots):
        raise Ambiguous("a noun may be one person or several")
    if _follows_noun(sentence, phrase):
        gives = _has_verb(sentence, clause, "dative verbs") or _has_verb(sentence, clause, "giving verbs")
        if gives or _has_body_part(sentence, clause, after=phrase.noun):
            raise Ambiguous("a dative or a genitive")
        return phrase.limited(_with_case("G"))
    following = sentence.phrases.get(phrase.noun + 1)
    if following is not None and following.determiner is None:
        raise Ambiguous("a dative or a genitive")
    return phrase.limited(_with_case("D"))


def _has_body_part(sentence: GermanSentence, clause: Clause, *, after: int) -> bool:
    """Whether a dative may name the person to whose body something happens: *der Frau in die Arme*."""
    parts = word_classes()["body parts"]
    return any(at > after and sentence.words[at].text in parts for at in clause.words)


def _follows_noun(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    before = sentence.phrases.get(phrase.start - 1)
    if before is None:
        return False
    if any(reading.person.role in {Role.NAME, Role.TITLE} for reading in before.readings):
        raise Ambiguous("an article behind a name")
    if sentence.words[before.noun].starts and before.determiner is None and not before.readings:
        raise Ambiguous("what may be a verb before a noun")
    return True


def _has_verb(sentence: GermanSentence, clause: Clause, name: str) -> bool:
    return any(
        has_stem(sentence.lower(at), name)
        for at in clause.words
        if at not in sentence.phrases and not sentence.words[at].capital
    )
