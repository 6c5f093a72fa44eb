"""GGUF files: scores are those of the same weights in a folder, and what cannot be read is refused."""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
import zoo_tokenizers
from engine_scores import engine_scores
from gguf_builder import dequantised_folder, write_gguf
from measuring import audit
from running import Command
from transformers import modeling_gguf_pytorch_utils as converter
from zoo_fixtures import Zoo
from zoo_items import starter_items

from evenhand.api.models import describe_model
from evenhand.core.errors import MissingExtraError
from evenhand.core.items import Task
from evenhand.models.backends import backend_of, require_backends
from evenhand.models.description import declared_languages
from evenhand.models.gguf_files import caveats_of, complete_tokenizer, read_gguf_header
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef, hub_file, refuse_missing_path


def load(path: Path) -> LanguageModel:
    return load_language_model(str(path), device="cpu")


@pytest.fixture(scope="module")
def folder(menagerie: Zoo) -> Path:
    return menagerie.folder("llama")


@pytest.fixture(scope="module")
def quantised(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(folder, tmp_path_factory.mktemp("gguf") / "Tiny.Q4_1.gguf", kind="Q4_1")


@pytest.fixture(scope="module")
def model(quantised: Path) -> LanguageModel:
    return load(quantised)


@pytest.mark.parametrize("protocol", ["evenhand.v1", "multilingual-2023"])
def test_scores_are_those_of_the_same_weights_in_a_folder(
    folder: Path, model: LanguageModel, tmp_path: Path, protocol: str
) -> None:
    same = load(dequantised_folder(folder, tmp_path / "folder", kind="Q4_1"))
    items = (*starter_items(Task.INTRASENTENCE)[::3], *starter_items(Task.INTERSENTENCE)[::3])
    assert engine_scores(model, items, protocol=protocol) == engine_scores(same, items, protocol=protocol)
    assert engine_scores(model, items) != engine_scores(load(folder), items)


def test_loading_parses_the_file_once_and_shows_no_bar(
    quantised: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    parsed: list[str] = []

    class Counted(gguf.GGUFReader):
        def __init__(self, path: str) -> None:
            parsed.append(path)
            super().__init__(path)

    monkeypatch.setattr(gguf, "GGUFReader", Counted)
    load(quantised)
    assert parsed == [str(quantised)]
    assert capfd.readouterr().err == ""
    assert gguf.GGUFReader is Counted


def test_loading_reads_the_values_of_the_file_once(quantised: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[bool] = []
    tables: list[tuple[object, ...]] = []
    read, make_table = converter.load_gguf_checkpoint, gguf.get_tensor_name_map

    def counted_read(path: str, return_tensors: bool = False, **options: object) -> object:
        readings.append(return_tensors)
        return read(path, return_tensors, **options)

    def counted_table(*arguments: object) -> object:
        tables.append(arguments)
        return make_table(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(converter, "load_gguf_checkpoint", counted_read)
    monkeypatch.setattr(gguf, "get_tensor_name_map", counted_table)
    load(quantised)
    assert sorted(readings) == [False, True]
    assert len(tables) == 1
    assert converter.load_gguf_checkpoint is counted_read
    assert gguf.get_tensor_name_map is counted_table


def test_the_record_says_what_the_weights_were_made_from(model: LanguageModel) -> None:
    record = audit(model).record.model
    assert record is not None
    assert (record.id, record.architecture, record.stored_as, record.caveats) == (
        "Tiny.Q4_1",
        "LlamaForCausalLM",
        "GGUF Q4_1",
        (),
    )
    assert record.weights.startswith("sha256 ")
    assert describe_model(model)["weights"] == "dequantised from GGUF Q4_1"


def test_a_folder_of_the_weights_can_be_saved(model: LanguageModel, tmp_path: Path) -> None:
    model.loaded.model.save_pretrained(tmp_path)  # type: ignore[operator]
    model.tokenizer.save_pretrained(tmp_path)
    assert "quantization_config" not in json.loads((tmp_path / "config.json").read_text())
    text = ["Der Tee ist heiß."]
    assert load(tmp_path).score_texts(text) == model.score_texts(text)


def cut(path: Path, target: Path, *, size: int) -> Path:
    target.write_bytes(path.read_bytes()[:size])
    return target


@pytest.mark.parametrize("share", [0.0001, 0.001, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_refused(quantised: Path, tmp_path: Path, share: float) -> None:
    size = int(share * quantised.stat().st_size)
    with pytest.raises(ModelError, match=r"cut\.gguf is cut off.*Copy or download it again"):
        load(cut(quantised, tmp_path / "cut.gguf", size=size))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no GGUF file"),
        (b"PK\x03\x04" + bytes(100), "no GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS pointer.*git lfs pull"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 0, 0), "version 1 of the GGUF format"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 0, 0), "little-endian"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 0), "damaged GGUF file"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 2**63, 2**63), "cut off"),
        (struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 2**62), "cut off"),
        (struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"x", 77), "damaged GGUF file"),
        (struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"x", 9, 4, 2**61), "cut off"),
    ],
)
def test_what_is_no_gguf_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=words):
        load(path)


