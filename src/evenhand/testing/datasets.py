"""Conformance of benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from evenhand.core.items import BLANK, Association, Benchmark, Label, Task, repeated
from evenhand.core.spans import filled_spans
from evenhand.data.layouts import LANGUAGE_TAG
from evenhand.testing.expectations import require


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
