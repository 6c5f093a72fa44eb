"""Load a model: safetensors only, no remote code, nothing guessed; and how long its inputs may be."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import AutoConfig, AutoTokenizer
from transformers.activations import NewGELUActivation

from evenhand.core.progress import activity
from evenhand.core.recipes import Precision
from evenhand.models.adapters import adapter_base, refuse_missing_adapters, with_adapter
from evenhand.models.backends import is_gguf
from evenhand.models.engine.allocator import keep_freed_memory
from evenhand.models.engine.products import MatrixProducts, matrix_products
from evenhand.models.families import Family, recognise
from evenhand.models.gguf_cache import keep_model, kept_folder
from evenhand.models.gguf_files import (
    GgufHeader,
    caveats_of,
    complete_tokenizer,
    forget_quantisation,
    gguf_path,
    read_gguf_header,
    read_once_and_quietly,
)
from evenhand.models.model_files import (
    CONFIGURATION,
    WEIGHTS,
    check_configuration,
    check_tokenizer_options,
    check_unknown_token,
    loading_explained,
)
from evenhand.models.references import ModelError, ModelRef

_FEWEST_TOKENS = 10
"""Entries of a vocabulary beside the special ones. Where its file is missing, libraries make up a tokenizer without."""

_TOKENS_IN_TEXTS = ("bos_token", "eos_token", "unk_token", "cls_token", "sep_token", "mask_token")
"""Special tokens that are put into texts, so that a model has to know them."""

_DTYPES = {Precision.FP32: torch.float32, Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in memory with its tokenizer."""

    ref: ModelRef
    family: Family
    config: Any
    tokenizer: Any
    model: nn.Module
    device: torch.device
    dtype: torch.dtype
    stored_as: str = ""
    """How the file holds the weights, where they are dequantised on loading."""
    caveats: tuple[str, ...] = ()
    """In which respects it may differ from the original model."""

    @property
    def products(self) -> MatrixProducts:
        """What computes its matrix products."""
        return matrix_products(self.device, self.dtype, self.ref.kernels)

    @property
    def pad_id(self) -> int:
        """What fills up rows; it is masked, so any id does for a model that does not know its padding token."""
        pad, entries = self.tokenizer.pad_token_id, self.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
        return pad if pad is not None and pad < entries else 0


