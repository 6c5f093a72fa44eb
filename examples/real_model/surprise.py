"""How much text surprises a model, token by token: at the start of a sentence, soon after, and later.

    python examples/real_model/surprise.py MODEL... --text wikitext-2/test.txt --out surprise.json

For every model and every part of a sentence: the mean surprise in nats (whose exponential is the perplexity), and the
surprise that the model itself expects there (the entropy of its answer). A model that is surprised more than it expects
is too sure of itself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import evenhand as eh
from evenhand.data.corpora import sentences as sentences_in

PARTS = {"first token": slice(0, 1), "tokens 2 to 10": slice(1, 10), "later tokens": slice(10, None)}
AT_ONCE = 16
LEAST_CHARACTERS = 40


def some_sentences(text: Path, most: int) -> list[str]:
    """Sentences from all over a text, as perplexity is measured on them."""
    found = [sentence for sentence in sentences_in(text) if len(sentence) >= LEAST_CHARACTERS]
    return found[:: max(1, len(found) // most)][:most]


def surprise(reference: str, sentences: Sequence[str]) -> dict[str, dict[str, float]]:
    """Nats and expected nats of each part of sentences, each of which stands alone."""
    loaded = eh.load(reference).loaded
    return surprise_of(loaded.model.eval(), loaded.tokenizer, sentences)


@torch.no_grad()
def surprise_of(
    network: Any, tokenizer: Any, sentences: Sequence[str], *, temperature: float = 1.0
) -> dict[str, dict[str, float]]:
    """The same of a network in memory, whose scores are divided by a temperature."""
    device = network.device
    start = tokenizer.bos_token_id
    totals = {part: [0.0, 0.0, 0.0] for part in PARTS}
    ordered = sorted(sentences, key=len)
    for begin in range(0, len(ordered), AT_ONCE):
        rows = [[start, *tokenizer(text)["input_ids"]] for text in ordered[begin : begin + AT_ONCE]]
        width = max(map(len, rows))
        ids = torch.tensor([row + [start] * (width - len(row)) for row in rows], device=device)
        shown = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=device)
        scores = network(input_ids=ids, attention_mask=shown).logits[:, :-1].float()
        logs = (scores / temperature).log_softmax(-1)
        nats = -logs.gather(2, ids[:, 1:, None])[:, :, 0]
        expected = -(logs.exp() * logs).sum(-1)
        for part, places in PARTS.items():
            asked = shown[:, 1:][:, places].bool()
            for number, values in enumerate((nats, expected)):
                totals[part][number] += float(values[:, places][asked].sum())
            totals[part][2] += float(asked.sum())
    parts = {
        part: {"nats": own[0] / own[2], "expected": own[1] / own[2], "tokens": own[2]}
        for part, own in totals.items()
    }
    whole = [sum(own[number] for own in totals.values()) for number in range(3)]
    return parts | {"all": {"nats": whole[0] / whole[2], "expected": whole[1] / whole[2], "tokens": whole[2]}}


def main() -> None:
    """Measure models, and write what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=2_000)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    sentences = some_sentences(chosen.text, chosen.sentences)
    found = {Path(model).name: surprise(model, sentences) for model in chosen.models}
    chosen.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for model, parts in found.items():
        for part, own in parts.items():
            print(f"{model}, {part}: {own['nats']:.3f} nats, {own['expected']:.3f} expected")


if __name__ == "__main__":
    main()
