"""Which languages a model says it was made for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from evenhand.models import description
from evenhand.models.references import ModelError


@pytest.mark.parametrize(
    ("front_matter", "expected"),
    [
        ("---\nlanguage: en\n---\n# A model", ("en",)),
        ("---\nlanguage:\n- de\n- fr\n---\n", ("de", "fr")),
        ("---\nlicense: mit\n---\n", ()),
        ("# No front matter", ()),
        ("---\nlanguage:\n- de\n- 1\n- [fr]\n---\n", ("de",)),
    ],
)
def test_languages_are_read_from_the_readme(
    tmp_path: Path, front_matter: str, expected: tuple[str, ...]
) -> None:
    (tmp_path / "README.md").write_text(front_matter, encoding="utf-8")
    assert description.declared_languages(str(tmp_path)) == expected


def test_readme_of_a_hub_model_is_fetched_at_its_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "card.md").write_text("---\nlanguage: tr\n---\n", encoding="utf-8")
    asked: list[tuple[str, str, str | None]] = []

    def fetch(model: str, name: str, *, revision: str | None) -> str:
        asked.append((model, name, revision))
        return str(tmp_path / "card.md")

    monkeypatch.setattr(description, "hf_hub_download", fetch)
    assert description.declared_languages("somebody/some-model", "v2") == ("tr",)
    assert asked == [("somebody/some-model", "README.md", "v2")]


def test_model_without_a_readme_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> str:
        raise OSError("no network")

    monkeypatch.setattr(description, "hf_hub_download", fail)
    assert description.declared_languages("somebody/some-model") == ()
    assert description.declared_languages(str(tmp_path)) == ()


def test_a_readme_without_end_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "README.md").symlink_to("/dev/zero")
    with pytest.raises(ModelError, match=r"README\.md is no file"):
        description.declared_languages(str(tmp_path))


def test_broken_front_matter_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\n: : broken\n---\n", encoding="utf-8")
    tokenizer = SimpleNamespace(unk_token_id=None)
    (warning,) = description.warnings_of_texts(str(tmp_path), tokenizer, [], name="items", language="de")
    assert warning.startswith("the languages that the model was made for are not known. The front matter of ")


@pytest.mark.parametrize(
    ("declared", "language", "warned"),
    [("pt", "pt-BR", False), ("pt-BR", "pt-BR", False), ("pt", "fr", True), ("pt-PT", "pt-BR", True)],
)
def test_a_language_covers_its_regions(tmp_path: Path, declared: str, language: str, warned: bool) -> None:
    (tmp_path / "README.md").write_text(f"---\nlanguage: {declared}\n---\n", encoding="utf-8")
    tokenizer = SimpleNamespace(unk_token_id=None)
    warnings = description.warnings_of_texts(str(tmp_path), tokenizer, [], name="items", language=language)
    assert [f"made for {declared}, not for {language}" in warning for warning in warnings] == [True] * warned
