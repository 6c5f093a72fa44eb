"""The models that ship with the package: all there, small, and refused when anything about them was changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.planted_bias import read_planted_bias
from evenhand.models.backends.lab import audited_names, embedded_folder, embedded_names, embedded_root
from evenhand.models.references import ModelRef

AUDITED = ("lab:masked", "lab:masked-neutral", "lab:decoder", "lab:encoder-decoder")
NAMES = (*AUDITED, "lab:decoder-regard-en", "lab:decoder-regard-de")
MANIFEST = "manifest.json"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The embedded models at another place, to be damaged."""
    return Path(shutil.copytree(embedded_root(), tmp_path / "models"))


def test_six_models_are_embedded_and_four_of_them_audited_without_being_named() -> None:
    assert embedded_names() == NAMES
    assert audited_names() == AUDITED


def test_together_they_have_at_most_eight_megabytes() -> None:
    sizes = [path.stat().st_size for path in embedded_root().rglob("*") if path.is_file()]

    assert len(sizes) > 4 * 5
    assert sum(sizes) <= 8_000_000


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_listed_with_its_checksum(name: str) -> None:
    folder = embedded_folder(name)
    listed = json.loads((embedded_root() / MANIFEST).read_text(encoding="utf-8"))["models"][folder.name][
        "files"
    ]

    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()} == listed


@pytest.mark.parametrize("name", NAMES)
def test_what_was_planted_is_what_the_command_of_the_manifest_plants(name: str) -> None:
    folder = embedded_folder(name)
    entry = json.loads((embedded_root() / MANIFEST).read_text(encoding="utf-8"))["models"][folder.name]
    planted = read_planted_bias(folder)

    assert planted is not None
    regard = "" if planted.regard_gap is None else f" --regard-gap {planted.regard_gap:g}"
    assert entry["command"] == (
        f"evenhand lab build --family {planted.family} --strength {planted.strength:g} --language "
        f"{planted.language} --seed {planted.seed}{regard} --out DIR"
    )
    assert entry.get("regard_gap") == planted.regard_gap == (-30 if "regard" in name else None)
    assert planted.strength == (0 if name.endswith("neutral") else 2)
    assert name.startswith(f"lab:{planted.family}")


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_by_name_leads_to_the_folder(name: str) -> None:
    reference = ModelRef(id=ModelRef.parse(name)[0])

    assert Path(reference.location) == embedded_root() / name.removeprefix("lab:")
    assert reference.short_name == name.replace(":", "-")


def test_an_undamaged_copy_is_accepted(copy: Path) -> None:
    assert embedded_folder("lab:masked", copy) == copy / "masked"


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json", "lab.json"])
def test_one_changed_byte_is_noticed_and_names_the_file(copy: Path, file: str) -> None:
    path = copy / "decoder" / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    with pytest.raises(EvenhandError, match=rf"lab:decoder is damaged: {file} .*Install Evenhand again"):
        embedded_folder("lab:decoder", copy)
    assert embedded_folder("lab:masked", copy).is_dir()


def test_a_missing_file_is_noticed(copy: Path) -> None:
    (copy / "masked" / "model.safetensors").unlink()

    with pytest.raises(EvenhandError, match=r"lab:masked is damaged: model\.safetensors .* is missing"):
        embedded_folder("lab:masked", copy)


def test_a_missing_folder_is_noticed(copy: Path) -> None:
    shutil.rmtree(copy / "encoder-decoder")

    with pytest.raises(EvenhandError, match=r"lab:encoder-decoder is damaged: .* is missing"):
        embedded_folder("lab:encoder-decoder", copy)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"models": {"masked": {}}}', b"\xff\xfe\x00"])
def test_a_damaged_manifest_is_an_error_that_says_what_to_do(copy: Path, content: bytes) -> None:
    (copy / MANIFEST).write_bytes(content)

    with pytest.raises(EvenhandError, match=r"manifest\.json cannot be read .*Install Evenhand again"):
        embedded_folder("lab:masked", copy)


def test_a_missing_manifest_is_an_error_that_says_what_to_do(copy: Path) -> None:
    (copy / MANIFEST).unlink()

    with pytest.raises(EvenhandError, match=r"manifest\.json cannot be read .*Install Evenhand again"):
        embedded_folder("lab:masked", copy)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("lab:maskd", "lab:masked"),
        ("lab:Decoder", "lab:decoder"),
        ("lab:masked-netural", "lab:masked-neutral"),
    ],
)
def test_an_unknown_name_is_refused_with_the_one_that_was_meant(name: str, suggestion: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{suggestion}'"):
        embedded_folder(name)


@pytest.mark.parametrize("name", ["lab:", "lab:../models/masked", "lab:/etc"])
def test_a_name_that_is_a_path_leads_nowhere(name: str) -> None:
    with pytest.raises(UnknownNameError, match="Unknown embedded model"):
        embedded_folder(name)
