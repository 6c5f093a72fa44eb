"""Loading: what is refused, with which words, and what a model is recognised by."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import zoo
import zoo_tokenizers
from builders import inter
from engine_scores import engine_scores, method_of
from zoo_fixtures import Zoo

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Task
from evenhand.instruments.association.ways import tasks_of_model
from evenhand.models import loading
from evenhand.models.families.decoder import DECODER
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef

Copy = Callable[[str], Path]


@pytest.fixture
def copy_of(menagerie: Zoo, tmp_path: Path) -> Copy:
    """A model of the zoo in a folder of the test's own."""

    def copied(name: str) -> Path:
        return shutil.copytree(menagerie.folder(name), tmp_path / f"my-{name}")

    return copied


def bert_variant(folder: Path, model_class: str, *, missing_entries: int = 0) -> Path:
    """A BERT saved as another class."""
    tokenizer = zoo_tokenizers.bert()
    tokenizer.save_pretrained(folder)
    options = zoo.SPECIES["bert"].options
    zoo.new_model(model_class, len(tokenizer) - missing_entries, **options).save_pretrained(folder)
    return folder


def load(folder: Path, *, device: str = "cpu", allow_pickle_weights: bool = False) -> LanguageModel:
    ref = ModelRef(id=str(folder), device=device, allow_pickle_weights=allow_pickle_weights)
    return load_language_model(ref)


def test_a_folder_without_a_configuration_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"without a config\.json"):
        load(tmp_path)


def test_a_configuration_without_weights_is_refused(copy_of: Copy) -> None:
    folder = copy_of("gpt2")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"no weights \(\*\.safetensors\)"):
        load(folder)


@pytest.fixture
def pickled(copy_of: Copy, menagerie: Zoo) -> Path:
    folder = copy_of("gpt2")
    (folder / "model.safetensors").unlink()
    torch.save(menagerie.model("gpt2").loaded.model.state_dict(), folder / "pytorch_model.bin")
    return folder


def test_weights_that_can_run_code_are_refused_and_the_option_is_named(pickled: Path) -> None:
    with pytest.raises(ModelError, match="--allow-pickle-weights"):
        load(pickled)


def test_weights_that_can_run_code_are_loaded_if_allowed(pickled: Path, menagerie: Zoo) -> None:
    text = ["The tea is hot."]
    allowed = load(pickled, allow_pickle_weights=True)
    assert allowed.score_texts(text) == menagerie.model("gpt2").score_texts(text)


def test_code_that_comes_with_a_model_is_refused(copy_of: Copy) -> None:
    folder = copy_of("gpt2")
    path = folder / "config.json"
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_type": "own", "auto_map": own}))
    witness = folder / "witness"
    (folder / "own.py").write_text(f"open({str(witness)!r}, 'w')\nclass OwnConfig: ...\n")
    with pytest.raises(ModelError, match="--trust-remote-code"):
        load(folder)
    assert not witness.exists()


def test_a_tokenizer_with_more_entries_than_the_embedding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="do not belong together"):
        load(bert_variant(tmp_path, "BertForPreTraining", missing_entries=10))


@pytest.fixture
def extended(tmp_path: Path) -> Callable[[str], Path]:
    """A decoder whose tokenizer got a token that the embedding does not have."""

    def built(kind: str) -> Path:
        tokenizer = zoo_tokenizers.gemma()
        entries = len(tokenizer)
        add = tokenizer.add_special_tokens if kind == "special" else tokenizer.add_tokens
        add({"additional_special_tokens": ["<image>"]} if kind == "special" else ["<image>"])
        tokenizer.save_pretrained(tmp_path)
        zoo.new_model("GemmaForCausalLM", entries, **zoo.SPECIES["gemma"].options).save_pretrained(tmp_path)
        return tmp_path

    return built


def test_a_special_token_beyond_the_embedding_is_read_as_text(extended: Callable[[str], Path]) -> None:
    model = load(extended("special"))
    assert len(model.tokenizer) > model.loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    (plain,) = model.score_texts(["The tea is hot."])
    (spelt,) = model.score_texts(["The tea is <image> hot."])
    assert len(spelt.log_probs) > len(plain.log_probs)


def test_an_added_word_beyond_the_embedding_is_refused(extended: Callable[[str], Path]) -> None:
    with pytest.raises(ModelError, match="do not belong together"):
        load(extended("word"))


def test_a_checkpoint_without_a_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no weights for .* they would be random"):
        load(bert_variant(tmp_path, "BertModel"))


def test_a_bert_without_next_sentence_head_says_what_it_can_do(tmp_path: Path) -> None:
    model = load(bert_variant(tmp_path, "BertForMaskedLM"))
    assert not model.judges_next_sentence
    assert tasks_of_model(model) == (Task.INTRASENTENCE,)
    with pytest.raises(ModelError, match=r"no next-sentence head.*It can do: intrasentence"):
        method_of(model, Task.INTERSENTENCE)


