"""Conformance of benchmarks, and of measures over totals per target term."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from evenhand.core.items import BLANK, Association, Benchmark, Label, Task, filled_spans, repeated
from evenhand.data.language_names import LANGUAGE_TAG
from evenhand.instruments.association.measures import ClusterTotals, Measure


def require(condition: bool, message: str) -> None:
    """Raise the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def require_equal(first: float, second: float, what: str) -> None:
    """Raise unless two numbers are the same but for rounding."""
    require(bool(np.isclose(first, second, rtol=1e-9, atol=1e-9)), f"{what}: {first} is not {second}")


def check_dataset(benchmark: Benchmark) -> None:
    """Check that a benchmark can be evaluated and compared with its translations.

    Args:
        benchmark: A benchmark, from a reader or built in Python.

    Raises:
        AssertionError: If the benchmark is empty or its language is no tag; if an id occurs twice; if an
            item is in another language, lacks a text or one of the three labels; or if the fill of an
            intra-sentence candidate cannot be found.
    """
    require(bool(benchmark.name.strip()), "the benchmark has no name")
    require(len(benchmark) > 0, f"{benchmark.name} has no items")
    require(
        LANGUAGE_TAG.fullmatch(benchmark.language) is not None,
        f"the language of {benchmark.name} is {benchmark.language!r}; a tag such as 'en' or 'de' is needed",
    )
    _check_unique("item", (item.id for item in benchmark))
    _check_unique("candidate", (candidate.id for item in benchmark for candidate in item.candidates))
    for item in benchmark:
        _check_item(item, benchmark.language)


def _check_unique(kind: str, ids: Iterable[str]) -> None:
    listed = list(ids)
    require(all(identifier.strip() for identifier in listed), f"there is an empty {kind} id")
    twice = repeated(listed)
    require(not twice, f"{len(twice)} {kind} ids occur more than once, such as {twice[:3]}")


def _check_item(item: Association, language: str) -> None:
    require(
        item.language == language,
        f"item {item.id} is in {item.language!r}, its benchmark in {language!r}",
    )
    labels = sorted(candidate.label.value for candidate in item.candidates)
    require(
        labels == sorted(label.value for label in Label),
        f"item {item.id} has the labels {labels}; one candidate of each label is needed",
    )
    texts: dict[str, Callable[[Association], str]] = {
        "bias type": lambda item: item.bias_type,
        "target": lambda item: item.target,
        "cluster": lambda item: item.cluster,
        "context": lambda item: item.context,
    }
    for name, text in texts.items():
        require(bool(text(item).strip()), f"item {item.id} has an empty {name}")
    for candidate in item.candidates:
        require(bool(candidate.text.strip()), f"candidate {candidate.id} has an empty text")
        if item.task is Task.INTRASENTENCE:
            require(BLANK in item.context, f"the context of intra-sentence item {item.id} has no {BLANK}")
            require(
                bool(filled_spans(item.context, candidate.text)),
                f"what fills the blank of item {item.id} cannot be found in candidate {candidate.id}: "
                f"{candidate.text!r}",
            )


DOC_SECTIONS = ("Measures:", "Reads as:", "Caveats:", "References:")

_VERSION = re.compile(r"[a-z][a-z0-9-]*\.v[1-9][0-9]*")

_TRIALS = 20


def check_measure(measure: Measure) -> None:
    """Check that a measure is documented, keeps to its range and is a function of weighted target terms.

    Args:
        measure: Any measure over totals per target term.

    Raises:
        AssertionError: If the measure lacks a name, a version such as ``ss.v1`` or a section of its
            documentation; leaves its range; gives other values for many rows of weights than row by row;
            depends on the order of target terms; counts a term of weight 2 differently from the same term
            twice; or does not give its neutral value where half of the preferences go each way and the two
            candidates are equally probable.
    """
    _check_words_of_measure(measure)
    generator = np.random.default_rng(1)
    for _ in range(_TRIALS):
        totals = _random_totals(generator)
        _check_range(measure, totals, generator)
        _check_rows(measure, totals, generator)
        _check_order(measure, totals, generator)
        _check_weight_of_two(measure, totals, generator)
        _check_neutral(measure, totals)


