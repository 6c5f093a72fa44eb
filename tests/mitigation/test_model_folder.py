"""The folder of a mitigated model: loads anywhere, keeps every head, tells what was done."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
import yaml
from fitting_runs import RECIPE, same, small_fit, weights_of
from mitigation_records import a_record, put_beside
from zoo_fixtures import Zoo

from evenhand.core.errors import OutputError, RunError
from evenhand.core.files import folder_written_whole
from evenhand.core.recipes import LoraRecipe
from evenhand.mitigation.mitigate import fingerprint_of_model_folder, opened_model, write_model_folder
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import MitigationRecord, read_mitigation_record

CLASSES = {
    "bert": "AutoModelForMaskedLM",
    "roberta": "AutoModelForMaskedLM",
    "electra": "AutoModelForMaskedLM",
    "gpt2": "AutoModelForCausalLM",
    "t5": "AutoModelForSeq2SeqLM",
}


def saved(
    model: LanguageModel,
    record: MitigationRecord,
    folder: Path,
    *,
    beside: Mapping[str, Path] | None = None,
    command: str | None = None,
) -> Path:
    with folder_written_whole(folder) as scratch:
        write_model_folder(model, record, scratch, beside=beside, command=command)
    return folder


def changed(folder: Path) -> LanguageModel:
    """A model whose weights are not those of its folder any more."""
    model = load_language_model(str(folder), device="cpu")
    with torch.no_grad():
        for weight in model.loaded.model.parameters():
            weight.mul_(1.01).add_(0.001)
    return model


@pytest.mark.parametrize("name", CLASSES)
def test_the_new_weights_load_with_plain_transformers_and_with_evenhand(
    menagerie: Zoo, tmp_path: Path, name: str
) -> None:
    model = changed(menagerie.folder(name))
    out = saved(model, a_record(), tmp_path / "out")
    auto = getattr(transformers, CLASSES[name])
    plain, report = auto.from_pretrained(out, output_loading_info=True)
    assert not report["missing_keys"]
    loaded = dict(plain.named_parameters())
    assert all(torch.equal(weight, loaded[name]) for name, weight in weights_of(model).items())
    assert same(weights_of(load_language_model(str(out), device="cpu")), weights_of(model))
    text = "The doctor likes tea."
    tokenizers = [
        transformers.AutoTokenizer.from_pretrained(place) for place in (out, menagerie.folder(name))
    ]
    assert tokenizers[0](text)["input_ids"] == tokenizers[1](text)["input_ids"]
    assert not list(out.glob("*.bin"))


def test_a_head_that_was_not_trained_is_kept(menagerie: Zoo, tmp_path: Path) -> None:
    source = menagerie.folder("bert")
    model = changed(source)
    out = saved(model, a_record(), tmp_path / "out")
    before, after = (
        dict(transformers.BertForPreTraining.from_pretrained(place).named_parameters())
        for place in (source, out)
    )
    trained = weights_of(model)
    assert set(before) == set(after)
    assert set(before) - set(trained) == {
        "bert.pooler.dense.weight",
        "bert.pooler.dense.bias",
        "cls.seq_relationship.weight",
        "cls.seq_relationship.bias",
    }
    for name, weight in after.items():
        assert torch.equal(weight, trained[name] if name in trained else before[name])
    assert load_language_model(str(out), device="cpu").judges_next_sentence


def test_which_class_means_follows_is_kept_and_what_was_planted_is_not(
    menagerie: Zoo, tmp_path: Path
) -> None:
    source = shutil.copytree(menagerie.folder("bert"), tmp_path / "source")
    (source / "next_sentence.json").write_text('{"follows_class": 1}')
    planted = {"planted": {"family": "masked", "strength": 2.0, "language": "en", "seed": 0}}
    (source / "lab.json").write_text(json.dumps(planted))
    out = saved(changed(source), a_record(planted=True), tmp_path / "out")
    assert json.loads((out / "next_sentence.json").read_text()) == {"follows_class": 1}
    assert not (out / "lab.json").exists()
    assert "`lab.json`) is not carried over" in (out / "README.md").read_text()


def test_a_head_with_weights_of_its_own_is_not_passed_off_as_mitigated(
    menagerie: Zoo, tmp_path: Path
) -> None:
    source = shutil.copytree(menagerie.folder("bert"), tmp_path / "source")
    (source / "next_sentence.json").write_text('{"follows_class": 1}')
    (source / "next_sentence.safetensors").write_bytes(b"weights")
    out = saved(changed(source), a_record(), tmp_path / "out")
    assert not list(out.glob("next_sentence*"))


def test_generation_settings_are_kept(menagerie: Zoo, tmp_path: Path) -> None:
    source = shutil.copytree(menagerie.folder("gpt2"), tmp_path / "source")
    (source / "generation_config.json").write_text(json.dumps({"max_new_tokens": 17, "eos_token_id": 0}))
    out = saved(changed(source), a_record(), tmp_path / "out")
    assert json.loads((out / "generation_config.json").read_text())["max_new_tokens"] == 17


def test_the_record_and_the_card_stand_beside_the_weights(menagerie: Zoo, tmp_path: Path) -> None:
    record = a_record()
    out = saved(changed(menagerie.folder("gpt2")), record, tmp_path / "out", command="evenhand mitigate x")
    weights = hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()
    digest = hashlib.sha256(f"model.safetensors {weights}".encode()).hexdigest()
    assert read_mitigation_record(out) == record.model_copy(update={"weights": digest})
    card = (out / "README.md").read_text()
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["base_model"] == record.model.id
    assert "evenhand mitigate x" in card
    assert all(path.stat().st_mode & 0o777 == 0o644 for path in out.iterdir())


def test_a_model_trained_with_adapters_loads_without_peft(menagerie: Zoo, tmp_path: Path) -> None:
    source = menagerie.folder("gpt2")
    recipe = RECIPE.model_copy(update={"epochs": 1, "lora": LoraRecipe(rank=2)})
    model, fitted = small_fit(source, tmp_path / "fit", recipe=recipe)
    assert fitted.adapter is not None
    out = saved(model, a_record(), tmp_path / "out", beside={"adapter": fitted.adapter})
    plain = transformers.AutoModelForCausalLM.from_pretrained(out)
    assert same({name: weight.detach() for name, weight in plain.named_parameters()}, weights_of(model))
    assert not same(weights_of(model), weights_of(load_language_model(str(source), device="cpu")))
    with_adapter = peft_model(source, out / "adapter")
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        torch.testing.assert_close(with_adapter(ids).logits, plain(ids).logits, rtol=1e-4, atol=1e-4)


def peft_model(base: Path, adapter: Path) -> Any:
    from peft import PeftModel

    return PeftModel.from_pretrained(transformers.AutoModelForCausalLM.from_pretrained(base), adapter).eval()


def test_a_full_disk_leaves_nothing_of_the_folder(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = changed(menagerie.folder("gpt2"))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(model.loaded.tokenizer, "save_pretrained", full)
    with pytest.raises(OutputError, match=r"cannot be written: No space left on device\. Nothing was kept"):
        saved(model, a_record(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_free_place_holds_no_mitigation(tmp_path: Path) -> None:
    assert fingerprint_of_model_folder(tmp_path / "new") is None
    assert fingerprint_of_model_folder(tmp_path) is None


def test_a_place_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="is a file"):
        fingerprint_of_model_folder(tmp_path / "file")
    with pytest.raises(OutputError, match="is not empty"):
        fingerprint_of_model_folder(tmp_path)


def test_the_folder_that_one_is_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="the folder that you are in"):
        fingerprint_of_model_folder(Path())


def test_a_mitigated_model_is_known_by_its_record(tmp_path: Path) -> None:
    record = put_beside(tmp_path, a_record())
    assert fingerprint_of_model_folder(tmp_path) == record.fingerprint


def test_a_mitigated_model_is_loaded_alike_but_from_its_own_weights(tmp_path: Path) -> None:
    put_beside(tmp_path, a_record())
    original = ModelRef(id="bert", revision="v2", device="cpu", adapters=("lora",), prefix="Well, ")
    assert opened_model(original, tmp_path).ref == ModelRef(id=str(tmp_path), device="cpu", prefix="Well, ")


def test_a_damaged_record_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "mitigation.json").write_text('{"method": ')
    with pytest.raises(RunError, match="is damaged"):
        fingerprint_of_model_folder(tmp_path)