def test_an_architecture_that_transformers_cannot_read_is_named(folder: Path, tmp_path: Path) -> None:
    path = write_gguf(folder, tmp_path / "other.gguf", values={"general.architecture": "rwkv7"})
    with pytest.raises(
        ModelError,
        match=r"architecture rwkv7, and Transformers .* cannot read its configuration.*Give the model",
    ):
        load(path)


def test_one_part_of_several_is_refused(folder: Path, tmp_path: Path) -> None:
    path = write_gguf(folder, tmp_path / "part-1.gguf", values={"split.count": 3})
    with pytest.raises(ModelError, match=r"one of 3 parts of a model.*llama-gguf-split --merge"):
        load(path)


def test_the_package_is_asked_for_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingExtraError, match=r"needs gguf.*pip install '\.\[gguf\]'"):
        require_backends(["absent.gguf"], purpose="evenhand audit")


def test_a_file_of_the_hub_is_named_after_its_repository() -> None:
    assert hub_file("org/name/model.gguf") == ("org/name", "model.gguf")
    assert hub_file("org/name/sub/model.gguf") == ("org/name", "sub/model.gguf")
    assert [hub_file(name) for name in ("org/name", "name/model.gguf", "./a/b.gguf", "/a/b.gguf")] == [
        None
    ] * 4
    refuse_missing_path("org/name/model.gguf")
    assert ModelRef.parse("org/name/model.gguf@v2") == ("org/name/model.gguf", "v2")
    assert backend_of("org/name/Model.GGUF").name == "gguf"
    assert backend_of("api:model.gguf").name == "api"


@pytest.mark.parametrize("name", ["model.gguf", "./model.gguf", "models/model.gguf", "/nowhere/model.gguf"])
def test_a_file_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"There is no file {name}. Give"):
        refuse_missing_path(name)


def test_a_folder_with_nothing_but_a_gguf_file_names_the_file(quantised: Path) -> None:
    with pytest.raises(ModelError, match=r"without a config\.json.*Give the file in it: .*Tiny\.Q4_1\.gguf"):
        load(quantised.parent)


def test_languages_come_from_the_file(folder: Path, tmp_path: Path) -> None:
    path = write_gguf(folder, tmp_path / "en.gguf", values={"general.languages": ["en", "de"]})
    assert declared_languages(str(path)) == ("en", "de")


def test_a_file_without_a_name_for_its_quantisation_is_called_after_its_weights(
    folder: Path, tmp_path: Path
) -> None:
    path = write_gguf(folder, tmp_path / "plain.gguf", kind="F16", values={"general.file_type": 999})
    assert read_gguf_header(path).quantisation == "F16"


@pytest.mark.parametrize(
    ("pre_tokenizer", "pieces", "caveats"),
    [
        ("gpt-2", ["in", "Ġ1234"], 0),
        ("smollm", ["in", "Ġ", "1", "2", "3", "4"], 0),
        ("unheard-of", ["in", "Ġ1234"], 1),
    ],
)
def test_numbers_are_split_as_the_file_says_or_it_is_said(
    quantised: Path, pre_tokenizer: str, pieces: list[str], caveats: int
) -> None:
    header = replace(read_gguf_header(quantised), tokenizer="gpt2", pre_tokenizer=pre_tokenizer)
    tokenizer = zoo_tokenizers.gpt2()
    complete_tokenizer(tokenizer, header)
    words = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str("in 1234")
    assert [word for word, _ in words] == pieces
    assert len(caveats_of(tokenizer, header)) == caveats


def test_frequencies_of_its_own_are_told_of(folder: Path, tmp_path: Path) -> None:
    frequencies = {"rope_freqs.weight": np.ones(4, dtype=np.float32)}
    scaled = load(write_gguf(folder, tmp_path / "scaled.gguf", tensors=frequencies))
    (caveat,) = scaled.record.caveats
    assert "frequencies of its own for positions" in caveat


def test_the_page_says_that_weights_were_dequantised(
    run_evenhand_here: Command, quantised: Path, tmp_path: Path
) -> None:
    done = run_evenhand_here("audit", str(quantised), "--limit", "2", "--out", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "runs" / "Tiny.Q4_1_association_starter_en_limit-2" / "report.html").read_text()
    assert "fp32 on cpu, dequantised from GGUF Q4_1" in page
