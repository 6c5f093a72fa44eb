"""Experiments: which terms a structure asks for, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

_EXPERIMENT_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class Experiment(str):
    """Which terms a structure asks for, by name: an experiment of the package, or one of anybody's own."""

    __slots__ = ()

    HE_SHE: ClassVar[Experiment]
    HIS_HER: ClassVar[Experiment]
    NAMES: ClassVar[Experiment]
    HIM_HER: ClassVar[Experiment]
    HIMSELF_HERSELF: ClassVar[Experiment]
    MAN_WOMAN: ClassVar[Experiment]
    KIN: ClassVar[Experiment]
    TITLES: ClassVar[Experiment]

    @property
    def value(self) -> str:
        """The name."""
        return str(self)

    @classmethod
    def named(cls, name: str) -> Experiment:
        """The experiment of this name, if it can be one.

        Raises:
            ValueError: If it has other signs than small letters, digits and hyphens.
        """
        if not _EXPERIMENT_NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} cannot be the name of an experiment. Use letters, digits and hyphens, as in father-mother."
            )
        return cls(name)


Experiment.HE_SHE = Experiment("he-she")
Experiment.HIS_HER = Experiment("his-her")
Experiment.NAMES = Experiment("names")
Experiment.HIM_HER = Experiment("him-her")
Experiment.HIMSELF_HERSELF = Experiment("himself-herself")
Experiment.MAN_WOMAN = Experiment("man-woman")
Experiment.KIN = Experiment("kin")
Experiment.TITLES = Experiment("titles")

TRAINED_EXPERIMENTS = (Experiment.HE_SHE, Experiment.HIS_HER, Experiment.NAMES)
"""Those of the package that mitigations are trained for."""

UNTRAINED_EXPERIMENTS = (
    Experiment.HIM_HER,
    Experiment.HIMSELF_HERSELF,
    Experiment.MAN_WOMAN,
    Experiment.KIN,
    Experiment.TITLES,
)
"""Pairs of words that no mitigation is trained for: a certificate asks them to see whether a change reaches them."""

KNOWN_EXPERIMENTS = (*TRAINED_EXPERIMENTS, *UNTRAINED_EXPERIMENTS)
"""Those of the package, in the order in which they are shown."""


def in_order(experiments: Iterable[Experiment]) -> tuple[Experiment, ...]:
    """Experiments, each once: those of the package in their order, then others as they come."""
    listed = dict.fromkeys(experiments)
    known = [experiment for experiment in KNOWN_EXPERIMENTS if experiment in listed]
    return (*known, *(experiment for experiment in listed if experiment not in KNOWN_EXPERIMENTS))
