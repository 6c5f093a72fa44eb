"""Damaged model folders: whatever the libraries make of a file, the message names it and says what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from evenhand.core.errors import EvenhandError
from evenhand.models.backends.lab import embedded_folder
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.model_files import WEIGHTS, check_unknown_token, damage_in, loading_explained
from evenhand.models.references import ModelError, ModelRef

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 437955512\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(embedded_folder("lab:masked"), tmp_path / "model")


def load(folder: Path) -> LanguageModel:
    return load_language_model(str(folder), device="cpu")


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def without_an_end(content: bytes) -> bytes:
    return content[:-100]


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("model.safetensors", half, r"it has [\d,]+ bytes, and its header tells of [\d,]+"),
        ("model.safetensors", without_an_end, r"it has [\d,]+ bytes, and its header tells of [\d,]+"),
        ("model.safetensors", lambda _: b"", "no safetensors file, or only the beginning of one"),
        ("model.safetensors", lambda content: content[:200], "only the beginning of one"),
        ("model.safetensors", lambda content: content[:8] + b"x" + content[9:], "not valid JSON"),
        ("tokenizer.json", half, "not valid JSON"),
        ("tokenizer.json", lambda content: content.decode().encode("utf-16"), "not UTF-8 text"),
        ("tokenizer_config.json", lambda _: b"[" * 100_000, "nested too deeply"),
        ("config.json", half, "not valid JSON"),
    ],
)
def test_a_damaged_file_is_named(
    folder: Path, name: str, damage: Callable[[bytes], bytes], message: str
) -> None:
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(
        ModelError, match=f"{name} is damaged: .*{message}.* Copy or download the model again"
    ):
        load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_pointer_of_git_lfs_is_told_from_the_file(folder: Path, name: str) -> None:
    (folder / name).write_bytes(POINTER)
    with pytest.raises(ModelError, match=rf"{name} is not the file itself but a pointer.*git lfs pull"):
        load(folder)


@pytest.mark.parametrize("target", ["/dev/zero", "nowhere", "tokenizer.json", ".."])
def test_a_link_that_leads_to_no_file_is_not_read(folder: Path, target: str) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").symlink_to(target)
    with pytest.raises(ModelError, match=r"tokenizer\.json is a link to .*, where there is no file"):
        load(folder)


def test_a_link_to_a_file_is_as_good_as_the_file(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(tmp_path / "blob")
    (folder / "model.safetensors").symlink_to(tmp_path / "blob")
    assert load(folder).record.id == "model"


@pytest.mark.parametrize(
    ("name", "field", "value", "part"),
    [
        ("config.json", "vocab_size", "many", "configuration"),
        ("config.json", "max_position_embeddings", None, "weights|configuration"),
        ("config.json", "num_attention_heads", 7, "weights"),
        ("config.json", "model_type", ["bert"], "configuration"),
        ("config.json", "architectures", 5, "configuration"),
        ("config.json", "architectures", [["BertForMaskedLM"]], "configuration"),
        ("config.json", "decoder_start_token_id", "first", "configuration"),
        ("config.json", "decoder_start_token_id", [2, 3], "configuration"),
        ("config.json", "eos_token_id", [2, "3"], "configuration"),
        ("config.json", "num_hidden_layers", -1, "configuration"),
        ("config.json", "num_hidden_layers", 0, "configuration"),
        ("config.json", "num_hidden_layers", 10**7, "configuration"),
        ("tokenizer_config.json", "unk_token", None, "tokenizer"),
        ("tokenizer_config.json", "model_max_length", "long", "tokenizer"),
        ("tokenizer_config.json", "extra_ids", 10**30, "tokenizer"),
        ("tokenizer_config.json", "tokenizer_class", 1.5, "tokenizer"),
        ("tokenizer_config.json", "sep_token", ["[SEP]"], "tokenizer"),
        ("tokenizer.json", "model", {"type": "WordPiece"}, "tokenizer"),
        ("tokenizer.json", "normalizer", {"type": "Nonsense"}, "tokenizer"),
    ],
)
def test_a_field_that_cannot_be_is_told_with_its_part(
    folder: Path, name: str, field: str, value: Any, part: str
) -> None:
    document = json.loads((folder / name).read_bytes())
    (folder / name).write_text(json.dumps(document | {field: value}), encoding="utf-8")
    with pytest.raises(ModelError, match=rf"cannot be loaded\. Its ({part}) cannot be used: \S"):
        load(folder)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "vocab_size",
            "many",
            "configuration cannot be used: vocab_size is 'many', and a whole number is needed",
        ),
        ("hidden_size", 6.5, "configuration cannot be used: hidden_size is 6.5"),
        ("pad_token_id", [0, 1], "weights cannot be used: no tuple of ints"),
        ("hidden_act", "many", "weights cannot be used: no tuple of ints"),
    ],
)
def test_weights_are_not_blamed_for_a_size_that_is_no_number(
    folder: Path, field: str, value: Any, message: str
) -> None:
    """Older versions of Transformers take such a configuration and fail when they make room for the weights."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {field: value}), encoding="utf-8")

    with pytest.raises(ModelError, match=message), loading_explained(ModelRef(id=str(folder)), WEIGHTS):
        raise TypeError("no tuple of ints")


