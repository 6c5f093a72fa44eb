"""GGUF files whose values or tensors say something else, and are otherwise in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from damaged_values import Chance

NUMBERS = (0, 1, 2, 3, 7, 2**16, 2**31 - 1, 2**32 - 1)
TEXTS = ("", "x", "gpt2", "bert", "t5", "../..", "\0", "😀" * 9)


def change_gguf(path: Path, chance: Chance) -> None:
    """One value or one tensor that is gone, has another name, another type or another content."""
    import gguf

    reader = gguf.GGUFReader(path)
    fields = {
        name: (field.contents(), *field.types[:1], *field.types[-1:])
        for name, field in reader.fields.items()
        if not name.startswith("GGUF.") and name != "general.architecture"
    }
    tensors = {tensor.name: (np.array(tensor.data), tensor.tensor_type) for tensor in reader.tensors}
    architecture = reader.fields["general.architecture"].contents()
    del reader
    if chance.random() < 0.06:
        architecture = chance.choice(("llama", "gpt2", "mamba", "t5", "", "x"))
    elif chance.random() < 0.7:
        _change_field(fields, chance)
    else:
        _change_tensor(tensors, chance)
    writer = gguf.GGUFWriter(path, architecture)
    for name, (value, kind, inner) in fields.items():
        writer.add_key_value(name, value, kind, *([inner] if kind == gguf.GGUFValueType.ARRAY else []))
    for name, (data, stored) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _change_field(fields: dict[str, tuple[Any, Any, Any]], chance: Chance) -> None:
    from gguf import GGUFValueType

    name = chance.choice(sorted(fields))
    value, kind, inner = fields.pop(name)
    way = chance.randrange(5)
    if way == 0:
        return
    if way == 1:
        fields[f"{name}.x"] = (value, kind, inner)
    elif way == 2:
        text = chance.choice(TEXTS)
        fields[name] = (text, GGUFValueType.STRING, GGUFValueType.STRING)
    elif isinstance(value, list):
        fields[name] = (_changed_list(value, chance), kind, inner)
    elif isinstance(value, str):
        fields[name] = (chance.choice(TEXTS), kind, inner)
    elif isinstance(value, float):
        strange = chance.choice((0.0, -1.0, float("nan"), float("inf"), 3e38))
        fields[name] = (strange, kind, inner)
    else:
        fields[name] = (chance.choice(NUMBERS), GGUFValueType.UINT32, GGUFValueType.UINT32)


def _changed_list(value: list[Any], chance: Chance) -> list[Any]:
    place = chance.randrange(len(value))
    ways: tuple[list[Any], ...] = (
        value[:1],
        value[: len(value) // 2] or value,
        value + value[:3],
        value[::-1],
        [*value[:place], *value[place + 1 :]] or value,
        [*value[:place], value[0], *value[place + 1 :]],
    )
    return chance.choice(ways)


def _change_tensor(tensors: dict[str, tuple[Any, Any]], chance: Chance) -> None:
    name = chance.choice(sorted(tensors))
    data, kind = tensors.pop(name)
    way = chance.randrange(5)
    if way == 1:
        tensors[chance.choice((f"{name}.x", "rope_freqs.weight", "token_embd.weight"))] = (data, kind)
    elif way == 2:
        tensors[name] = (data[: max(1, len(data) // 2)].copy(), kind)
    elif way == 3:
        tensors[name] = (np.concatenate([data, data]), kind)
    elif way == 4:
        strange = np.frombuffer(chance.randbytes(data.nbytes), dtype=data.dtype).reshape(data.shape)
        tensors[name] = (strange, kind)
