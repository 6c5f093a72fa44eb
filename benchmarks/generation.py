"""Speed of generated texts about groups: batches of texts against calls of ``generate`` one by one, in one run.

    python benchmarks/generation.py MODEL [--texts 8] [--single 24] [--tokens 30] [--needed 5] [--device cpu]

``MODEL`` is a decoder: a folder, a hub id or a ``lab:`` name. The prompts are the English ones that ship, with
``--texts`` texts each. The plain way is ``generate`` of Transformers with the same decoding, one text per call, for the
first ``--single`` texts. Neither way may end a text early, so that both write the same number of tokens. Seconds of
processors tell more than the clock where other work runs beside. Exits with code 1 if a text takes less than
``--needed`` times as long one by one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice

import torch

from evenhand.data.regard_prompts import PromptSet, load_prompts
from evenhand.instruments.regard.generation import PUBLISHED_DECODING, write_texts
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.requests import GenerationOptions


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a call takes, the device's work included, and how long processors are at it."""

    seconds: float
    busy: float

    @classmethod
    def of(cls, work: Callable[[], object]) -> Duration:
        """Measure a call."""
        started, busy = time.perf_counter(), time.process_time()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return cls(time.perf_counter() - started, time.process_time() - busy)


def without_ends(model: LanguageModel) -> None:
    """Let no token end a text."""
    model.writer.codec.ends = frozenset()


def write_one_by_one(
    model: LanguageModel, prompts: PromptSet, texts: int, options: GenerationOptions
) -> None:
    """One call of ``generate`` per text."""
    loaded = model.loaded
    for prompt in islice(cycle(prompts.prompts), texts):
        encoded = loaded.tokenizer(prompt.text, return_tensors="pt").to(loaded.device)
        with torch.inference_mode():
            loaded.model.generate(  # type: ignore[operator]
                **encoded,
                do_sample=True,
                temperature=options.temperature,
                top_p=options.top_p,
                top_k=0,
                min_new_tokens=options.max_new_tokens,
                max_new_tokens=options.max_new_tokens,
                pad_token_id=loaded.pad_id,
            )


def main() -> None:
    """Warm up, measure both ways and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--single", type=int, default=24)
    parser.add_argument("--tokens", type=int, default=PUBLISHED_DECODING.max_new_tokens)
    parser.add_argument("--needed", type=float, default=5.0)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    model = load_language_model(given.model, device=given.device)
    without_ends(model)
    prompts = load_prompts("en")
    options = GenerationOptions(
        max_new_tokens=given.tokens,
        samples=given.texts,
        temperature=PUBLISHED_DECODING.temperature,
        top_p=PUBLISHED_DECODING.top_p,
    )
    write_texts(model, prompts.sampled(1), options)
    write_one_by_one(model, prompts, 1, options)
    texts = len(prompts.prompts) * given.texts
    batched = Duration.of(lambda: write_texts(model, prompts, options))
    single = Duration.of(lambda: write_one_by_one(model, prompts, given.single, options))
    ratio = single.seconds / given.single / (batched.seconds / texts)
    busy_ratio = single.busy / given.single / (batched.busy / texts)
    print(f"{given.model} on {model.loaded.device}, {given.tokens} new tokens per text")
    print(f"in batches: {texts:,} texts, {texts / batched.seconds:,.2f} texts per second")
    print(f"one by one: {given.single:,} texts, {given.single / single.seconds:,.2f} texts per second")
    print(f"ratio: {ratio:.1f}x, and {busy_ratio:.1f}x in seconds of processors")
    if ratio < given.needed:
        sys.exit(f"Needed is a ratio of at least {given.needed:g}.")


if __name__ == "__main__":
    main()
