"""Values kept as they come, so that a killed run loses two batches at most."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import RunError
from evenhand.core.files import write_bytes, write_text

_FINGERPRINT = "plan.sha256"


class BatchStore:
    """A folder with one small file for each finished batch of a plan."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self.fingerprint = fingerprint

    def open(self) -> None:
        """Start, or go on with what is there; the values of another plan are refused."""
        marker = self.folder / _FINGERPRINT
        if marker.exists():
            if marker.read_text(encoding="utf-8").strip() != self.fingerprint:
                raise RunError(
                    f"{self.folder} holds the unfinished scores of another run (other model, data or options). "
                    "Start anew with --fresh."
                )
            return
        write_text(marker, self.fingerprint + "\n")

    def load(self, batch: int, reads: int) -> npt.NDArray[np.float64] | None:
        """The values of a finished batch; None if it is not finished, or its file is damaged."""
        try:
            content = self._path(batch).read_bytes()
        except FileNotFoundError:
            return None
        try:
            values: npt.NDArray[np.float64] = np.load(io.BytesIO(content), allow_pickle=False)
        except (ValueError, EOFError):
            return None
        return values if values.shape == (reads,) else None

    def save(self, batch: int, values: npt.NDArray[np.float64]) -> None:
        """Keep the values of a batch."""
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        write_bytes(self._path(batch), buffer.getvalue())

    def remove(self) -> None:
        """Forget everything, because it is finished or to start anew."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, batch: int) -> Path:
        return self.folder / f"batch-{batch:06d}.npy"
