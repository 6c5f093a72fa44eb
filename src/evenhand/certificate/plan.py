"""What a certificate is to be made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

import numpy as np

from evenhand.certificate.finetuning import Finetuning
from evenhand.certificate.margins import Margins
from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.files import sha256_of
from evenhand.core.items import Benchmark, PairSet
from evenhand.core.probes import ProbeSet
from evenhand.core.progress import Progress
from evenhand.data.labelled import LabelledText
from evenhand.stats.resampling import Resampling

FEWEST_SENTENCES = 20
MOST_SENTENCES = 2_000


Stage = Callable[[str, str], AbstractContextManager[Progress]]
"""Announces a piece of work and its unit, and gives what is told about its progress."""


@contextmanager
def quietly(_description: str, _unit: str) -> Iterator[Progress]:
    """Work that nobody watches."""
    yield lambda _done, _total: None


@dataclass(frozen=True, slots=True)
class HeldOutText:
    """Sentences that no training saw."""

    sentences: tuple[str, ...]
    seed: int = 0
    """Decides which tokens are hidden."""

    @property
    def sha256(self) -> str:
        """Of the sentences."""
        return sha256_of("\n".join(self.sentences).encode())

    @classmethod
    def sample(cls, sentences: Iterable[str], *, most: int = MOST_SENTENCES, seed: int = 0) -> HeldOutText:
        """So many sentences of a stream, each as likely as any other, in the order of the stream."""
        generator = np.random.default_rng(seed)
        chosen: list[tuple[int, str]] = []
        for number, sentence in enumerate(sentences):
            if len(chosen) < most:
                chosen.append((number, sentence))
            elif (place := int(generator.integers(number + 1))) < most:
                chosen[place] = (number, sentence)
        if len(chosen) < FEWEST_SENTENCES:
            raise DatasetError(
                f"The held-out text has {len(chosen)} sentences; at least {FEWEST_SENTENCES} are needed. Give more."
            )
        return cls(tuple(sentence for _, sentence in sorted(chosen)), seed=seed)


@dataclass(frozen=True, slots=True)
class CertificatePlan:
    """What both models are measured on, and how the result is judged.

    ``trained`` names the experiments that were trained on; where it is None the record beside the model after tells,
    and where there is none all experiments are judged.
    """

    probes: ProbeSet
    benchmark: Benchmark
    pairs: PairSet | None = None
    held_out: HeldOutText | None = None
    labelled: LabelledText | None = None
    trained: tuple[str, ...] | None = None
    margins: Margins = field(default_factory=Margins)
    finetuning: Finetuning = field(default_factory=Finetuning)
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        known = [experiment.value for experiment in self.probes.experiments]
        for name in self.trained or ():
            if name not in known:
                raise UnknownNameError("experiment", name, known)
