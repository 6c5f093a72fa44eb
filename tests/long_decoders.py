"""A small decoder that reads passages, and their perplexity the slow way."""

from __future__ import annotations

import math
from pathlib import Path

import torch
import zoo
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


def build_long_decoder(place: Path) -> Path:
    """A decoder that reads more than the 1,024 tokens of a passage."""
    folder = zoo.build("gpt2", place)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    config = AutoConfig.from_pretrained(folder)
    options = {**zoo.SPECIES["gpt2"].options, "n_positions": 1100, "bos_token_id": config.bos_token_id}
    options["eos_token_id"] = config.eos_token_id
    zoo.new_model("GPT2LMHeadModel", len(tokenizer), **options).save_pretrained(folder)
    return folder


def slow_perplexity(folder: Path, texts: tuple[str, ...], *, longest: int = 1024) -> float:
    """One passage at a time, every token given all before it; what is longer is cut."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    start = tokenizer.convert_tokens_to_ids(zoo.SPECIES["gpt2"].start)
    nats, tokens = 0.0, 0
    for text in texts:
        ids = [start, *tokenizer(text, add_special_tokens=False)["input_ids"]][:longest]
        with torch.no_grad():
            logs = model(torch.tensor([ids])).logits[0].double().log_softmax(dim=-1)
        nats -= math.fsum(float(logs[place, token]) for place, token in enumerate(ids[1:]))
        tokens += len(ids) - 1
    return math.exp(nats / tokens)
