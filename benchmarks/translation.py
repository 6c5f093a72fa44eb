"""Batches of a sequence-to-sequence translator beside one text at a time.

    python benchmarks/translation.py --texts 2000 --single 50

The model is a Marian of the size of the published ones with random weights (``marian_folder.py``), which take the time
that trained ones take and never end a text early: the figures are those of the longest answers. ``--precision`` loads
the weights in another format.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from marian_folder import make_marian

from evenhand.data import load_dataset
from evenhand.translation.translators import LanguagePair
from evenhand.translation.translators.seq2seq import SEQ2SEQ, Seq2SeqTranslator

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def random_texts(count: int) -> list[str]:
    """Texts of one to fifteen words of the starter set, drawn with a seed."""
    words = sorted({word for item in load_dataset("starter", language="en") for word in item.context.split()})
    numbers = random.Random(0)  # noqa: S311 # no secret
    return [" ".join(numbers.choices(words, k=numbers.randint(1, 15))) for _ in range(count)]


def seconds(translator: Seq2SeqTranslator, batches: Sequence[Sequence[str]]) -> float:
    """How long it takes to translate batches, one after the other."""
    start = time.monotonic()
    for batch in batches:
        translator.translate(batch)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.monotonic() - start


def commit() -> str:
    """The commit that is measured."""
    shown = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return shown.stdout.strip() or "unknown"


def main() -> None:
    """Print texts per second either way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=2000, help="texts in batches")
    parser.add_argument("--single", type=int, default=50, help="texts one by one")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--words", type=int, default=58_000)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_marian(
            Path(folder),
            width=options.width,
            layers=options.layers,
            words=options.words,
            beams=options.beams,
        )
        translator = SEQ2SEQ.open(folder, LanguagePair("en", "de"))
    translator.convert(PRECISIONS[options.precision])
    texts = random_texts(options.texts)
    seconds(translator, [texts[:2]])
    alone = seconds(translator, [[text] for text in texts[: options.single]])
    size = translator.batch_size
    together = seconds(translator, [texts[start : start + size] for start in range(0, len(texts), size)])
    single, batched = options.single / alone, len(texts) / together
    device = (
        torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU, {torch.get_num_threads()} threads"
    )
    print(
        f"{device}, {options.precision}, {options.layers} + {options.layers} layers of {options.width}, beams "
        f"{options.beams}, commit {commit()}"
    )
    print(
        f"one by one {single:,.1f} texts/s ({options.single:,} in {alone:.1f} s), in batches {batched:,.1f} texts/s "
        f"({len(texts):,} in {together:.1f} s), {batched / single:,.1f} times as many"
    )


if __name__ == "__main__":
    main()
