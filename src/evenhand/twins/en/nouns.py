"""English titles, gendered nouns and adjectives, and their counterparts."""

from __future__ import annotations

from evenhand.text.swappers import Rejected, Role
from evenhand.twins.en import grammar
from evenhand.twins.en.gendered_words import WITHOUT_CLEAR_TWIN, noun_pairs
from evenhand.twins.en.grammar import word_set
from evenhand.twins.en.names import PLACES_AFTER, SURNAME_TITLES, is_known_name, title_before
from evenhand.twins.en.tokens import (
    UNKNOWN_WORD,
    Tokens,
    WordOutcome,
    is_name_like,
    stands_in_compound,
    swap,
)
from evenhand.twins.en.word_classes import WordClass, classes_of, may_be_noun

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
"""Nouns that mean a person even when they are capitalised within a sentence."""
_FAMILY_PREFIXES = word_set("step grand great god ex half twin co foster")
_YOUNG = word_set("boy boys girl girls")
_BOYS_ONLY = word_set("tom play bell call cabin altar choir page he she")
_ABBREVIATIONS = frozenset({"ma", "pa"})
_POSSESSORS = word_set("my your his her our their whose 's every one same only other")
_KEPT_VERBS = word_set("man husband husbands lord lords queen queens king")
"""Nouns that are also verbs, which say nothing about anybody's gender: man the desk."""
_PARENTING = word_set("father fathers mother mothers")
"""Nouns that are also verbs, and mean another thing for each gender: he fathered them."""
_BEFORE_VERBS = word_set(
    """
    to will would can could should must may might shall cannot do does did don't doesn't didn't won't
    wouldn't can't couldn't shouldn't mustn't 'll 'd i you we they who
    """
)
_BEFORE_THIRD_PERSON = word_set("he she it who that which")


def title_twin(tokens: Tokens, at: int) -> WordOutcome:
    """The outcome for a title."""
    word = tokens[at].lower
    if is_verb(tokens, at) or _is_surname(tokens, at):
        return None
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
        return Rejected(f"the twin of the title {tokens[at].text!r} is not clear")
    return _title_swap(tokens, at, "madam" if word == "sir" else "sir", male=word == "sir")


def capital_noun(tokens: Tokens, at: int) -> Rejected | bool:
    """Whether a capitalised noun is a title that may be swapped; False for a surname or a place."""
    word = tokens[at].lower
    if word not in CAPITAL_NOUNS:
        return Rejected(f"{tokens[at].text!r} may be part of a name")
    before = tokens[at - 1]
    if is_known_name(before.lower) and before.is_capitalised:
        return False
    return followed_title(tokens, at)


def followed_title(tokens: Tokens, at: int) -> Rejected | bool:
    """The same, judged by what follows the title."""
    word, following = tokens[at].lower, tokens[at + 1]
    named = tokens[at + 2] if is_name_like(tokens, at + 1) else following
    if any(each.lower in PLACES_AFTER and each.is_capitalised for each in (following, named)):
        return False
    if tokens[at - 1].text in ("The", "A") and not tokens.begins(at - 1):
        return Rejected(f"{tokens[at].text!r} may be part of a name")
    if _is_numbered(tokens, at + 2):
        return Rejected("a ruler called by name")
    if following.lower == "'s" and is_name_like(tokens, at + 2):
        return Rejected(f"{tokens[at].text!r} may be part of a name")
    if not is_name_like(tokens, at + 1) or tokens.is_shouted:
        return True
    if word in _RELIGIOUS:
        return Rejected(f"the twin of the title {tokens[at].text!r} is not clear")
    if word in _FIRST_NAME_FOLLOWS and not is_known_name(following.lower):
        return Rejected(f"the name {following.text} has no twin")
    return True


def _is_numbered(tokens: Tokens, at: int) -> bool:
    """Whether a ruler's number or byname stands here: *Henry VIII*, *Henry the Eighth*."""
    if tokens[at].lower == "the":
        return is_name_like(tokens, at + 1)
    return tokens[at].text.isupper() and len(tokens[at].text) > 1 and set(tokens[at].text) <= set("IVX")


def _polite(tokens: Tokens, at: int) -> WordOutcome:
    word = tokens[at].lower
    return _title_swap(tokens, at, "mrs" if word == "mr" else "mr", male=word == "mr")


def _miss(tokens: Tokens, at: int) -> WordOutcome:
    token = tokens[at]
    if not is_name_like(tokens, at + 1):
        spoken_to = tokens[at - 1].text == "," and not tokens[at + 1].is_word
        return Rejected("the twin of 'Miss' is not clear") if token.is_capitalised or spoken_to else None
    if not token.is_capitalised:
        return None
    if tokens[at - 1].lower in ("the", "two", "both", "three", "these"):
        return Rejected("the twin of several called 'Miss' is not clear")
    return _title_swap(tokens, at, "mr" if _writes_no_stops(tokens) else "mr.", male=False)


def _writes_no_stops(tokens: Tokens) -> bool:
    """Whether the sentence writes titles without a full stop."""
    return any(
        tokens[at].lower in ("mr", "mrs", "dr", "ms") and tokens[at + 1].text != "."
        for at in range(len(tokens))
    )


def _count(tokens: Tokens, at: int) -> WordOutcome:
    if tokens.has_name_capital(at):
        return _title_swap(tokens, at, "countess", male=True)
    noun = tokens[at - 1].lower in ("the", "a", "old", "young")
    return Rejected("'count' may be a title") if noun else None


