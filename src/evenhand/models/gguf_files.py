"""GGUF files: what a file says about the model in it, and what Transformers needs besides to read it right.

The layout is llama.cpp's: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from evenhand.models.references import ModelError, ModelRef, hub_file

MAGIC = b"GGUF"
DEFAULT_ALIGNMENT = 32

_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Formats of the values of fixed length, by the number of their type."""
_STRING, _ARRAY = 8, 9
_LONGEST_KEPT = 64
"""Longer arrays are vocabularies; they are passed over."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What the file says about its model."""

    architecture: str
    quantisation: str
    """As llama.cpp names it: Q4_1, Q4_K_M, F16."""
    languages: tuple[str, ...]
    tokenizer: str
    """llama.cpp's kind of tokenizer: llama is SentencePiece's, gpt2 byte-level BPE."""
    pre_tokenizer: str
    """How texts are split before they become tokens; empty where the file does not say."""
    adds_start: bool
    """Whether texts start with the start token."""
    scales_positions: bool
    """Whether the file has frequencies of its own for positions, as Llama 3.1 and its successors."""

    @property
    def storage(self) -> str:
        """How the file holds the weights, for records."""
        return f"GGUF {self.quantisation}"


def gguf_path(ref: ModelRef) -> Path:
    """The file of a reference; one of the hub is fetched."""
    path = Path(ref.location)
    source = hub_file(ref.location)
    if source is None or path.is_file():
        return path
    from huggingface_hub import hf_hub_download

    repository, file = source
    return Path(hf_hub_download(repository, file, revision=ref.revision))


def read_gguf_header(path: Path) -> GgufHeader:
    """What a file says about its model, after a look at whether the file is whole.

    Raises:
        ModelError: If it is no GGUF file, is cut off, or is one of several parts.
    """
    try:
        with path.open("rb") as stream:
            _refuse_other_content(path, stream.read(24))
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return _header(path, content)
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (_EndOfFileError, struct.error):
        raise ModelError(
            f"{path} is cut off: it ends before its content does. Copy or download it again."
        ) from None
    except (UnicodeDecodeError, KeyError, TypeError, OverflowError, RecursionError) as problem:
        raise ModelError(
            f"{path} is a damaged GGUF file ({type(problem).__name__}). Copy or download it again."
        ) from None


def _refuse_other_content(path: Path, start: bytes) -> None:
    if start[: len(MAGIC)] != MAGIC:
        is_pointer = start.startswith(b"version https://git-lfs")
        what = (
            "a Git LFS pointer in place of a file" if is_pointer else "no GGUF file, whatever its name says"
        )
        advice = (
            "Fetch the file itself: git lfs pull." if is_pointer else "Give a file that llama.cpp can read."
        )
        raise ModelError(f"{path} is {what}. {advice}")
    if len(start) < 24:
        raise _EndOfFileError
    version = int.from_bytes(start[4:8], "little")
    if version not in (2, 3):
        raise ModelError(
            f"{path} has version {version} of the GGUF format; 2 and 3 can be read, in little-endian byte order. "
            "Convert the model again with a current llama.cpp."
        )


class _EndOfFileError(Exception):
    """The file ends within a value."""


class _Reader:
    """Values of the file one after the other."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.position = 8

    def skip(self, length: int) -> int:
        """Pass over so many bytes; where they start."""
        start = self.position
        if length > len(self.content) - start:
            raise _EndOfFileError
        self.position += length
        return start

    def number(self, kind: str = "Q") -> Any:
        layout = f"<{kind}"
        (value,) = struct.unpack_from(layout, self.content, self.skip(struct.calcsize(layout)))
        return value

    def text(self) -> str:
        length = self.number()
        start = self.skip(length)
        return self.content[start : start + length].decode("utf-8")

    def value(self, kind: int) -> Any:
        if kind in _FIXED:
            return self.number(_FIXED[kind])
        return {_STRING: self.text, _ARRAY: self._array}[kind]()

    def _array(self) -> list[Any] | None:
        """The values of a short array; a vocabulary is passed over."""
        kind, count = self.number("I"), self.number()
        if count <= _LONGEST_KEPT:
            return [self.value(kind) for _ in range(count)]
        if kind in _FIXED:
            self.skip(count * struct.calcsize(_FIXED[kind]))
        else:
            for _ in range(count):
                self.skip(self.number()) if kind == _STRING else self.value(kind)
        return None


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


def _header(path: Path, content: mmap.mmap) -> GgufHeader:
    reader = _Reader(content)
    tensor_count, value_count = reader.number(), reader.number()
    values = {reader.text(): reader.value(reader.number("I")) for _ in range(value_count)}
    tensors = []
    for _ in range(tensor_count):
        name, dimensions = reader.text(), reader.number("I")
        shape = tuple(reader.number() for _ in range(dimensions))
        tensors.append(_Tensor(name, shape, reader.number("I"), reader.number()))
    parts = values.get("split.count") or 1
    if parts > 1:
        raise ModelError(
            f"{path} is one of {parts} parts of a model. Join them first: "
            f"llama-gguf-split --merge {path.name} whole.gguf"
        )
    alignment = values.get("general.alignment") or DEFAULT_ALIGNMENT
    start = math.ceil(reader.position / alignment) * alignment
    _refuse_cut_off(path, tensors, start, len(content))
    tokenizer = str(values.get("tokenizer.ggml.model") or "")
    return GgufHeader(
        architecture=str(values["general.architecture"]),
        quantisation=_quantisation(values, tensors),
        languages=tuple(map(str, values.get("general.languages") or ())),
        tokenizer=tokenizer,
        pre_tokenizer=str(values.get("tokenizer.ggml.pre") or ""),
        adds_start=bool(values.get("tokenizer.ggml.add_bos_token", tokenizer == "llama")),
        scales_positions=any(tensor.name.startswith("rope_") for tensor in tensors),
    )


def _refuse_cut_off(path: Path, tensors: Sequence[_Tensor], start: int, size: int) -> None:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    known = {kind.value for kind in GGMLQuantizationType}
    for tensor in tensors:
        if tensor.kind not in known:
            raise ModelError(
                f"{path} holds weights of the type {tensor.kind}, which the installed gguf package does not know. "
                "Try a newer one: pip install -U gguf."
            )
        per_block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(tensor.kind)]
        end = start + tensor.offset + math.prod(tensor.shape) // per_block * block_bytes
        if end > size:
            raise _EndOfFileError


def _quantisation(values: Mapping[str, Any], tensors: Sequence[_Tensor]) -> str:
    """As the file calls itself; where it does not, the type that most of its weights have."""
    from gguf import GGMLQuantizationType, LlamaFileType

    declared = values.get("general.file_type")
    if declared in {kind.value for kind in LlamaFileType}:
        return LlamaFileType(declared).name.removeprefix("MOSTLY_").removeprefix("ALL_")
    weights: Counter[int] = Counter()
    for tensor in tensors:
        weights[tensor.kind] += math.prod(tensor.shape)
    return GGMLQuantizationType(weights.most_common(1)[0][0]).name if weights else "without weights"


_SPLIT_AS_GPT2 = {"gpt-2", "phi-2", "mpt", "olmo", "jais", "roberta-bpe"}
_SPLIT_AS_GPT2_WITH_DIGITS_APART = {
    "smollm",
    "starcoder",
    "refact",
    "command-r",
    "codeshell",
    "exaone",
    "minerva-7b",
}
"""By llama.cpp's names for how byte-level BPE splits texts first; Transformers does not know these."""


