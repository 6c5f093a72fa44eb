"""Texts behind a trigger in rows of tokens: the trigger once per row, then prompts and texts as branches of a tree.

The rows are the same for every trigger but for the places of its tokens, so they are laid out once, and triggers are
put in. What texts of a row share, the trigger and the prompts, is computed once. Nothing is padding but the ends of
rows, and the last token of a target is never run. On a model that cannot read trees, every text has a row of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.trees import JOINED_ROW, JoinedRows, build_tree, shared_prefix
from evenhand.models.references import ModelError
from evenhand.triggers.targets import TargetPair
from evenhand.triggers.vocabulary import TriggerVocabulary

Numbers: TypeAlias = npt.NDArray[np.int64]

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

    @property
    def fed(self) -> Tokens:
        """The tokens that the model has to see: nothing is read behind the last token of a target."""
        return self.ids if self.places else self.ids[:-1]


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
class _PackedRow:
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

    ids: Numbers
    depths: Numbers
    ends: Numbers
    states: Numbers
    reads: Numbers
    tokens: Numbers
    texts: Numbers
    divergent: Numbers
    references: Numbers


class _Lists:
    """Lists of numbers, one per row, that are put together for any rows at once."""

    def __init__(self, lists: Sequence[Numbers]) -> None:
        self._numbers = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
        self._counts = np.array([len(own) for own in lists], dtype=np.int64)
        self._begins = np.cumsum(self._counts) - self._counts

    def counts(self, rows: Numbers) -> Numbers:
        """How many numbers each of some rows has."""
        return self._counts[rows]

    def of(self, rows: Numbers) -> Numbers:
        """The numbers of some rows, one row after the other; a row may occur several times."""
        counts = self._counts[rows]
        before = np.repeat(np.cumsum(counts) - counts, counts)
        found: Numbers = self._numbers[
            np.repeat(self._begins[rows], counts) + np.arange(len(before)) - before
        ]
        return found


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Rows with triggers in them, and what is read off them.

    Attributes:
        inputs: What a decoder's ``forward`` takes.
        rows: The row of every place at which the model is read: first for tokens, then for distributions.
        columns: The columns of these places.
        states: How many of the places are for tokens.
        reads: For each token that is read, the number of its place, in rising order, in main memory.
        tokens: Those tokens.
        texts: The text of each.
        triggers: The trigger that each stands behind.
        references: For every distribution the untriggered one.
        compared_triggers: The trigger that each distribution stands behind.
    """

    inputs: dict[str, Tensor]
    rows: Tensor
    columns: Tensor
    states: int
    reads: Tensor
    tokens: Tensor
    texts: Tensor
    triggers: Tensor
    references: Tensor
    compared_triggers: Tensor


