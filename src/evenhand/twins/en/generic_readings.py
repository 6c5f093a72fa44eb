"""English sentences whose gendered words may mean everybody, a machine, a figure of history, or nobody at all."""

from __future__ import annotations

import re

from evenhand.text.swappers import Rejected
from evenhand.twins.en import grammar
from evenhand.twins.en.grammar import word_set
from evenhand.twins.en.tokens import Tokens, is_name_like

_BOTH = re.compile(r"\b(?:s/he|(?:he|she|his|him|her)/(?:he|she|his|him|her))\b|\(s\)he\b", re.IGNORECASE)
_PEOPLE = word_set("man woman")
_RULES = word_set("must should can may needs ought")
"""Verbs of what holds for all: *a man must do what a man must do*."""
_FOUNDERS = word_set("mother father")
_CHILDREN = word_set("my your his her our their twins triplets children boys girls sons daughters")
_MACHINES = word_set(
    "engine motor car truck lorry tractor bus train locomotive plane bike motorbike motorcycle machine hurricane storm"
)
_STARTED = word_set("fill start crank fire rev turn shut steady hoist bring")
_BEHIND = word_set("up on off down over about in")
_HOLY = word_set("saint st pope")
_HIS_OR_HERS = word_set("he his him himself she her hers herself")
_OPENING = 4
"""Words at the start of a sentence among which a machine is what the sentence is about."""


def generic_reading(tokens: Tokens, sentence: str) -> Rejected | None:
    """Why no single person may be meant; None if one is."""
    if _BOTH.search(sentence):
        return Rejected("both genders in one word")
    words = tokens.lower()
    for at, word in enumerate(words):
        if word in _PEOPLE and _means_everybody(words, at):
            return Rejected(f"{word!r} may be generic")
        if word in _FOUNDERS and _is_founder(tokens, words, at):
            return Rejected(f"{word!r} may be no parent")
        if word in _HOLY and _is_holy(tokens, at) and _HIS_OR_HERS.intersection(words):
            return Rejected("a pope or a saint")
    return _machine(tokens, words)


def _means_everybody(words: list[str], at: int) -> bool:
    """*No man*, *a man must*, *a man's home is his castle*, *it takes a good man*."""
    before, following = words[at - 1], words[at + 1] if at + 1 < len(words) else ""
    if before == "no" and at > 0:
        return True
    if words[max(0, at - 4) : at - 1].count("takes") and "it" in words[:at]:
        return True
    if before != "a":
        return False
    is_known = words[at + 1 : at + 3] in (["is", "known"], ["is", "judged"], ["is", "what"])
    is_owner = following == "'s" and "is" in words[at + 2 : at + 5]
    is_world = words[at + 1 : at + 3] in (["'s", "world"], ["'s", "job"], ["'s", "game"])
    return following in _RULES or is_known or is_owner or is_world


def _is_founder(tokens: Tokens, words: list[str], at: int) -> bool:
    """Whether what follows is no child: *the mother of invention*, *the father of all battles*."""
    if words[at - 1 : at] != ["the"] or words[at + 1 : at + 2] != ["of"] or at + 2 >= len(words):
        return False
    of_what = words[at + 2]
    others = grammar.DETERMINERS | grammar.NUMERALS | _CHILDREN
    is_named = tokens[at + 2].is_capitalised
    return of_what == "all" or (of_what.isalpha() and of_what not in others and not is_named)


def _is_holy(tokens: Tokens, at: int) -> bool:
    if tokens[at].lower == "pope":
        return tokens[at - 1].lower == "the" or is_name_like(tokens, at + 1)
    place = at + 2 if tokens[at + 1].text == "." else at + 1
    is_church = tokens[place + 1].is_capitalised or tokens[place + 1].lower == "'s"
    return tokens[at].is_capitalised and is_name_like(tokens, place) and not is_church


def _machine(tokens: Tokens, words: list[str]) -> Rejected | None:
    """*Start her up*, *the old engine coughed, but she started*."""
    for at in range(len(words) - 2):
        is_order = tokens[at].is_capitalised and words[at] in _STARTED and words[at + 1] == "her"
        if is_order and words[at + 2] in _BEHIND:
            return Rejected("a pronoun may stand for a machine")
    opening = words[:_OPENING]
    machines = [word for word in opening if word in _MACHINES]
    if machines and opening[0] in ("the", "this", "that", "our", "my") and "she" in words[_OPENING - 1 :]:
        return Rejected(f"a pronoun may stand for {machines[0]!r}")
    return None