def complete_tokenizer(tokenizer: Any, header: GgufHeader) -> None:
    """Give a tokenizer what the file says of it and Transformers leaves out."""
    from tokenizers import pre_tokenizers, processors

    backend = tokenizer.backend_tokenizer
    if header.pre_tokenizer in _SPLIT_AS_GPT2_WITH_DIGITS_APART:
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
    if header.adds_start and tokenizer.bos_token is not None:
        start = tokenizer.bos_token
        backend.post_processor = processors.TemplateProcessing(
            single=f"{start} $A",
            pair=f"{start} $A {start} $B:1",
            special_tokens=[(start, tokenizer.bos_token_id)],
        )


def caveats_of(tokenizer: Any, header: GgufHeader) -> tuple[str, ...]:
    """What Transformers does not take from the file, in sentences."""
    from tokenizers import pre_tokenizers

    caveats = []
    splits_as_gpt2 = isinstance(tokenizer.backend_tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel)
    if header.tokenizer == "gpt2" and splits_as_gpt2 and header.pre_tokenizer not in _SPLIT_AS_GPT2:
        caveats.append(
            f"Transformers does not know how the GGUF file splits texts ({header.pre_tokenizer or 'it does not say'}). "
            "They are split as for GPT-2, so numbers and punctuation may become other tokens."
        )
    if header.scales_positions:
        caveats.append(
            "The GGUF file has frequencies of its own for positions, which Transformers leaves out. Scores of short "
            "texts differ little from those of the original model."
        )
    return tuple(caveats)


def forget_quantisation(model: Any) -> None:
    """Leave nothing that says quantised: the weights are not, and it would keep them from being saved."""
    for owner, names in (
        (model.config, ("quantization_config",)),
        (model, ("hf_quantizer", "is_quantized", "quantization_method")),
    ):
        for name in names:
            if name in vars(owner):
                delattr(owner, name)


@contextmanager
def read_once_and_quietly() -> Iterator[None]:
    """Within the block, a file is parsed once, and Transformers draws no bar of its own.

    Transformers parses a file for the configuration, for the tokenizer and for the weights, and each time takes seconds
    for a vocabulary. It also makes the table of llama.cpp's names anew for every part of the model.
    """
    import gguf
    from transformers import modeling_gguf_pytorch_utils as converter

    replacements: tuple[tuple[Any, str, Any], ...] = (
        (gguf, "GGUFReader", cache(gguf.GGUFReader)),
        (gguf, "get_tensor_name_map", cache(gguf.get_tensor_name_map)),
        (converter, "load_gguf_checkpoint", _values_read_once(converter.load_gguf_checkpoint)),
        (converter, "tqdm", partial(converter.tqdm, disable=True)),
    )
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]
    try:
        for owner, name, replacement in replacements:
            setattr(owner, name, replacement)
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _values_read_once(load: Callable[..., Any]) -> Callable[..., Any]:
    """Transformers' function that reads a GGUF file; the values of a file are kept, its tensors are not."""
    values_of = cache(load)

    def read(path: str, return_tensors: bool = False, **options: Any) -> Any:
        if return_tensors:
            return load(path, return_tensors, **options)
        return deepcopy(values_of(path, **options))  # configurations are changed after they are made

    return read
