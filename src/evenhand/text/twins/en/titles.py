"""Titles and their twins, and nouns that are titles where they have a capital."""

from __future__ import annotations

from evenhand.text.twins.en.name_list import PLACES_AFTER
from evenhand.text.twins.en.names import is_known_name
from evenhand.text.twins.en.swaps import Decision, is_name_like, swap
from evenhand.text.twins.en.words import noun_pairs
from evenhand.text.twins.tokens import Tokens
from evenhand.text.twins.twin import LeftOut, Role
from evenhand.text.twins.word_lists import word_set

TITLES = frozenset(
    {"mr", "mrs", "ms", "miss", "sir", "madam", "lord", "lady", "ladies", "lords", "ma'am", "count"}
)
_FIRST_NAME_FOLLOWS = word_set(
    """
    king queen prince princess uncle aunt auntie brother sister emperor empress
    """
)
_RELIGIOUS = frozenset({"father", "mother"})
_OTHER = word_set(
    """
    duke duchess baron baroness viscount viscountess countess marquis marchioness sultan sultana czar
    czarina tsar tsarina mum mom dad papa mama mamma daddy mummy mommy grandma grandpa grandmother
    grandfather granny grandad lord lady sir madam madame monsieur signor signora herr frau ladyship
    lordship ma pa emperor empress abbot abbess englishman englishwoman frenchman frenchwoman englishmen
    englishwomen frenchmen frenchwomen irishman irishwoman irishmen irishwomen scotsman scotswoman
    scotsmen scotswomen welshman welshwoman dutchman dutchwoman dutchmen
    """
)
CAPITAL_NOUNS = _FIRST_NAME_FOLLOWS | _RELIGIOUS | _OTHER
"""Nouns that may have a capital within a sentence and mean a person all the same."""


def title_twin(tokens: Tokens, at: int) -> Decision:
    """What becomes of a title."""
    word = tokens[at].lower
    if word in ("mr", "mrs", "ms"):
        return _polite(tokens, at)
    if word == "miss":
        return _miss(tokens, at)
    if word == "count":
        return _count(tokens, at)
    if word in ("lord", "lords"):
        return _lord(tokens, at)
    if word in ("lady", "ladies"):
        return _lady(tokens, at)
    if tokens[at].is_capitalised and is_name_like(tokens, at + 1) and not tokens.is_shouted:
        return LeftOut(f"the twin of the title {tokens[at].text!r} is not clear")
    return _exchanged(tokens, at, "madam" if word == "sir" else "sir", male=word == "sir")


def capital_noun(tokens: Tokens, at: int) -> LeftOut | bool:
    """Whether a noun with a capital is a title that may be exchanged; False for a surname or a place."""
    word = tokens[at].lower
    if word not in CAPITAL_NOUNS:
        return LeftOut(f"{tokens[at].text!r} may be part of a name")
    before = tokens[at - 1]
    if is_known_name(before.lower) and before.is_capitalised:
        return False
    return followed_title(tokens, at)


def followed_title(tokens: Tokens, at: int) -> LeftOut | bool:
    """The same by what follows the title."""
    word, following = tokens[at].lower, tokens[at + 1]
    if following.lower in PLACES_AFTER and following.is_capitalised:
        return False
    if following.lower == "'s" and is_name_like(tokens, at + 2):
        return LeftOut(f"{tokens[at].text!r} may be part of a name")
    if not is_name_like(tokens, at + 1) or tokens.is_shouted:
        return True
    if word in _RELIGIOUS:
        return LeftOut(f"the twin of the title {tokens[at].text!r} is not clear")
    if word in _FIRST_NAME_FOLLOWS and not is_known_name(following.lower):
        return LeftOut(f"the name {following.text} has no twin")
    return True


def _polite(tokens: Tokens, at: int) -> Decision:
    word = tokens[at].lower
    return _exchanged(tokens, at, "mrs" if word == "mr" else "mr", male=word == "mr")


def _miss(tokens: Tokens, at: int) -> Decision:
    token = tokens[at]
    if not is_name_like(tokens, at + 1):
        spoken_to = tokens[at - 1].text == "," and not tokens[at + 1].is_word
        return LeftOut("the twin of 'Miss' is not clear") if token.is_capitalised or spoken_to else None
    if not token.is_capitalised:
        return None
    if tokens[at - 1].lower in ("the", "two", "both", "three", "these"):
        return LeftOut("the twin of several called 'Miss' is not clear")
    return _exchanged(tokens, at, "mr" if _writes_no_stops(tokens) else "mr.", male=False)


def _writes_no_stops(tokens: Tokens) -> bool:
    """Whether the sentence writes titles without a full stop."""
    return any(
        tokens[at].lower in ("mr", "mrs", "dr", "ms") and tokens[at + 1].text != "."
        for at in range(len(tokens))
    )


def _count(tokens: Tokens, at: int) -> Decision:
    if tokens.has_name_capital(at):
        return _exchanged(tokens, at, "countess", male=True)
    noun = tokens[at - 1].lower in ("the", "a", "old", "young")
    return LeftOut("'count' may be a title") if noun else None


def _lord(tokens: Tokens, at: int) -> Decision:
    if tokens[at].lower == "lord" and (_is_peer(tokens, at) or tokens[at - 1].lower == "my"):
        return _exchanged(tokens, at, "lady", male=True)
    if tokens[at].is_capitalised:
        return LeftOut("'Lord' may not be a person's title")
    return _exchanged(tokens, at, "ladies" if tokens[at].lower == "lords" else "lady", male=True)


def _lady(tokens: Tokens, at: int) -> Decision:
    if tokens[at].lower == "lady" and (_is_peer(tokens, at) or tokens[at - 1].lower == "my"):
        return _exchanged(tokens, at, "lord", male=False)
    if tokens.has_name_capital(at):
        return LeftOut(f"{tokens[at].text!r} may be part of a name")
    return _exchanged(tokens, at, noun_pairs()[1][tokens[at].lower], male=False)


def _is_peer(tokens: Tokens, at: int) -> bool:
    if not tokens[at].is_capitalised or tokens.is_shouted:
        return False
    beside = tokens[at + 1].lower == "and" and tokens[at + 2].text in ("Lord", "Lady")
    return is_name_like(tokens, at + (3 if beside else 1))


def _exchanged(tokens: Tokens, at: int, new: str, *, male: bool) -> Decision:
    return swap(tokens, at, new=new, role=Role.TITLE, male=male)
