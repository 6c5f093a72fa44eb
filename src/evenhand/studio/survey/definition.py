"""What a survey says and asks, from a YAML file.

``resources/surveys`` has the German survey with the published conditions and contexts and words of our own around them,
and the same in English.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from importlib import resources
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError, model_validator

from evenhand.core.errors import DatasetError, EvenhandError, UnknownNameError, fault
from evenhand.core.frozen import FrozenModel
from evenhand.core.languages import refuse_unknown_language
from evenhand.core.yaml_files import read_yaml

_BUNDLED = resources.files("evenhand.studio") / "resources" / "surveys"
_ENDINGS = (".yaml", ".yml")
_PLACEHOLDER = re.compile(r"\[.*\]", re.DOTALL)
_Name = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)


class Access(StrEnum):
    """Who can take part."""

    PUBLIC = "public"
    INVITED = "invited"


class _Written(FrozenModel):
    """A part of a file that people write: a misspelt field must not be passed over."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Consent(_Written):
    """What participants agree to. Another text needs another version."""

    version: str = Field(min_length=1, max_length=40, coerce_numbers_to_str=True)
    text: str = Field(min_length=1)
    agreement: str = Field(min_length=1)


class Choice(_Written):
    """One of several answers to a question."""

    value: str = _Name
    title: str = Field(min_length=1)


class ScreeningQuestion(_Written):
    """A question that decides who can take part."""

    id: str = _Name
    question: str = Field(min_length=1)
    choices: tuple[Choice, ...] = Field(min_length=2)
    passing: tuple[str, ...] = Field(min_length=1)


class DemographicQuestion(_Written):
    """A question about the participant, which everybody may skip. Without choices the answer is free text."""

    id: str = _Name
    question: str = Field(min_length=1)
    choices: tuple[Choice, ...] = ()


class SurveyCondition(_Written):
    """What one group of participants is asked to write."""

    id: str = _Name
    instruction: str = Field(min_length=1)


class SurveyPrompt(_Written):
    """The beginning of a sentence: the subject, and a context or none."""

    id: str = _Name
    kind: str = _Name
    context: str = ""


class Contact(_Written):
    """Where participants find help."""

    name: str = Field(min_length=1)
    detail: str = Field(min_length=1)


class SurveyDefinition(_Written):
    """A survey.

    Attributes:
        title: Its name for participants.
        language: The language of all its texts.
        access: Whether everybody with the address can take part, or those with a personal link.
        consent: What participants agree to first.
        screening: Questions that decide who can take part.
        demographics: Questions about the participant, before the task.
        conditions: What groups of participants are asked to write; each participant is in one.
        subject: The person that all sentences are about, such as ``Die Person``.
        prompts: The beginnings of sentences.
        instruction: What all participants are asked to do.
        picture_note: What is added beside a picture.
        debriefing: What the survey was about, shown at the end.
        contacts: Where to find help.
        statement: Sentences about the collection for the data statement.
    """

    title: str = Field(min_length=1)
    language: str = Field(min_length=2, max_length=8)
    access: Access = Access.PUBLIC
    consent: Consent
    screening: tuple[ScreeningQuestion, ...] = ()
    demographics: tuple[DemographicQuestion, ...] = ()
    conditions: tuple[SurveyCondition, ...] = Field(min_length=1)
    subject: str = Field(min_length=1)
    prompts: tuple[SurveyPrompt, ...] = Field(min_length=1)
    instruction: str = Field(min_length=1)
    picture_note: str = ""
    debriefing: str = Field(min_length=1)
    contacts: tuple[Contact, ...] = ()
    statement: str = ""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> SurveyDefinition:
        for part in ("screening", "demographics", "conditions", "prompts"):
            ids = [entry.id for entry in getattr(self, part)]
            twice = sorted(entry for entry, times in Counter(ids).items() if times > 1)
            if twice:
                raise ValueError(f"{part}: the id {twice[0]} occurs more than once")
        try:
            refuse_unknown_language(self.language)
        except EvenhandError as problem:
            raise ValueError(str(problem)) from None
        for question in self.screening:
            unknown = set(question.passing) - {choice.value for choice in question.choices}
            if unknown:
                raise ValueError(f"screening {question.id}: {sorted(unknown)[0]} is none of its choices")
        return self

    @property
    def placeholders(self) -> tuple[str, ...]:
        """What a copied file still has to be filled in with: contacts in square brackets."""
        return tuple(
            contact.detail for contact in self.contacts if _PLACEHOLDER.fullmatch(contact.detail.strip())
        )

    def beginning(self, prompt_id: str) -> str:
        """The beginning of the sentence at a prompt."""
        return f"{self.subject} {self.prompt(prompt_id).context}".strip()

    def prompt(self, prompt_id: str) -> SurveyPrompt:
        """The prompt of an id."""
        return next(prompt for prompt in self.prompts if prompt.id == prompt_id)

    def condition(self, condition_id: str) -> SurveyCondition:
        """The condition of an id."""
        return next(condition for condition in self.conditions if condition.id == condition_id)


def bundled_surveys() -> tuple[str, ...]:
    """The names of the surveys that come with the package."""
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in _BUNDLED.iterdir()))


def load_survey(name: str | Path) -> SurveyDefinition:
    """A bundled survey by name, or one from a file that ends in ``.yaml`` or ``.yml``.

    Raises:
        UnknownNameError: If it is neither the name of a survey nor a file.
        DatasetError: If the file cannot be read or is no survey.
    """
    if str(name) in bundled_surveys():
        return read_survey(Path(str(_BUNDLED / f"{name}.yaml")))
    path = Path(name)
    if path.suffix.lower() not in _ENDINGS:
        raise UnknownNameError("survey", str(name), bundled_surveys())
    return read_survey(path)


def survey_source(name: str) -> str:
    """The file of a bundled survey.

    Raises:
        UnknownNameError: If there is none of this name.
    """
    if name not in bundled_surveys():
        raise UnknownNameError("survey", name, bundled_surveys())
    return (_BUNDLED / f"{name}.yaml").read_text(encoding="utf-8")


def read_survey(path: Path) -> SurveyDefinition:
    """A survey from a YAML file.

    Raises:
        DatasetError: If the file cannot be read, or lacks what a survey needs.
    """
    content = read_yaml(path, error=DatasetError)
    try:
        return SurveyDefinition.model_validate(content)
    except ValidationError as problem:
        raise DatasetError(
            f"{path} is not a survey: {fault(problem)}. evenhand survey show regard-de prints one to copy."
        ) from None
