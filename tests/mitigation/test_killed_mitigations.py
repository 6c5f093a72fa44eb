"""Killed at any moment and started again, a mitigation ends with the same bytes and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import killed_mitigations
import pytest
from killed_mitigations import MOMENTS, small_mitigation
from zoo_fixtures import Zoo


@pytest.fixture(scope="module")
def undisturbed(menagerie: Zoo, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    small_mitigation(menagerie.folder("bert"), out)
    return (out / "model.safetensors").read_bytes()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_mitigation_goes_on_to_the_same_bytes(
    menagerie: Zoo, tmp_path: Path, moment: str, undisturbed: bytes
) -> None:
    out = tmp_path / "out"
    source = menagerie.folder("bert")
    finished = subprocess.run(
        [sys.executable, killed_mitigations.__file__, str(source), str(out), moment],
        capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert finished.returncode == -signal.SIGKILL, finished.stderr
    assert not out.exists()
    small_mitigation(source, out)
    assert (out / "model.safetensors").read_bytes() == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
