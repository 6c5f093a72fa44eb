"""A tiny Llama of the zoo as a GGUF file, written on the spot, and the same weights as a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
import torch
import transformers

Weights = npt.NDArray[np.float32]

_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_OUTER_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write_gguf(
    source: Path,
    path: Path,
    *,
    kind: str = "F32",
    values: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Weights] | None = None,
) -> Path:
    """Write the Llama of a folder as a GGUF file.

    Args:
        source: A folder with a Llama of the zoo.
        path: The file.
        kind: How matrices are stored: F32, F16, Q8_0, Q4_1 ... where their rows are long enough.
        values: Further metadata, or other values for what is written anyway.
        tensors: Further tensors.
    """
    model: Any = transformers.LlamaForCausalLM.from_pretrained(source)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source)
    config = model.config
    changes = dict(values or {})
    writer = gguf.GGUFWriter(path, changes.pop("general.architecture", "llama"))
    if "general.file_type" not in changes:
        writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind}" if kind != "F32" else "ALL_F32"])
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, tokenizer)
    for name, value in changes.items():
        writer.add_key_value(name, value, *_type_of(value))
    for name, weight in model.state_dict().items():
        stored = _stored(name, weight.numpy(), config)
        if weight.dim() == 1 or stored.shape[-1] % _block(kind):
            writer.add_tensor(_gguf_name(name), stored)
        else:
            quantisation = gguf.GGMLQuantizationType[kind]
            packed = gguf.quants.quantize(stored, quantisation)
            writer.add_tensor(_gguf_name(name), packed, raw_dtype=quantisation)
    for name, extra in (tensors or {}).items():
        writer.add_tensor(name, extra)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def dequantised_folder(source: Path, folder: Path, *, kind: str) -> Path:
    """The Llama of a folder with the weights that are left of it after it was stored in this way."""
    model: Any = transformers.LlamaForCausalLM.from_pretrained(source)
    quantisation = gguf.GGMLQuantizationType[kind]
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1 and weight.shape[-1] % _block(kind) == 0:
                packed = gguf.quants.quantize(weight.numpy(), quantisation)
                weight.copy_(torch.from_numpy(gguf.quants.dequantize(packed, quantisation)))
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Any) -> None:
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    special = {tokenizer.unk_token: gguf.TokenType.UNKNOWN, tokenizer.bos_token: gguf.TokenType.CONTROL}
    special[tokenizer.eos_token] = gguf.TokenType.CONTROL
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(place) for place in range(len(tokens))])
    writer.add_token_types([special.get(token, gguf.TokenType.NORMAL) for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer._merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_unk_token_id(tokenizer.unk_token_id)


def _gguf_name(name: str) -> str:
    module, _, kind = name.rpartition(".")
    if module in _OUTER_NAMES:
        return f"{_OUTER_NAMES[module]}.{kind}"
    _, _, number, rest = module.split(".", 3)
    return f"blk.{number}.{_LAYER_NAMES[rest]}.{kind}"


def _stored(name: str, weight: Weights, config: Any) -> Weights:
    """The weight in llama.cpp's order: halves of each head's rotated pairs stand side by side."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    count = next((count for part, count in heads.items() if part in name), None)
    if count is None:
        return weight
    return weight.reshape(count, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape).copy()


def _block(kind: str) -> int:
    return gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][0]


def _type_of(value: Any) -> tuple[Any, ...]:
    if isinstance(value, list):
        return gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.get_type(value[0])
    return (gguf.GGUFValueType.get_type(value),)