class PackedRows:
    """All texts behind a trigger.

    A *cell* is one row with one trigger in it. Cells are numbered row by row, so that a batch is a range of them and is
    put together by a handful of operations, however many triggers there are.
    """

    def __init__(
        self,
        texts: Sequence[ReadTokens],
        *,
        lead: Tokens,
        slots: int,
        device: torch.device,
        joins: bool,
        pad: int,
    ) -> None:
        """Lay texts out.

        Args:
            texts: What is read behind a trigger.
            lead: What stands before the trigger.
            slots: Tokens of the trigger.
            device: Where the rows go.
            joins: Whether the model reads trees.
            pad: What stands behind the end of a row.
        """
        self.joins = joins
        self.slots = slice(len(lead), len(lead) + slots)
        """Columns of the trigger, the same in every row."""
        self._start = (*lead, *(-1 - slot for slot in range(slots)))
        most = max(JOINED_ROW.get(device.type, JOINED_ROW["cpu"]), 2 * len(self._start))
        groups = (
            _evenly_grouped(texts, most=most - len(self._start))
            if joins
            else [[n] for n in range(len(texts))]
        )
        rows = [self._row([(number, texts[number]) for number in group]) for group in groups]
        lengths = [len(row.ids) for row in rows]
        self.count = len(rows)
        self.width = max(lengths)
        """Tokens of the longest row."""
        self._device = device
        self._lengths = torch.tensor(lengths, device=device)
        ids = np.full((len(rows), self.width), pad, dtype=np.int64)
        depths = np.zeros_like(ids)
        ends = np.tile(np.arange(self.width), (len(rows), 1))  # padding sees itself alone
        for number, row in enumerate(rows):
            for table, own in ((ids, row.ids), (depths, row.depths), (ends, row.ends)):
                table[number, : len(own)] = own
        self._ids, self._depths, self._ends = (
            torch.from_numpy(table).to(device) for table in (ids, depths, ends)
        )
        self._states, self._reads, self._tokens, self._texts, self._divergent, self._references = (
            _Lists([getattr(row, name) for row in rows])
            for name in ("states", "reads", "tokens", "texts", "divergent", "references")
        )

    def batch(self, cells: range, triggers: Tensor, *, dtype: torch.dtype) -> PackedBatch:
        """Some of the cells.

        Args:
            cells: Their numbers.
            triggers: All triggers, one row of tokens for each.
            dtype: The number format that the model computes in.
        """
        numbers = np.arange(cells.start, cells.stop)
        rows, owners = numbers // len(triggers), numbers % len(triggers)
        places = np.arange(len(rows))
        states, reads, divergent = (own.counts(rows) for own in (self._states, self._reads, self._divergent))
        columns = np.concatenate([self._states.of(rows), self._divergent.of(rows)])
        begins = np.repeat(np.cumsum(states) - states, reads)
        on_device = [
            np.concatenate([np.repeat(places, states), np.repeat(places, divergent)]),
            columns,
            self._tokens.of(rows),
            self._texts.of(rows),
            np.repeat(owners, reads),
            self._references.of(rows),
            np.repeat(owners, divergent),
        ]
        moved = [torch.from_numpy(own).to(self._device) for own in (rows, owners, *on_device)]
        return PackedBatch(
            self._inputs(moved[0], triggers[moved[1]], dtype=dtype),
            rows=moved[2],
            columns=moved[3],
            states=int(states.sum()),
            reads=torch.from_numpy(self._reads.of(rows) + begins),
            tokens=moved[4],
            texts=moved[5],
            triggers=moved[6],
            references=moved[7],
            compared_triggers=moved[8],
        )

    def _inputs(self, rows: Tensor, triggers: Tensor, *, dtype: torch.dtype) -> dict[str, Tensor]:
        ids = self._ids[rows]
        ids[:, self.slots] = triggers
        if not self.joins:
            columns = torch.arange(self.width, device=self._device)
            mask = columns < self._lengths[rows, None]
            return {"input_ids": ids, "attention_mask": mask.long()}
        return JoinedRows([], ids, self._depths[rows], self._ends[rows]).inputs(dtype)

    def _row(self, texts: Sequence[tuple[int, ReadTokens]]) -> _PackedRow:
        sequences = {number: (*self._start, *text.fed) for number, text in texts}
        ordered = sorted(set(sequences.values()))
        tree, paths = build_tree(ordered)
        path_of = dict(zip(ordered, paths, strict=True))
        reads: list[tuple[int, int, int]] = []
        divergent: list[tuple[int, int]] = []
        start = len(self._start)
        for number, text in texts:
            path = path_of[sequences[number]]
            reads += [
                (path[start + place - 1], text.ids[place], number)
                for place in range(text.first, len(text.ids))
            ]
            divergent += [(path[start + place], text.reference + n) for n, place in enumerate(text.places)]
        columns, tokens, numbers = _transposed(sorted(reads), 3)
        states, own = np.unique(columns, return_inverse=True)
        places, references = _transposed(divergent, 2)
        return _PackedRow(
            ids=np.maximum(tree.ids, 0),
            depths=np.array(tree.depths),
            ends=np.array(tree.ends),
            states=states,
            reads=own,
            tokens=tokens,
            texts=numbers,
            divergent=places,
            references=references,
        )


def _evenly_grouped(texts: Sequence[ReadTokens], *, most: int) -> list[list[int]]:
    """Texts in as few rows as they fit into, which are as short as they can be: all are padded to the longest."""
    fewest = len(_grouped(texts, most=most))
    tried = range(1, most + 1)
    shortest = bisect_left(tried, True, key=lambda length: len(_grouped(texts, most=length)) <= fewest)
    return _grouped(texts, most=tried[min(shortest, len(tried) - 1)])


def _grouped(texts: Sequence[ReadTokens], *, most: int) -> list[list[int]]:
    """Numbers of texts that stand in one row: texts that begin alike are neighbours, so that prompts are shared."""
    groups: list[list[int]] = []
    used = 0
    before: Tokens = ()
    for number in sorted(range(len(texts)), key=lambda number: texts[number].fed):
        ids = texts[number].fed
        shared = shared_prefix(before, ids)
        if not groups or used + len(ids) - shared > most:
            groups.append([])
            used, shared = 0, 0
        groups[-1].append(number)
        used += len(ids) - shared
        before = ids
    return groups


def _transposed(rows: Sequence[tuple[int, ...]], columns: int) -> list[Numbers]:
    table = np.array(rows, dtype=np.int64).reshape(-1, columns)
    return [table[:, column] for column in range(columns)]
