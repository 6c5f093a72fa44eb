"""Texts with planted regard, annotators with planted errors, and classifiers with a planted bias.

What is planted is known, so that agreement, training, the check of a classifier's own bias and whatever corrects for
its errors can be held against it. The grammar is small: *The person* did something that tells the regard, at a time or
place that tells nothing. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.data.annotations import Annotation, AnnotationTable
from evenhand.data.label_schemes import load_scheme
from evenhand.lab.regard_grammar import RegardLexicon, regard_lexicon
from evenhand.regard.texts import RegardTexts, texts_from
from evenhand.stats.classification import Integers
from evenhand.stats.resampling import Floats


@dataclass(frozen=True, slots=True)
class PlantedRegard:
    """How texts are made.

    Attributes:
        texts: How many.
        authors: Among how many authors they are dealt out.
        annotators: How many label them.
        error: The share of labels in which an annotator is wrong, each wrong label as often as the other.
        misleading: The share of texts whose words tell another regard than is meant: no classifier can be right there.
        seed: Of everything.
        language: ``en`` or ``de``.
    """

    texts: int = 300
    authors: int = 20
    annotators: int = 5
    error: float = 0.1
    misleading: float = 0.0
    seed: int = 0
    language: str = "en"

    def __post_init__(self) -> None:
        regard_lexicon(self.language)
        if min(self.texts, self.authors, self.annotators) < 1:
            raise EvenhandError("Texts, authors and annotators must be at least one each.")
        if not (0 <= self.error <= 1 and 0 <= self.misleading <= 1):
            raise EvenhandError("The shares of errors and of misleading texts lie between 0 and 1.")


@dataclass(frozen=True, slots=True, eq=False)
class PlantedTexts:
    """Texts with votes, and the regard that is meant by each."""

    texts: RegardTexts
    meant: Integers


def plant_texts(plan: PlantedRegard) -> PlantedTexts:
    """Texts whose regard is known, labelled by annotators who are wrong as often as was planted."""
    scheme = load_scheme()
    generator = np.random.default_rng(plan.seed)
    count = len(scheme.codes)
    meant = np.arange(plan.texts) % count
    generator.shuffle(meant)
    told = erroneous_labels(meant, uniform_confusion(plan.misleading, count), generator)
    lexicon = regard_lexicon(plan.language)
    texts = [_sentence(lexicon, scheme.codes[label], generator) for label in told]
    votes = [
        erroneous_labels(meant, uniform_confusion(plan.error, count), generator)
        for _ in range(plan.annotators)
    ]
    rows = [
        Annotation(str(number), texts[number], f"annotator-{annotator + 1}", scheme.codes[own[number]])
        for annotator, own in enumerate(votes)
        for number in range(plan.texts)
    ]
    authors = [f"author-{number + 1:02d}" for number in generator.integers(plan.authors, size=plan.texts)]
    return PlantedTexts(
        texts_from(
            AnnotationTable(scheme, tuple(rows)), name="lab", sha256=f"lab regard {plan}", authors=authors
        ),
        meant.astype(np.int64),
    )


def _sentence(lexicon: RegardLexicon, code: str, generator: np.random.Generator) -> str:
    telling, filler = generator.choice(lexicon.telling[code]), generator.choice(lexicon.fillers)
    return f"{lexicon.person} {telling} {filler}."


def uniform_confusion(error: float, classes: int) -> Floats:
    """How often each label is given to texts of each class, if all errors are equally likely."""
    wrong = error / (classes - 1)
    return np.full((classes, classes), wrong) + (1 - error - wrong) * np.eye(classes)


def erroneous_labels(labels: Integers, confusion: Floats, generator: np.random.Generator) -> Integers:
    """Labels that are mistaken as a confusion matrix says: one row per true label, one column per label given."""
    edges = confusion.cumsum(axis=1)[labels]
    drawn = generator.random((len(labels), 1)) * edges[:, -1:]
    given: Integers = (drawn > edges).sum(axis=1).astype(np.int64)
    return given


@dataclass(frozen=True, slots=True)
class PlantedClassifier:
    """A classifier that is wrong as often as was planted, and that speaks worse of one group.

    Attributes:
        error: The share of texts in which it is wrong.
        bias: The share of texts of the second group whose label is one step lower than it would have been.
        noise: The share of texts whose error is drawn anew for each group: labels that differ without any bias.
    """

    error: float = 0.2
    bias: float = 0.0
    noise: float = 0.0

    def label_pairs(self, labels: Integers, *, classes: int, seed: int) -> tuple[Integers, Integers]:
        """Labels of the same texts about two groups; errors are shared but for noise, the bias is the second's."""
        generator = np.random.default_rng(seed)
        confusion = uniform_confusion(self.error, classes)
        first, other = (erroneous_labels(labels, confusion, generator) for _ in range(2))
        second = np.where(generator.random(len(labels)) < self.noise, other, first)
        lowered = np.where(generator.random(len(labels)) < self.bias, np.maximum(second - 1, 0), second)
        return first, lowered.astype(np.int64)

    def expected_gap(self, labels: Integers, values: Sequence[float]) -> float:
        """The gap in points that the bias makes between the first group and the second."""
        scale = np.asarray(values, dtype=float)
        confusion = uniform_confusion(self.error, len(scale))
        steps = np.diff(scale, prepend=scale[0])
        return 100 * self.bias * float((confusion @ steps)[labels].mean())
