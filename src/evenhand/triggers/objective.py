"""What a trigger is searched for, in one place: its loss, from how surprised a model is by texts behind it.

With S(r, g) the mean surprise, in nats per token, at all target texts of regard r that are told of group g:

- neutral and positive: the mean of S(r, g) over groups; likelier texts lower it
- negative: over texts, by how much the surprise has risen less than the margin; 0 where it has risen by the margin or
  more, so that no text can be made endlessly unlikely at the cost of others. Without a margin it is -S, as published
- gap: for each two groups, how much more the first one is expected to be spoken well of, S(negative) - S(positive),
  less the same of the second; 0 where both are treated alike. Its distance from 0, the mean over pairs of groups
- divergence: KL(without trigger || with trigger) of what comes next in ordinary sentences
- fluency: surprise at the tokens of the trigger

Every text counts by its tokens, in all of it: in the gradient as in the scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evenhand.triggers.recipes import ObjectiveWeights
from evenhand.triggers.targets import TargetPair, TargetRegard


@dataclass(frozen=True, slots=True)
class TriggerSurprises:
    """What a model makes of texts after triggers, one row per trigger, in nats and in 64 bits.

    Attributes:
        nats: Surprise at each target text, the sum over its tokens; the two texts of a pair are neighbours.
        divergence: For each ordinary sentence, the mean divergence over the places that are read.
        fluency: Mean surprise at the tokens of each trigger.
    """

    nats: Tensor
    divergence: Tensor
    fluency: Tensor


class TriggerObjective:
    """The loss of triggers on some target pairs."""

    def __init__(
        self, pairs: Sequence[TargetPair], *, tokens: Tensor, untriggered: Tensor, weights: ObjectiveWeights
    ) -> None:
        """Remember what triggers are compared with.

        Args:
            pairs: The target pairs.
            tokens: Scored tokens of each text; the two texts of a pair are neighbours.
            untriggered: Surprise at each text without a trigger, in nats.
            weights: How much each component counts.
        """
        self.weights = weights
        self._tokens = tokens.double()
        self._untriggered = untriggered.double()
        self._groups = list(dict.fromkeys(pair.prompts for pair in pairs))
        self._texts: dict[tuple[TargetRegard, tuple[str, str], int], list[int]] = {}
        for number, pair in enumerate(pairs):
            for side in (0, 1):
                key = (pair.regard, pair.prompts, side)
                self._texts.setdefault(key, []).append(2 * number + side)

    def loss(self, surprises: TriggerSurprises) -> Tensor:
        """What is to be lowered, one value per trigger."""
        return torch.stack(list(self._weighted(surprises).values())).sum(dim=0)

    def components(self, surprises: TriggerSurprises) -> Mapping[str, Tensor]:
        """The components of the loss before they are weighted, one value per trigger."""
        components = {
            "neutral": self._mean_over_groups(surprises.nats, TargetRegard.NEUTRAL),
            "positive": self._mean_over_groups(surprises.nats, TargetRegard.POSITIVE),
            "negative": self._negative(surprises.nats),
            "gap": self._gap(surprises.nats),
        }
        if surprises.divergence.shape[1]:
            components["divergence"] = surprises.divergence.mean(dim=1)
        return {**components, "fluency": surprises.fluency}

    def _weighted(self, surprises: TriggerSurprises) -> dict[str, Tensor]:
        weights = self.weights.model_dump()
        return {
            name: weights[name] * value for name, value in self.components(surprises).items() if weights[name]
        }

    def _mean(self, nats: Tensor, key: tuple[TargetRegard, tuple[str, str], int]) -> Tensor:
        texts = self._texts[key]
        return nats[:, texts].sum(dim=1) / self._tokens[texts].sum()

    def _mean_over_groups(self, nats: Tensor, regard: TargetRegard) -> Tensor:
        means = [self._mean(nats, key) for key in self._texts if key[0] is regard]
        return torch.stack(means).mean(dim=0)

    def _negative(self, nats: Tensor) -> Tensor:
        margin = self.weights.margin
        if margin is None:
            return -self._mean_over_groups(nats, TargetRegard.NEGATIVE)
        missing = (margin * self._tokens - (nats - self._untriggered)).clamp(min=0)
        return self._mean_over_groups(missing, TargetRegard.NEGATIVE)

    def _gap(self, nats: Tensor) -> Tensor:
        gaps = []
        for prompts in self._groups:
            sides = [
                [self._mean(nats, (regard, prompts, side)) for side in (0, 1)]
                for regard in (TargetRegard.NEGATIVE, TargetRegard.POSITIVE)
                if (regard, prompts, 0) in self._texts
            ]
            if len(sides) == 2:  # groups without texts of one regard cannot be compared
                (negative_first, negative_second), (positive_first, positive_second) = sides
                gaps.append(((negative_first - positive_first) - (negative_second - positive_second)).abs())
        if not gaps:
            return nats.new_zeros(len(nats))
        return torch.stack(gaps).mean(dim=0)
