"""Exchange a noun phrase about a person: the noun, and every word that agrees with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evenhand.core.spans import Span
from evenhand.text.twins.de.articles import (
    Determiner,
    Family,
    adjective_ending,
    adjective_stem,
    contracted,
)
from evenhand.text.twins.de.nouns import Reading
from evenhand.text.twins.de.phrases import Phrase
from evenhand.text.twins.de.words import Unsure, Word
from evenhand.text.twins.twin import Role, Swap


@dataclass(frozen=True, slots=True)
class Possessor:
    """What becomes of a possessive: its new stem, and whether the old possessor is a man."""

    stem: str
    male: bool


def exchanged(
    words: Sequence[Word], phrase: Phrase, reading: Reading, *, slot: str, possessors: Mapping[int, Possessor]
) -> tuple[Swap, ...]:
    """The swaps that exchange a phrase which stands in a slot."""
    person = reading.person
    if slot[1] == "p":
        if person.is_neutral_in_plural:
            return ()
        return (_noun(words[phrase.noun], phrase, reading, slot),)
    new_slot = slot[0] + (person.kind if reading.male else "m")
    swaps = [*_determiner(words, phrase, reading, slot=new_slot, possessors=possessors)]
    for at in phrase.adjectives:
        stem = adjective_stem(words[at].lower) or ""
        new = words[at].text[: len(stem)] + adjective_ending(phrase.family, new_slot)
        swaps.append(swap_of(words[at], new, Role.AGREEMENT, male=reading.male))
    swaps.append(_noun(words[phrase.noun], phrase, reading, new_slot))
    return tuple(swap for swap in swaps if swap.old != swap.new)


def swap_of(word: Word, new: str, role: Role, *, male: bool) -> Swap:
    """A swap of one word, in its case."""
    return Swap(word.span, word.text, in_case_of(word.text, new), role, male)


def in_case_of(old: str, new: str) -> str:
    """A word with a capital if the old one has one."""
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def different_outcomes(words: Sequence[Word], phrase: Phrase) -> Mapping[tuple[Swap, ...], set[str]]:
    """The ways in which a phrase may be exchanged, each with the slots that lead to it."""
    outcomes: dict[tuple[Swap, ...], set[str]] = {}
    for reading in phrase.readings:
        for slot in reading.slots:
            swaps = exchanged(words, phrase, reading, slot=slot, possessors={})
            outcomes.setdefault(swaps, set()).add(slot)
    return outcomes


def _noun(word: Word, phrase: Phrase, reading: Reading, slot: str) -> Swap:
    new = reading.person.form(slot, phrase.family, male=not reading.male)
    return Swap(word.span, word.text, new, reading.person.role, reading.male)


def _determiner(
    words: Sequence[Word], phrase: Phrase, reading: Reading, *, slot: str, possessors: Mapping[int, Possessor]
) -> Iterator[Swap]:
    determiner, at = phrase.determiner, phrase.determiner_at
    if determiner is None or at < 0:
        return
    possessor = possessors.get(at)
    if possessor:
        new = replace(determiner, stem=possessor.stem).form(slot)
        yield swap_of(words[at], new, Role.POSSESSIVE, male=possessor.male)
    elif determiner.family is Family.DEFINITE:
        yield _article(words, phrase, determiner, slot=slot, male=reading.male)
    else:
        yield swap_of(words[at], determiner.form(slot), Role.AGREEMENT, male=reading.male)


def _article(words: Sequence[Word], phrase: Phrase, determiner: Determiner, *, slot: str, male: bool) -> Swap:
    """The definite article, contracted with a preposition or parted from it."""
    at = phrase.determiner_at
    article = determiner.form(slot)
    if determiner.preposition:
        new = contracted(determiner.preposition, article) or f"{determiner.preposition} {article}"
        return swap_of(words[at], new, Role.AGREEMENT, male=male)
    short = contracted(words[at - 1].lower, article) if at > 0 else None
    if short and short not in {"ins", "ans", "zur"}:
        before = words[at - 1]
        old = f"{before.text} {words[at].text}"
        if words[at].span.start - before.span.end != 1:
            raise Unsure("a preposition apart from its article")
        span = Span(before.span.start, words[at].span.end)
        return Swap(span, old, in_case_of(before.text, short), Role.AGREEMENT, male)
    return swap_of(words[at], article, Role.AGREEMENT, male=male)
