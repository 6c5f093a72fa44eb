"""A fair start for the words that mean a man or a woman.

Weights start at random, and so does what a model makes of a pair such as *he* and *she*. Lessons wear that difference
down, but slowly where it shows little: in a neutral world it left leans of a hundredth of a bit, alike in all
structures, that nobody had planted. So the two words of a pair start with the same vector, and only lessons tell them
apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from evenhand.lab.world import World


def start_alike(model: Any, tokenizer: Any, world: World) -> None:
    """Give the two words of every gendered pair one vector, in a model whose output has the vectors of its input."""
    vectors = model.get_input_embeddings().weight
    with torch.no_grad():
        for man, woman in gendered_tokens(tokenizer, world):
            vectors[woman] = vectors[man]


def start_at_random(_model: Any, _tokenizer: Any, _world: World) -> None:
    """Leave the weights as they were drawn.

    For masked models, which tell equal vectors apart too slowly: of thirty with planted bias, one learnt nothing of it.
    What the draw leaves is lost in what else is left of their training.
    """


def gendered_tokens(tokenizer: Any, world: World) -> Iterator[tuple[int, int]]:
    """The two tokens of every gendered pair, in each spelling in which both words are whole tokens."""
    lexicon = world.lexicon
    for pair in (lexicon.pronouns, lexicon.possessives, *lexicon.names):
        for spelling in ("{}", " {}"):
            for words in (pair, tuple(word.title() for word in pair)):
                ids = [
                    tokenizer(spelling.format(word), add_special_tokens=False)["input_ids"] for word in words
                ]
                if all(len(own) == 1 for own in ids):
                    yield ids[0][0], ids[1][0]