def choose_device(wanted: str) -> torch.device:
    """The device to use; an absent one is an error, not a silent fallback."""
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise ModelError(f"The device {wanted!r} is unknown. Use cpu, cuda or auto.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelError("A CUDA device was asked for, but PyTorch sees none. Use --device cpu, or auto.")
    return device


def load(ref: ModelRef) -> Loaded:
    """Load a model for token probabilities."""
    device = choose_device(ref.device)
    refuse_missing_adapters(ref)
    source = _unadapted(ref)
    header = _gguf_header(source)
    with activity(f"loading {ref.id}"), read_once_and_quietly() if header else nullcontext():
        with activity("reading configuration and tokenizer"):
            config, tokenizer, family = _load_parts(source)
        dtype = _DTYPES[ref.precision]
        with activity("dequantising the weights" if header else "reading the weights"):
            model = load_weights(ref, getattr(transformers, family.auto_class), dtype)
    if header:
        unchanged = source is ref and not ref.adapters and ref.precision is Precision.FP32
        if unchanged and kept_folder(gguf_path(ref)) is None:
            keep_model(gguf_path(ref), model, tokenizer)
        complete_tokenizer(tokenizer, header)
        config.architectures = [type(model).__name__]
    _fit_tokenizer(ref, tokenizer, entries=model.get_input_embeddings().num_embeddings)
    if device.type == "cpu":
        keep_freed_memory()
    return Loaded(
        ref,
        family,
        config,
        tokenizer,
        model.to(device).eval(),
        device,
        dtype,
        stored_as=header.storage if header else "",
        caveats=caveats_of(tokenizer, header) if header else (),
    )


def family_of(ref: ModelRef) -> Family:
    """The family of a model, from its configuration and tokenizer; its weights are not read."""
    source = _unadapted(ref)
    with (
        activity(f"reading configuration and tokenizer of {ref.id}"),
        read_once_and_quietly() if _gguf_header(source) else nullcontext(),
    ):
        return _load_parts(source)[2]


def weights_size(ref: ModelRef) -> int:
    """Bytes of a model's weights in fp32, from its configuration; the weights are not read."""
    source = _unadapted(ref)
    with read_once_and_quietly() if _gguf_header(source) else nullcontext(), torch.device("meta"):
        config, _, family = _load_parts(source)
        model = getattr(transformers, family.auto_class).from_config(config)
    return 4 * int(sum(weight.numel() for weight in model.parameters()))


def _unadapted(ref: ModelRef) -> ModelRef:
    """The model itself; for a folder that is an adapter, the model that it belongs to."""
    passed = {ref.location}
    while (base := adapter_base(ref)) is not None:
        if base.location in passed:
            raise ModelError(
                f"The adapter {ref.id} belongs to itself. Correct base_model_name_or_path in it."
            )
        ref = base
        passed.add(ref.location)
    return ref


def _gguf_header(ref: ModelRef) -> GgufHeader | None:
    """What a GGUF file says about its model; None for any other model."""
    if not is_gguf(ref.location):
        return None
    with loading_explained(ref, "header"):
        return read_gguf_header(gguf_path(ref))


def _load_parts(ref: ModelRef) -> tuple[Any, Any, Family]:
    """Configuration, tokenizer and family, without weights."""
    with loading_explained(ref, CONFIGURATION):
        place, options = _source(ref)
        config = AutoConfig.from_pretrained(place, **options)
        check_configuration(config)
    with loading_explained(ref, "tokenizer"):
        check_tokenizer_options(Path(place))
        tokenizer = AutoTokenizer.from_pretrained(place, **options)
        check_unknown_token(tokenizer)
    ordinary = len(tokenizer) - len(tokenizer.all_special_ids)
    if ordinary < _FEWEST_TOKENS:
        raise ModelError(
            f"The tokenizer of {ref.id} has no vocabulary: {len(tokenizer):,} entries, and all but {ordinary} of them "
            "are special. Copy its vocabulary beside the weights (tokenizer.json, vocab.txt or the like)."
        )
    # Lengths are looked after where they matter; Transformers would warn of any long text that is merely split.
    tokenizer.deprecation_warnings["sequence-length-is-longer-than-the-specified-maximum"] = True
    return config, tokenizer, recognise(config, tokenizer, ref.id)


def _fit_tokenizer(ref: ModelRef, tokenizer: Any, *, entries: int) -> None:
    """Refuse a tokenizer with more entries than the embedding has; special tokens may be beyond it.

    Gemma 3 without images has the tokenizer of its larger siblings, whose token for an image its own embedding lacks.
    Texts do not hold such tokens; where one spells it out, it is read as plain text.
    """
    beyond = [token for number, token in tokenizer.added_tokens_decoder.items() if number >= entries]
    last = max(set(tokenizer.get_vocab().values()) - tokenizer.added_tokens_decoder.keys(), default=0)
    if last >= entries or not all(token.special for token in beyond):
        raise ModelError(
            f"The tokenizer of {ref.id} has entries up to {max(last + 1, len(tokenizer)):,}, the model's embedding "
            f"only {entries:,}: they do not belong together. Give the tokenizer that the model was trained with."
        )
    for name in _TOKENS_IN_TEXTS:
        number = getattr(tokenizer, f"{name}_id", None)
        if number is not None and not 0 <= number < entries:
            raise ModelError(
                f"The tokenizer of {ref.id} has the {name} {getattr(tokenizer, name)!r} at {number:,}, beyond the "
                f"{entries:,} entries of the model's embedding. Give the tokenizer that the model was trained with."
            )
    if beyond:
        tokenizer.split_special_tokens = True


def load_as_declared(loaded: Loaded) -> nn.Module | None:
    """The checkpoint in the class that its configuration names, with all its heads.

    None where that is the class that is loaded, where there is no such class, or where its weights are not all there.
    """
    declared = (getattr(loaded.config, "architectures", None) or [""])[0]
    made = getattr(transformers, declared, None)
    if made is None or isinstance(loaded.model, made):
        return None
    try:
        whole: nn.Module = load_weights(loaded.ref, made, loaded.dtype)
    except ModelError:
        return None
    return whole


class MissingWeightsError(ModelError):
    """A checkpoint without the weights of the head that is needed."""


def load_weights(ref: ModelRef, auto_class: Any, dtype: torch.dtype) -> Any:
    """The weights of a model with its adapters, in a class of Transformers.

    Raises:
        MissingWeightsError: If the checkpoint has not all that the class needs.
    """
    model = _load_without_adapters(ref, auto_class, dtype)
    for folder in ref.adapters:
        model = with_adapter(model, folder, allow_pickle=ref.allow_pickle_weights)
    return model


def _load_without_adapters(ref: ModelRef, auto_class: Any, dtype: torch.dtype) -> Any:
    """The weights of a model; a folder that is an adapter itself is merged into the model that it belongs to."""
    base = adapter_base(ref)
    if base is not None:
        model = _load_without_adapters(base, auto_class, dtype)
        return with_adapter(model, ref.location, allow_pickle=ref.allow_pickle_weights)
    with loading_explained(ref, WEIGHTS):
        place, options = _source(ref)
        model, report = auto_class.from_pretrained(
            place,
            dtype=dtype,
            use_safetensors=None if ref.allow_pickle_weights else True,
            output_loading_info=True,
            **options,
        )
    if is_gguf(ref.location):
        forget_quantisation(model)
    _fuse_activations(model)
    missing = sorted(report["missing_keys"])
    if missing:
        raise MissingWeightsError(
            f"{ref.id} has no weights for {len(missing)} parts of {type(model).__name__}, such as {missing[0]}; they "
            "would be random. Use a checkpoint that was trained to predict tokens."
        )
    return model


def _fuse_activations(model: nn.Module) -> None:
    """Compute GPT-2's GELU in one pass over memory instead of eight: the same function, up to rounding."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation):
                setattr(module, name, nn.GELU(approximate="tanh"))


def _source(ref: ModelRef) -> tuple[str, dict[str, Any]]:
    """What Transformers loads a model from, and with which options."""
    options = {"revision": ref.revision or "main", "trust_remote_code": ref.trust_remote_code}
    if not is_gguf(ref.location):
        return ref.location, options
    path = gguf_path(ref)
    kept = kept_folder(path)
    return (str(kept), options) if kept else (str(path.parent), {**options, "gguf_file": path.name})
