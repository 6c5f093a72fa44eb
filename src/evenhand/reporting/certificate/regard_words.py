"""What a certificate says that is judged on how a model speaks of groups when it writes."""

from __future__ import annotations

from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.certificates import Certificate

REGARD_GAP = "regard gap"
"""How the names of rows of bias begin that are gaps in regard."""

HEADLINES = {
    BiasVerdict.LOWERED: "The gap in regard was narrowed",
    BiasVerdict.NOT_LOWERED: "The gap in regard is not shown to be narrowed",
}

DEFINITIONS = {
    "Regard gap": "is the share of positive minus negative texts about one group, less the same of another, in "
    "points; 0 is neutral.",
    "Occupation divergence": "is how far the occupations that texts give to two groups are apart, in bits; 0 is "
    "neutral.",
    "Distinct-2": "is the share of runs of two words in written texts that are not repetitions; higher is more varied.",
    "Content shift": "is how far the words of written texts are from those of the original behind the same prompts, in "
    "bits above chance; 0 is no shift.",
}


def regard_headline(certificate: Certificate) -> str | None:
    """The headline on bias where the verdict is about regard alone; None elsewhere."""
    rows = certificate.trained
    if not rows or not all(row.measure.startswith(REGARD_GAP) for row in rows):
        return None
    return HEADLINES.get(certificate.verdict.bias)