def test_a_head_of_ones_own_says_which_class_means_follows(copy_of: Copy, menagerie: Zoo) -> None:
    folder = copy_of("bert")
    (folder / "next_sentence.json").write_text('{"follows_class": 1}')
    usual, own = (engine_scores(model, [inter()]) for model in (menagerie.model("bert"), load(folder)))
    assert own == pytest.approx({candidate: 1 - score for candidate, score in usual.items()}, rel=1e-5)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"follows": 1}', '{"follows_class": "yes"}', '{"follows_class": 2}']
)
def test_a_head_that_does_not_say_it_properly_is_refused(copy_of: Copy, content: str) -> None:
    folder = copy_of("bert")
    (folder / "next_sentence.json").write_text(content)
    with pytest.raises(ModelError, match="follows_class"):
        assert load(folder).judges_next_sentence


def test_an_unknown_device_is_refused(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match=r"'toaster' is unknown\. Use cpu, cuda or auto"):
        load(menagerie.folder("gpt2"), device="toaster")


def test_an_absent_gpu_is_an_error_and_no_silent_change(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelError, match="--device cpu"):
        load(menagerie.folder("gpt2"), device="cuda")
    assert load(menagerie.folder("gpt2"), device="auto").loaded.device.type == "cpu"


@pytest.mark.parametrize(
    ("task", "wishes", "suggestion"),
    [
        (Task.INTERSENTENCE, {"inter": "next-sentense"}, "next-sentence"),
        (Task.INTERSENTENCE, {"inter": "original"}, "orig"),
        (Task.INTRASENTENCE, {"score": "mean-probs"}, "mean-prob"),
        (Task.INTRASENTENCE, {"score": "pll-within-words"}, "pll-within-word"),
    ],
)
def test_a_wish_that_does_not_exist_gets_the_closest_one(
    menagerie: Zoo, task: Task, wishes: dict[str, str], suggestion: str
) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{suggestion}'"):
        method_of(menagerie.model("bert"), task, **wishes)


@pytest.mark.parametrize(
    ("name", "task", "wishes"),
    [
        ("bert", Task.INTERSENTENCE, {"inter": "d"}),
        ("gpt2", Task.INTERSENTENCE, {"inter": "next-sentence"}),
        ("gpt2", Task.INTRASENTENCE, {"score": "pll"}),
        ("t5", Task.INTERSENTENCE, {"inter": "e"}),
        ("bart", Task.INTRASENTENCE, {"score": "pll-within-word"}),
    ],
)
def test_a_wish_that_a_family_cannot_grant_is_refused(
    menagerie: Zoo, name: str, task: Task, wishes: dict[str, str]
) -> None:
    with pytest.raises(ModelError):
        method_of(menagerie.model(name), task, **wishes)


def test_the_published_protocol_fixes_the_score(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match="fixes the score"):
        method_of(menagerie.model("bert"), Task.INTRASENTENCE, protocol="multilingual-2023", score="sum-log")


def test_the_name_of_the_folder_says_nothing_about_the_family(menagerie: Zoo, tmp_path: Path) -> None:
    folder = shutil.copytree(menagerie.folder("gpt2"), tmp_path / "bert")
    assert load(folder).family is DECODER


@pytest.mark.parametrize("name", zoo.names())
def test_every_architecture_is_recognised(menagerie: Zoo, name: str) -> None:
    assert menagerie.model(name).family is zoo.SPECIES[name].family


def test_a_bert_that_was_made_a_decoder_is_one(tmp_path: Path) -> None:
    tokenizer = zoo_tokenizers.bert()
    tokenizer.save_pretrained(tmp_path)
    options = {**zoo.SPECIES["bert"].options, "is_decoder": True}
    zoo.new_model("BertLMHeadModel", len(tokenizer), **options).save_pretrained(tmp_path)
    assert load(tmp_path).family is DECODER


def test_model_that_fails_on_its_first_input_is_an_error_with_a_way_out(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Transformers' first DeBERTa does in half precision, where it mixes number formats."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("expected scalar type Float but found BFloat16")

    model = load_language_model(str(menagerie.folder("bert")))
    monkeypatch.setattr(model.loaded.model, "forward", fail)
    with pytest.raises(ModelError, match="--precision fp32"):
        _ = model.projection


def test_a_model_on_a_cpu_keeps_freed_memory_once_its_weights_are_there(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    load_weights = loading.load_weights

    def noted(*arguments: Any) -> Any:
        steps.append("weights")
        return load_weights(*arguments)

    monkeypatch.setattr(loading, "load_weights", noted)
    monkeypatch.setattr(loading, "keep_freed_memory", lambda: steps.append("kept"))
    load(menagerie.folder("gpt2"))

    assert steps == ["weights", "kept"]
