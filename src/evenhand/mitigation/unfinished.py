"""Where a mitigation lies until it is finished."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from evenhand.core.errors import RunError
from evenhand.core.files import write_text

RUN_FILE = "mitigation.json"


def unfinished_folder(out: Path) -> Path:
    """The folder beside ``out`` that has checkpoints and whatever else is needed to go on."""
    place = out.resolve()
    return place.with_name(f".{place.name}.training")


def claimed(scratch: Path, fingerprint: str) -> Path:
    """The folder of what is not finished yet, if it is of this very mitigation or of none.

    Raises:
        RunError: If it is of another one.
    """
    path = scratch / RUN_FILE
    if path.is_file():
        if json.loads(path.read_bytes()) != {"fingerprint": fingerprint}:
            raise RunError(
                f"{scratch} holds another mitigation that was not finished. Give the same options again to go on with "
                "it, choose another --out, or remove it."
            )
    else:
        write_text(path, json.dumps({"fingerprint": fingerprint}) + "\n")
    return scratch


def leave_if_untrained(scratch: Path) -> None:
    """Whoever mends the corpus has another mitigation; nothing of this one must stand in its way."""
    if not any(scratch.glob("seed-*/epoch-*")):
        shutil.rmtree(scratch, ignore_errors=True)
