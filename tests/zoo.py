"""Tiny models with random weights, one of each architecture, saved like those of a hub."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
import zoo_tokenizers

from evenhand.models.families import Family
from evenhand.models.families.decoder import DECODER
from evenhand.models.families.denoiser import DENOISER
from evenhand.models.families.masked import MASKED
from evenhand.models.families.sentinel import SENTINEL

BuildTokenizer = Callable[[Path], Any]
LAYERS = 2
WIDTH = 32


@dataclass(frozen=True, slots=True)
class Species:
    """How a model of the zoo is made."""

    family: Family
    model_class: str
    tokenizer: BuildTokenizer
    options: Mapping[str, Any]
    """Further values of the configuration."""
    start: str | None = None
    """What stands before the first token of a text, for decoders."""


def _plain(build: Callable[[], Any]) -> BuildTokenizer:
    return lambda _folder: build()


_ENCODER = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 130,
}
_ROBERTA = {**_ENCODER, "type_vocab_size": 1}
_GPT2 = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, "n_positions": 128}
_LLAMA = {**_ENCODER, "num_key_value_heads": 2}
_GEMMA = {**_LLAMA, "head_dim": 8}
_BART = {
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 128,
}
_T5 = {
    "d_model": WIDTH,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": LAYERS,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}

_masked = partial(Species, MASKED)
_decoder = partial(Species, DECODER)
_sentinel = partial(Species, SENTINEL)
_denoiser = partial(Species, DENOISER)

SPECIES: Mapping[str, Species] = {
    "bert": _masked("BertForPreTraining", _plain(zoo_tokenizers.bert), _ENCODER),
    "distilbert": _masked(
        "DistilBertForMaskedLM",
        _plain(zoo_tokenizers.distilbert),
        {"dim": WIDTH, "n_layers": LAYERS, "n_heads": 4, "hidden_dim": 48},
    ),
    "roberta": _masked("RobertaForMaskedLM", _plain(zoo_tokenizers.roberta), _ROBERTA),
    "xlm-roberta": _masked("XLMRobertaForMaskedLM", _plain(zoo_tokenizers.xlm_roberta), _ROBERTA),
    "albert": _masked("AlbertForMaskedLM", _plain(zoo_tokenizers.albert), {**_ENCODER, "embedding_size": 16}),
    "camembert": _masked("CamembertForMaskedLM", _plain(zoo_tokenizers.camembert), _ROBERTA),
    "electra": _masked(
        "ElectraForMaskedLM", _plain(zoo_tokenizers.electra), {**_ENCODER, "embedding_size": 16}
    ),
    "deberta": _masked(
        "DebertaForMaskedLM",
        _plain(zoo_tokenizers.deberta),
        {**_ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0},
    ),
    "deberta-v2": _masked(
        "DebertaV2ForMaskedLM",
        _plain(zoo_tokenizers.deberta_v2),
        {**_ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0},
    ),
    "modernbert": _masked(
        "ModernBertForMaskedLM",
        _plain(zoo_tokenizers.modernbert),
        {**_ENCODER, "num_hidden_layers": 3, "local_attention": 8, "global_attn_every_n_layers": 2},
    ),
    "flaubert": _masked(
        "FlaubertWithLMHeadModel",
        zoo_tokenizers.phobert,
        {
            "emb_dim": WIDTH,
            "n_layers": LAYERS,
            "n_heads": 4,
            "max_position_embeddings": 128,
            "pad_index": 1,
        },
    ),
    "gpt2": _decoder("GPT2LMHeadModel", _plain(zoo_tokenizers.gpt2), _GPT2, "<|endoftext|>"),
    "gpt-neox": _decoder("GPTNeoXForCausalLM", _plain(zoo_tokenizers.gpt_neox), _ENCODER, "<|endoftext|>"),
    "opt": _decoder(
        "OPTForCausalLM",
        _plain(zoo_tokenizers.opt),
        {**_ENCODER, "ffn_dim": 48, "word_embed_proj_dim": 16, "do_layer_norm_before": True},
        "</s>",
    ),
    "llama": _decoder("LlamaForCausalLM", _plain(zoo_tokenizers.llama), _LLAMA, "<s>"),
    "mistral": _decoder(
        "MistralForCausalLM", _plain(zoo_tokenizers.llama), {**_LLAMA, "sliding_window": 8}, "<s>"
    ),
    "qwen2": _decoder("Qwen2ForCausalLM", _plain(zoo_tokenizers.qwen2), _LLAMA, "<|endoftext|>"),
    "gemma": _decoder("GemmaForCausalLM", _plain(zoo_tokenizers.gemma), _GEMMA, "<bos>"),
    "gemma2": _decoder(
        "Gemma2ForCausalLM",
        _plain(zoo_tokenizers.gemma),
        {
            **_GEMMA,
            "final_logit_softcapping": 5.0,
            "attn_logit_softcapping": 10.0,
            "query_pre_attn_scalar": 8,
        },
        "<bos>",
    ),
    "bloom": _decoder(
        "BloomForCausalLM",
        _plain(zoo_tokenizers.bloom),
        {"hidden_size": WIDTH, "n_layer": LAYERS, "n_head": 4},
        "<s>",
    ),
    # The published mGPT keeps GPT-2's number of the start token, which in its own vocabulary is a common word.
    "mgpt": _decoder("GPT2LMHeadModel", _plain(zoo_tokenizers.mgpt), {**_GPT2, "bos_token_id": 50}, "</s>"),
    "t5": _sentinel("T5ForConditionalGeneration", _plain(zoo_tokenizers.t5), _T5),
    "mt5": _sentinel(
        "MT5ForConditionalGeneration",
        _plain(zoo_tokenizers.t5),
        {**_T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    "bart": _denoiser("BartForConditionalGeneration", _plain(zoo_tokenizers.roberta), _BART),
    "mbart": _denoiser("MBartForConditionalGeneration", _plain(zoo_tokenizers.mbart), _BART),
}


def names(*families: Family) -> list[str]:
    """The models of some families, or of all."""
    return [name for name, species in SPECIES.items() if not families or species.family in families]


def build(name: str, folder: Path) -> Path:
    """Make a model with its tokenizer and save both."""
    species = SPECIES[name]
    tokenizer = species.tokenizer(folder)
    tokenizer.save_pretrained(folder)
    model = new_model(species.model_class, len(tokenizer), **{**_special_ids(tokenizer), **species.options})
    model.save_pretrained(folder)
    return folder


def _special_ids(tokenizer: Any) -> dict[str, int | None]:
    """The numbers of special tokens, which a configuration repeats."""
    kinds = ("bos", "eos", "pad", "cls", "sep")
    return {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in kinds}


def new_model(model_class: str, vocabulary: int, **options: Any) -> Any:
    """A model with random weights under which probabilities differ clearly from token to token."""
    with warnings.catch_warnings():
        # DeBERTa's module still compiles functions in a way that PyTorch is about to drop.
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
        made: Any = getattr(transformers, model_class)
    config = made.config_class(**{"vocab_size": vocabulary, **options})
    model = made(config)
    _randomise(model)
    return model.eval()


def _randomise(model: torch.nn.Module) -> None:
    """Other weights than the libraries' own, which are so small that all tokens are about equally likely.

    Biases and norms get values too, so that a head which is left out would show.
    """
    generator = torch.Generator().manual_seed(20)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.dim() > 1:
                weight.copy_(noise * (0.4 if "emb" in name else 1.2 / math.sqrt(weight.shape[-1])))
            else:
                weight.copy_((1.0 if name.endswith("weight") else 0.0) + 0.2 * noise)
