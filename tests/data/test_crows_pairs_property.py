"""Whatever stands in a file of pairs, it is read as it is or refused as a user's mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pair_builders import HEADER, ORIGINAL_HEADER, pair, row_of, write_table

from evenhand.core.errors import EvenhandError
from evenhand.core.items import SentencePair
from evenhand.data.crows_pairs import load_pairs

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)
PAIRS = st.lists(
    st.builds(
        pair,
        TEXTS,
        more=TEXTS,
        less=TEXTS,
        direction=st.sampled_from(["stereo", "antistereo"]),
        bias_type=TEXTS,
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda each: each.id,
)


patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Each example writes a file, which takes as long as a busy machine likes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pairs")


@patient
@given(pairs=PAIRS, ending=st.sampled_from([".csv", ".tsv"]), original=st.booleans())
def test_any_texts_survive_being_written_and_read(
    folder: Path, pairs: list[SentencePair], ending: str, original: bool
) -> None:
    rows = [(*row_of(each), "[]", "a", "[]") if original else row_of(each) for each in pairs]
    path = write_table(folder / f"pairs{ending}", rows, header=ORIGINAL_HEADER if original else HEADER)

    found = load_pairs(path, language=None if original else "en")

    assert found.pairs == tuple(pairs)
    assert found.language == "en"


@pytest.mark.parametrize("header", [b"", f"{','.join(HEADER)}\n".encode()])
@patient
@given(content=st.binary())
def test_any_bytes_are_read_or_refused(folder: Path, header: bytes, content: bytes) -> None:
    path = folder / "bytes.csv"
    path.write_bytes(header + content)

    try:
        found = load_pairs(path, language="en")
    except EvenhandError as problem:
        assert str(path) in str(problem)  # noqa: PT017
    else:
        assert len(found) > 0
