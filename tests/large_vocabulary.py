"""A model of next to no size, but for its vocabulary."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
import zoo_tokenizers

VOCABULARY = 128_000


def llama_of_large_vocabulary(folder: Path) -> Path:
    """A tiny Llama whose vocabulary is as large as that of real ones."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        tie_word_embeddings=True,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    zoo_tokenizers.llama().save_pretrained(folder)
    return folder
