"""Batches of a sequence-to-sequence translator beside one text at a time.

    python benchmarks/translation.py --texts 2000 --single 50

The model is a Marian of the size of the published ones, with random weights: they take the time that trained ones
take, and never end a text early, so the figures are those of the longest answers.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from evenhand.models.loading import choose_device
from evenhand.translation.translators import LanguagePair
from evenhand.translation.translators.seq2seq import Seq2SeqTranslator

WORDS = 30_000
SPECIAL = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def random_translator(*, width: int, layers: int) -> Seq2SeqTranslator:
    """A translator with random weights and a vocabulary of numbers."""
    torch.manual_seed(0)
    vocabulary = {word: place for place, word in enumerate([*SPECIAL.values(), *map(str, range(WORDS))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIAL["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = MarianConfig(
        vocab_size=len(vocabulary),
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=512,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
    )
    device = choose_device("auto")
    return Seq2SeqTranslator(
        MarianMTModel(config).eval().to(device),
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL),
        device=device,
        weights="random",
        languages=LanguagePair("en", "de"),
    )


def seconds(translator: Seq2SeqTranslator, batches: Sequence[Sequence[str]]) -> float:
    """How long it takes to translate batches, one after the other."""
    start = time.monotonic()
    for batch in batches:
        translator.translate(batch)
    return time.monotonic() - start


def main() -> None:
    """Print texts per second either way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=2000, help="texts in batches")
    parser.add_argument("--single", type=int, default=50, help="texts one by one")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    options = parser.parse_args()
    translator = random_translator(width=options.width, layers=options.layers)
    numbers = random.Random(0)  # noqa: S311 # no secret
    texts = [
        " ".join(str(numbers.randrange(WORDS)) for _ in range(numbers.randint(1, 15)))
        for _ in range(options.texts)
    ]
    seconds(translator, [texts[:2]])
    single = options.single / seconds(translator, [[text] for text in texts[: options.single]])
    size = translator.batch_size
    batched = len(texts) / seconds(
        translator, [texts[start : start + size] for start in range(0, len(texts), size)]
    )
    print(
        f"one by one {single:,.1f} texts/s, in batches {batched:,.1f} texts/s, {batched / single:,.1f} times as many"
    )


if __name__ == "__main__":
    main()
