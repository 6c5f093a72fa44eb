"""What a certificate is made of: what both models are measured on, and by how much quality may be lower."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.certificate.finetuning import Finetuning
from evenhand.certificate.margins import Margins
from evenhand.core.errors import DatasetError, EvenhandError, UnknownNameError
from evenhand.core.files import sha256_of
from evenhand.data.labelled import LabelledText
from evenhand.instruments.instrument import Instrument, InstrumentOptions
from evenhand.stats.resampling import Resampling
from evenhand.store.run import INSTRUMENTS
from evenhand.text.passages import FEWEST_PASSAGES, MOST_PASSAGES, joined_passages

FEWEST_SENTENCES = 20
MOST_SENTENCES = 2_000


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
