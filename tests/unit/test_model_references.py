"""Model references: names, revisions and folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.models import ModelError, ModelRef


@pytest.mark.parametrize(
    ("text", "expected"),
    [("gpt2", ("gpt2", None)), ("gpt2@main", ("gpt2", "main")), ("a/b@v1.0", ("a/b", "v1.0"))],
)
def test_revision_stands_after_the_sign(text: str, expected: tuple[str, str | None]) -> None:
    assert ModelRef.parse(text) == expected


def test_folder_is_itself_even_with_the_sign_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "model@home"
    folder.mkdir()
    assert ModelRef.parse(str(folder)) == (str(folder), None)


def test_revision_alone_names_no_model() -> None:
    with pytest.raises(ModelError, match="names no model"):
        ModelRef.parse("@main")


@pytest.mark.parametrize(
    ("name", "short"), [("gpt2", "gpt2"), ("google/mt5-base", "google_mt5-base"), ("./models/mine/", "mine")]
)
def test_short_name_can_be_a_folders(name: str, short: str) -> None:
    assert ModelRef(id=name).short_name == short
