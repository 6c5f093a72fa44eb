"""Next-sentence heads in the layout of StereoSet's own code: three linear layers over the mean of GPT-2's states.

Its state dict names the layers ``nsp_head.0`` to ``nsp_head.2`` and the body that was trained with them ``core_model``;
both may stand behind ``module.``, where several GPUs were used. It does not say which class means "follows".
Pairs were encoded by the tokenizer as such: for GPT-2 the tokens of both sentences, one behind the other.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from evenhand.models.judges import Judge, judge_weights, new_judge, put_judge_weights
from evenhand.models.loading import Loaded
from evenhand.models.next_sentence import vocabulary_digest
from evenhand.models.references import ModelError
from evenhand.store.head_records import HeadKind, HeadRecord, PairEncoding

_LAYERS = 3
_HEAD, _BODY, _PARALLEL = "nsp_head.", "core_model.", "module."
_ADDED_TOKENS = 8
"""Entries that training may have added to the vocabulary, such as one for padding."""


def read_stereoset_head(path: Path, *, allow_pickle: bool) -> dict[str, Tensor]:
    """The weights of a head, named as a judge names them.

    Raises:
        ModelError: If the file cannot be read, is a pickle that is not allowed, or has another layout.
    """
    state = {name.removeprefix(_PARALLEL): weight for name, weight in _state_dict(path, allow_pickle).items()}
    named = {name: weight for name, weight in state.items() if isinstance(weight, Tensor)}
    head = {f"head.{name.removeprefix(_HEAD)}": own for name, own in named.items() if name.startswith(_HEAD)}
    expected = {f"head.{layer}.{part}" for layer in range(_LAYERS) for part in ("weight", "bias")}
    if head.keys() != expected:
        found = ", ".join(sorted(name for name in named if name.startswith(_HEAD))) or "none"
        raise ModelError(
            f"{path} is no next-sentence head of StereoSet: it should have three linear layers named {_HEAD}0 to "
            f"{_HEAD}2, and has {found} among its {len(state):,} entries."
        )
    body = {f"body.{name.removeprefix(_BODY)}": own for name, own in named.items() if name.startswith(_BODY)}
    return {**head, **body}


def _state_dict(path: Path, allow_pickle: bool) -> dict[str, Any]:
    if not path.is_file():
        raise ModelError(f"There is no file {path}. Check the path.")
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError):
        pass
    if not allow_pickle:
        raise ModelError(
            f"{path} is no safetensors file. If it is a pickle from somebody you trust, allow it with "
            "--allow-pickle-weights; only tensors are read from it."
        )
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # what PyTorch says advises to run the code
        raise ModelError(
            f"{path} holds more than tensors, or is damaged. Reading the rest would run its code, so it is not read. "
            "Ask for a safetensors file, or for a state dict of tensors alone."
        ) from None
    except (OSError, RuntimeError, EOFError, ValueError) as problem:
        reason = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
        raise ModelError(f"{path} cannot be read as a state dict: {reason}") from None
    if not isinstance(content, dict):
        raise ModelError(
            f"{path} holds {type(content).__name__}, not a state dict. Save the model's state_dict()."
        )
    return content


def converted_judge(loaded: Loaded, path: Path, *, follows_class: Literal[0, 1], allow_pickle: bool) -> Judge:
    """The judge that a file of StereoSet's layout and a model make.

    Raises:
        ModelError: If the file cannot be read, or its head belongs to another body.
    """
    weights = read_stereoset_head(path, allow_pickle=allow_pickle)
    sizes = [
        weights["head.0.weight"].shape[1],
        *(weights[f"head.{n}.weight"].shape[0] for n in range(_LAYERS)),
    ]
    record = HeadRecord(
        follows_class=follows_class,
        kind=HeadKind.POOLED,
        encoding=PairEncoding.PAIR,
        pooling="mean",
        layers=tuple(sizes),
        body=loaded.config.model_type,
        tokenizer=vocabulary_digest(loaded.tokenizer),
        origin=f"converted from {path.name}",
    )
    judge = new_judge(loaded, record)
    own = judge_weights(judge)
    states = own["head.0.weight"].shape[1], getattr(loaded.config, "hidden_size", sizes[0])
    if states[0] != states[1]:
        raise ModelError(
            f"{path} holds a next-sentence head for another body: it reads states of {states[0]} numbers, and those of "
            f"{loaded.ref.id} have {states[1]}. Use it with the model that it was trained with."
        )
    with_body = any(name.startswith("body.") for name in weights)
    known = {name: _without_added(name, weight, own) for name, weight in weights.items() if name in own}
    put_judge_weights(judge, known if with_body else {**own, **known}, source=str(path))
    return judge


def _without_added(name: str, weight: Tensor, own: dict[str, Tensor]) -> Tensor:
    """Without rows for tokens that training added to the vocabulary: the tokenizer has none of them."""
    rows = own[name].shape[0]
    is_vocabulary = name in ("body.wte.weight", "body.embed_tokens.weight")
    return weight[:rows] if is_vocabulary and 0 < weight.shape[0] - rows <= _ADDED_TOKENS else weight
