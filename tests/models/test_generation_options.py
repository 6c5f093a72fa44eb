"""Options of generation, the random numbers behind samples, and batches: no model needed."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import EvenhandError
from evenhand.models.model import TEXTS_AT_ONCE
from evenhand.models.requests import GenerationOptions, Write
from evenhand.models.writing import BatchLimits, Row, pack
from evenhand.testing import FakeModel


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens is 0; needed is a whole number of at least 1"),
        ({"max_new_tokens": 2.5}, "max_new_tokens is 2.5"),
        ({"samples": True}, "samples is True"),
        ({"samples": -1}, "samples is -1"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_p": 0}, "top_p is 0; needed is a number above 0 and up to 1"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"top_p": "0.9"}, "top_p is '0.9'; needed is a finite number"),
        ({"temperature": -0.1}, "temperature is -0.1; needed is 0 for greedy decoding, or a positive number"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": float("inf")}, "temperature is inf"),
        ({"seed": -1}, "seed is -1"),
        ({"stop": "."}, "stop is '.'; needed is a tuple of strings"),
        ({"stop": ("",)}, r"stop is \(''"),
        ({"prefix": None}, "prefix is None; needed is a string"),
        (
            {"temperature": 0, "samples": 2},
            "At temperature 0 .* 2 texts per prompt were asked for. Ask for one",
        ),
    ],
)
def test_an_option_outside_its_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        GenerationOptions(**options)


def test_options_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        GenerationOptions(40)  # type: ignore[call-arg]


def test_the_random_numbers_of_a_sample_depend_on_seed_prompt_and_number_only() -> None:
    options = GenerationOptions(seed=3)
    others = GenerationOptions(seed=3, samples=5, top_p=0.5, temperature=0.2, prefix="x ", stop=("\n",))

    numbers = options.random_numbers(2, "The nurse", sample=1)

    assert np.array_equal(numbers, others.random_numbers(2, "The nurse", sample=1))
    for different in (
        options.random_numbers(3, "The nurse", sample=1),
        options.random_numbers(2, "The doctor", sample=1),
        options.random_numbers(2, "The nurse", sample=0),
        GenerationOptions(seed=4).random_numbers(2, "The nurse", sample=1),
    ):
        assert not np.isclose(numbers, different).any()


def test_more_new_tokens_start_with_the_same_random_numbers() -> None:
    few = GenerationOptions(max_new_tokens=5).random_numbers(0, "a", sample=0)
    many = GenerationOptions(max_new_tokens=50).random_numbers(0, "a", sample=0)

    assert np.array_equal(few, many[:5])


@pytest.mark.parametrize(
    ("text", "kept", "stops"),
    [("one. two\n", "one", True), ("one\ntwo.", "one", True), (". ", "", True), ("one", "one", False)],
)
def test_a_text_ends_before_its_first_stop_string(text: str, kept: str, stops: bool) -> None:
    assert GenerationOptions(stop=("\n", ".")).cut(text) == (kept, stops)


def rows(*lengths: int, samples: int = 1, new: int = 10) -> list[Row]:
    options = GenerationOptions(max_new_tokens=new)
    return [
        Row(Write(f"prompt {number}", options, number), sample, tuple(range(length)))
        for number, length in enumerate(lengths)
        for sample in range(samples)
    ]


def test_the_largest_batch_is_the_one_that_fits_the_budget_with_all_new_tokens() -> None:
    batches = list(pack(rows(*[6] * 20, new=10), BatchLimits(max_tokens=100, max_rows=50)))

    # A row holds 16 tokens when it is written, so six rows make 96.
    assert [len(batch) for batch in batches] == [6, 6, 6, 2]


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=30),
    samples=st.integers(1, 4),
    new=st.integers(1, 20),
    max_tokens=st.integers(1, 300),
    max_rows=st.integers(1, 8),
)
def test_every_row_is_in_one_batch_and_no_batch_is_over_the_budget(
    lengths: list[int], samples: int, new: int, max_tokens: int, max_rows: int
) -> None:
    everything = rows(*lengths, samples=samples, new=new)

    batches = list(pack(everything, BatchLimits(max_tokens=max_tokens, max_rows=max_rows)))

    assert sorted((row.request.number, row.sample) for batch in batches for row in batch) == [
        (row.request.number, row.sample) for row in everything
    ]
    for batch in batches:
        size = len(batch) * (max(len(row.ids) for row in batch) + new)
        assert len(batch) == 1 or (size <= max_tokens and len(batch) <= max_rows)


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ("The man", "prompts is the text 'The man'; a list of texts is needed. Put it into one"),
        (["The man", None], r"prompts\[1\] is None; a text is needed"),
    ],
)
def test_prompts_that_are_no_list_of_strings_are_refused(prompts: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        list(FakeModel({}).generate(prompts))


def test_endless_prompts_are_read_window_by_window() -> None:
    read = count()
    prompts = (f"prompt {next(read)}" for _ in count())

    first = next(FakeModel({}).generate(prompts, GenerationOptions(samples=64)))

    assert (first.prompt, first.text) == (0, "0 prompt")
    assert next(read) == TEXTS_AT_ONCE // 64
