"""The loss of equalising as its definition reads: one row at a time, whole vocabularies, plain loops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from evenhand.mitigation.equalising.term_trees import GenderedGroup, TermTree
from evenhand.models.engine.requests import Tokens
from evenhand.models.families.decoder import DECODER
from evenhand.models.families.denoiser import shifted
from evenhand.models.families.sentinel import SENTINEL, decoder_start
from evenhand.models.language_model import LanguageModel

IGNORED = -100
Distribution = list[float]


class RecordingReplay:
    """An objective that remembers the batches that it made."""

    def __init__(self, inner: Any) -> None:
        self.name = inner.name
        self.examples: Sequence[Any] = inner.examples
        self.batches: list[dict[str, torch.Tensor]] = []
        self._inner = inner

    def collate(self, examples: Sequence[Any], generator: np.random.Generator) -> dict[str, torch.Tensor]:
        made = self._inner.collate(examples, generator)
        self.batches.append({name: values.clone() for name, values in made.items()})
        return dict(made)

    def loss(self, model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:  # noqa: ARG002
        raise AssertionError("ordinary sentences are not learnt, they are kept as they were")


def distributions(torch_model: Any, model: LanguageModel, ids: Tokens, decoder: Tokens = ()) -> torch.Tensor:
    """What a model expects at every place of one row."""
    inputs = {"input_ids": torch.tensor([ids])}
    if model.family is SENTINEL:
        inputs["decoder_input_ids"] = torch.tensor([decoder])
    with torch.no_grad():
        return torch.as_tensor(torch_model(**inputs)[0][0]).double().softmax(-1)


def kl(wanted: Distribution, found: Distribution) -> float:
    return sum(share * math.log(share / own) for share, own in zip(wanted, found, strict=True) if share > 0)


def of_word(word: Tokens, given: Mapping[Tokens, Distribution]) -> float:
    return math.prod(given[word[:step]][token] for step, token in enumerate(word))


def loss_at_gap(
    tree: TermTree, original: Mapping[Tokens, Distribution], found: Mapping[Tokens, Distribution]
) -> float:
    """Of one gap: the divergence at every node, and the shares within every group."""
    scale: dict[Tokens, float] = {}
    total = 0.0
    for group in tree.groups:
        male, female = sums(group, original)
        if abs(math.log2(male / female)) > 8:
            continue
        for side, own in ((group.male, male), (group.female, female)):
            scale |= dict.fromkeys(side, (male + female) / 2 / own)
        new_male, new_female = sums(group, found)
        both = new_male + new_female
        total += kl([0.5, 0.5], [new_male / both, new_female / both])
    if not scale:
        return total
    for node in tree.nodes:
        reached = of_word(node, original)
        joint = [reached * share for share in original[node]]
        for word in tree.words:
            if word[: len(node)] == node and word in scale:
                joint[word[len(node)]] += (scale[word] - 1) * of_word(word, original)
        whole = sum(joint)
        total += reached * kl([share / whole for share in joint], found[node])
    return total


def sums(group: GenderedGroup, given: Mapping[Tokens, Distribution]) -> tuple[float, float]:
    male, female = (sum(of_word(word, given) for word in side) for side in (group.male, group.female))
    return male, female


def slow_loss(
    batch: Mapping[str, torch.Tensor],
    replayed: Mapping[str, torch.Tensor],
    *,
    trees: Sequence[TermTree],
    model: LanguageModel,
    original: Any,
    trained: Any,
    weight: float,
) -> float:
    """The loss of a batch; ``replayed`` is what the pre-training objective made of ordinary sentences."""
    rows = [
        tuple(ids[: int(seen.sum())].tolist())
        for ids, seen in zip(batch["input_ids"], batch["attention_mask"], strict=True)
    ]
    first_ordinary = len(rows) - len(replayed["input_ids"])
    decoder: Tokens = ()
    if model.family is SENTINEL:
        decoder = (decoder_start(model.loaded), model.loaded.tokenizer.convert_tokens_to_ids("<extra_id_0>"))
    seen = [
        [distributions(known, model, row, decoder) for known in (original, trained)]
        for row in rows[:first_ordinary]
    ]

    def at(place: Sequence[int]) -> list[Distribution]:
        return [known[place[1]].tolist() for known in seen[place[0]]]

    nodes = iter(batch["nodes"].T.tolist())
    uneven = 0.0
    for number in batch["trees"].tolist():
        read = {node: at(next(nodes)) for node in trees[number].nodes}
        uneven += loss_at_gap(
            trees[number],
            {node: own[0] for node, own in read.items()},
            {node: own[1] for node, own in read.items()},
        )
    assert next(nodes, None) is None
    for male, female in zip(batch["after_male"].T.tolist(), batch["after_female"].T.tolist(), strict=True):
        (man, new_man), (woman, new_woman) = at(male), at(female)
        middle = [(one + other) / 2 for one, other in zip(man, woman, strict=True)]
        uneven += (kl(middle, new_man) + kl(middle, new_woman)) / 2
    changed = list(changes(replayed, model=model, original=original, trained=trained))
    return weight * uneven / len(batch["trees"]) + (sum(changed) / len(changed) if changed else 0.0)


def changes(
    replayed: Mapping[str, torch.Tensor], *, model: LanguageModel, original: Any, trained: Any
) -> Iterator[float]:
    """By how much the model differs from the original, at every place that pre-training asks for."""
    for ids, mask, labels in zip(
        replayed["input_ids"], replayed["attention_mask"], replayed["labels"], strict=True
    ):
        row = tuple(ids[: int(mask.sum())].tolist())
        wanted = labels.tolist()
        decoder: Tokens = ()
        if model.family is SENTINEL:
            decoder = shifted(model.loaded, tuple(label for label in wanted if label != IGNORED))
        before, after = (distributions(known, model, row, decoder) for known in (original, trained))
        offset = 1 if model.family is DECODER else 0
        for place, label in enumerate(wanted):
            if label != IGNORED and place >= offset:
                yield kl(before[place - offset].tolist(), after[place - offset].tolist())
