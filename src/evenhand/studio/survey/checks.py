"""What is noticed about an answer while and after it is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

FEWEST_LETTERS = 3
FEWEST_WORDS_ALONE = 2
"""After a subject without a context, one word is no sentence."""
FEWEST_PHONE_DIGITS = 7

_E_MAIL = re.compile(r"[^\s@]+\s*(?:@|\(at\)|\[at\])\s*[^\s@]+\.[^\s@]{2,}", re.IGNORECASE)
_PHONE = re.compile(r"\+?\d[\d\s()/.\-–]{5,}\d")
_DAYS_AND_YEARS = re.compile(
    r"\d{1,2}\.\s?\d{1,2}\.\s?(?:1[89]|20)\d\d|(?:1[89]|20)\d\d\s?[-–/]\s?(?:1[89]|20)?\d\d"
)
"""A date, and the years from one to another: *1990 - 2000*."""
_LEAD_IN = " \t\n.…,;:-–—\"'„“»«"


class AnswerRemark(StrEnum):
    """Something about an answer that the participant is told and the export has."""

    COPIED_PROMPT = "copied-prompt"
    REPEATED_SUBJECT = "repeated-subject"
    TOO_SHORT = "too-short"
    DUPLICATE = "duplicate"
    E_MAIL = "e-mail"
    PHONE = "phone"


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer without the copied prompt, and what was noticed."""

    text: str
    remarks: tuple[AnswerRemark, ...]

    @property
    def needs_another_look(self) -> bool:
        """Whether the participant should be asked; a copied prompt is taken off without a question."""
        return any(remark is not AnswerRemark.COPIED_PROMPT for remark in self.remarks)


def check_answer(written: str, *, subject: str, context: str, earlier: Iterable[str]) -> CheckedAnswer:
    """Take a copied prompt off, and look for what should not be there.

    Args:
        written: What the participant wrote.
        subject: The subject of the sentence, such as ``Die Person``.
        context: What stands behind it; may be empty.
        earlier: The participant's other answers, without copied prompts.
    """
    remarks = []
    text = written.strip()
    for beginning in (f"{subject} {context}".strip(), context):
        rest = _without_beginning(text, beginning) if beginning else None
        if rest is not None:
            text = rest
            remarks.append(AnswerRemark.COPIED_PROMPT)
            break
    if context and _without_beginning(text, subject) is not None:
        remarks.append(AnswerRemark.REPEATED_SUBJECT)
    if _is_too_short(text, has_context=bool(context)):
        remarks.append(AnswerRemark.TOO_SHORT)
    if text and _folded(text) in {_folded(other) for other in earlier}:
        remarks.append(AnswerRemark.DUPLICATE)
    if _E_MAIL.search(text):
        remarks.append(AnswerRemark.E_MAIL)
    numbers = _PHONE.findall(_DAYS_AND_YEARS.sub(" ", text))
    if any(sum(map(str.isdigit, found)) >= FEWEST_PHONE_DIGITS for found in numbers):
        remarks.append(AnswerRemark.PHONE)
    return CheckedAnswer(text, tuple(remarks))


def _without_beginning(text: str, beginning: str) -> str | None:
    """The text behind a beginning that it repeats, whatever its blanks and capitals; None if it does not."""
    pattern = r"\s+".join(re.escape(word) for word in beginning.split())
    found = re.match(rf"[\s.…\"'„“»«]*{pattern}(?!\w)", text, re.IGNORECASE)
    return text[found.end() :].lstrip(_LEAD_IN) if found else None


def _is_too_short(text: str, *, has_context: bool) -> bool:
    letters = sum(character.isalpha() for character in text)
    return letters < FEWEST_LETTERS or (not has_context and len(text.split()) < FEWEST_WORDS_ALONE)


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())
