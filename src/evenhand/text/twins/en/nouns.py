"""Gendered nouns and adjectives and their twins."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.lexicon import Class, classes_of
from evenhand.text.twins.en.phrases import may_be_noun
from evenhand.text.twins.en.swaps import Decision, is_name_like, stands_in_compound, swap
from evenhand.text.twins.en.titles import capital_noun, followed_title
from evenhand.text.twins.en.words import WITHOUT_CLEAR_TWIN, noun_pairs
from evenhand.text.twins.tokens import UNKNOWN_WORD, Tokens
from evenhand.text.twins.twin import LeftOut, Role
from evenhand.text.twins.word_lists import word_set

_FAMILY_PREFIXES = word_set("step grand great god ex half twin co foster")
_YOUNG = word_set("boy boys girl girls")
_BOYS_ONLY = word_set("tom play bell call cabin altar choir page he she")
_ABBREVIATIONS = frozenset({"ma", "pa"})
_POSSESSORS = word_set("my your his her our their whose 's every one same only other")


def noun_twin(tokens: Tokens, at: int) -> Decision:
    """What becomes of a gendered noun or adjective."""
    token = tokens[at]
    if token.lower in WITHOUT_CLEAR_TWIN:
        return _without_twin(tokens, at)
    in_name = tokens[at + 1].lower == "'s" and tokens[at + 2].is_hyphen
    if in_name or (stands_in_compound(tokens, at) and not _keeps_sense(tokens, at)):
        return LeftOut(f"{token.lower!r} in a compound")
    if token.lower in _ABBREVIATIONS and not _is_parent(tokens, at):
        return None
    if token.is_capitalised and not tokens.is_shouted:
        titled = capital_noun(tokens, at) if tokens.has_name_capital(at) else followed_title(tokens, at)
        if isinstance(titled, LeftOut):
            return titled
        if not titled:
            return None
    if token.lower in ("man", "woman") and _is_generic(tokens, at):
        return LeftOut(f"{token.lower!r} without an article may be generic")
    to_female, to_male = noun_pairs()
    male = token.lower in to_female
    new = to_female[token.lower] if male else to_male[token.lower]
    if token.lower == "bride" and "groom" in tokens.lower():
        new = "groom"
    return swap(tokens, at, new=new, role=Role.NOUN, male=male)


def _without_twin(tokens: Tokens, at: int) -> Decision:
    word, following = tokens[at].lower, tokens[at + 1]
    if word in ("fellow", "maiden", "master") and may_be_noun(following) and not tokens[at].is_capitalised:
        return None
    if word == "fellow" and following.is_hyphen:
        return None
    if word == "groom" and "bride" in tokens.lower():
        return swap(tokens, at, new="bride", role=Role.NOUN, male=True)
    return LeftOut(f"{word!r} has no clear twin")


def _keeps_sense(tokens: Tokens, at: int) -> bool:
    """Whether a part of a compound can be exchanged: son-in-law, great-aunt, shop-girl."""
    in_law = tokens[at + 2].lower == "in" and tokens[at + 4].lower in ("law", "laws")
    if tokens.hyphen_before(at) and not tokens.hyphen_after(at) and tokens[at].lower in _YOUNG:
        return tokens[at - 2].text.islower() and tokens[at - 2].lower not in _BOYS_ONLY
    family = tokens.hyphen_before(at) and tokens[at - 2].lower in _FAMILY_PREFIXES
    return (family and not tokens.hyphen_after(at)) or (tokens.hyphen_after(at) and in_law)


def _is_parent(tokens: Tokens, at: int) -> bool:
    named = tokens[at + 1].text == UNKNOWN_WORD or is_name_like(tokens, at + 1)
    return (tokens[at].text in ("Ma", "Pa") and not named) or tokens[at - 1].lower in (
        "my",
        "your",
        "his",
        "her",
    )


def _is_generic(tokens: Tokens, at: int) -> bool:
    """Whether no article, possessive or adjective stands before a noun in the singular."""
    before = tokens[at - 1].lower
    if before == "of" and tokens[at - 2].lower in ("sort", "kind", "type", "sorts", "kinds"):
        return False
    if (
        before in grammar.DETERMINERS
        or before in _POSSESSORS
        or before in grammar.NUMERALS | grammar.ORDINALS
    ):
        return False
    if not tokens[at - 1].is_word or before in grammar.BEHIND_AN_OBJECT or before in grammar.ADVERBS:
        return not tokens.hyphen_before(at)
    described = Class.ADJECTIVE | Class.NOUN | Class.PAST | Class.ING
    return not classes_of(before) & described and not tokens[at - 1].is_capitalised