def _check_words_of_measure(measure: Measure) -> None:
    name = measure.name
    require(bool(name) and not name.isspace(), "the measure has no name")
    require(bool(measure.title.strip()), f"{name} has no title")
    require(
        _VERSION.fullmatch(measure.version) is not None,
        f"the version of {name} is {measure.version!r}; a versioned name such as 'ss.v1' is needed",
    )
    for section in DOC_SECTIONS:
        parts = re.split(rf"^{section}$", measure.doc, flags=re.MULTILINE)
        require(
            len(parts) == 2 and bool(parts[1].strip()),
            f"the documentation of {name} needs one section {section!r} with a text below it",
        )
    for role, value in (("ideal", measure.ideal), ("neutral", measure.neutral)):
        require(
            value is None or measure.lowest <= value <= measure.highest,
            f"the {role} value of {name} is {value}, outside its range {measure.lowest} to {measure.highest}",
        )


def _random_totals(generator: np.random.Generator) -> ClusterTotals:
    """Target terms of uneven size, with preferences that a benchmark could give, halves included."""
    terms = int(generator.integers(2, 12))
    items = generator.integers(1, 30, size=terms).astype(np.float64)
    return ClusterTotals(
        names=tuple(f"term {number}" for number in range(terms)),
        items=items,
        stereotype=generator.integers(0, 2 * items.astype(np.int64) + 1) / 2,
        meaningful=generator.integers(0, 2 * items.astype(np.int64) + 1) / 2,
        log_ratio=items * generator.normal(scale=4.0, size=terms),
    )


def _chosen(totals: ClusterTotals, index: list[int]) -> ClusterTotals:
    return ClusterTotals(
        names=tuple(f"{totals.names[term]} at {place}" for place, term in enumerate(index)),
        items=totals.items[index],
        stereotype=totals.stereotype[index],
        meaningful=totals.meaningful[index],
        log_ratio=totals.log_ratio[index],
    )


def _check_range(measure: Measure, totals: ClusterTotals, generator: np.random.Generator) -> None:
    weights = generator.integers(1, 4, size=(5, len(totals))).astype(np.float64)
    values = [measure.value(totals), *measure.compute(totals, weights).tolist()]
    limits = [abs(limit) for limit in (measure.lowest, measure.highest) if math.isfinite(limit)]
    slack = 1e-9 * max([1.0, *limits])
    outside = [
        value
        for value in values
        if not math.isfinite(value) or not measure.lowest - slack <= value <= measure.highest + slack
    ]
    require(
        not outside,
        f"{measure.name} gives {outside}, outside its range {measure.lowest} to {measure.highest}",
    )


def _check_rows(measure: Measure, totals: ClusterTotals, generator: np.random.Generator) -> None:
    weights = generator.integers(1, 4, size=(5, len(totals))).astype(np.float64)
    together = measure.compute(totals, weights)
    require(
        together.shape == (5,),
        f"{measure.name} gives an array of shape {together.shape} for five rows of weights",
    )
    for row, value in zip(weights, together.tolist(), strict=True):
        alone = float(measure.compute(totals, row[None, :])[0])
        require_equal(value, alone, f"{measure.name} of a row of weights, among others and alone")


def _check_order(measure: Measure, totals: ClusterTotals, generator: np.random.Generator) -> None:
    shuffled = _chosen(totals, generator.permutation(len(totals)).tolist())
    require_equal(
        measure.value(totals), measure.value(shuffled), f"{measure.name} of target terms in two orders"
    )


def _check_weight_of_two(measure: Measure, totals: ClusterTotals, generator: np.random.Generator) -> None:
    twice = int(generator.integers(len(totals)))
    weights = np.ones((1, len(totals)))
    weights[0, twice] = 2
    doubled = _chosen(totals, [*range(len(totals)), twice])
    require_equal(
        float(measure.compute(totals, weights)[0]),
        measure.value(doubled),
        f"{measure.name} with a target term of weight 2, and with the term twice",
    )


def _check_neutral(measure: Measure, totals: ClusterTotals) -> None:
    if measure.neutral is None:
        return
    halves = replace(totals, stereotype=totals.items / 2, log_ratio=np.zeros(len(totals)))
    require_equal(
        measure.value(halves),
        measure.neutral,
        f"{measure.name} of half the preferences and equal probabilities, and its neutral value",
    )
