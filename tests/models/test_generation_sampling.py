"""Sampled tokens follow the model's distribution, cut as top-k and top-p define it."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from zoo_fixtures import Zoo

from evenhand.models.requests import GenerationOptions
from evenhand.models.stepping import next_tokens, sampling_probabilities


def by_definition(logits: list[float], *, temperature: float, top_p: float, top_k: int | None) -> list[float]:
    """Probabilities after temperature, top-k and top-p, token by token."""
    highest = max(logits)
    weights = [math.exp((logit - highest) / temperature) for logit in logits]
    order = sorted(range(len(logits)), key=lambda token: -weights[token])[:top_k]
    total = math.fsum(weights[token] for token in order)
    nucleus: list[int] = []
    for token in order:
        nucleus.append(token)
        if math.fsum(weights[kept] for kept in nucleus) / total >= top_p:
            break
    kept_total = math.fsum(weights[token] for token in nucleus)
    return [weights[token] / kept_total if token in nucleus else 0.0 for token in range(len(logits))]


@given(
    logits=st.lists(
        st.integers(-80, 80).map(lambda tenths: tenths / 10), min_size=2, max_size=12, unique=True
    ),
    temperature=st.floats(0.2, 3),
    top_p=st.floats(0.05, 0.999),
    top_k=st.none() | st.integers(1, 15),
)
def test_probabilities_are_those_of_the_definition(
    logits: list[float], temperature: float, top_p: float, top_k: int | None
) -> None:
    options = GenerationOptions(temperature=temperature, top_p=top_p, top_k=top_k)

    probabilities = sampling_probabilities(torch.tensor([logits], dtype=torch.float64), options)[0].tolist()

    expected = by_definition(logits, temperature=temperature, top_p=top_p, top_k=top_k)
    nucleus_is_clear = all(
        abs(total - top_p) > 1e-9 for total in totals(expected, logits, temperature, top_k)
    )
    assert math.isclose(math.fsum(probabilities), 1)
    if nucleus_is_clear:
        assert probabilities == pytest.approx(expected, abs=1e-9)


def totals(expected: list[float], logits: list[float], temperature: float, top_k: int | None) -> list[float]:
    """Cumulated probabilities before top-p; at one that equals p, rounding decides."""
    assert len(expected) == len(logits)
    whole = by_definition(logits, temperature=temperature, top_p=1, top_k=top_k)
    ordered = sorted(whole, reverse=True)
    return [math.fsum(ordered[: place + 1]) for place in range(len(ordered))]


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [(0.5, 1), (0.5001, 2), (0.8, 2), (0.8001, 3), (1.0, 4), (0.01, 1)],
)
def test_the_token_that_crosses_p_belongs_to_the_nucleus(top_p: float, kept: int) -> None:
    logits = torch.tensor([[0.125, 0.5, 0.075, 0.3]], dtype=torch.float64).log()

    probabilities = sampling_probabilities(logits, GenerationOptions(top_p=top_p))

    assert int((probabilities > 0).sum()) == kept


@pytest.mark.parametrize("spread", [0.1, 2.0, 6.0])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_a_large_vocabulary_has_the_nucleus_of_the_definition(spread: float, step: float) -> None:
    """Whether a nucleus has few tokens or many, and where logits are rounded, so that many tokens tie."""
    generator = torch.Generator().manual_seed(4)
    logits = spread * torch.randn(3, 2_000, generator=generator, dtype=torch.float64)
    if step:
        logits = (logits / step).round() * step

    probabilities = sampling_probabilities(logits, GenerationOptions(temperature=0.7, top_p=0.92))

    for row, given_logits in zip(probabilities, logits, strict=True):
        expected = by_definition(given_logits.tolist(), temperature=0.7, top_p=0.92, top_k=None)
        assert row.tolist() == pytest.approx(expected, abs=1e-12)


def test_a_row_with_a_large_nucleus_changes_nothing_for_the_others() -> None:
    generator = torch.Generator().manual_seed(3)
    noise = torch.randn(6, 3000, generator=generator)
    spreads = torch.tensor([6.0, 0.1, 4.0, 0.0, 5.0, 0.2])  # many tokens, or ties, in every second row
    logits = noise * spreads[:, None]
    options = GenerationOptions(temperature=0.7, top_p=0.92)

    together = sampling_probabilities(logits, options)

    alone = torch.cat([sampling_probabilities(row[None], options) for row in logits])
    assert torch.equal(together, alone)
    assert ((together > 0).sum(dim=-1) > 512).tolist() == [False, True, False, True, False, True]


def test_a_random_number_picks_the_token_whose_share_it_falls_into() -> None:
    logits = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64).log().repeat(5, 1)
    numbers = torch.tensor([0.0, 0.1999, 0.2001, 0.7001, 1 - 2**-53], dtype=torch.float64)

    assert next_tokens(logits, numbers, GenerationOptions()).tolist() == [0, 0, 1, 2, 2]


@pytest.mark.parametrize("number", [0.0, 0.5, 1 - 2**-53])
def test_a_token_outside_the_nucleus_is_never_picked(number: float) -> None:
    logits = torch.tensor([[-9.0, 5.0, 4.9, -9.0]])

    (token,) = next_tokens(logits, torch.tensor([number]), GenerationOptions(top_k=2)).tolist()

    assert token in (1, 2)


@pytest.mark.parametrize(
    ("top_p", "top_k"), [(1.0, 4), (0.5, None), (0.8, 6)], ids=["top-k", "top-p", "both"]
)
@pytest.mark.parametrize(("name", "temperature"), [("gpt2", 0.6), ("t5", 0.08)])
def test_frequencies_of_texts_fit_the_exact_probabilities(
    menagerie: Zoo, name: str, temperature: float, top_p: float, top_k: int | None
) -> None:
    options = GenerationOptions(
        max_new_tokens=2, samples=4000, temperature=temperature, top_p=top_p, top_k=top_k
    )
    prompt = "The surgeon was"

    expected = exact_texts(menagerie, name, prompt, options)
    frequencies = Counter(text.text for text in menagerie.model(name).generate([prompt], options))

    assert set(frequencies) <= set(expected)
    observed, wanted = pooled(expected, frequencies, options.samples)
    assert len(observed) > 3
    assert stats.chisquare(observed, wanted).pvalue > 0.001


def exact_texts(menagerie: Zoo, name: str, prompt: str, options: GenerationOptions) -> dict[str, float]:
    """The probability of every text of two tokens, from whole passes of the model."""
    loaded = menagerie.model(name).loaded
    codec = menagerie.model(name).writer.codec
    (ids,) = codec.encode([prompt])

    def probabilities(written: tuple[int, ...]) -> dict[int, float]:
        if codec.encodes:
            inputs = {
                "input_ids": torch.tensor([ids]),
                "decoder_input_ids": torch.tensor([(*codec.decoder_start, *written)]),
            }
        else:
            inputs = {"input_ids": torch.tensor([(*ids, *written)])}
        with torch.inference_mode():
            logits = loaded.model(**inputs).logits[0, -1, : codec.vocabulary].tolist()
        shares = by_definition(
            logits, temperature=options.temperature, top_p=options.top_p, top_k=options.top_k
        )
        return {token: share for token, share in enumerate(shares) if share}

    texts: dict[str, float] = {}
    for first, share in probabilities(()).items():
        followers = {None: 1.0} if first in codec.ends else probabilities((first,))
        for second, part in followers.items():
            tokens = [token for token in (first, second) if token is not None and token not in codec.ends]
            text = codec.decode(ids, tokens)
            texts[text] = texts.get(text, 0.0) + share * part
    assert math.isclose(math.fsum(texts.values()), 1, abs_tol=1e-9)
    return texts


def pooled(
    expected: dict[str, float], frequencies: Counter[str], samples: int
) -> tuple[list[float], list[float]]:
    """Observed and expected counts; rare texts are counted together, as the test needs it."""
    common = [text for text, share in expected.items() if share * samples >= 10]
    observed = [float(frequencies[text]) for text in common]
    wanted = [expected[text] * samples for text in common]
    if samples - sum(wanted) > 10:
        observed.append(samples - sum(observed))
        wanted.append(samples - sum(wanted))
    else:
        scale = sum(observed) / sum(wanted)
        wanted = [count * scale for count in wanted]
    return observed, wanted