def _lord(tokens: Tokens, at: int) -> WordOutcome:
    if tokens[at].lower == "lord" and (_is_peer(tokens, at) or tokens[at - 1].lower == "my"):
        return _title_swap(tokens, at, "lady", male=True)
    if tokens[at].is_capitalised:
        return Rejected("'Lord' may not be a person's title")
    return _title_swap(tokens, at, "ladies" if tokens[at].lower == "lords" else "lady", male=True)


def _lady(tokens: Tokens, at: int) -> WordOutcome:
    if tokens[at].lower == "lady" and (_is_peer(tokens, at) or tokens[at - 1].lower == "my"):
        return _title_swap(tokens, at, "lord", male=False)
    if tokens.has_name_capital(at):
        return Rejected(f"{tokens[at].text!r} may be part of a name")
    return _title_swap(tokens, at, noun_pairs()[1][tokens[at].lower], male=False)


def _is_peer(tokens: Tokens, at: int) -> bool:
    if not tokens[at].is_capitalised or tokens.is_shouted:
        return False
    beside = tokens[at + 1].lower == "and" and tokens[at + 2].text in ("Lord", "Lady")
    return is_name_like(tokens, at + (3 if beside else 1))


def _title_swap(tokens: Tokens, at: int, new: str, *, male: bool) -> WordOutcome:
    return swap(tokens, at, new=new, role=Role.TITLE, male=male)


def _is_surname(tokens: Tokens, at: int) -> bool:
    """Whether a capitalised noun follows a title that surnames follow: *Mr. King*, *Professor Prince*."""
    titled = title_before(tokens, at) in SURNAME_TITLES
    return titled and tokens[at].is_capitalised and not tokens.is_shouted and not is_name_like(tokens, at + 1)


def is_verb(tokens: Tokens, at: int) -> bool:
    """Whether a word that is also a noun is a verb here: to man the desk."""
    word = tokens[at].lower
    if word not in _KEPT_VERBS and word not in _PARENTING:
        return False
    if not _has_object(tokens, at):
        return False
    place = at - 1
    while tokens[place].lower in grammar.ADVERBS:
        place -= 1
    before = tokens[place].lower
    return before in (_BEFORE_THIRD_PERSON if word.endswith("s") else _BEFORE_VERBS)


def _has_object(tokens: Tokens, at: int) -> bool:
    following = tokens[at + 1].lower
    return following in grammar.NOMINAL_STARTS or following in ("her", "his")


def _may_be_verb(tokens: Tokens, at: int) -> bool:
    """Whether the word before may be its subject, as in *volunteers man the desk*."""
    word = tokens[at].lower
    subject = classes_of(tokens[at - 1].lower) & (WordClass.NOUN if word.endswith("s") else WordClass.PLURAL)
    return (word in _KEPT_VERBS or word in _PARENTING) and bool(subject) and _has_object(tokens, at)


def noun_twin(tokens: Tokens, at: int) -> WordOutcome:
    """The outcome for a gendered noun or adjective."""
    token = tokens[at]
    verb = is_verb(tokens, at)
    if (verb and token.lower in _KEPT_VERBS) or _is_surname(tokens, at):
        return None
    if verb or _may_be_verb(tokens, at):
        return Rejected(f"{token.lower!r} may be a verb")
    if token.lower in WITHOUT_CLEAR_TWIN:
        return _without_twin(tokens, at)
    in_name = tokens[at + 1].lower == "'s" and tokens[at + 2].is_hyphen
    if in_name or (stands_in_compound(tokens, at) and not _keeps_sense(tokens, at)):
        return Rejected(f"{token.lower!r} in a compound")
    if token.lower in _ABBREVIATIONS and not _is_parent(tokens, at):
        return None
    if token.is_capitalised and not tokens.is_shouted:
        titled = capital_noun(tokens, at) if tokens.has_name_capital(at) else followed_title(tokens, at)
        if isinstance(titled, Rejected):
            return titled
        if not titled:
            return None
    if token.lower in ("man", "woman") and _is_generic(tokens, at):
        return Rejected(f"{token.lower!r} without an article may be generic")
    to_female, to_male = noun_pairs()
    male = token.lower in to_female
    new = to_female[token.lower] if male else to_male[token.lower]
    if token.lower == "bride" and "groom" in tokens.lower():
        new = "groom"
    return swap(tokens, at, new=new, role=Role.NOUN, male=male)


def _without_twin(tokens: Tokens, at: int) -> WordOutcome:
    word, following = tokens[at].lower, tokens[at + 1]
    if word in ("fellow", "maiden", "master") and may_be_noun(following) and not tokens[at].is_capitalised:
        return None
    if word == "fellow" and following.is_hyphen:
        return None
    if word == "groom" and "bride" in tokens.lower():
        return swap(tokens, at, new="bride", role=Role.NOUN, male=True)
    return Rejected(f"{word!r} has no clear twin")


def _keeps_sense(tokens: Tokens, at: int) -> bool:
    """Whether a part of a compound can be swapped: son-in-law, great-aunt, shop-girl."""
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
    """Whether a singular noun has no article, possessive or adjective before it."""
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
    described = WordClass.ADJECTIVE | WordClass.NOUN | WordClass.PAST | WordClass.ING
    return not classes_of(before) & described and not tokens[at - 1].is_capitalised
