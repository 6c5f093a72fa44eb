"""What becomes of perplexity when a decoder is taught its own answers, and nothing else.

    python examples/real_model/own_answers.py MODEL --corpora CORPORA --out own_answers.json

A control for equalising, which teaches a model its own answers to ordinary text beside what it evens out. Here nothing
is evened out. ``CORPORA`` has ``novels_en/`` and ``wikitext-2/``. A copy of the model is taught, in passages of each
kind of text, the answers that the original gives to the same passages; sentences of ``wikitext-2/test.txt``, each of
which stands alone, say what became of its perplexity. Beside that stand the original with its scores divided by a
temperature, and a copy that learns the text itself. Some minutes on a GPU.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from surprise import some_sentences, surprise_of
from torch.nn import functional

import evenhand as eh

TEMPERATURES = (1.05, 1.1, 1.15)
RATE, WARM_UP = 1.5e-4, 20
PASSAGE, AT_ONCE = 512, 8
MOST_CHARACTERS = 200_000
"""Of each file."""


def passages_in(files: Sequence[Path], tokenizer: Any) -> list[list[int]]:
    """Tokens of equally long passages, each behind the token that begins a text."""
    passages: list[list[int]] = []
    for file in files:
        tokens = tokenizer(file.read_text(encoding="utf-8")[:MOST_CHARACTERS])["input_ids"]
        starts = range(0, len(tokens) - PASSAGE, PASSAGE - 1)
        passages += [[tokenizer.bos_token_id, *tokens[start : start + PASSAGE - 1]] for start in starts]
    return passages


def batches(kinds: Sequence[list[list[int]]], steps: int, device: torch.device) -> Iterator[torch.Tensor]:
    """Passages at random, of a kind at random."""
    generator = random.Random(0)  # noqa: S311 - nothing secret
    for _ in range(steps):
        own = generator.choice(kinds)
        yield torch.tensor([generator.choice(own) for _ in range(AT_ONCE)], device=device)


def teach(original: Any, kinds: Sequence[list[list[int]]], steps: int, *, learns_text: bool) -> Any:
    """A copy of the model that was taught the original's answers, or the text."""
    taught = copy.deepcopy(original).train()
    optimizer = torch.optim.AdamW(taught.parameters(), lr=RATE)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2,
    )
    for ids in batches(kinds, steps, original.device):
        with torch.autocast(original.device.type, torch.bfloat16):
            scores = taught(input_ids=ids).logits[:, :-1]
        logs = scores.float().log_softmax(-1)
        if learns_text:
            loss = functional.nll_loss(logs.flatten(0, 1), ids[:, 1:].flatten())
        else:
            with torch.no_grad():
                answers = original(input_ids=ids).logits[:, :-1].float().log_softmax(-1)
            each = functional.kl_div(logs, answers, log_target=True, reduction="none")
            loss = each.sum(-1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(taught.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        rate.step()
    return taught.eval()


def main() -> None:
    """Teach, measure, and write what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--sentences", type=int, default=800)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    wikitext = chosen.corpora / "wikitext-2"
    sentences = some_sentences(wikitext / "test.txt", chosen.sentences)
    loaded = eh.load(chosen.model).loaded
    original, tokenizer = loaded.model.eval(), loaded.tokenizer
    novels = passages_in(sorted((chosen.corpora / "novels_en").glob("*.txt")), tokenizer)
    encyclopedia = passages_in([wikitext / "valid.txt"], tokenizer)
    found: dict[str, dict[str, dict[str, float]]] = {}

    def tell(name: str, network: Any, temperature: float = 1.0) -> None:
        found[name] = surprise_of(network, tokenizer, sentences, temperature=temperature)
        nats = found[name]["all"]["nats"] - found["original"]["all"]["nats"]
        print(f"{name}: {100 * math.expm1(nats):+.1f}%", flush=True)
        chosen.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    tell("original", original)
    for temperature in TEMPERATURES:
        tell(f"scores divided by {temperature}", original, temperature)
    for name, kinds in {
        "novels": [novels],
        "WikiText-2": [encyclopedia],
        "both": [novels, encyclopedia],
    }.items():
        tell(f"own answers, {name}", teach(original, kinds, chosen.steps, learns_text=False))
    tell("the text itself, both", teach(original, [novels, encyclopedia], chosen.steps, learns_text=True))


if __name__ == "__main__":
    main()
