"""Killed at any moment and started again, a mitigation ends with the same bytes and leaves nothing behind."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from forking import exit_code
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
    assert exit_code(small_mitigation, source, out, moment) == -signal.SIGKILL
    assert not out.exists()
    small_mitigation(source, out)
    assert (out / "model.safetensors").read_bytes() == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
