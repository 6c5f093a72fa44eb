"""Heads of StereoSet's own code, put beside the model that they were trained with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from judge_models import SlowJudge
from running import Command
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import AutoModel
from zoo_fixtures import Zoo

from evenhand.heads.workflow import convert_stereoset_head
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError, ModelRef


def state_dict(folder: Path, *, body: bool = True, size: int = 32, added: int = 0) -> dict[str, Tensor]:
    """As ``ModelNSP(...).state_dict()`` has it, behind DataParallel."""
    generator = torch.Generator().manual_seed(3)
    head = nn.Sequential(nn.Linear(size, 300), nn.Linear(300, 300), nn.Linear(300, 2))
    state = {f"module.nsp_head.{name}": weight for name, weight in head.state_dict().items()}
    state = {name: torch.randn(weight.shape, generator=generator) / 8 for name, weight in state.items()}
    if body:
        for name, weight in AutoModel.from_pretrained(folder).state_dict().items():
            state[f"module.core_model.{name}"] = weight + 0.01 * torch.randn(
                weight.shape, generator=generator
            )
        vocabulary = state["module.core_model.wte.weight"]
        state["module.core_model.wte.weight"] = torch.cat(
            [vocabulary, torch.zeros(added, vocabulary.shape[1])]
        )
    return state


def ref(folder: Path, *, pickle: bool = False) -> ModelRef:
    return ModelRef(id=str(folder), device="cpu", allow_pickle_weights=pickle)


@pytest.mark.parametrize(("body", "added"), [(True, 0), (True, 1), (False, 0)])
def test_a_converted_head_answers_as_the_slow_way(
    menagerie: Zoo, tmp_path: Path, body: bool, added: int
) -> None:
    source = menagerie.folder("gpt2")
    path = tmp_path / "head.safetensors"
    state = state_dict(source, body=body, added=added)
    save_file(state, path)

    record = convert_stereoset_head(ref(source), path, out=tmp_path / "out", follows_class=1)

    model = load_language_model(str(tmp_path / "out"), device="cpu")
    seconds = ["He sat by the door.", "Bread."]
    scores = model.score_followers("He came home.", seconds)
    slow = SlowJudge(tmp_path / "out")
    assert scores == pytest.approx([slow.follows("He came home.", second) for second in seconds], rel=1e-5)
    assert (record.follows_class, record.encoding, record.origin) == (
        1,
        "pair",
        "converted from head.safetensors",
    )
    # The tokens of both sentences stand one behind the other, as StereoSet's code has them.
    tokens = [*model.tokenizer("He came home.")["input_ids"], *model.tokenizer(seconds[0])["input_ids"]]
    network = AutoModel.from_pretrained(source)
    if body:
        core = {
            name.removeprefix("module.core_model."): weight
            for name, weight in state.items()
            if "core_model" in name
        }
        core["wte.weight"] = core["wte.weight"][: network.wte.num_embeddings]
        network.load_state_dict(core)
    with torch.no_grad():
        vector = network.eval()(torch.tensor([tokens])).last_hidden_state.mean(1)[0]
        for layer in range(3):
            vector = (
                state[f"module.nsp_head.{layer}.weight"] @ vector + state[f"module.nsp_head.{layer}.bias"]
            )
    assert scores[0] == pytest.approx(float(vector.softmax(-1)[1]), rel=1e-5)


def test_a_pickle_is_read_only_if_that_is_allowed(menagerie: Zoo, tmp_path: Path) -> None:
    source, path = menagerie.folder("gpt2"), tmp_path / "head.p"
    torch.save(state_dict(source), path)

    with pytest.raises(ModelError, match=r"no safetensors file.*--allow-pickle-weights"):
        convert_stereoset_head(ref(source), path, out=tmp_path / "out", follows_class=1)
    assert convert_stereoset_head(
        ref(source, pickle=True), path, out=tmp_path / "out", follows_class=1
    ).weights


class Anything:
    """What a pickle of tensors does not hold."""


def test_a_pickle_of_anything_but_tensors_is_refused(menagerie: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "head.p"
    torch.save({"nsp_head.0.weight": Anything()}, path)

    with pytest.raises(ModelError, match=r"holds more than tensors.*so it is not read") as refusal:
        convert_stereoset_head(
            ref(menagerie.folder("gpt2"), pickle=True), path, out=tmp_path / "out", follows_class=1
        )
    assert "weights_only" not in str(refusal.value)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"nsp_head.0.weight": torch.zeros(2, 2)}, "three linear layers named nsp_head.0 to nsp_head.2"),
        ({"classifier.weight": torch.zeros(2, 2)}, "and has none among its 1 entries"),
    ],
)
def test_another_layout_is_refused(
    menagerie: Zoo, tmp_path: Path, state: dict[str, Tensor], message: str
) -> None:
    path = tmp_path / "head.safetensors"
    save_file(state, path)

    with pytest.raises(ModelError, match=message):
        convert_stereoset_head(ref(menagerie.folder("gpt2")), path, out=tmp_path / "out", follows_class=1)
    assert not (tmp_path / "out").exists()


def test_a_head_for_another_body_is_refused(menagerie: Zoo, tmp_path: Path) -> None:
    source, path = menagerie.folder("gpt2"), tmp_path / "head.safetensors"
    save_file(state_dict(source, body=False, size=48), path)
    with pytest.raises(ModelError, match=r"reads states of 48 numbers, and those of .* have 32"):
        convert_stereoset_head(ref(source), path, out=tmp_path / "out", follows_class=1)
    state = state_dict(source)
    del state["module.core_model.ln_f.weight"]
    save_file(state, path)
    with pytest.raises(ModelError, match=r"head for another body: it does not fit in body.ln_f.weight"):
        convert_stereoset_head(ref(source), path, out=tmp_path / "out", follows_class=1)


def test_the_command_wants_to_be_told_which_class_follows(
    menagerie: Zoo, tmp_path: Path, run_evenhand_here: Command
) -> None:
    source, path = menagerie.folder("gpt2"), tmp_path / "head.safetensors"
    save_file(state_dict(source), path)
    command = ("models", "convert-head", source, "--head", path, "--out", tmp_path / "out")

    silent = run_evenhand_here(*command)
    told = run_evenhand_here(*command, "--follows-class", "0", "--json")

    assert silent.returncode == 2
    assert "follows-class" in silent.stderr
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["follows_class"] == 0
