"""Whatever stands in a file of structures, it is read as it is or refused as a user's mistake."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sized
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import EvenhandError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import OccupationForm, Structure, fill, find_gaps
from evenhand.data.probe_files import read_occupations, read_structures, read_terms

PIECES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]BX"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("probes") / "file.csv"


@given(before=PIECES, between=PIECES, after=PIECES)
def test_any_text_around_the_gaps_survives_being_written_read_and_filled(
    path: Path, before: str, between: str, after: str
) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["experiment", "number", "structure"])
        writer.writerow(["names", "3", f"{before}[MASK]{between}[OCC]{after}"])
    tidy = " ".join(f"{before}[MASK]{between}[OCC]{after}".split())

    (read,) = read_structures(path, language="en").structures

    assert read == Structure(Experiment.NAMES, 3, tidy)
    assert fill(read, OccupationForm("X"), term="X") == tidy.replace("[MASK]", "X").replace("[OCC]", "X")
    assert [gap.kind.value for gap in find_gaps(read.text)] == ["MASK", "OCC"]


@pytest.mark.parametrize("header", [b"", b"experiment,number,structure\n", b"male,female\n", b"occupation\n"])
@given(content=st.binary())
def test_any_bytes_are_read_or_refused(path: Path, header: bytes, content: bytes) -> None:
    path.write_bytes(header + content)

    readers: list[Callable[[], Sized]] = [
        lambda: read_structures(path, language="en").structures,
        lambda: read_occupations(path, language="en").occupations,
        lambda: read_terms(path).terms,
    ]

    assert [refusal for read in readers if (refusal := refusal_of(read)) and str(path) not in refusal] == []


def refusal_of(read: Callable[[], Sized]) -> str | None:
    """The message of a refusal, and None for something read."""
    try:
        found = read()
    except EvenhandError as problem:
        return str(problem)
    return None if len(found) else "read as nothing"