def test_a_tokenizer_without_its_vocabulary_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"has no vocabulary: 5 entries.*tokenizer\.json"):
        load(folder)


def test_a_folder_in_the_place_of_a_file_does_not_stop_the_digest(folder: Path) -> None:
    (folder / "lab.json").unlink()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    before = load(folder).record.weights
    (folder / "old").mkdir()
    assert load(folder).record.weights == before


def test_an_intact_folder_has_no_damage(folder: Path) -> None:
    assert damage_in(folder) is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("adapter_model.safetensors", POINTER, "a pointer of git-LFS"),
        ("adapter_model.safetensors", b"\0" * 64, "is damaged"),
        (
            "adapter_config.json",
            b'{"peft_type": "LORA", "base_model_name_or_path": "x", "r": "two"}',
            "adapter",
        ),
    ],
)
def test_a_damaged_adapter_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    base = embedded_folder("lab:decoder")
    network = load_language_model(str(base), device="cpu").loaded.model
    wrapped = get_peft_model(network, LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
    wrapped.save_pretrained(str(tmp_path / "lora"))
    (tmp_path / "lora" / name).write_bytes(content)
    with torch.no_grad(), pytest.raises(ModelError, match=message):
        load_language_model(ModelRef(id=str(base), device="cpu", adapters=(str(tmp_path / "lora"),)))


@pytest.mark.parametrize("strength", [1e308, -101.0, float("nan")])
def test_a_planted_bias_that_no_model_can_have_is_refused(folder: Path, strength: float) -> None:
    document = json.loads((folder / "lab.json").read_bytes())
    document["planted"]["strength"] = strength
    (folder / "lab.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(EvenhandError, match=r"lab\.json is damaged"):
        _ = load(folder).record


def test_an_entry_beyond_the_embedding_is_refused_however_many_there_are(folder: Path) -> None:
    document = json.loads((folder / "tokenizer.json").read_bytes())
    vocabulary = document["model"]["vocab"]
    last = max(vocabulary, key=lambda token: int(vocabulary[token]))
    vocabulary[last] = 10**6
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelError, match=r"has entries up to 1,000,001, the model's embedding only"):
        load(folder)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'n{80}\.\.\.' names no model \(File name too long\)"):
        ModelRef.parse("n" * 5_000)


def test_an_unknown_token_that_is_unknown_itself_is_refused() -> None:
    """Transformers takes the unknown token for what it does not find, this one too, and looks for it again."""

    class Tokenizer:
        unk_token = "[?]"  # noqa: S105

        @property
        def unk_token_id(self) -> int:
            return self.unk_token_id

    with pytest.raises(ValueError, match=r"unk_token is '\[\?\]', which its vocabulary does not have"):
        check_unknown_token(Tokenizer())


def test_a_mask_that_the_model_does_not_know_is_refused(folder: Path) -> None:
    settings = json.loads((folder / "tokenizer_config.json").read_bytes()) | {"mask_token": "[GAP]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(ModelError, match=r"the mask_token '\[GAP\]' at [\d,]+, beyond the [\d,]+ entries"):
        load(folder)


@pytest.mark.parametrize("start", [10**6, 2**63, -1])
def test_a_decoder_cannot_start_with_a_token_that_is_none(tmp_path: Path, start: int) -> None:
    folder = shutil.copytree(embedded_folder("lab:encoder-decoder"), tmp_path / "model")
    config = json.loads((folder / "config.json").read_bytes()) | {"decoder_start_token_id": start}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=r"decoder_start_token_id|cannot be used"):
        load(folder).score_fills("The BLANK is here.", ["man"])
