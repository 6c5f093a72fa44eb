"""Held-out rows: which tokens of a sentence are hidden from a model and asked for.

Pre-training on spans takes the spans and sentinels from here, and fine-tuning how much of a sentence is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.models.objectives.objective import TokenRow
from evenhand.models.references import ModelError
from evenhand.models.tokenised_text import start_token, tokenise

HIDDEN = 0.15
"""Share of a sentence's tokens that is hidden."""

SPAN = 3
"""Mean length of a span behind a sentinel, as T5 was trained."""

LONGEST = 256
"""Tokens of a sentence that are looked at."""

_RESERVED = 2
"""Positions that some models keep for padding."""


@dataclass(frozen=True, slots=True)
class HeldOutRows:
    """The rows of all sentences."""

    rows: tuple[TokenRow, ...]
    whole: npt.NDArray[np.bool_]
    """Which sentences are scored from their first character to their last."""


NOTHING = TokenRow(())


def masked_rows(sentences: Sequence[str], tokenizer: Any, config: Any, *, seed: int) -> HeldOutRows:
    """A mask in place of some tokens."""
    mask = tokenizer.mask_token_id
    if mask is None:
        raise ModelError("The model's tokenizer has no mask token, so nothing can be hidden from the model.")

    def row(ids: list[int], own: list[int], generator: np.random.Generator) -> TokenRow:
        places = sorted(generator.choice(own, size=_hidden(len(own)), replace=False).tolist())
        shown = list(ids)
        for place in places:
            shown[place] = mask
        return TokenRow(tuple(shown), places=tuple(places), targets=tuple(ids[place] for place in places))

    return _with_special_tokens(sentences, tokenizer, config, seed=seed, row=row)


def decoder_rows(
    sentences: Sequence[str], tokenizer: Any, config: Any, *, longest: int = LONGEST, prefix: str = ""
) -> HeldOutRows:
    """Every token that has something before it, of so many at most; a prefix before every sentence is not scored."""
    start = start_token(tokenizer, config)
    before = () if start is None else (start,)
    limit = longest_sentence(tokenizer, config, longest=longest) - 1
    texts = [prefix + sentence for sentence in sentences]
    encoded = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    rows, whole = [], []
    for text, ids in zip(texts, encoded, strict=True):
        skipped = _tokens_of_prefix(tokenizer, text, prefix)
        seen = (*before, *ids[: skipped + limit])
        scored = range(max(1, len(before) + skipped), len(seen))
        targets = tuple(seen[place] for place in scored)
        rows.append(
            TokenRow(seen, places=tuple(place - 1 for place in scored), targets=targets)
            if scored
            else NOTHING
        )
        follows = start is not None or skipped > 0
        whole.append(follows and 0 < len(ids) - skipped <= limit)
    return HeldOutRows(tuple(rows), np.array(whole, dtype=bool))


def _tokens_of_prefix(tokenizer: Any, text: str, prefix: str) -> int:
    """How many tokens of a text that begins with a prefix belong to the prefix alone."""
    if not prefix:
        return 0
    tokenised = tokenise(tokenizer, text, special=False)
    first = tokenised.first_from(len(prefix))
    return len(tokenised.ids) if first is None else first


def sentinel_rows(sentences: Sequence[str], tokenizer: Any, config: Any, *, seed: int) -> HeldOutRows:
    """Sentinels in place of spans, which the decoder writes."""
    sentinels = sentinels_of(tokenizer)
    start = getattr(config, "decoder_start_token_id", None)
    first = tokenizer.pad_token_id if start is None else start

    def row(ids: list[int], own: list[int], generator: np.random.Generator) -> TokenRow:
        spans = random_spans(len(own), len(sentinels), generator)
        source = list(ids[: own[0]])
        written, places, targets = [first], [], []
        after = 0
        for sentinel, (begin, end) in zip(sentinels, spans, strict=False):
            source += [*(ids[place] for place in own[after:begin]), sentinel]
            written.append(sentinel)
            for place in own[begin:end]:
                places.append(len(written) - 1)
                targets.append(ids[place])
                written.append(ids[place])
            after = end
        source += [*(ids[place] for place in own[after:]), *ids[own[-1] + 1 :]]
        return TokenRow(tuple(written[:-1]), tuple(source), places=tuple(places), targets=tuple(targets))

    return _with_special_tokens(sentences, tokenizer, config, seed=seed, row=row)


def random_spans(length: int, most: int, generator: np.random.Generator) -> list[tuple[int, int]]:
    """Start and end of the spans to hide in a sentence of so many tokens, never two side by side."""
    hidden = _hidden(length)
    kept = length - hidden
    count = max(1, min(round(hidden / SPAN), most, hidden, kept + 1))
    sizes = _parts(hidden, count, generator)
    gaps = _parts(kept + 2, count + 1, generator)
    edges = np.cumsum(np.ravel(np.column_stack([gaps[:-1], sizes]))) - 1
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def longest_sentence(tokenizer: Any, config: Any, *, longest: int = LONGEST) -> int:
    """The most tokens of a sentence, special ones included, that are shown to a model; never more than ``longest``."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    relative = hasattr(config, "relative_attention_num_buckets")
    limits = [longest, int(min(tokenizer.model_max_length, longest))]
    if isinstance(positions, int) and positions > _RESERVED and not relative:
        limits.append(positions - _RESERVED)
    return min(limits)


_MakeRow = Callable[[list[int], list[int], np.random.Generator], TokenRow]
"""From tokens, the places of those that are no special ones, and chance."""


def _with_special_tokens(
    sentences: Sequence[str], tokenizer: Any, config: Any, *, seed: int, row: _MakeRow
) -> HeldOutRows:
    """HeldOutRows whose chance depends on the seed and the place of the sentence alone."""
    rows = []
    for number, sentence in enumerate(sentences):
        encoded = tokenizer(
            sentence,
            return_special_tokens_mask=True,
            truncation=True,
            max_length=longest_sentence(tokenizer, config),
        )
        own = [place for place, special in enumerate(encoded["special_tokens_mask"]) if not special]
        generator = np.random.default_rng([seed, number])
        rows.append(row(encoded["input_ids"], own, generator) if own else NOTHING)
    return HeldOutRows(tuple(rows), np.zeros(len(rows), dtype=bool))


def _hidden(length: int) -> int:
    return max(1, round(HIDDEN * length))


def _parts(total: int, count: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """A number as a sum of so many positive ones, all sums equally likely."""
    cuts = np.sort(generator.choice(total - 1, size=count - 1, replace=False)) + 1
    return np.array([end - begin for begin, end in pairwise((0, *cuts.tolist(), total))])


def sentinels_of(tokenizer: Any) -> list[int]:
    """The ids of T5's numbered gaps, from the first on."""
    known = []
    for number in range(100):
        token = tokenizer.convert_tokens_to_ids(f"<extra_id_{number}>")
        if token is None or token == tokenizer.unk_token_id or token < 0:
            break
        known.append(int(token))
    if not known:
        raise ModelError(
            "The model's tokenizer has no sentinel (<extra_id_0>), so nothing can be hidden from the model."
        )
    return known
