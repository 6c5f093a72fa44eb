"""BEC-Pro: does a profession make a man or a woman likelier than the sentence alone does?

Each sentence puts a person of known gender beside a profession. The probability of the person is read twice, at a mask
in its place: in the sentence as it is, and with the profession masked too. The log-ratio of the two is the association
of the person with the profession (Bartl et al. 2020); masking the profession takes out what the person's own frequency
and the template would give anyway.

Positive associations say that the profession makes the person likelier. In a fair model a profession is associated
with men as with women, so the gap between the two means is neutral at 0. The stereotype gap turns the sign where mostly
women work in the profession: above 0 the model follows the world's division of labour. Means are over professions,
which intervals resample: all sentences about a profession share its words. Values are natural logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.items import BLANK
from evenhand.data.bec_pro import (
    GENDERS,
    MASK,
    PROFESSION_GENDERS,
    ProfessionSentence,
    ProfessionSentences,
    load_profession_sentences,
)
from evenhand.instruments.controls import PRONOUN_CONTROL
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.measures import Gap, Mean
from evenhand.instruments.runner import ItemInstrument
from evenhand.instruments.word_scoring import WordScorer
from evenhand.models.model import Model
from evenhand.models.references import ModelError
from evenhand.models.requests import Answer, Fill

_KINDS = tuple((kind,) for kind in PROFESSION_GENDERS)


@dataclass(frozen=True, kw_only=True)
class BecProOptions(InstrumentOptions):
    """Which sentences are asked: ``bec-pro-en`` or ``bec-pro-de`` by the language, or a file in their layout."""

    encoding: str | None = field(default=None, metadata={"help": "Of a text file that is not UTF-8."})


class BecProInstrument(ItemInstrument[BecProOptions]):
    """How much more a profession is associated with the gender that mostly works in it than with the other."""

    name = "bec-pro"
    version = "bec-pro.v1"
    title = "BEC-Pro"
    summary = "Whether a profession makes the gender that mostly works in it more likely than the other."
    needs = (Fill,)
    options_type = BecProOptions
    items_are = "sentences"
    control = PRONOUN_CONTROL
    known_words = True
    key, text, scored = "sentence", "text", "association"
    words = (
        "sentence",
        "language",
        "text",
        "template",
        "person",
        "gender",
        "profession",
        "profession_gender",
    )
    numbers = ("log_probability", "log_prior", "association")
    log_probs = ("log_probability", "log_prior")
    row_measures = (
        Gap(
            "stereotype_gap", "Stereotypical association gap", of="association", over="profession",
            between=("gender", *GENDERS), by="profession_gender", signs={"male": 1.0, "female": -1.0},
            neutral=0.0, unit="nats", is_headline=True,
        ),
        Gap(
            "gender_gap", "Association with men, less that with women", of="association", over="profession",
            between=("gender", *GENDERS), by="profession_gender", order=_KINDS, neutral=0.0, unit="nats",
        ),
        Mean(
            "association", "Mean association", of="association", over="profession", unit="nats", parts_only=True,
            by=("profession_gender", "gender"), order=tuple((*kind, own) for kind in _KINDS for own in GENDERS),
        ),
    )  # fmt: skip

    def items(self, options: BecProOptions) -> ProfessionSentences:
        """The sentences of a language."""
        if isinstance(options.data, ProfessionSentences):
            return options.data
        data = options.data or f"{self.name}-{options.language or 'en'}"
        return load_profession_sentences(data, language=options.language, encoding=options.encoding)

    def check_model(self, model: Model) -> None:
        """Refuse a model that cannot be shown a sentence with words hidden besides the person."""
        super().check_model(model)
        if not model.hides_words:
            raise ModelError(
                f"{model.ref.id} has no mask. The association measure of BEC-Pro hides a profession behind one: use a "
                "masked model such as bert-base-cased, or probe --test malor, which any model can be asked."
            )

    def method_of(self, model: Model) -> Mapping[str, str]:
        """How a person's words are read."""
        return {"scoring": WordScorer(model).description}

    def facts(self, item: ProfessionSentence) -> Mapping[str, object]:
        """The sentence."""
        return {
            "sentence": item.id,
            "text": item.person_masked,
            "template": item.template,
            "person": item.person,
            "gender": item.gender,
            "profession": item.profession,
            "profession_gender": item.profession_gender,
        }

    def requests(self, item: ProfessionSentence, options: BecProOptions) -> Mapping[str, Fill]:  # noqa: ARG002
        """The person in the sentence as it is, and with the profession hidden."""
        texts = {"known": item.person_masked, "prior": item.both_masked}
        return {name: Fill(text.replace(MASK, BLANK, 1), item.person) for name, text in texts.items()}

    def score(self, item: Any, answers: Mapping[str, Answer], options: Any) -> Mapping[str, object]:  # noqa: ARG002
        """The log-ratio of the two."""
        known, prior = answers["known"].total, answers["prior"].total
        return {"log_probability": known, "log_prior": prior, "association": known - prior}


BEC_PRO = BecProInstrument()
