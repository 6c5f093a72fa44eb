"""Reading tables with a library that is written in Rust, and may panic where a file is damaged."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.errors import EvenhandError, fault

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 2_000_000
"""The largest table that is read; a small compressed file could hold far more."""

_STANDARD_ERROR = 2


def is_parquet(content: bytes) -> bool:
    """Whether bytes are a Parquet file, whatever it is called."""
    return content.startswith(b"PAR1")


def read_columnar(
    content: bytes, path: Path, *, rows: int | None = None, error: type[EvenhandError]
) -> pl.DataFrame:
    """The table in a Parquet file, or in a stream of Arrow.

    Args:
        content: Its bytes.
        path: Where they come from, for messages.
        rows: How many are read; all if not given.
        error: Raised if they are damaged, or the table has more rows than are read.
    """
    import polars as pl

    read = pl.read_parquet if is_parquet(content) else pl.read_ipc_stream
    with _damage_refused(content, path, error=error):
        frame = read(io.BytesIO(content), n_rows=rows or MOST_ROWS + 1)
    if len(frame) > MOST_ROWS:
        raise error(f"{path} has more than {MOST_ROWS:,} rows. Split it.")
    return frame


def parquet_metadata(content: bytes, path: Path, *, error: type[EvenhandError]) -> dict[str, str]:
    """What whoever wrote a Parquet file says about it."""
    import polars as pl

    with _damage_refused(content, path, error=error):
        return pl.read_parquet_metadata(io.BytesIO(content))


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as Parquet; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


@contextmanager
def _damage_refused(content: bytes, path: Path, *, error: type[EvenhandError]) -> Iterator[None]:
    import polars as pl

    try:
        with panics_kept_quiet():
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:
        form = "Parquet" if is_parquet(content) or path.suffix == ".parquet" else "Arrow"
        raise error(
            f"{path} is a damaged {form} file ({fault(problem)}). Copy or download it again."
        ) from None


@contextmanager
def panics_kept_quiet() -> Iterator[None]:
    """Keep what a panic prints about itself off the terminal; the exception that it raises says that it happened.

    The library writes past ``sys.stderr``, so the file descriptor itself leads elsewhere for that time. Whatever else
    was written there comes after it.
    """
    import polars as pl

    sys.stderr.flush()
    try:
        before = os.dup(_STANDARD_ERROR)
    except OSError:  # it is closed, so nothing can be seen there
        yield
        return
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), _STANDARD_ERROR)
        panicked = False
        try:
            yield
        except pl.exceptions.PanicException:
            panicked = True
            raise
        finally:
            sys.stderr.flush()
            os.dup2(before, _STANDARD_ERROR)
            os.close(before)
            if not panicked and aside.seek(0, os.SEEK_END):
                aside.seek(0)
                with open(_STANDARD_ERROR, "wb", closefd=False) as stream:  # a descriptor, no path
                    shutil.copyfileobj(aside, stream)
