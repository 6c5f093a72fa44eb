"""Seeded ways to damage files of any kind: bytes, text, JSON, tables, Parquet, tensors, names and links.

``damage`` takes the folder of an input and a generator, damages one of its files in one way, and says how. The same
generator state gives the same damage.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from damaged_gguf import change_gguf
from damaged_values import LONG_SENTENCE, Chance, changed_value, hostile_value

LFS_POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 437955512\n"
)
"""What a clone without git-LFS has in the place of a large file."""

ENCODINGS = ("utf-16", "utf-32", "latin-1", "cp1252", "mac_roman", "utf-8-sig", "utf-7", "cp037")

FileDamage = Callable[[Path, Chance], None]


def damage(folder: Path, chance: Chance, *, others: Sequence[Path]) -> str:
    """Damage one file of a folder in one way, and say what was done.

    Args:
        folder: Of the input; everything in it may be damaged.
        chance: Where all choices come from.
        others: Files of other inputs, to be put in the place of a file.
    """
    path = _chosen_file(folder, chance)
    if chance.random() < 0.04:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return _swapped(path, chance, files=files, others=others)
    ways = [*ANY, *(BY_SUFFIX.get(path.suffix, TEXT) * 2)]
    way = chance.choice(ways)
    way(path, chance)
    return f"{path.relative_to(folder)}: {way.__name__}"


def _chosen_file(folder: Path, chance: Chance) -> Path:
    """A file; the many of a folder inside are together as likely as one beside it."""
    entry = chance.choice(sorted(folder.iterdir()))
    return _chosen_file(entry, chance) if entry.is_dir() else entry


def _swapped(path: Path, chance: Chance, *, files: Sequence[Path], others: Sequence[Path]) -> str:
    """Another file in the place of this one: a sibling, which gets this one's content, or one of another input."""
    siblings = [file for file in files if file != path]
    if siblings and chance.random() < 0.5:
        sibling = chance.choice(siblings)
        ours, theirs = path.read_bytes(), sibling.read_bytes()
        path.write_bytes(theirs)
        sibling.write_bytes(ours)
        return f"{path.name} and {sibling.name} swapped"
    other = chance.choice(others)
    shutil.copyfile(other, path)
    return f"{path.name} replaced by {other.name}"


def truncate(path: Path, chance: Chance) -> None:
    """End a file early, perhaps before its first byte."""
    content = path.read_bytes()
    path.write_bytes(
        content[: chance.choice((0, 1, 8, len(content) - 1, chance.randrange(len(content) + 1)))]
    )


def flip_bytes(path: Path, chance: Chance) -> None:
    """Change some bytes."""
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 4, 64)) if content else 0):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)


def cut_slice(path: Path, chance: Chance) -> None:
    """Take a piece out of the middle."""
    content = path.read_bytes()
    start = chance.randrange(len(content) + 1)
    path.write_bytes(content[:start] + content[start + chance.choice((1, 7, 512)) :])


def repeat_slice(path: Path, chance: Chance) -> None:
    """Have a piece of the middle twice."""
    content = path.read_bytes()
    start = chance.randrange(len(content) + 1)
    end = start + chance.choice((1, 40, 4096))
    path.write_bytes(content[:end] + content[start:])


def point_to_lfs(path: Path, _chance: Chance) -> None:
    """What a clone without git-LFS has."""
    path.write_bytes(LFS_POINTER)


def remove(path: Path, _chance: Chance) -> None:
    """No file at all."""
    path.unlink()


def make_folder(path: Path, _chance: Chance) -> None:
    """A folder of the file's name."""
    path.unlink()
    path.mkdir()


def link(path: Path, chance: Chance) -> None:
    """A link to nothing, to itself, upwards, or to a file that never ends."""
    path.unlink()
    path.symlink_to(
        chance.choice(("/dev/zero", "/dev/null", "missing", path.name, "..", "/", "/proc/self/mem"))
    )


def compress(path: Path, chance: Chance) -> None:
    """Compressed under its plain name, perhaps not to the end."""
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) - chance.choice((0, 9))])


ANY: list[FileDamage] = [
    truncate, flip_bytes, cut_slice, repeat_slice, point_to_lfs, remove, make_folder, link, compress,
]  # fmt: skip


def encode_otherwise(path: Path, chance: Chance) -> None:
    """The same text in another encoding."""
    text = path.read_text(encoding="utf-8", errors="replace")
    path.write_bytes(text.encode(chance.choice(ENCODINGS), errors="replace"))


