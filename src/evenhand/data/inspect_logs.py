"""Logs of Inspect, plain (``.json``) or packed (``.eval``): one object whose ``samples`` are the items."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import PredictionsError
from evenhand.core.files import MAX_BYTES, decode_utf8, load_json, parse_json
from evenhand.data.records import field_sets

_ZIP = b"PK\x03\x04"

LOCAL_HEADER = 30
"""Bytes before the name of a file in a ZIP archive; the last four are the lengths of the name and of extra fields."""


def read_inspect_log(content: bytes, path: Path) -> dict[str, Any] | None:
    """The log that a file holds; None if it holds something else.

    Raises:
        PredictionsError: If it is a log, or other JSON, that was cut or damaged.
    """
    if content.startswith(_ZIP):
        return _unpacked_log(content, path)
    fields = field_sets(path)
    is_log = any({"eval", "status"} <= names for names in fields)
    # Where not even the first record can be read, say what is wrong with it before what it lacks.
    if is_log or (not fields and content.lstrip()[:1] in (b"{", b"[")):
        text = decode_utf8(content, path, error=PredictionsError)
        document = parse_json(text, path, error=PredictionsError)
        return as_mapping(document) if is_log else None
    return None


def samples_of(document: Mapping[str, Any], path: Path) -> list[dict[str, Any]]:
    """All samples of a log.

    Raises:
        PredictionsError: If the evaluation did not succeed, or samples are missing.
    """
    status = document.get("status")
    if status != "success":
        raise PredictionsError(
            f"{path} is a log of Inspect with the status {status!r}. Give the log of an evaluation that succeeded."
        )
    samples = document.get("samples")
    listed = samples if isinstance(samples, list) else []
    total = as_mapping(document.get("results")).get("total_samples")
    if not listed or (isinstance(total, int) and len(listed) < total):
        raise PredictionsError(
            f"{path} is a log of Inspect with {len(listed):,} of {total or 'no'} samples. Give the whole log."
        )
    return [as_mapping(sample) for sample in listed]


def stated_items(document: Mapping[str, Any]) -> int | None:
    """How many samples the dataset of a log has, by the log's own word; None if it does not say."""
    stated = as_mapping(as_mapping(document.get("eval")).get("dataset")).get("samples")
    return stated if isinstance(stated, int) else None


def as_mapping(value: Any) -> dict[str, Any]:
    """An object of a log; one without fields where there is something else in its place."""
    return value if isinstance(value, dict) else {}


def _unpacked_log(content: bytes, path: Path) -> dict[str, Any]:
    """The header of an ``.eval`` file with its samples."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > 4 * MAX_BYTES:
                raise PredictionsError(f"{path} unpacks to more than {4 * MAX_BYTES // 2**20} MB. Split it.")
            names = archive.namelist()
            if "header.json" not in names:
                raise PredictionsError(
                    f"{path} is a ZIP archive without header.json: no log of Inspect, or one of an evaluation that "
                    "did not finish. Give a finished log."
                )
            header = as_mapping(load_json(_member(archive, "header.json", content, path).decode()))
            samples = [
                load_json(_member(archive, name, content, path).decode())
                for name in names
                if name.startswith("samples/")
            ]
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, RuntimeError) as problem:
        raise PredictionsError(
            f"{path} is a damaged ZIP archive ({problem}). The log was cut: copy it again."
        ) from None
    return {**header, "samples": samples}


def _member(archive: zipfile.ZipFile, name: str, content: bytes, path: Path) -> bytes:
    """A file of an archive, also one compressed with Zstandard, which Inspect uses and Python knows from 3.14 on."""
    entry = archive.getinfo(name)
    try:
        return archive.read(entry)
    except NotImplementedError:
        pass
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise PredictionsError(
            f"{path} is compressed with Zstandard, which needs pyarrow. Install it, or convert the log: inspect log "
            f"dump {path.name} > log.json"
        ) from None
    fixed = content[entry.header_offset : entry.header_offset + LOCAL_HEADER]
    lengths = int.from_bytes(fixed[26:28], "little") + int.from_bytes(fixed[28:30], "little")
    start = entry.header_offset + LOCAL_HEADER + lengths
    packed = content[start : start + entry.compress_size]
    try:
        unpacked: bytes = pyarrow.decompress(packed, entry.file_size, codec="zstd", asbytes=True)
    except OSError as problem:
        raise ValueError(str(problem)) from None
    return unpacked
