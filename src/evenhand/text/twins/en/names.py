"""First names and their twins; surnames, places and saints stay."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.lexicon import classes_of
from evenhand.text.twins.en.name_list import (
    ALSO_PLACES,
    ALSO_SURNAMES,
    ALSO_WORDS,
    PLACES_AFTER,
    SAINTS_AND_PLACES_BEFORE,
    name_twins,
    names_without_twin,
)
from evenhand.text.twins.en.swaps import Decision, is_name_like, stands_in_compound, swap
from evenhand.text.twins.tokens import Tokens
from evenhand.text.twins.twin import LeftOut, Role
from evenhand.text.twins.word_lists import word_set

_SURNAME_TITLES = word_set(
    """
    mr mrs ms dr doctor professor prof judge captain colonel major general senator president
    """
)
_FIRST_NAME_TITLES = word_set(
    """
    miss lady lord king queen prince princess uncle aunt auntie aunty brother sister emperor empress
    cousin pope mother father little poor old young dear saintly grandma grandpa nurse master
    """
)


def name_twin(tokens: Tokens, at: int) -> Decision:
    """What becomes of a word that may be a first name."""
    token = tokens[at]
    if not is_name_like(tokens, at):
        return None
    name = token.lower.capitalize()
    males, females = name_twins()
    if tokens[at + 1].is_word and tokens[at + 1].lower in PLACES_AFTER and is_name_like(tokens, at + 1):
        return None
    if _title_before(tokens, at) in SAINTS_AND_PLACES_BEFORE:
        return None
    if stands_in_compound(tokens, at):
        return LeftOut(f"{token.text!r} in a compound")
    if token.lower in ALSO_PLACES and tokens[at - 1].lower in ("in", "near", "from", "to", "at", "of"):
        return LeftOut(f"{token.text!r} may be a place")
    if tokens[at - 1].lower == "the" and not is_name_like(tokens, at + 1):
        return LeftOut(f"'the {token.text}' may be no person")
    if token.lower in ALSO_WORDS and tokens.begins(at):
        return LeftOut(f"{token.text!r} may be no name")
    role = _part_of_name(tokens, at, male=name in males)
    if role is not None:
        return role if isinstance(role, LeftOut) else None
    if token.lower in ALSO_SURNAMES and not is_name_like(tokens, at + 1):
        return LeftOut(f"{token.text!r} may be a first name or a surname")
    if name in names_without_twin():
        return LeftOut(f"the name {name} has no twin")
    twin = males.get(name) or females[name]
    return swap(tokens, at, new=twin, role=Role.NAME, male=name in males)


def _part_of_name(tokens: Tokens, at: int, *, male: bool) -> str | LeftOut | None:
    """None for a first name, a word for another part of a name, or why that is not known."""
    before = tokens[at - 1]
    title = _title_before(tokens, at)
    has_surname = is_name_like(tokens, at + 1)
    if title in _SURNAME_TITLES:
        if title == "mrs" and male and has_surname:
            return LeftOut("a woman called by a man's name")
        return "surname" if male and not has_surname else None
    if title in _FIRST_NAME_TITLES or not is_name_like(tokens, at - 1) or tokens.is_shouted:
        is_initial = before.text == "." and len(tokens[at - 2].text) == 1 and tokens[at - 2].is_capitalised
        return "surname" if is_initial and male and not has_surname else None
    if is_known_name(before.lower):
        return "surname" if male and not has_surname else None
    if before.lower in grammar.TIMES or (tokens.begins(at - 1) and _is_ordinary(before.lower)):
        return None
    return LeftOut(f"{tokens[at].text!r} may be a first name or a surname")


def is_known_name(word: str) -> bool:
    """Whether a word in lower case is a well-known first name."""
    name = word.capitalize()
    males, females = name_twins()
    return name in males or name in females or name in names_without_twin()


def _is_ordinary(word: str) -> bool:
    return word in grammar.BEHIND_AN_OBJECT or word in grammar.ADVERBS or bool(classes_of(word))


def _title_before(tokens: Tokens, at: int) -> str:
    """The word before a place, without its full stop."""
    return tokens[at - 2].lower if tokens[at - 1].text == "." else tokens[at - 1].lower
