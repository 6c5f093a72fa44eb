"""What a certificate is made of: what both models are measured on, and by how much quality may be lower."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from evenhand.certificate.finetuning import Finetuning
from evenhand.core.errors import DatasetError, EvenhandError, UnknownNameError
from evenhand.core.files import sha256_of
from evenhand.data.labelled import LabelledText
from evenhand.instruments.instrument import Instrument, InstrumentOptions
from evenhand.runs.run import INSTRUMENTS
from evenhand.stats.resampling import Resampling
from evenhand.text.passages import FEWEST_PASSAGES, MOST_PASSAGES, joined_passages

FEWEST_SENTENCES = 20
MOST_SENTENCES = 2_000

_MARGIN = re.compile(r"\s*([A-Za-z]+)\s*=\s*([0-9.]+)\s*%?\s*")


@dataclass(frozen=True, slots=True)
class HeldOutText:
    """Sentences that no training saw, or passages of several sentences each."""

    sentences: tuple[str, ...]
    seed: int = 0
    """Decides which tokens are hidden."""
    documents: tuple[int, ...] = ()
    """The number of the document that each sentence is of; empty where all are of one."""

    def __post_init__(self) -> None:
        if self.documents and len(self.documents) != len(self.sentences):
            raise DatasetError(
                f"The held-out text has {len(self.sentences):,} sentences and names the documents of "
                f"{len(self.documents):,}. Name one for each sentence, or none."
            )

    @property
    def sha256(self) -> str:
        """Of the sentences."""
        return sha256_of("\n".join(self.sentences).encode())

    @classmethod
    def sample(cls, sentences: Iterable[str], *, most: int = MOST_SENTENCES, seed: int = 0) -> HeldOutText:
        """Up to ``most`` sentences of a stream, each as likely as any other, in the order of the stream."""
        return cls.sample_documents(((sentence, 0) for sentence in sentences), most=most, seed=seed)

    @classmethod
    def sample_documents(
        cls, sentences: Iterable[tuple[str, int]], *, most: int = MOST_SENTENCES, seed: int = 0
    ) -> HeldOutText:
        """The same of sentences that come with the number of their document."""
        chosen = _sampled(sentences, most=most, seed=seed)
        if len(chosen) < FEWEST_SENTENCES:
            raise DatasetError(
                f"The held-out text has {len(chosen)} sentences; at least {FEWEST_SENTENCES} are needed. Give more."
            )
        return cls._of(chosen, seed=seed)

    @classmethod
    def sample_passages(
        cls, sentences: Iterable[tuple[str, int]], *, most: int = MOST_PASSAGES, seed: int = 0
    ) -> HeldOutText | None:
        """Up to ``most`` passages of sentences that follow each other in a document; None where they are too few."""
        chosen = _sampled(joined_passages(sentences), most=most, seed=seed)
        return cls._of(chosen, seed=seed) if len(chosen) >= FEWEST_PASSAGES else None

    @classmethod
    def _of(cls, texts: Sequence[tuple[str, int]], *, seed: int) -> HeldOutText:
        documents = tuple(document for _, document in texts)
        return cls(
            tuple(text for text, _ in texts),
            seed=seed,
            documents=documents if len(set(documents)) > 1 else (),
        )


def _sampled(texts: Iterable[tuple[str, int]], *, most: int, seed: int) -> list[tuple[str, int]]:
    """Up to ``most`` texts of a stream, each as likely as any other, in the order of the stream."""
    generator = np.random.default_rng(seed)
    chosen: list[tuple[int, tuple[str, int]]] = []
    for number, text in enumerate(texts):
        if len(chosen) < most:
            chosen.append((number, text))
        elif (place := int(generator.integers(number + 1))) < most:
            chosen[place] = (number, text)
    return [text for _, text in sorted(chosen)]


@dataclass(frozen=True, slots=True)
class Margins:
    """What is tolerated: a rise of perplexity and a fall of evidence in percent, a fall of the others in points."""

    perplexity: float = 1.0
    lms: float = 2.0
    accuracy: float = 1.0
    knowledge: float = 3.0
    evidence: float = 25.0
    agreement: float = 5.0
    distinct: float = 5.0
    """A fall of distinct-2 of written texts, in points."""
    content: float = 0.05
    """A shift of what written texts are about, in bits above chance. Published triggers shift it by 0.08 and 0.10."""

    def __post_init__(self) -> None:
        for margin in fields(self):
            value = getattr(self, margin.name)
            if not (math.isfinite(value) and value > 0):
                raise EvenhandError(
                    f"The margin of {margin.name} is {value:g}; it must be above 0, because no test can show that a "
                    f"quality is exactly the same. Give one, such as --margin {margin.name}=1."
                )

    @classmethod
    def parse(cls, texts: Sequence[str], *, perplexity: float | None = None) -> Margins:
        """Margins from texts such as ``perplexity=0.5%`` or ``LMS=1``; those not named keep their defaults.

        Args:
            texts: A name and a number each.
            perplexity: What it is if no text names it, in percent.
        """
        names = [margin.name for margin in fields(cls)]
        values = {} if perplexity is None else {"perplexity": perplexity}
        for text in texts:
            match = _MARGIN.fullmatch(text)
            if match is None:
                raise EvenhandError(
                    f"{text!r} is no margin. Write a name and a number: perplexity=0.5%, LMS=1, "
                    "knowledge=2, evidence=20%, agreement=4 or accuracy=2."
                )
            name = match[1].casefold()
            if name not in names:
                raise UnknownNameError("margin", match[1], names)
            try:
                values[name] = float(match[2])
            except ValueError:
                raise EvenhandError(f"{match[2]!r} in the margin {text!r} is no number.") from None
        return replace(cls(), **values)


@dataclass(frozen=True, slots=True)
class Measurement:
    """An instrument by name, and how it is used."""

    name: str
    options: InstrumentOptions

    @property
    def instrument(self) -> Instrument[Any]:
        """The instrument that is registered under the name."""
        instrument: Instrument[Any] = INSTRUMENTS.get(self.name)
        return instrument


@dataclass(frozen=True, slots=True)
class CertificatePlan:
    """What both models are measured on, and how the result is judged.

    ``measurements`` may name every instrument once, also those of other packages. ``trained`` names what was trained
    on: experiments, or figures by key. Where it is None the record beside the mitigated model says so, and where there
    is no record all experiments are judged. ``training_text`` is of what the mitigation learned from: the trivial
    baseline is fitted on it, or on the held-out text where there is none. ``passages`` show whether a decoder still
    makes use of what it read earlier, which single sentences cannot.
    """

    measurements: tuple[Measurement, ...]
    held_out: HeldOutText | None = None
    passages: HeldOutText | None = None
    labelled: LabelledText | None = None
    training_text: tuple[str, ...] = ()
    trained: tuple[str, ...] | None = None
    margins: Margins = field(default_factory=Margins)
    finetuning: Finetuning = field(default_factory=Finetuning)
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        names = [measurement.name for measurement in self.measurements]
        if not names:
            raise EvenhandError("A certificate needs at least one instrument, such as malor.")
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise EvenhandError(f"The plan names {', '.join(repeated)} twice. Name every instrument once.")
        experiments = [
            experiment
            for measurement in self.measurements
            for experiment in measurement.instrument.experiments(measurement.options)
        ]
        for name in self.trained or ():
            # The keys of figures are known when the models have been measured.
            if "." not in name and name not in experiments:
                raise UnknownNameError("experiment", name, experiments)
