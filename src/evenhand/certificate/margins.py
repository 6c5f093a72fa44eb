"""Margins: by how much quality may be lower after a mitigation and still count as kept."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from evenhand.core.errors import EvenhandError, UnknownNameError

_ASSIGNMENT = re.compile(r"\s*([A-Za-z]+)\s*=\s*([0-9.]+)\s*%?\s*")


@dataclass(frozen=True, slots=True)
class Margins:
    """What is tolerated: perplexity may rise by so many percent, LMS and accuracy may fall by so many points."""

    perplexity: float = 1.0
    lms: float = 2.0
    accuracy: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value > 0):
                raise EvenhandError(
                    f"The margin of {field.name} is {value:g}; it must be above 0, because no test can show that a "
                    f"quality is exactly the same. Give one, such as --margin {field.name}=1."
                )

    @classmethod
    def parse(cls, texts: Sequence[str], *, perplexity: float | None = None) -> Margins:
        """Margins from texts such as ``perplexity=0.5%`` or ``LMS=1``; those not named keep their defaults.

        Args:
            texts: A name and a number each.
            perplexity: What it is if no text names it, in percent.
        """
        known = [field.name for field in fields(cls)]
        given = {} if perplexity is None else {"perplexity": perplexity}
        for text in texts:
            found = _ASSIGNMENT.fullmatch(text)
            if found is None:
                raise EvenhandError(
                    f"{text!r} is no margin. Write a name and a number: perplexity=0.5%, LMS=1 or accuracy=2."
                )
            name = found[1].casefold()
            if name not in known:
                raise UnknownNameError("margin", found[1], known)
            try:
                given[name] = float(found[2])
            except ValueError:
                raise EvenhandError(f"{found[2]!r} in the margin {text!r} is no number.") from None
        return replace(cls(), **given)
