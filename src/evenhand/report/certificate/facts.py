"""Facts of a certificate in plain words: how the weights differ, who changed sides, what the measures mean."""

from __future__ import annotations

import math

from evenhand.runs.certificates import BiasRow, Bounds, Certificate, WeightsChange

DEFINITIONS = {
    "MALoR": "is how far occupations lean to men or women on average, in bits; each bit doubles, and 0 is neutral.",
    "SS": "(stereotype score) is how often the stereotype wins, in percent; 50 is neutral, and neither end is good.",
    "ICAT": "puts LMS and SS into one figure; 100 is ideal, guessing gives 50, always taking one side gives 0.",
    "CrowS-Pairs": "is how often the more stereotypical sentence of two is the likelier, in percent; 50 is neutral.",
    "LMS": "(language modelling score) is how often sense beats nonsense, in percent; guessing gives 50, and higher is "
    "better.",
    "Perplexity": "is how surprised a model is by text: as if it had to choose among so many equally likely tokens; "
    "lower is better.",
}
"""What a measure is, in a sentence that begins with its name."""


def definitions(certificate: Certificate) -> list[tuple[str, str]]:
    """The measures that a certificate names, each with what it is."""
    measures = [row.measure for row in (*certificate.trained, *certificate.untrained)]
    measures += [row.measure for row in certificate.quality]
    named = {measure.split(" ")[0].casefold() for measure in measures}
    if "icat" in named:
        named |= {"lms", "ss"}
    return [(name, says) for name, says in DEFINITIONS.items() if name.casefold() in named]


def weights_words(weights: WeightsChange) -> str:
    """How the weights of two models differ."""
    shared = weights.tensors - len(weights.only_before)
    parts = []
    if not weights.any:
        parts.append("No tensor differs.")
    elif not shared:
        parts.append(f"The models have no tensor in common ({weights.parameters:,} parameters before).")
    else:
        parts.append(
            f"{weights.changed:,} of {weights.tensors:,} tensors differ{_moved(weights)} "
            f"({weights.parameters:,} parameters)."
        )
    if weights.largest:
        parts.append(f"Most in {weights.largest[0].name}.")
    if weights.only_before or weights.only_after:
        parts.append(
            f"{_tensors(len(weights.only_before))} in the model before alone and {len(weights.only_after):,} in the "
            "model after alone."
        )
    if weights.adapter:
        parts.append(f"An adapter ({weights.adapter}) is loaded and merged into the weights.")
    return " ".join(parts)


def turned_words(turned: int, clearly: int, *, of: int) -> str:
    """How many occupations of an experiment changed sides, and for how many chance is no explanation."""
    if not turned:
        return "No occupation is on the other side than before."
    many = f"{turned} of {of} occupations {'is' if turned == 1 else 'are'} on the other side than before"
    if turned == 1:
        return f"{many}, {'' if clearly else 'not '}more clearly than chance allows."
    return f"{many}, {clearly or 'none'} of them more clearly than chance allows."


def no_interval_words(ends: Bounds) -> str:
    """Why there is no interval; nothing where there is one."""
    if math.isfinite(ends.low):
        return ""
    return f"no interval: {ends.reason}" if ends.reason else "no interval"


def without_interval(rows: tuple[BiasRow, ...]) -> list[str]:
    """Each figure that stands without an interval, with the reason."""
    return [
        f"{row.measure} {side}: {why}"
        for row in rows
        for side, value, ends in (
            ("before", row.before, row.before_interval),
            ("after", row.after, row.after_interval),
        )
        if math.isfinite(value) and (why := no_interval_words(ends))
    ]


def _moved(weights: WeightsChange) -> str:
    if not math.isfinite(weights.relative):
        return ""
    return f"; taken together, the weights moved by {100 * weights.relative:.3g}% of their size"


def _tensors(count: int) -> str:
    return "1 tensor is" if count == 1 else f"{count:,} tensors are"
