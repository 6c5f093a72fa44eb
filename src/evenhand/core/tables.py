"""Reading tables with a library that is written in Rust, and may panic where a file is damaged."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_STANDARD_ERROR = 2


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
