"""English pronouns and their twins."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.her import reading_of_her
from evenhand.text.twins.en.his import reading_of_his
from evenhand.text.twins.en.readings import Reading
from evenhand.text.twins.en.swaps import Decision, stands_in_compound, swap
from evenhand.text.twins.tokens import Tokens
from evenhand.text.twins.twin import LeftOut, Role

_PLAIN = {
    "he": ("she", Role.SUBJECT),
    "she": ("he", Role.SUBJECT),
    "him": ("her", Role.OBJECT),
    "himself": ("herself", Role.REFLEXIVE),
    "herself": ("himself", Role.REFLEXIVE),
    "hers": ("his", Role.STANDALONE_POSSESSIVE),
}
PRONOUNS = frozenset(_PLAIN) | {"his", "her"}
_MALE = frozenset({"he", "him", "his", "himself"})


def pronoun_twin(tokens: Tokens, at: int) -> Decision:
    """What becomes of a pronoun."""
    word = tokens[at].lower
    if stands_in_compound(tokens, at):
        return LeftOut(f"{word!r} in a compound")
    if _is_reverent(tokens, at):
        return LeftOut(f"{tokens[at].text!r} with a capital within the sentence")
    if word in _PLAIN:
        new, role = _PLAIN[word]
        return swap(tokens, at, new=new, role=role, male=word in _MALE)
    return _his(tokens, at) if word == "his" else _her(tokens, at)


def _is_reverent(tokens: Tokens, at: int) -> bool:
    text = tokens[at].text
    honoured = tokens[at + 1].lower in grammar.HONOURS
    return tokens.has_name_capital(at) and not text.isupper() and not honoured


def _her(tokens: Tokens, at: int) -> Decision:
    match reading_of_her(tokens, at):
        case Reading.POSSESSIVE:
            return swap(tokens, at, new="his", role=Role.POSSESSIVE, male=False)
        case Reading.OBJECT:
            return swap(tokens, at, new="him", role=Role.OBJECT, male=False)
        case Reading.UNCLEAR:
            return LeftOut("'her' may be 'his' or 'him'")


def _his(tokens: Tokens, at: int) -> Decision:
    match reading_of_his(tokens, at):
        case Reading.POSSESSIVE:
            return swap(tokens, at, new="her", role=Role.POSSESSIVE, male=True)
        case Reading.OBJECT:
            return swap(tokens, at, new="hers", role=Role.STANDALONE_POSSESSIVE, male=True)
        case Reading.UNCLEAR:
            return LeftOut("'his' may be 'her' or 'hers'")
