"""Models of GGUF files are read once, kept as folders, and read anew where the folder is not what was written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf_builder import write_gguf
from running import Command
from safetensors import SafetensorError
from zoo_fixtures import Zoo

from evenhand.models import gguf_cache
from evenhand.models.gguf_cache import LIMIT_VARIABLE, clear_cache, kept_folder, kept_models
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.model_files import save_model
from evenhand.models.references import ModelError, ModelRef


@pytest.fixture
def files(menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two models, and a cache that keeps models as small as these."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(gguf_cache, "MIN_BYTES", 0)
    source = menagerie.folder("llama")
    return [write_gguf(source, tmp_path / f"{kind}.gguf", kind=kind) for kind in ("Q8_0", "Q4_1")]


def load(path: Path, **options: str) -> LanguageModel:
    return load_language_model(ModelRef(id=str(path), device="cpu", **options))


def refuse_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, no GGUF file is dequantised."""
    import gguf

    monkeypatch.setattr(gguf, "GGUFReader", lambda *_: pytest.fail("the file was read again"))


def test_a_kept_model_is_the_same_and_the_file_is_not_read_again(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(files[0])
    text = "The man saw 12 cats."
    refuse_reading(monkeypatch)
    second = load(files[0])
    assert first.tokenizer(text)["input_ids"] == second.tokenizer(text)["input_ids"]
    assert first.score_texts([text]) == second.score_texts([text])
    weights = second.loaded.model.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in first.loaded.model.state_dict().items())
    assert second.record == first.record
    assert second.record.stored_as == "GGUF Q8_0"


def test_a_kept_model_serves_other_precisions(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    anew = load(files[0], precision="bf16").score_texts(["The man saw cats."])
    assert kept_models() == []
    load(files[0])
    refuse_reading(monkeypatch)
    assert load(files[0], precision="bf16").score_texts(["The man saw cats."]) == anew


def test_a_changed_file_is_read_anew(files: list[Path]) -> None:
    load(files[0])
    assert kept_folder(files[0]) is not None
    files[0].write_bytes(files[1].read_bytes())
    assert kept_folder(files[0]) is None


@pytest.mark.parametrize("damage", ["cut", "changed", "missing", "manifest"])
def test_a_damaged_folder_is_not_believed(files: list[Path], damage: str) -> None:
    expected = load(files[0]).score_texts(["The man saw cats."])
    folder = kept_folder(files[0])
    assert folder is not None
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    if damage == "cut":
        weights.write_bytes(content[:-100])
    elif damage == "changed":
        weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "missing":
        weights.unlink()
    else:
        (folder / gguf_cache.MANIFEST).write_text("[]")
    assert kept_folder(files[0]) is None
    assert load(files[0]).score_texts(["The man saw cats."]) == expected
    assert kept_folder(files[0]) is not None


def test_the_least_recently_used_model_gives_way(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    load(files[0])
    (kept,) = kept_models()
    os.utime(kept.folder / gguf_cache.MANIFEST, (1, 1))
    monkeypatch.setattr(gguf_cache, "cache_limit", lambda: int(1.5 * kept.size))
    load(files[1])
    assert [own.source for own in kept_models()] == [str(files[1])]


def test_a_limit_of_0_keeps_nothing(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    load(files[0])
    assert kept_models() == []


def test_a_limit_that_is_no_size_is_refused(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "plenty")
    with pytest.raises(ModelError, match=r"EVENHAND_CACHE_LIMIT is 'plenty'\. Give a size such as 10GB"):
        load(files[0])


def test_a_cache_that_cannot_be_written_costs_nothing(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "file"))
    assert load(files[0]).score_texts(["The man saw cats."])


def test_the_command_lists_and_clears(files: list[Path], run_evenhand_here: Command) -> None:
    load(files[0])
    listed = run_evenhand_here("models", "cache")
    assert files[0].name in listed.stdout
    assert "of 10 GB in" in listed.stdout + listed.stderr
    facts = json.loads(run_evenhand_here("models", "cache", "--json").stdout)
    assert [own["source"] for own in facts["models"]] == [str(files[0])]
    cleared = json.loads(run_evenhand_here("models", "cache", "--clear", "--json").stdout)
    assert cleared["freed"] == facts["size"] > 0
    assert kept_models() == []
    assert clear_cache() == 0


def test_a_full_disk_costs_nothing_and_leaves_nothing(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("transformers.modeling_utils.safe_save_file", full)
    model = load(files[0])
    assert model.score_texts(["The man saw cats."])
    assert list(gguf_cache.cache_folder().iterdir()) == []
    with pytest.raises(OSError, match="No space left") as problem:
        save_model(model.loaded.model, model.tokenizer, files[0].parent / "full")
    assert problem.value.errno == errno.ENOSPC


def test_a_model_that_cannot_be_written_as_a_folder_is_read_anew(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_cache, "_is_same_tokenizer", lambda one, _: one.no_such_thing)
    assert load(files[0]).score_texts(["The man saw cats."])
    assert kept_models() == []


def test_two_processes_read_one_file_at_once(files: list[Path]) -> None:
    program = (
        "import sys; from evenhand.models import gguf_cache; gguf_cache.MIN_BYTES = 0;"
        "from evenhand.models.language_model import load_language_model as load;"
        "from evenhand.models.references import ModelRef;"
        "model = load(ModelRef(id=sys.argv[1], device='cpu'));"
        "print(model.score_texts(['The man saw cats.'])[0].log_probs)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(files[0])], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=600)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert answers[0] == answers[1] == f"{load(files[0]).score_texts(['The man saw cats.'])[0].log_probs}\n"
    (kept,) = kept_models()
    assert [own.name for own in gguf_cache.cache_folder().iterdir()] == [kept.folder.name]


def test_a_file_of_the_same_size_and_time_under_the_same_name_is_read_anew(files: list[Path]) -> None:
    expected = load(files[1]).score_texts(["The man saw cats."])
    load(files[0])
    before = files[0].stat()
    content = bytearray(files[0].read_bytes())
    content[-1] ^= 1  # of the last weights
    files[0].write_bytes(bytes(content))
    os.utime(files[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert files[0].stat().st_size == before.st_size
    assert kept_folder(files[0]) is None
    files[0].write_bytes(files[1].read_bytes())
    assert load(files[0]).score_texts(["The man saw cats."]) == expected
