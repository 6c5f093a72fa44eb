"""Label schemes: what an annotator can say about a text.

A scheme has labels in the order in which they are shown and counted. A label has a *code*, as files hold it, and may
have a *value*, its place on a scale: -1, 0 and 1 for negative, neutral and positive regard. Labels without a value are
named beside the scale, such as *nonsense*. An annotator who cannot decide is *unsure*, which is no label.

A vote is written as a number wherever votes are computed with: the index of the label in its scheme, or one of
``UNSURE``, ``NO_ANSWER`` and ``NOT_ASKED``, which are negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from pydantic import ConfigDict, Field, model_validator

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.frozen import FrozenModel

UNSURE = -1
"""The annotator could not decide."""

NO_ANSWER = -2
"""The annotator was asked and left it empty."""

NOT_ASKED = -3
"""The annotator did not see the text."""

FALLBACK_LANGUAGE = "en"

_WRITTEN_BY_HAND = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)
"""People write -1 without quotation marks, and a misspelt field must not be passed over."""


class UnknownLabelError(DatasetError):
    """A label that is not in the scheme."""

    def __init__(self, label: str, scheme: LabelScheme, *, place: str | None = None) -> None:
        known = ", ".join(scheme.codes)
        super().__init__(
            f"{place + ': ' if place else ''}{label!r} is not a label of the scheme {scheme.name}. Its labels are "
            f"{known}, and {scheme.unsure.code} for unsure. Correct the label, or give the scheme that it belongs to."
        )
        self.label = label


class LabelOption(FrozenModel):
    """One thing that an annotator can choose, with its words by language.

    Attributes:
        code: What files hold, such as ``-1``.
        value: The place on the scale of the scheme; None for a label that is not on it.
        title: A word or two for a button, by language.
        description: A sentence for the guideline, by language.
        aliases: Other ways in which files write the code, and headers of columns that are ticked for it.
    """

    model_config = _WRITTEN_BY_HAND

    code: str = Field(min_length=1)
    value: float | None = None
    title: Mapping[str, str] = {}
    description: Mapping[str, str] = {}
    aliases: tuple[str, ...] = ()

    def title_in(self, language: str) -> str:
        """The title in a language, in English where it has none, or the code."""
        return in_language(self.title, language) or self.code

    @property
    def spellings(self) -> frozenset[str]:
        """All that means this label, in lower case."""
        return frozenset(spelling.casefold() for spelling in (self.code, *self.aliases, *self.title.values()))


class LabelScheme(FrozenModel):
    """The labels of one annotation task.

    Attributes:
        name: A short name, such as ``regard``.
        question: What is asked about each text, by language.
        guideline: How to decide, by language; paragraphs are separated by empty lines.
        labels: In the order in which they are shown; at least two.
        unsure: How files and pages say that an annotator could not decide.
    """

    model_config = _WRITTEN_BY_HAND

    name: str = Field(min_length=1)
    question: Mapping[str, str] = {}
    guideline: Mapping[str, str] = {}
    labels: tuple[LabelOption, ...]
    unsure: LabelOption = LabelOption(code="X", title={"en": "unsure", "de": "unsicher"})

    @model_validator(mode="after")
    def _labels_can_be_told_apart(self) -> LabelScheme:
        if len(self.labels) < 2:
            raise ValueError(f"a scheme needs at least two labels, and this one has {len(self.labels)}")
        taken: dict[str, str] = {}
        for option in (*self.labels, self.unsure):
            for spelling in sorted(option.spellings):
                if taken.setdefault(spelling, option.code) != option.code:
                    raise ValueError(
                        f"{spelling!r} stands for {taken[spelling]} and for {option.code}; a word means one label"
                    )
        codes = [option.code for option in (*self.labels, self.unsure)]
        if len(set(codes)) < len(codes):
            raise ValueError(f"the codes {', '.join(codes)} are not all different")
        return self

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the labels, in order."""
        return tuple(option.code for option in self.labels)

    @property
    def values(self) -> tuple[float, ...]:
        """The place of each label on the scale, NaN for one that is not on it."""
        return tuple(math.nan if option.value is None else option.value for option in self.labels)

    @property
    def is_ordinal(self) -> bool:
        """Whether at least two labels have a place on a scale."""
        return len({option.value for option in self.labels if option.value is not None}) > 1

    def index(self, code: str) -> int:
        """The index of a code.

        Raises:
            UnknownLabelError: If the scheme does not have it.
        """
        try:
            return self.codes.index(code)
        except ValueError:
            raise UnknownLabelError(code, self) from None

    def option(self, code: str) -> LabelOption:
        """The label of a code."""
        return self.labels[self.index(code)]

    def read_code(self, cell: str, *, place: str | None = None) -> str:
        """The code that a cell means: the code itself, a title, an alias, or the same number (``0.0`` is ``0``).

        Args:
            cell: What a file holds.
            place: Where it stands, for the message.

        Raises:
            UnknownLabelError: If it is not a label of the scheme.
        """
        folded = cell.strip().casefold()
        for option in self.labels:
            if folded in option.spellings:
                return option.code
        number = _number(folded)
        if number is not None:
            for option in self.labels:
                if _number(option.code) == number:
                    return option.code
        raise UnknownLabelError(cell, self, place=place)

    def read_codes(self, cells: Iterable[str]) -> Mapping[str, str]:
        """The code of each label that occurs: as it is, or by its rank where one of them is no code.

        Classifiers number classes from 0 in the order of the scale: 0, 1 and 2 for -1, 0 and 1.

        Raises:
            DatasetError: If the labels are neither all codes nor all ranks.
        """
        found = sorted(set(cells))
        try:
            return {cell: self.read_code(cell) for cell in found}
        except UnknownLabelError as problem:
            by_rank = sorted(
                self.labels, key=lambda option: math.inf if option.value is None else option.value
            )
            ranks = {str(rank): option.code for rank, option in enumerate(by_rank)}
            codes = {cell: ranks.get(cell.strip().removesuffix(".0")) for cell in found}
            if None in codes.values():
                raise DatasetError(
                    f"The labels {shortlist(found)} are neither codes of the scheme {self.name} "
                    f"({', '.join(self.codes)}) nor ranks from 0 to {len(by_rank) - 1}. The first that is neither is "
                    f"{problem.label!r}. Correct it, or give the scheme with --scheme."
                ) from None
            return {cell: code for cell, code in codes.items() if code is not None}

    def means_unsure(self, cell: str) -> bool:
        """Whether a cell of the label column says that the annotator was unsure."""
        return cell.strip().casefold() in self.unsure.spellings


def in_language(texts: Mapping[str, str], language: str) -> str:
    """The text in a language, else in English, else in the first language that there is; empty if there is none."""
    return texts.get(language) or texts.get(FALLBACK_LANGUAGE) or next(iter(texts.values()), "")


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
