"""The words of the interface: the same keys in each language, and every key that pages use."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import evenhand.studio
from evenhand.stats.agreement import AgreementBand
from evenhand.studio.annotation.lead import DOWNLOADS
from evenhand.studio.annotation.projects import ProjectRole
from evenhand.studio.pages import LANGUAGES, words
from evenhand.studio.survey.checks import AnswerRemark
from evenhand.studio.survey.surveys import SurveyState
from evenhand.translation import review_pages
from evenhand.translation.reviews import ReviewOutcome, ReviewRole

REVIEW_PAGES = Path(review_pages.__file__).parent
FOLDER = Path(evenhand.studio.__file__).parent

DERIVED = {
    *(f"band_{band.name.lower()}" for band in AgreementBand),
    *(f"remark_{remark.value.replace('-', '_')}" for remark in AnswerRemark),
    *(f"layout_{layout.replace('-', '_')}" for layout in DOWNLOADS),
    *(f"role_{role.value}" for role in (*ProjectRole, *ReviewRole)),
    *(f"outcome_{outcome.value.replace('-', '_')}" for outcome in ReviewOutcome),
    *(f"problem_review_{fault}" for fault in ("blank", "empty", "equal", "tags", "target")),
    *(f"state_{state.value}" for state in SurveyState),
    *(f"{kind}_{part}" for kind in ("setup", "change") for part in ("title", "text")),
}
"""Keys that are put together."""


def used_keys() -> set[str]:
    """Keys in templates, and texts in the code that begin like one."""
    keys = set(DERIVED)
    for template in (FOLDER / "templates").glob("*.j2"):
        keys |= set(re.findall(r"""\bt\(['"](\w+)['"][,)]""", template.read_text()))
    for module in (*FOLDER.rglob("*.py"), *REVIEW_PAGES.rglob("*.py")):
        keys |= set(
            re.findall(
                r'"((?:refused|problem|withdraw|remark|closed|invited|consent|adjudication)_\w+)"',
                module.read_text(),
            )
        )
    return keys | {"alpha_nominal", "alpha_ordinal", "months"}


def test_every_language_has_the_same_keys_with_the_same_values() -> None:
    fields = {
        language: {
            key: {name for _, name, _, _ in Formatter().parse(sentence) if name}
            for key, sentence in words(language).sentences.items()
        }
        for language in LANGUAGES
    }
    assert fields["de"] == fields["en"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_key_that_is_used_is_there_and_none_is_left_over(language: str) -> None:
    assert set(words(language).sentences) == used_keys()
