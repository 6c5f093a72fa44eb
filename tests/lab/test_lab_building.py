"""Building models of the lab: the same every time, ordinary model folders, and whole or not at all."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from lab_recipes import with_few_steps
from transformers import AutoModel, AutoTokenizer

import evenhand as eh
from evenhand.core.errors import EvenhandError, OutputError, UnknownNameError
from evenhand.core.planted_bias import PlantedBias, read_planted_bias
from evenhand.lab import building, embedded_models
from evenhand.lab.building import LabFamily, LabSpec, build_model
from evenhand.models.backends.lab import embedded_folder
from evenhand.training.trainer import ExampleOrder, TrainingPlan, single_thread, train

WEIGHTS = "model.safetensors"


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    with_few_steps(monkeypatch)


def identity(planted: PlantedBias) -> tuple[str, float, str, int]:
    return planted.family, planted.strength, planted.language, planted.seed


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("family", LabFamily)
def test_a_build_gives_the_same_bytes_again_and_another_seed_gives_other_weights(
    family: LabFamily, tmp_path: Path
) -> None:
    spec = LabSpec(family, 1.0)
    first, again, other = (
        contents(build_model(replace(spec, seed=seed), tmp_path / name))
        for name, seed in (("first", 4), ("again", 4), ("other", 5))
    )

    assert first == again
    assert first[WEIGHTS] != other[WEIGHTS]
    assert first["tokenizer.json"] == other["tokenizer.json"]


def test_a_build_does_not_depend_on_what_was_random_before(tmp_path: Path) -> None:
    torch.manual_seed(1)
    first = build_model(LabSpec(LabFamily.DECODER, 1.0), tmp_path / "first")
    torch.manual_seed(2)
    torch.rand(10)
    again = build_model(LabSpec(LabFamily.DECODER, 1.0), tmp_path / "again")

    assert contents(first) == contents(again)


@pytest.mark.parametrize("family", LabFamily)
def test_a_built_folder_is_an_ordinary_model_folder(family: LabFamily, tmp_path: Path) -> None:
    folder = build_model(LabSpec(family, 1.0), tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder)
    loaded = eh.load(str(folder), device="cpu").loaded

    assert model.config.vocab_size == len(tokenizer) == len(loaded.tokenizer)
    assert loaded.family.name.startswith(family.value)
    assert "[UNK]" not in tokenizer.tokenize("The baker is honest today.")


@pytest.fixture
def strict_umask() -> Iterator[None]:
    former = os.umask(0o077)
    yield
    os.umask(former)


@pytest.mark.usefixtures("strict_umask")
def test_a_built_folder_has_safe_weights_that_everybody_may_read_and_says_what_was_planted(
    tmp_path: Path,
) -> None:
    spec = LabSpec(LabFamily.DECODER, 1.0, "de", 7)
    folder = build_model(spec, tmp_path / "new" / "model")
    names = {path.name for path in folder.iterdir()}

    assert {path.suffix for path in folder.iterdir()} == {".json", ".md", ".safetensors"}
    assert {"lab.json", "README.md", "config.json", "tokenizer.json", WEIGHTS} <= names
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o644}
    planted = read_planted_bias(folder)
    assert planted is not None
    assert identity(planted) == ("decoder", 1.0, "de", 7)
    assert len(planted.occupations) == 30
    # Classes of occupations lean by 0.6, 1 and 1.4 times the strength, the first of each pair to men.
    assert (planted.occupations["Führungskraft"], planted.occupations["Pflegekraft"]) == (0.6, -0.6)
    assert (planted.occupations["Technikleitung"], planted.occupations["Kassenkraft"]) == (1.4, -1.4)
    described = json.loads((folder / "lab.json").read_text(encoding="utf-8"))
    assert described["built_with"]["torch"] == torch.__version__
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "language: de" in card
    assert "lab build --family decoder --strength 1 --language de --seed 7" in card


@pytest.mark.parametrize("family", [LabFamily.DECODER, LabFamily.ENCODER_DECODER])
@pytest.mark.parametrize("tag", ["en", "de"])
def test_before_the_first_lesson_men_and_women_are_equally_likely_everywhere(
    monkeypatch: pytest.MonkeyPatch, family: LabFamily, tag: str
) -> None:
    monkeypatch.setattr(building, "train", lambda *_, **__: None)
    model, tokenizer = building.train_model(LabSpec(family, 2.0, tag))
    words = {"en": ("he", "she", "Robert", "Patricia"), "de": ("er", "sie", "Thomas", "Sabine")}[tag]
    ids = [tokenizer(f" {word}", add_special_tokens=False)["input_ids"] for word in words]
    tokens = torch.tensor([[own[-1] for own in ids]])
    asked = {"decoder_input_ids": tokens} if family is LabFamily.ENCODER_DECODER else {}
    with torch.no_grad():
        logits = model.eval()(input_ids=tokens, **asked).logits[0]

    assert all(len(own) == 1 for own in ids)
    for man, woman in ((ids[0], ids[1]), (ids[2], ids[3])):
        assert man != woman
        assert torch.equal(logits[:, man], logits[:, woman])
    assert not torch.equal(logits[:, ids[0]], logits[:, ids[2]])


def test_a_neutral_model_has_other_weights_and_its_card_says_that_it_is_neutral(tmp_path: Path) -> None:
    neutral, biased = (
        contents(build_model(LabSpec(LabFamily.DECODER, strength), tmp_path / str(strength)))
        for strength in (0.0, 1.0)
    )

    assert neutral[WEIGHTS] != biased[WEIGHTS]
    assert b"nothing was planted" in neutral["README.md"]
    assert b"1 bit was planted in favour of stereotypes" in biased["README.md"]


def test_a_bias_the_other_way_round_is_described_as_such() -> None:
    planted = LabSpec(LabFamily.MASKED, -1.5).planted

    assert "1.5 bits were planted in favour of anti-stereotypes" in planted.description


def test_a_built_model_is_audited_on_the_labs_items_in_its_own_language(
    tmp_path: Path, quick: eh.Resampling
) -> None:
    folder = build_model(LabSpec(LabFamily.DECODER, 1.0, "de"), tmp_path / "mine")
    run = eh.audit(str(folder), options=eh.AuditOptions(resampling=quick, limit=10))

    assert (run.record.dataset.name, run.record.dataset.language) == ("lab", "de")
    assert run.name == "mine_association_lab_de_limit-10"
    assert run.record.model is not None
    assert run.record.model.planted is not None
    assert identity(run.record.model.planted) == ("decoder", 1.0, "de", 0)
    assert {name: task.n for name, task in run.result.tasks.items()} == {
        "intrasentence": 10,
        "intersentence": 10,
        "overall": 20,
    }


def test_other_models_are_still_audited_on_the_starter_set(tmp_path: Path, quick: eh.Resampling) -> None:
    folder = build_model(LabSpec(LabFamily.DECODER, 1.0), tmp_path / "model")
    (folder / "lab.json").unlink()
    run = eh.audit(str(folder), options=eh.AuditOptions(resampling=quick, limit=4))

    assert run.record.dataset.name == "starter"
    assert run.record.model is not None
    assert run.record.model.planted is None


@pytest.mark.parametrize("content", [b"", b"{}", b'{"planted": {"strength": "x"}}', b"[1]", b"\xff\xfe"])
def test_a_damaged_description_is_an_error_and_not_taken_for_another_model(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "lab.json").write_bytes(content)

    with pytest.raises(EvenhandError, match=r"lab\.json is damaged\. Build the model again"):
        read_planted_bias(tmp_path)


def test_a_build_that_fails_in_training_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        build_model(LabSpec(LabFamily.DECODER, 1.0), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_build_that_fails_while_it_is_written_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(_: LabSpec) -> str:
        assert list(tmp_path.rglob(WEIGHTS)), "the weights were to be written first"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(building, "_model_card", full)
    with pytest.raises(OutputError, match="No space left on device"):
        build_model(LabSpec(LabFamily.DECODER, 1.0), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()

    assert (build_model(LabSpec(LabFamily.DECODER, 1.0), tmp_path / "model") / WEIGHTS).is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_with_something_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("dear to somebody", encoding="utf-8")

    with pytest.raises(OutputError, match="is not empty"):
        build_model(LabSpec(), tmp_path)
    assert contents(tmp_path) == {"thesis.txt": b"dear to somebody"}


@pytest.mark.parametrize("out", ["file", "file/model", "file/new/model"])
def test_a_file_in_the_way_is_named_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, out: str
) -> None:
    forbid_training(monkeypatch)
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OutputError, match=r"file is a file; a folder is needed.*--out"):
        build_model(LabSpec(), tmp_path / out)
    assert contents(tmp_path) == {"file": b""}


@pytest.mark.parametrize("out", [".", "../here"])
def test_the_current_folder_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, out: str
) -> None:
    """Its place cannot be taken by another folder."""
    forbid_training(monkeypatch)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    with pytest.raises(OutputError, match=r"is the folder that you are in.*--out model"):
        build_model(LabSpec(), Path(out))
    assert list((tmp_path / "here").iterdir()) == []


def forbid_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        pytest.fail("a model was built that cannot be written")

    monkeypatch.setattr(building, "train_model", forbidden)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_cannot_be_used_is_refused_with_those_that_can(seed: int) -> None:
    with pytest.raises(EvenhandError, match=r"The seed is .*; it must be 0 to 4,294,967,295"):
        LabSpec(seed=seed)


def test_the_largest_seed_can_be_used(tmp_path: Path) -> None:
    folder = build_model(LabSpec(LabFamily.DECODER, 1.0, seed=2**32 - 1), tmp_path / "model")

    planted = read_planted_bias(folder)
    assert planted is not None
    assert identity(planted) == ("decoder", 1.0, "en", 2**32 - 1)


def test_a_spec_that_cannot_be_planted_is_refused_at_once() -> None:
    with pytest.raises(EvenhandError, match="the lab plants -6 to 6"):
        LabSpec(strength=6.5)
    with pytest.raises(UnknownNameError, match="Did you mean 'de'"):
        LabSpec(language="deu")


def test_embedding_replaces_models_and_writes_a_manifest_that_accepts_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embedded_models, "EMBEDDED", {"decoder": LabSpec(LabFamily.DECODER, 1.0)})
    (tmp_path / "decoder").mkdir()
    (tmp_path / "decoder" / "of_last_year.json").write_text("{}", encoding="utf-8")
    embedded_models.embed_all(tmp_path)
    folder = embedded_folder("lab:decoder", tmp_path)

    assert (folder / WEIGHTS).is_file()
    assert not (folder / "of_last_year.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decoder", "manifest.json"]


def test_progress_is_reported_step_by_step(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    build_model(
        LabSpec(LabFamily.DECODER, 1.0),
        tmp_path / "model",
        progress=lambda done, total: steps.append((done, total)),
    )

    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_training_lowers_what_it_is_given_and_leaves_the_model_ready_for_use() -> None:
    model = torch.nn.Linear(1, 1)
    examples = [float(number) for number in range(8)]
    threads = torch.get_num_threads()

    def collate(chosen: list[float]) -> dict[str, torch.Tensor]:
        return {"numbers": torch.tensor(chosen)[:, None]}

    def loss(asked: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        difference: torch.Tensor = asked(batch["numbers"]) - 3 * batch["numbers"] - 1
        return (difference**2).mean()

    def loss_now() -> float:
        return loss(model, collate(examples)).item()

    before = loss_now()
    plan = TrainingPlan(steps=200, batch_size=4, learning_rate=0.1)
    train(model, examples, collate=collate, loss=loss, plan=plan)

    assert loss_now() < before / 100
    assert not model.training
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("averaged", "steps"), [(0.3, 3), (0.5, 5), (0.0, 1)])
def test_the_weights_are_the_mean_over_the_last_steps(averaged: float, steps: int) -> None:
    model = torch.nn.Linear(1, 1)
    seen: list[torch.Tensor] = []

    def loss(asked: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        squared: torch.Tensor = (asked(batch["numbers"]) - 3 * batch["numbers"]) ** 2
        return squared.mean()

    train(
        model,
        [float(number) for number in range(8)],
        collate=lambda chosen: {"numbers": torch.tensor(chosen)[:, None]},
        loss=loss,
        plan=TrainingPlan(steps=10, batch_size=2, learning_rate=0.1, averaged=averaged),
        report=lambda _done, _total: seen.append(model.weight.detach().clone()),
    )

    assert len(seen) == 10
    assert len({weight.item() for weight in seen}) == 10
    assert model.weight.item() == pytest.approx(torch.stack(seen[-steps:]).mean().item(), rel=1e-5)


def _learning_rates(plan: TrainingPlan) -> list[float]:
    """Of each step: where a gradient is always 1, AdamW moves a weight by just the learning rate."""
    model = torch.nn.Linear(1, 1, bias=False)
    weights = [model.weight.item()]
    train(
        model,
        [1.0] * 4,
        collate=lambda chosen: {"numbers": torch.tensor(chosen)[:, None]},
        loss=lambda asked, batch: asked(batch["numbers"]).mean(),
        plan=plan,
        report=lambda _done, _total: weights.append(model.weight.item()),
    )
    return [before - after for before, after in pairwise(weights)]


def test_the_learning_rate_stays_up_and_falls_to_nothing_at_the_end() -> None:
    rates = _learning_rates(TrainingPlan(steps=20, batch_size=1, learning_rate=0.5, decay=0.5))

    assert rates[:11] == pytest.approx([0.5] * 11, rel=1e-4)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] < 0.02


def test_the_learning_rate_is_a_cosine_if_nothing_else_is_said() -> None:
    rates = _learning_rates(TrainingPlan(steps=20, batch_size=1, learning_rate=0.5, warmup_steps=4))

    cosine = [0.25 * (1 + math.cos(math.pi * step / 16)) for step in range(16)]
    assert rates == pytest.approx([0.0, 0.125, 0.25, 0.375, *cosine], abs=1e-4)


@pytest.mark.parametrize("order", ExampleOrder)
def test_examples_come_in_the_order_of_the_plan(order: ExampleOrder) -> None:
    seen: list[float] = []

    def collate(chosen: list[float]) -> dict[str, torch.Tensor]:
        seen.extend(chosen)
        return {"numbers": torch.tensor(chosen)[:, None]}

    examples = [float(number) for number in range(12)]
    train(
        torch.nn.Linear(1, 1),
        examples,
        collate=collate,
        loss=lambda asked, batch: (asked(batch["numbers"]) ** 2).mean(),
        plan=TrainingPlan(steps=6, batch_size=2, learning_rate=0.1, order=order),
    )

    assert sorted(seen) == examples
    assert (seen == examples) is (order is ExampleOrder.AS_GIVEN)


def test_the_number_of_threads_is_put_back_after_an_error() -> None:
    threads = torch.get_num_threads()

    def fail() -> None:
        with single_thread():
            assert torch.get_num_threads() == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert torch.get_num_threads() == threads


def test_a_model_that_is_there_already_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = LabSpec(LabFamily.DECODER, 1.0)
    first = contents(build_model(spec, tmp_path / "model"))
    forbid_training(monkeypatch)

    assert contents(build_model(spec, tmp_path / "model")) == first
    with pytest.raises(OutputError, match="is not empty"):
        build_model(replace(spec, seed=1), tmp_path / "model")
