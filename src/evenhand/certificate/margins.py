"""By how much quality may be lower, and which margins tolerate more than is usual."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.store.certificates import WiderMargin

_MARGIN = re.compile(r"\s*([A-Za-z]+)\s*=\s*([0-9.]+)\s*%?\s*")


@dataclass(frozen=True, slots=True)
class Margins:
    """What is tolerated: a rise of perplexity and a fall of evidence in percent, changes of the others in points."""

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
    special: float = 1.0
    """A rise of the share of probability on unused and special tokens, in points. What is taken evenly from all tokens
    of texts in this way raises perplexity by as many percent."""

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


LAB_PERPLEXITY_MARGIN = 5.0
"""What is usual for models of the lab: their text is small."""


def wider_margins(margins: Mapping[str, float], *, of_lab: bool) -> tuple[WiderMargin, ...]:
    """Those that tolerate more than is usual.

    Args:
        margins: By name.
        of_lab: Whether the original is a model of the lab.
    """
    usual = asdict(Margins(perplexity=LAB_PERPLEXITY_MARGIN) if of_lab else Margins())
    return tuple(
        WiderMargin(name=name, margin=margins[name], usual=own)
        for name, own in usual.items()
        if margins[name] > own
    )
