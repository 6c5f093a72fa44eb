"""The plain way to score, as published code does it.

Padded batches of 32 in file order, and a softmax over the whole vocabulary at every position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from evenhand.core.items import BLANK, Association
from evenhand.instruments.association.ways import fill_of

BATCH = 32
Entry = TypeVar("Entry")


def batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Entries in file order, 32 at a time."""
    return (entries[start : start + BATCH] for start in range(0, len(entries), BATCH))


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids filled up to the longest, and what is real."""
    width = max(map(len, rows))
    ids = torch.tensor([list(row) + [0] * (width - len(row)) for row in rows], device=device)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=device)
    return ids, mask


def steps(tokenizer: Any, items: Sequence[Association], mask: str) -> list[tuple[list[int], int]]:
    """Every step of every candidate: the input's tokens, and the token that is asked for."""
    found = []
    for item in items:
        for candidate in item.candidates:
            tokens = tokenizer.encode(" " + fill_of(item, candidate), add_special_tokens=False)
            for step, token in enumerate(tokens):
                text = item.context.replace(BLANK, tokenizer.decode(tokens[:step]) + mask)
                found.append((tokenizer(text)["input_ids"], token))
    return found


@torch.inference_mode()
def masked(model: Any, tokenizer: Any, items: Sequence[Association]) -> list[float]:
    """Step-wise blanks with a masked model."""
    values = []
    for batch in batches(steps(tokenizer, items, tokenizer.mask_token)):
        ids, mask = padded([row for row, _ in batch], model.device)
        probabilities = model(input_ids=ids, attention_mask=mask).logits.float().softmax(-1)
        places = (ids == tokenizer.mask_token_id).int().argmax(1)
        tokens = torch.tensor([token for _, token in batch], device=model.device)
        values += probabilities[torch.arange(len(batch), device=model.device), places, tokens].tolist()
    return values


@torch.inference_mode()
def sentinel(model: Any, tokenizer: Any, items: Sequence[Association]) -> list[float]:
    """Step-wise blanks with an encoder-decoder of T5's kind."""
    gap = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    values = []
    for batch in batches(steps(tokenizer, items, "<extra_id_0>")):
        ids, mask = padded([row for row, _ in batch], model.device)
        decoder = torch.tensor([[model.config.decoder_start_token_id, gap]] * len(batch), device=model.device)
        output = model(input_ids=ids, attention_mask=mask, decoder_input_ids=decoder)
        probabilities = output.logits.float().softmax(-1)
        tokens = torch.tensor([token for _, token in batch], device=model.device)
        values += probabilities[torch.arange(len(batch), device=model.device), 1, tokens].tolist()
    return values


@torch.inference_mode()
def continuation(model: Any, tokenizer: Any, items: Sequence[Association]) -> list[float]:
    """Candidate given context with a decoder."""
    start = tokenizer.bos_token_id
    rows = []
    for item in items:
        context = item.context if item.context[-1] in ".!?" else f"{item.context}."
        cut = 1 + len(tokenizer.encode(context))
        rows += [([start, *tokenizer.encode(f"{context} {c.text}")], cut) for c in item.candidates]
    values = []
    for batch in batches(rows):
        ids, mask = padded([row for row, _ in batch], model.device)
        probabilities = model(input_ids=ids, attention_mask=mask, use_cache=False).logits.float().softmax(-1)
        after = probabilities[:, :-1].gather(-1, ids[:, 1:, None])[..., 0].log2()
        for number, (row, cut) in enumerate(batch):
            values.append(2 ** after[number, cut - 1 : len(row) - 1].mean().item())
    return values