def put_hostile_text(path: Path, chance: Chance) -> None:
    """Something strange between two characters."""
    text = path.read_text(encoding="utf-8", errors="replace")
    place = chance.randrange(len(text) + 1)
    strange = chance.choice(
        ("\0", "\r", "\u2028", '"', "\t", ",", "\x1a", "\ufeff", "{", "😀", "\\ud800", "\n" * 999)
    )
    path.write_bytes((text[:place] + strange + text[place:]).encode())


def put_long_sentence(path: Path, chance: Chance) -> None:
    """Two megabytes of a sentence in the place of a word."""
    words = path.read_text(encoding="utf-8", errors="replace").split(" ")
    words[chance.randrange(len(words))] = LONG_SENTENCE
    path.write_bytes(" ".join(words).encode())


def change_line(path: Path, chance: Chance) -> None:
    """A line that is gone, there twice, empty or somewhere else."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    line = lines[place]
    lines[place : place + 1] = chance.choice(([], [line, line], [""], [lines[other]], [line[::-1]]))
    path.write_bytes("\n".join(lines).encode())


TEXT: list[FileDamage] = [encode_otherwise, put_hostile_text, put_long_sentence, change_line]


def change_json(path: Path, chance: Chance) -> None:
    """One value of a JSON document that is gone, of another type, huge, or somewhere else."""
    try:
        document = json.loads(path.read_bytes())
    except ValueError:
        return flip_bytes(path, chance)
    for _ in range(chance.choice((1, 1, 1, 3))):
        document = changed_value(document, chance)
    path.write_bytes(_json(document))
    return None


def change_json_line(path: Path, chance: Chance) -> None:
    """The same for one line of JSON Lines."""
    lines = path.read_bytes().split(b"\n")
    place = chance.randrange(max(1, len(lines) - 1))
    try:
        lines[place] = _json(changed_value(json.loads(lines[place]), chance))
    except ValueError:
        lines[place] = b"{"
    path.write_bytes(b"\n".join(lines))


def nest_deeply(path: Path, chance: Chance) -> None:
    """Deeper than any parser goes."""
    depth = chance.choice((200, 100_000))
    path.write_bytes(b"[" * depth + path.read_bytes() + b"]" * depth)


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


def change_yaml(path: Path, chance: Chance) -> None:
    """One value of a YAML document that is gone, of another type, huge, or somewhere else."""
    try:
        document = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, ValueError):
        return flip_bytes(path, chance)
    for _ in range(chance.choice((1, 1, 1, 3))):
        document = changed_value(document, chance)
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return None


def swell_yaml(path: Path, chance: Chance) -> None:
    """Aliases of aliases, which a careless reader writes out in full."""
    depth = chance.choice((4, 9, 30))
    bombs = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    bombs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, depth)]
    path.write_bytes(path.read_bytes() + "\n".join(["", *bombs, f"labels: *a{depth - 1}", ""]).encode())


YAML: list[FileDamage] = [*([change_yaml] * 8), swell_yaml, *TEXT]
JSON: list[FileDamage] = [*([change_json] * 8), nest_deeply, encode_otherwise, put_hostile_text]
JSON_LINES: list[FileDamage] = [*([change_json_line] * 4), *TEXT]


def change_table(path: Path, chance: Chance) -> None:
    """A column that is gone, renamed, there twice or swapped with another, or a cell of another kind."""
    separator = "\t" if path.suffix == ".tsv" else ","
    rows = [line.split(separator) for line in path.read_text(encoding="utf-8", errors="replace").split("\n")]
    column, other = chance.randrange(len(rows[0])), chance.randrange(len(rows[0]))
    way = chance.randrange(6)
    for number, row in enumerate(rows):
        if way == 0:
            del row[column : column + 1]
        elif way == 1 and len(row) > max(column, other):
            row[column], row[other] = row[other], row[column]
        elif way == 2 and number == 0:
            row[column] = row[other] if chance.random() < 0.5 else chance.choice(("x", "", "Text ", "id"))
    if way > 2:
        row = chance.choice(rows)
        strange = hostile_value(chance)
        row[chance.randrange(len(row))] = strange if isinstance(strange, str) else json.dumps(strange)
        row += [""] * chance.choice((0, 0, 1, 500))
    text = "\n".join(separator.join(row) for row in rows)
    path.write_bytes(text.encode(errors="surrogatepass"))


TABLE: list[FileDamage] = [*([change_table] * 4), *TEXT]

_TYPES = (
    pl.String,
    pl.Int64,
    pl.Float64,
    pl.Float32,
    pl.Boolean,
    pl.Binary,
    pl.List(pl.Float64),
    pl.Null,
    pl.Date,
)


def change_parquet(path: Path, chance: Chance) -> None:
    """A Parquet file with other columns, types, values or rows, and otherwise in order."""
    try:
        frame = pl.read_parquet(io.BytesIO(path.read_bytes()))
    except pl.exceptions.PolarsError:
        return flip_bytes(path, chance)
    name, other = chance.choice(frame.columns), chance.choice(frame.columns)
    strange = chance.choice((None, float("nan"), float("inf"), 1e308, -1e308, -1, "", "x", LONG_SENTENCE))
    ways: tuple[Callable[[], pl.DataFrame], ...] = (
        lambda: frame.drop(name),
        lambda: frame.rename({name: f"{name}x"}),
        lambda: frame.with_columns(pl.col(other).alias(name)),
        lambda: frame.with_columns(pl.lit(None).cast(chance.choice(_TYPES)).alias(name)),
        lambda: frame.with_columns(pl.col(name).cast(chance.choice(_TYPES), strict=False)),
        lambda: frame.with_columns(pl.lit(strange).cast(frame.schema[name], strict=False).alias(name)),
        lambda: _with_cell(frame, name, strange, chance),
        lambda: frame.head(chance.choice((0, 1, 2, 3, len(frame) - 1))),
        lambda: pl.concat([frame, frame.head(chance.choice((1, len(frame))))]),
        lambda: frame.sample(fraction=1, shuffle=True, seed=chance.randrange(1000)),
    )
    try:
        changed = chance.choice(ways)()
    except pl.exceptions.PolarsError:
        changed = frame.drop(name)
    changed.write_parquet(path)
    return None


def _with_cell(frame: pl.DataFrame, name: str, value: Any, chance: Chance) -> pl.DataFrame:
    """The frame with one other cell."""
    place = chance.randrange(len(frame))
    strange = pl.lit(value).cast(frame.schema[name], strict=False)
    here = pl.int_range(pl.len()) == place
    return frame.with_columns(pl.when(here).then(strange).otherwise(pl.col(name)).alias(name))


PARQUET: list[FileDamage] = [change_parquet] * 8


def change_tensors_header(path: Path, chance: Chance) -> None:
    """A safetensors file whose header says something else."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    try:
        header = changed_value(json.loads(content[8 : 8 + size]), chance)
    except ValueError:
        return flip_bytes(path, chance)
    text = _json(header)
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    return None


