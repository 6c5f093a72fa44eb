"""Model references: names, revisions and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.models.references import ModelError, ModelRef, refuse_missing_path


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


def test_memory_is_written_as_people_write_it() -> None:
    assert ModelRef(id="gpt2", memory="4GB").memory == 4 * 10**9
    assert ModelRef(id="gpt2", memory=2**30).memory == 2**30
    assert ModelRef(id="gpt2").memory is None


@pytest.mark.parametrize("memory", ["much", "1kB", 0, -5])
def test_memory_that_cannot_be_is_refused(memory: Any) -> None:
    with pytest.raises(EvenhandError, match="memory"):
        ModelRef(id="gpt2", memory=memory)


def test_revision_alone_names_no_model() -> None:
    with pytest.raises(ModelError, match="names no model"):
        ModelRef.parse("@main")


@pytest.mark.parametrize(
    ("name", "short"), [("gpt2", "gpt2"), ("google/mt5-base", "google_mt5-base"), ("./models/mine/", "mine")]
)
def test_short_name_can_be_a_folders(name: str, short: str) -> None:
    assert ModelRef(id=name).short_name == short


@pytest.mark.parametrize(
    "name", ["./nope", "../nope", "/nope", "~/nope", "~nobody/nope", "models/mine/nope", "nope//"]
)
def test_a_path_that_leads_nowhere_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"There is no folder {name}. Give the folder of a model"):
        refuse_missing_path(name)


def is_refused(name: str) -> bool:
    try:
        refuse_missing_path(name)
    except ModelError:
        return True
    return False


@pytest.mark.parametrize("name", ["gpt2", "google/mt5-base", "models/"])
def test_a_name_that_the_hub_may_know_is_not_refused(name: str) -> None:
    assert not is_refused(name)


def test_a_folder_that_is_there_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    names = ("./a", "a/b/c", str(tmp_path), ".", "./b", "a/b/d")
    assert [name for name in names if is_refused(name)] == ["./b", "a/b/d"]


def test_a_file_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"model\.safetensors is a file\. Give the folder"):
        refuse_missing_path("model.safetensors")


def test_the_home_folder_is_written_out_for_whoever_quoted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ModelError, match=f"There is no folder ~/mine. Write {tmp_path}/mine:"):
        refuse_missing_path("~/mine")
