"""Texts behind a trigger in rows of tokens: the trigger once per row, then prompts and texts as branches of a tree.

The rows are the same for every trigger but for the places of its tokens, so they are laid out once, and triggers are
put in. What texts of a row share, the trigger and the prompts, is computed once. Nothing is padding but the ends of
rows. On a model that cannot read trees, every text has a row of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evenhand.mitigation.triggers.targets import TargetPair
from evenhand.mitigation.triggers.vocabulary import TriggerVocabulary
from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.trees import JOINED_ROW, JoinedRows, build_tree, shared_prefix
from evenhand.models.references import ModelError

PLACES_PER_SENTENCE = 4
"""Of an ordinary sentence, at which distributions are compared."""


@dataclass(frozen=True, slots=True)
class ReadTokens:
    """Tokens behind a trigger, and what is read of them.

    Attributes:
        ids: All tokens behind the trigger.
        first: The first whose surprise is read; those before it are the prompt. Past the end if none is.
        places: Where the distribution of the next token is compared with the one without a trigger.
        reference: The number of the untriggered distribution at the first of the places; others follow it.
    """

    ids: Tokens
    first: int
    places: tuple[int, ...] = ()
    reference: int = 0


def target_tokens(vocabulary: TriggerVocabulary, pairs: Sequence[TargetPair]) -> list[ReadTokens]:
    """The texts of all pairs, read from the first token behind the prompt."""
    sides = [(pair, side) for pair in pairs for side in (0, 1)]
    prompts = vocabulary.tokens_after_trigger([pair.prompts[side] for pair, side in sides])
    whole = vocabulary.tokens_after_trigger([pair.whole(side) for pair, side in sides])
    texts = [ReadTokens(ids, shared_prefix(prompt, ids)) for prompt, ids in zip(prompts, whole, strict=True)]
    for (pair, side), text in zip(sides, texts, strict=True):
        if not 0 < text.first < len(text.ids):
            raise ModelError(
                f"The prompt and the text of {pair.whole(side)[:60]!r} cannot be told apart in tokens."
            )
    return texts


def sentence_tokens(
    vocabulary: TriggerVocabulary, sentences: Sequence[str], *, most: int
) -> tuple[list[ReadTokens], list[tuple[Tokens, tuple[int, ...]]]]:
    """Sentences behind a trigger, and without one, with places that both have.

    Their first token may differ, as a space is before it or not; places are those from the end back as far as both
    have the same tokens.
    """
    behind: list[ReadTokens] = []
    alone: list[tuple[Tokens, tuple[int, ...]]] = []
    places = 0
    if not sentences:
        return behind, alone
    both = zip(vocabulary.tokens_after_trigger(sentences), vocabulary.tokens_alone(sentences), strict=True)
    for ids, own in both:
        same = shared_prefix(ids[::-1], own[::-1])
        count = min(same, PLACES_PER_SENTENCE, most - places)
        if not count:
            continue
        from_end = [1 + (same - 1) * number // max(1, count - 1) for number in range(count)]
        chosen = sorted({len(ids) - back for back in from_end})
        behind.append(ReadTokens(ids, len(ids), tuple(chosen), places))
        alone.append((own, tuple(place + len(own) - len(ids) for place in chosen)))
        places += len(chosen)
    return behind, alone


def read_alone(ids: Tokens, text: ReadTokens, lead: Tokens) -> ReadTokens:
    """The text at the start of a sequence, with the same tokens read as behind a trigger."""
    return ReadTokens(ids[len(lead) :], len(ids) - len(lead) - (len(text.ids) - text.first))


@dataclass(frozen=True, slots=True)
class PackedRow:
    """A row of tokens for all triggers, and what is read at which of its columns.

    Attributes:
        ids: Any token where the trigger stands.
        depths: Positions of the tokens in their sequences.
        ends: As in ``CausalInput``.
        states: Columns at which the model is read.
        reads: For each token that is read, which of the states it is read at, in rising order.
        tokens: Those tokens.
        texts: The number of the text that each belongs to.
        divergent: Columns at which distributions are compared.
        references: The untriggered distribution for each of them.
    """

    ids: Tensor
    depths: Tensor
    ends: Tensor
    states: Tensor
    reads: Tensor
    tokens: Tensor
    texts: Tensor
    divergent: Tensor
    references: Tensor

    @property
    def length(self) -> int:
        """Tokens of the row."""
        return len(self.ids)


class PackedRows:
    """All texts behind a trigger."""

    def __init__(
        self, texts: Sequence[ReadTokens], *, lead: Tokens, slots: int, device: torch.device, joins: bool
    ) -> None:
        """Lay texts out.

        Args:
            texts: What is read behind a trigger.
            lead: What stands before the trigger.
            slots: Tokens of the trigger.
            device: Where the rows go.
            joins: Whether the model reads trees.
        """
        self.joins = joins
        self.slots = slice(len(lead), len(lead) + slots)
        """Columns of the trigger, the same in every row."""
        self._start = (*lead, *(-1 - slot for slot in range(slots)))
        most = max(JOINED_ROW.get(device.type, JOINED_ROW["cpu"]), 2 * len(self._start))
        groups = _grouped(texts, most=most - len(self._start)) if joins else [[n] for n in range(len(texts))]
        self.rows = [self._row([(number, texts[number]) for number in group], device) for group in groups]

    @property
    def width(self) -> int:
        """Tokens of the longest row."""
        return max(row.length for row in self.rows)

    def inputs(
        self, rows: Sequence[PackedRow], triggers: Tensor, *, pad: int, dtype: torch.dtype
    ) -> dict[str, Tensor]:
        """What a decoder's ``forward`` takes for rows, each with a trigger of its own.

        Args:
            rows: Some of the rows; any of them several times.
            triggers: One row of tokens for each of the rows.
            pad: What stands behind the end of a row.
            dtype: The number format that the model computes in.
        """
        width = max(row.length for row in rows)
        ids = torch.full((len(rows), width), pad, device=triggers.device)
        for number, row in enumerate(rows):
            ids[number, : row.length] = row.ids
        ids[:, self.slots] = triggers
        if not self.joins:
            lengths = torch.tensor([row.length for row in rows], device=triggers.device)
            return {"input_ids": ids, "attention_mask": (_columns(width, ids) < lengths[:, None]).long()}
        positions = torch.zeros_like(ids)
        ends = _columns(width, ids).repeat(len(rows), 1)  # padding sees itself alone
        for number, row in enumerate(rows):
            positions[number, : row.length] = row.depths
            ends[number, : row.length] = row.ends
        return JoinedRows([], ids, positions, ends).inputs(dtype)

    def _row(self, texts: Sequence[tuple[int, ReadTokens]], device: torch.device) -> PackedRow:
        sequences = sorted({(*self._start, *text.ids) for _, text in texts})
        tree, paths = build_tree(sequences)
        path_of = dict(zip(sequences, paths, strict=True))
        reads: list[tuple[int, int, int]] = []
        divergent: list[tuple[int, int]] = []
        start = len(self._start)
        for number, text in texts:
            path = path_of[(*self._start, *text.ids)]
            reads += [
                (path[start + place - 1], text.ids[place], number)
                for place in range(text.first, len(text.ids))
            ]
            divergent += [(path[start + place], text.reference + n) for n, place in enumerate(text.places)]
        columns, tokens, numbers = _transposed(sorted(reads), 3)
        states, own = np.unique(columns, return_inverse=True)
        places, references = _transposed(divergent, 2)
        ids = np.maximum(tree.ids, 0)
        arrays = (ids, tree.depths, tree.ends, states, own, tokens, numbers, places, references)
        return PackedRow(
            *(torch.as_tensor(np.asarray(array), dtype=torch.long).to(device) for array in arrays)
        )


def _grouped(texts: Sequence[ReadTokens], *, most: int) -> list[list[int]]:
    """Numbers of texts that stand in one row: texts that begin alike are neighbours, so that prompts are shared."""
    groups: list[list[int]] = []
    used = 0
    before: Tokens = ()
    for number in sorted(range(len(texts)), key=lambda number: texts[number].ids):
        ids = texts[number].ids
        shared = shared_prefix(before, ids)
        if not groups or used + len(ids) - shared > most:
            groups.append([])
            used, shared = 0, 0
        groups[-1].append(number)
        used += len(ids) - shared
        before = ids
    return groups


def _columns(width: int, like: Tensor) -> Tensor:
    return torch.arange(width, device=like.device)


def _transposed(
    rows: Sequence[tuple[int, ...]], columns: int
) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    table = np.array(rows, dtype=np.int64).reshape(-1, columns)
    return [table[:, column] for column in range(columns)]
