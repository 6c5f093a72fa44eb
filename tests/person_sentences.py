"""Texts about a person with both versions, as the files ``gender_balance_*.txt`` have them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from twin_sentences import DATA

from evenhand.text.person_texts import Gender, PersonTexts
from evenhand.text.swappers import Rejected

_VERSIONS = re.compile(r"\{([^|{}]*)\|([^|{}]*)\|([^|{}]*)\}")
_TOLD = {"n": None, "f": Gender.FEMALE, "m": Gender.MALE}


@dataclass(frozen=True, slots=True)
class PersonSentence:
    """A text with its versions; both are None where there must be none."""

    text: str
    female: str | None
    male: str | None
    told: Gender | None


def read_person_sentences(name: str) -> list[PersonSentence]:
    """The sentences of a file."""
    lines = (DATA / f"gender_balance_{name}.txt").read_text(encoding="utf-8").splitlines()
    found = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "-":
            found.append(PersonSentence(rest, None, None, None))
        elif kind in _TOLD:
            text, female, male = (_VERSIONS.sub(rf"\{number}", rest) for number in (1, 2, 3))
            found.append(PersonSentence(text, female, male, _TOLD[kind]))
    return found


@dataclass(frozen=True, slots=True)
class PersonOutcome:
    """How sentences came out: right, left out though they have versions, or wrong."""

    right: list[PersonSentence]
    left_out: list[tuple[PersonSentence, str]]
    wrong: list[tuple[PersonSentence, str]]


def outcome_of(texts: PersonTexts, sentences: list[PersonSentence]) -> PersonOutcome:
    """Tell every sentence and compare it with its key."""
    outcome = PersonOutcome([], [], [])
    for sentence in sentences:
        versions = texts.versions(sentence.text)
        if isinstance(versions, Rejected):
            if sentence.female is None:
                outcome.right.append(sentence)
            else:
                outcome.left_out.append((sentence, versions.reason))
        elif (versions.female, versions.male, versions.told) == (
            sentence.female,
            sentence.male,
            sentence.told,
        ):
            outcome.right.append(sentence)
        else:
            outcome.wrong.append((sentence, f"{versions.female} / {versions.male} ({versions.told})"))
    return outcome