def change_tensors(path: Path, chance: Chance) -> None:
    """A tensor that is gone, renamed, of another shape or type, or full of strange numbers."""
    from safetensors import SafetensorError
    from safetensors.numpy import load, save

    try:
        tensors = load(path.read_bytes())
    except SafetensorError:
        return flip_bytes(path, chance)
    if not tensors:  # features without arrays have such a file
        return flip_bytes(path, chance)
    name = chance.choice(sorted(tensors))
    tensor = tensors.pop(name)
    strange = chance.choice((np.nan, np.inf, -np.inf, 3e38, 0.0))
    ways: tuple[Callable[[], dict[str, Any]], ...] = (
        dict,
        lambda: {f"{name}.x": tensor},
        lambda: {name: tensor.T.copy()},
        lambda: {name: tensor.reshape(-1)},
        lambda: {name: tensor[: len(tensor) // 2].copy()},
        lambda: {name: np.concatenate([tensor, tensor])},
        lambda: {name: tensor.astype(chance.choice((np.int64, np.float16, np.float64, np.bool_)))},
        lambda: {name: np.full_like(tensor, strange)},
    )
    with np.errstate(all="ignore"):
        path.write_bytes(save({**tensors, **chance.choice(ways)()}, metadata={"format": "pt"}))
    return None


TENSORS: list[FileDamage] = [change_tensors_header, *([change_tensors] * 3)]

BY_SUFFIX: Mapping[str, list[FileDamage]] = {
    ".json": JSON,
    ".yaml": YAML,
    ".gguf": [change_gguf] * 8,
    ".jsonl": JSON_LINES,
    ".csv": TABLE,
    ".tsv": TABLE,
    ".parquet": PARQUET,
    ".safetensors": TENSORS,
}
