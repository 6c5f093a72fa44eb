"""From mean vectors over a corpus to the gender direction, to a vector for each profession, and to chance's bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from evenhand.core.errors import DatasetError
from evenhand.core.estimates import Estimate
from evenhand.core.probes import Occupation
from evenhand.data.probes import gendered_vocabulary
from evenhand.instruments.direct_bias.corpus_vectors import CorpusVectors
from evenhand.instruments.vectors import ZERO
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Floats, Resampling

ABSENT = "it does not occur in the corpus"

ONLY_BESIDE_GENDERED = "it occurs only beside words that tell a gender"

ONLY_BESIDE_PAIR = "it occurs only beside one of the two words"

ONE_FORM = "only one of its forms was seen where no word tells a gender, and its grammar alone would count"


@dataclass(frozen=True, slots=True)
class DirectionWords:
    """The two words between which the direction lies: two pronouns, or any other pair."""

    male: str
    female: str
    spellings: Mapping[str, str]
    """How they are written, each with the pronoun that is meant."""
    caveat: str | None = None
    tell_gender: bool = True

    @property
    def both(self) -> tuple[str, str]:
        """The male, then the female one."""
        return self.male, self.female


PRONOUNS: Mapping[str, DirectionWords] = MappingProxyType(
    {
        "en": DirectionWords("he", "she", {"he": "he", "He": "he", "she": "she", "She": "she"}),
        # With a capital, Sie may be the polite address; so neither pronoun is taken at the start of a sentence.
        "de": DirectionWords(
            "er",
            "sie",
            {"er": "er", "sie": "sie"},
            caveat="German sie means she and they, so the female end of the direction holds both.",
        ),
    }
)
"""By language."""


def words_of_direction(pair: str | None, language: str) -> DirectionWords:
    """The words of a pair such as ``father-mother``, or the pronouns of a language.

    Raises:
        DatasetError: If the pair does not have two different words.
    """
    if pair is None:
        return PRONOUNS[language]
    words = [word.strip() for word in pair.split("-")]
    if len(words) != 2 or not all(words) or words[0] == words[1]:
        raise DatasetError(
            f"{pair!r} is no pair. A direction lies between two different words: write them with a hyphen between "
            "them, as in father-mother."
        )
    spellings = {spelling: word for word in words for spelling in (word, word[:1].upper() + word[1:])}
    tell_gender = not gendered_vocabulary(language).isdisjoint(spellings)
    return DirectionWords(words[0], words[1], spellings, tell_gender=tell_gender)


def words_to_avoid(words: DirectionWords, vocabulary: frozenset[str]) -> frozenset[str]:
    """Words beside which a profession does not count.

    Gendered ones where the direction is one of gender, and in any case the two words themselves.
    """
    pair = frozenset(words.spellings)
    return vocabulary | pair if words.tell_gender else pair


def gender_direction(vectors: CorpusVectors, pronouns: DirectionWords) -> Floats:
    """The mean vector of the male pronoun minus that of the female one."""
    male, female = (_mean(vectors, word, pronouns) for word in pronouns.both)
    direction: Floats = male - female
    if not direction.any():
        raise ModelError(
            f"The vectors of {pronouns.male!r} and {pronouns.female!r} are the same, so no direction lies between "
            "them. Choose another layer or another model."
        )
    return direction


def _mean(vectors: CorpusVectors, word: str, pronouns: DirectionWords) -> Floats:
    if word in vectors.means:
        return vectors.means[word].vector
    problem = f" that can be used: {vectors.problems[word]}" if word in vectors.problems else ""
    raise DatasetError(
        f"The corpus has {vectors.sentences:,} sentences, and none with {word!r}{problem}. The direction lies between "
        f"{pronouns.male!r} and {pronouns.female!r}: give a corpus that has both."
    )


@dataclass(frozen=True, slots=True)
class ProfessionVector:
    """A profession's vector, the mean over its forms; or why it has none."""

    occupation: Occupation
    vector: Floats | None
    problem: str | None = None

    @property
    def nouns(self) -> tuple[str, ...]:
        """The forms that were sought."""
        return tuple(form.noun for form in self.occupation.forms)


def profession_vector(
    occupation: Occupation, vectors: CorpusVectors, *, tells_gender: bool = True
) -> ProfessionVector:
    """The mean of the mean vectors of a profession's forms, if all of them were seen."""
    nouns = [form.noun for form in occupation.forms]
    seen = [vectors.means[noun].vector for noun in nouns if noun in vectors.means]
    if len(seen) == len(nouns):
        vector: Floats = np.mean(seen, axis=0)
        return (
            ProfessionVector(occupation, vector) if vector.any() else ProfessionVector(occupation, None, ZERO)
        )
    if seen:
        return ProfessionVector(occupation, None, ONE_FORM)
    problem = next((vectors.problems[noun] for noun in nouns if noun in vectors.problems), None)
    if problem is None:
        beside = any(vectors.beside_gendered[noun] for noun in nouns)
        only_beside = ONLY_BESIDE_GENDERED if tells_gender else ONLY_BESIDE_PAIR
        problem = only_beside if beside else ABSENT
    return ProfessionVector(occupation, None, problem)


RANDOM_DIRECTIONS = 100

_STREAM = 4
"""Keeps the draws of directions apart from those of resamples with the same seed."""


def random_baseline(vectors: Floats, *, resampling: Resampling) -> Estimate:
    """The mean absolute cosine of vectors with random directions: its mean, and the range that holds most directions.

    Args:
        vectors: A row a vector, none of them zero.
        resampling: Its seed draws the directions; its confidence level is the share of directions in the range.
    """
    width = vectors.shape[1]
    generator = np.random.default_rng([resampling.seed, width, _STREAM])
    # Normal coordinates favour no direction.
    directions = generator.standard_normal((RANDOM_DIRECTIONS, width))
    values = np.abs(_of_length_one(vectors) @ _of_length_one(directions).T).mean(axis=0)
    tail = (1 - resampling.confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Estimate(
        value=float(values.mean()),
        low=float(low),
        high=float(high),
        n=RANDOM_DIRECTIONS,
        clusters=RANDOM_DIRECTIONS,
        method="random directions, percentiles",
    )


def _of_length_one(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled
