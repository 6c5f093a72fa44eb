"""The questions of experiments, and the log-ratios that their answers make."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from evenhand.core.errors import UnknownNameError
from evenhand.core.experiments import Experiment
from evenhand.core.items import BLANK
from evenhand.core.probes import (
    Occupation,
    OccupationForm,
    OpenSentence,
    ProbeSet,
    Structure,
    TermPairs,
    open_occupation,
    open_term,
)
from evenhand.instruments.word_scoring import OpenQuestion, WordAnswer

Floats = npt.NDArray[np.float64]


class ProbeDirection(StrEnum):
    """Which of the two gaps is open."""

    GENDER = "gender"
    """That of the term, whatever groups its terms are of."""
    OCCUPATION = "occupation"

    @classmethod
    def named(cls, name: str) -> tuple[ProbeDirection, ...]:
        """The directions that a name means; ``both`` means both."""
        if name == "both":
            return tuple(cls)
        if name == TERM_DIRECTION:
            return (cls.GENDER,)
        if name not in set(cls):
            raise UnknownNameError(
                "direction", name, [*(known.value for known in cls), TERM_DIRECTION, "both"]
            )
        return (cls(name),)

    def name_for(self, terms: TermPairs) -> str:
        """The name of the direction in results about such terms."""
        return TERM_DIRECTION if self is ProbeDirection.GENDER and not terms.tell_gender else self.value


TERM_DIRECTION = "term"
"""What the direction in which the term is hidden is called where terms tell no gender."""

TERM_DIRECTIONS = (ProbeDirection.GENDER.value, TERM_DIRECTION)
"""Names of the direction in which the term is hidden, the one that mitigations train."""


class TermCase(StrEnum):
    """How a term is written at the start of a sentence, or everything in it."""

    BY_PLACE = "by-place"
    AS_IS = "as-is"
    LOWER = "lower"

    @classmethod
    def named(cls, name: str) -> TermCase:
        """The case of this name."""
        if name not in set(cls):
            raise UnknownNameError("case", name, [known.value for known in cls])
        return cls(name)


@dataclass(frozen=True, slots=True)
class Place:
    """What an answer is about, as numbers: a structure, an occupation, one of its forms, and a term."""

    structure: int
    occupation: int
    form: int
    term: int


Asked: TypeAlias = tuple[Experiment, ProbeDirection]
"""What is asked: an experiment, in one direction."""

WORDS_AT_ONCE = 32_768
"""Words whose questions are in memory together: enough to fill batches well, a hundred megabytes or two."""


@dataclass(frozen=True, slots=True)
class ProbeQuestion:
    """A question, and the place of each of its words."""

    asked: Asked
    question: OpenQuestion
    places: tuple[Place, ...]

    @property
    def structure(self) -> tuple[Experiment, int]:
        """The structure that it is about."""
        return self.asked[0], self.places[0].structure


def probe_questions(
    probes: ProbeSet, asked: Sequence[Asked], *, case: TermCase = TermCase.BY_PLACE
) -> Iterator[ProbeQuestion]:
    """All questions. Those of one structure stand together: in both directions they make the same sentences."""
    for experiment in dict.fromkeys(experiment for experiment, _ in asked):
        terms = probes.terms[experiment]
        for number, structure in enumerate(probes.of(experiment)):
            for direction in (direction for of, direction in asked if of == experiment):
                questions = (
                    _term_questions(number, structure, probes.occupations, terms, case)
                    if direction is ProbeDirection.GENDER
                    else _occupation_questions(number, structure, probes.occupations, terms, case)
                )
                for question, places in questions:
                    yield ProbeQuestion((experiment, direction), question, places)


def count_questions(probes: ProbeSet, asked: Sequence[Asked]) -> int:
    """How many questions ``probe_questions`` makes."""
    forms = sum(len(occupation.forms) for occupation in probes.occupations)
    return sum(
        len(probes.of(experiment))
        * (
            forms
            if direction is ProbeDirection.GENDER
            else len(probes.terms[experiment].all) * len(probes.genders)
        )
        for experiment, direction in asked
    )


def question_chunks(
    questions: Iterable[ProbeQuestion], *, words: int = WORDS_AT_ONCE
) -> Iterator[list[ProbeQuestion]]:
    """Questions in turn, so many at a time that they have no more words than this; whole structures if possible."""
    chunk: list[ProbeQuestion] = []
    begun = count = 0
    for question in questions:
        if chunk and count + len(question.places) > words:
            cut = begun or len(chunk)
            yield chunk[:cut]
            chunk, begun = chunk[cut:], 0
            count = sum(len(each.places) for each in chunk)
        if chunk and chunk[-1].structure != question.structure:
            begun = len(chunk)
        chunk.append(question)
        count += len(question.places)
    if chunk:
        yield chunk


Placed: TypeAlias = tuple[OpenQuestion, tuple[Place, ...]]


def _term_questions(
    number: int, structure: Structure, occupations: Sequence[Occupation], terms: TermPairs, case: TermCase
) -> Iterator[Placed]:
    for place, occupation in enumerate(occupations):
        for form, written in enumerate(occupation.forms):
            sentence = _spelled(open_term(structure, written, terms=terms.all), terms.all, case)
            yield (
                OpenQuestion(sentence.text, sentence.fills),
                tuple(Place(number, place, form, term) for term in range(len(terms.all))),
            )


def _spelled(sentence: OpenSentence, terms: Sequence[str], case: TermCase) -> OpenSentence:
    if case is TermCase.BY_PLACE:
        return sentence
    return _lowered(sentence) if case is TermCase.LOWER else replace(sentence, fills=_as_is(sentence, terms))


def _lowered(sentence: OpenSentence) -> OpenSentence:
    text = BLANK.join(part.lower() for part in sentence.text.split(BLANK))
    return OpenSentence(text, tuple(fill.lower() for fill in sentence.fills))


def _as_is(sentence: OpenSentence, terms: Sequence[str]) -> tuple[str, ...]:
    """The fills with the case that the list has; endings stay."""
    return tuple(
        term + fill[len(term) :] if fill.casefold().startswith(term.casefold()) else fill
        for fill, term in zip(sentence.fills, terms, strict=True)
    )


def _occupation_questions(
    number: int, structure: Structure, occupations: Sequence[Occupation], terms: TermPairs, case: TermCase
) -> Iterator[Placed]:
    """One sentence per term for all occupations; forms with other articles have sentences of their own."""
    by_gender: defaultdict[object, list[tuple[int, int, OccupationForm]]] = defaultdict(list)
    for place, occupation in enumerate(occupations):
        for form, written in enumerate(occupation.forms):
            by_gender[written.gender].append((place, form, written))
    for term, word in enumerate(terms.all):
        for group in by_gender.values():
            sentence = open_occupation(structure, word, forms=[written for _, _, written in group])
            if case is TermCase.LOWER:
                sentence = _lowered(sentence)
            yield (
                OpenQuestion(sentence.text, sentence.fills),
                tuple(Place(number, place, form, term) for place, form, _ in group),
            )


UNEVEN_TERMS = (
    "the two terms of the pair have different numbers of tokens, and in a gap every further token makes a word less "
    "likely, so their probabilities do not compare"
)


class AnswerTable:
    """Natural log-probabilities by structure, occupation, form and term; NaN where there is no answer."""

    def __init__(self, probes: ProbeSet, experiment: Experiment) -> None:
        forms = max(len(occupation.forms) for occupation in probes.occupations)
        terms = len(probes.terms[experiment].all)
        self.logs = np.full(
            (len(probes.of(experiment)), len(probes.occupations), forms, terms), np.nan, dtype=np.float64
        )
        self.has_form = np.array(
            [[form < len(occupation.forms) for form in range(forms)] for occupation in probes.occupations]
        )
        """Which forms each occupation has: one that it has and that was not answered is missing, not absent."""
        self.tokens = np.zeros(self.logs.shape, dtype=np.int16)
        """How many tokens each answer is made of."""
        self.problems: dict[str, npt.NDArray[np.bool_]] = {}
        """By reason, where an answer is missing: by structure, occupation and term."""

    def add(self, question: ProbeQuestion, answers: Sequence[WordAnswer]) -> None:
        """The answers to one question."""
        for place, answer in zip(question.places, answers, strict=True):
            cell = (place.structure, place.occupation, place.form, place.term)
            self.logs[cell], self.tokens[cell] = answer.log_probability, answer.tokens
            if answer.problem:
                structures, occupations, _, terms = self.logs.shape
                concerned = self.problems.setdefault(
                    answer.problem, np.zeros((structures, occupations, terms), dtype=bool)
                )
                concerned[place.structure, place.occupation, place.term] = True

    @property
    def lost_pairs(self) -> list[int]:
        """Numbers of the pairs of terms of which one is never known."""
        pairs = self.logs.shape[3] // 2
        answered = [bool(np.isfinite(self.logs[..., term]).any()) for term in range(2 * pairs)]
        return [pair for pair in range(pairs) if not (answered[pair] and answered[pairs + pair])]

    @property
    def uneven(self) -> npt.NDArray[np.bool_]:
        """Where the two terms of a pair have different numbers of tokens: by structure and pair."""
        pairs = self.logs.shape[3] // 2
        male, female = self.tokens[..., :pairs], self.tokens[..., pairs:]
        found: npt.NDArray[np.bool_] = ((male != female) & (male > 0) & (female > 0)).any(axis=(1, 2))
        return found

    def with_even_terms(self) -> AnswerTable:
        """The table without answers that do not compare, because the terms of a pair differ in length.

        Such a pair is left out of every structure as long as there is another one; else it is left out of the
        structures in which it is uneven.
        """
        uneven = self.uneven
        if not uneven.any():
            return self
        if not uneven.any(axis=0).all():
            uneven = np.broadcast_to(uneven.any(axis=0), uneven.shape)
        terms = np.tile(uneven, 2)
        logs = np.where(terms[:, None, None, :], np.nan, self.logs)
        table = self.with_logs(logs)
        places = np.broadcast_to(terms[:, None, :], (*logs.shape[:2], logs.shape[3]))
        table.problems = {**self.problems, UNEVEN_TERMS: places}
        return table

    def without_pairs(self, lost: Sequence[int]) -> AnswerTable:
        """The table without some pairs of terms."""
        pairs = self.logs.shape[3] // 2
        kept = [pair for pair in range(pairs) if pair not in lost]
        terms = [*kept, *(pairs + pair for pair in kept)]
        table = self.with_logs(self.logs[:, :, :, terms])
        table.tokens = self.tokens[:, :, :, terms]
        return table

    def with_logs(self, logs: Floats) -> AnswerTable:
        """The same table with other values."""
        table = object.__new__(AnswerTable)
        table.logs = logs
        table.has_form = self.has_form
        table.tokens = self.tokens
        table.problems = self.problems
        return table


@dataclass(frozen=True, slots=True)
class GenderProbabilities:
    """log2 probabilities of the male and the female side, one row per occupation and one column per structure."""

    male: Floats
    female: Floats

    @property
    def log_ratios(self) -> Floats:
        """log2 P(male) / P(female)."""
        return self.male - self.female


def gender_probabilities(
    table: AnswerTable, direction: ProbeDirection, *, by_sentence: bool
) -> GenderProbabilities:
    """What the answers say about each occupation in each structure.

    Where the term is open, the probabilities of a side's terms are averaged within each form of the occupation, and the
    forms' logarithms are averaged: agreement of form and term then cancels. Where the occupation is open, the
    probabilities of its forms are summed for each term, and averaged over a side's terms. Probabilities of whole
    sentences are first made relative to those of the other words that could stand in the gap.
    """
    logs = table.logs
    pairs = logs.shape[3] // 2
    if by_sentence:
        among = 3 if direction is ProbeDirection.GENDER else (1, 2)
        with np.errstate(invalid="ignore"):
            total = logsumexp(np.where(np.isfinite(logs), logs, -np.inf), axis=among, keepdims=True)
            logs = logs - total
    if direction is ProbeDirection.GENDER:
        male, female = (
            _mean_over_forms(_log_mean(side, axis=3), table.has_form)
            for side in (logs[..., :pairs], logs[..., pairs:])
        )
    else:
        of_occupation = _log_sum_over_forms(logs, table.has_form)
        male, female = (
            _log_mean(side, axis=2) for side in (of_occupation[..., :pairs], of_occupation[..., pairs:])
        )
    return GenderProbabilities(male.T / math.log(2), female.T / math.log(2))


def _log_mean(logs: Floats, *, axis: int) -> Floats:
    """Logarithm of the mean probability; NaN if any is missing."""
    with np.errstate(invalid="ignore"):
        mean: Floats = logsumexp(logs, axis=axis) - math.log(logs.shape[axis])
    return np.where(np.isnan(logs).any(axis=axis), np.nan, mean)


def _mean_over_forms(logs: Floats, has_form: npt.NDArray[np.bool_]) -> Floats:
    """Mean over the forms that an occupation has, NaN if one of them is missing; shape (structures, occupations).

    With one form alone the agreement between form and term would not cancel.
    """
    counted = np.where(has_form[None, :, :], logs, 0.0)
    mean: Floats = counted.sum(axis=2) / has_form.sum(axis=1)[None, :]
    return mean


def _log_sum_over_forms(logs: Floats, has_form: npt.NDArray[np.bool_]) -> Floats:
    """Logarithm of the summed probabilities of an occupation's forms, NaN if one of them is missing.

    The shape is (structures, occupations, terms).
    """
    counted = np.where(has_form[None, :, :, None], logs, -np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        total: Floats = logsumexp(counted, axis=2)
    return np.where(np.any(np.isnan(counted), axis=2) | ~np.isfinite(total), np.nan, total)
