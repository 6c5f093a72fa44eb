"""Random-weight models of real size with GPT-2's vocabulary, saved like any other model.

No weights can be downloaded for a benchmark that must run anywhere, and speed does not depend on their values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

SENTINELS = 100


def byte_level(folder: Path) -> Tokenizer:
    """GPT-2's own byte-level vocabulary, from its two files."""
    tokenizer = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def gpt2_tokenizer(folder: Path) -> Any:
    """The vocabulary as GPT-2 uses it."""
    return PreTrainedTokenizerFast(
        tokenizer_object=byte_level(folder),
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        model_max_length=1024,
    )


def masking_tokenizer(folder: Path) -> Any:
    """The same vocabulary with the special tokens of a masked model."""
    tokenizer = byte_level(folder)
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True, special=True)])
    special = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=512,
    )


def sentinel_tokenizer(folder: Path) -> Any:
    """The same vocabulary with T5's end token and sentinels."""
    tokenizer = byte_level(folder)
    sentinels = [f"<extra_id_{number}>" for number in range(SENTINELS)]
    tokenizer.add_special_tokens(["<pad>", "</s>", *sentinels])
    end = [("</s>", tokenizer.token_to_id("</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=end)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", additional_special_tokens=sentinels
    )


def save(model: Any, tokenizer: Any, folder: Path) -> Path:
    """Save a model as it would be loaded from a hub."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def bert_base(tokenizer: Any) -> BertForMaskedLM:
    """BERT-base with random weights."""
    return BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id))


def gpt2_small(tokenizer: Any, *, vocabulary: int | None = None) -> GPT2LMHeadModel:
    """GPT-2 (124 M) with random weights, or with a larger vocabulary."""
    end = tokenizer.eos_token_id
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=vocabulary or len(tokenizer), bos_token_id=end, eos_token_id=end)
    )


def t5_base(tokenizer: Any) -> T5ForConditionalGeneration:
    """T5-base with random weights."""
    start = tokenizer.pad_token_id
    config = T5Config(
        vocab_size=len(tokenizer), d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12,
        decoder_start_token_id=start, pad_token_id=start,
    )  # fmt: skip
    return T5ForConditionalGeneration(config)


def llama_7b(tokenizer: Any, device: str) -> LlamaForCausalLM:
    """A decoder of Llama's shape with 6.7 billion random weights, made on the device in bfloat16.

    Its vocabulary is rounded up to a multiple of 64, as models of this size have it.
    """
    end = tokenizer.eos_token_id
    config = LlamaConfig(
        vocab_size=-(-len(tokenizer) // 64) * 64, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
        intermediate_size=11008, max_position_embeddings=2048, bos_token_id=end, eos_token_id=end,
    )  # fmt: skip
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            return LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(before)
