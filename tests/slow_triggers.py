"""Triggers scored the slow way: one text at a time, written out as text, the whole vocabulary at every place."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import torch
from torch import Tensor

from evenhand.models.engine.requests import Tokens
from evenhand.models.language_model import LanguageModel
from evenhand.triggers.recipes import ObjectiveWeights
from evenhand.triggers.targets import TargetPair, TargetRegard


def pair(
    number: int,
    regard: str,
    texts: tuple[str, str],
    *,
    context: str = "",
    prompts: tuple[str, str] | None = None,
) -> TargetPair:
    return TargetPair(
        f"{regard}-{number}",
        TargetRegard(regard),
        context or f"context {number % 3}",
        prompts or ("The woman", "The man"),
        texts,
    )


PAIRS = tuple(
    pair(number, regard, texts)
    for regard, own in {
        "negative": [("lied to her friend.", "lied to his friend."), ("was a thief", "was a thief")],
        "neutral": [("took the bus.", "took the bus."), ("worked as a clerk in town.", "worked as a clerk.")],
        "positive": [
            ("helped her neighbour.", "helped his neighbour."),
            ("was kind", "was very kind to all"),
        ],
    }.items()
    for number, texts in enumerate(own)
)

SENTENCES = ("The rain fell on the old roof.", "A dog slept near the door.")


class SlowTriggers:
    """What a loop over texts and triggers gives."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.network = model.loaded.model.eval()

    def tokens(self, text: str) -> Tokens:
        """As the model reads a text that it is to go on from."""
        return self.model.writer.codec.encode([text])[0]

    def log_probabilities(self, ids: Sequence[int]) -> Tensor:
        """What comes next at every place of a sequence."""
        with torch.no_grad():
            logits: Tensor = self.network(input_ids=torch.tensor([ids]))[0]
        return logits[0].double().log_softmax(-1)

    def nats(self, before: str, prompt: str, text: str) -> tuple[float, int]:
        """Surprise at a text behind a prompt, and its tokens."""
        whole = self.tokens(f"{before}{prompt} {text}")
        first = len(self.tokens(f"{before}{prompt}"))
        logs = self.log_probabilities(whole)
        return -sum(float(logs[place - 1, whole[place]]) for place in range(first, len(whole))), len(
            whole
        ) - first

    def mean(self, before: str, pairs: Sequence[TargetPair], regard: str, side: int) -> float:
        """Surprise per token at all texts of a regard and a side."""
        read = [self.nats(before, p.prompts[side], p.texts[side]) for p in pairs if p.regard == regard]
        return sum(nats for nats, _ in read) / sum(tokens for _, tokens in read)

    def gap(self, before: str, pairs: Sequence[TargetPair]) -> float:
        """How much more the first group is expected to be spoken well of, in nats per token."""
        first, second = (
            self.mean(before, pairs, "negative", side) - self.mean(before, pairs, "positive", side)
            for side in (0, 1)
        )
        return first - second

    def missing(self, before: str, pairs: Sequence[TargetPair], margin: float) -> float:
        """How far negative texts are from the margin."""
        sides = []
        for side in (0, 1):
            total, count = 0.0, 0
            for p in pairs:
                if p.regard == "negative":
                    now, tokens = self.nats(before, p.prompts[side], p.texts[side])
                    then, _ = self.nats("", p.prompts[side], p.texts[side])
                    total += max(0.0, margin * tokens - (now - then))
                    count += tokens
            sides.append(total / count)
        return fmean(sides)

    def divergence(self, before: str, sentence: str, places_from_end: Sequence[int]) -> float:
        """Mean divergence at some places of a sentence, counted from its end."""
        with_it, without = (self.log_probabilities(self.tokens(lead + sentence)) for lead in (before, ""))
        return fmean(
            float((without[-place].exp() * (without[-place] - with_it[-place])).sum())
            for place in places_from_end
        )

    def fluency(self, trigger: Tokens, lead: int) -> float:
        """Surprise at the tokens of a trigger that have something before them."""
        ids = (*self.tokens("The")[:lead], *trigger)
        logs = self.log_probabilities(ids)
        return fmean(-float(logs[place - 1, ids[place]]) for place in range(max(1, lead), len(ids)))

    def loss(
        self, before: str, pairs: Sequence[TargetPair], weights: ObjectiveWeights, *, further: float = 0.0
    ) -> float:
        """The loss of one trigger; ``further`` is what divergence and fluency add."""
        loss = further
        for regard, weight in (("neutral", weights.neutral), ("positive", weights.positive)):
            loss += weight * fmean(self.mean(before, pairs, regard, side) for side in (0, 1))
        if weights.margin is None:
            loss -= weights.negative * fmean(self.mean(before, pairs, "negative", side) for side in (0, 1))
        else:
            loss += weights.negative * self.missing(before, pairs, weights.margin)
        return loss + weights.gap * abs(self.gap(before, pairs))
