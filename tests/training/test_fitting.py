"""Fitting: which epoch is kept, what lies on the disk, and that an interrupted training ends as it would have."""

from __future__ import annotations

import errno
import json
import math
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from fitting_runs import (
    EPOCHS,
    HE_SHE,
    MOMENTS,
    RECIPE,
    SENTENCES,
    STEPS,
    ScriptedEvaluator,
    fit_until_killed,
    same,
    small_fit,
    stop_after,
    weights_of,
)
from forking import exit_code
from safetensors import SafetensorError
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError, OutputError, RunError
from evenhand.core.recipes import Plateau, Precision, Recipe
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.store.mitigation_records import LearningCurve
from evenhand.training import checkpoints
from evenhand.training.batches import DrawnExamples, EpochBatches, piece_layout
from evenhand.training.fitting import Fitted, fit
from evenhand.training.pretraining import pretraining_objective


@pytest.fixture(scope="module")
def bert(menagerie: Zoo) -> Path:
    return menagerie.folder("bert")


@pytest.fixture(scope="module")
def uninterrupted(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The weights of a training that nothing disturbed."""
    model, _ = small_fit(bert, tmp_path_factory.mktemp("undisturbed") / "fit")
    return weights_of(model)


def scripted(
    bert: Path, folder: Path, malor: list[float], perplexity: list[float], **changes: Any
) -> tuple[LanguageModel, Fitted, ScriptedEvaluator]:
    model = load_language_model(str(bert), device="cpu")
    evaluator = ScriptedEvaluator(model, malor, perplexity)
    recipe = RECIPE.model_copy(update=changes)
    fitted = fit(model, pretraining_objective(SENTENCES, model), recipe, evaluator=evaluator, folder=folder)
    return model, fitted, evaluator


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_training_that_was_killed_ends_with_the_same_bytes(
    moment: str, bert: Path, tmp_path: Path, uninterrupted: dict[str, torch.Tensor]
) -> None:
    assert exit_code(fit_until_killed, moment, bert, tmp_path / "fit") == -signal.SIGKILL
    steps: list[int] = []
    model, fitted = small_fit(bert, tmp_path / "fit", progress=lambda done, _: steps.append(done))
    assert same(weights_of(model), uninterrupted)
    assert [metrics.epoch for metrics in fitted.curve.epochs] == list(range(EPOCHS + 1))
    done = {"in the first epoch": 0, "while evaluating": 1, "while writing a checkpoint": 1}.get(moment)
    if done is not None:
        assert steps[0] == done * STEPS + 1


def test_resuming_never_loads_a_pickle(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: dict[str, torch.Tensor]
) -> None:
    stop_after(3, bert, tmp_path / "fit")
    kinds = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert kinds == {".json", ".jsonl", ".safetensors"}

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a pickle is loaded")

    monkeypatch.setattr(torch, "load", refuse)
    monkeypatch.setattr("pickle.load", refuse)
    monkeypatch.setattr("pickle.Unpickler", refuse)
    model, _ = small_fit(bert, tmp_path / "fit")
    assert same(weights_of(model), uninterrupted)


@pytest.mark.parametrize("warm_up", [0.0, 0.5])
def test_the_weights_are_those_of_a_plain_loop(bert: Path, tmp_path: Path, warm_up: float) -> None:
    """AdamW with a warm-up, a linear decay and clipped gradients, written out, on the same batches."""
    recipe = RECIPE.model_copy(update={"warm_up": warm_up})
    model, plain = (without_dropout(load_language_model(str(bert), device="cpu")) for _ in range(2))
    objective = pretraining_objective(SENTENCES, model)
    falling = ScriptedEvaluator(model, [5.0, 4.0, 3.0, 2.0, 1.0], [10.0] * 5)
    fit(model, objective, recipe, evaluator=falling, folder=tmp_path / "fit")

    network = plain.loaded.model.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RECIPE.learning_rate, weight_decay=0.0)
    batches = EpochBatches(objective.examples, batch_size=RECIPE.batch_size, seed=RECIPE.seed)
    drawn, lay_out = DrawnExamples(objective.examples), piece_layout(objective, seed=RECIPE.seed)
    step = 0
    for epoch in range(EPOCHS):
        batches.set_epoch(epoch)
        for batch in batches:
            for group in optimizer.param_groups:
                rising = step / (warm_up * EPOCHS * STEPS) if warm_up else 1.0
                falls = (1 - step / (EPOCHS * STEPS)) / (1 - warm_up)
                group["lr"] = RECIPE.learning_rate * min(rising, falls)
            optimizer.zero_grad()
            objective.loss(network, lay_out([drawn[draw] for draw in batch])).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            step += 1
    expected = weights_of(plain)
    for name, weight in weights_of(model).items():
        # A key's bias shifts all scores of a query alike, so its gradient is rounding error, which Adam blows up.
        if not name.endswith("key.bias"):
            torch.testing.assert_close(weight, expected[name], rtol=1e-3, atol=1e-5)


def test_cudnns_attention_is_left_out_while_training(bert: Path, tmp_path: Path) -> None:
    """It plans anew for every shape of a batch, and a third of an epoch went into that."""
    allowed: Callable[[], bool] = torch.backends.cuda.cudnn_sdp_enabled
    before = allowed()
    used: set[bool] = set()
    small_fit(bert, tmp_path / "fit", progress=lambda *_: used.add(allowed()))
    assert used == {False}
    assert allowed() is before is True


def without_dropout(model: LanguageModel) -> LanguageModel:
    for module in model.loaded.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model


def test_the_best_epoch_within_the_margin_is_kept(bert: Path, tmp_path: Path) -> None:
    model, fitted, evaluator = scripted(
        bert, tmp_path, [2.0, 1.5, 1.0, 0.5, 0.6], [10.0, 10.05, 10.09, 10.2, 10.08]
    )
    assert fitted.best.epoch == 4
    assert fitted.keeps_quality
    assert same(weights_of(model), evaluator.seen[4])


def test_an_epoch_that_is_not_the_last_is_loaded_again(bert: Path, tmp_path: Path) -> None:
    model, fitted, evaluator = scripted(bert, tmp_path, [2.0, 1.5, 1.0, 1.2, 1.4], [10.0] * 5)
    assert fitted.best.epoch == 2
    assert same(weights_of(model), evaluator.seen[2])
    assert not same(evaluator.seen[4], evaluator.seen[2])


def test_where_no_epoch_keeps_the_quality_the_one_that_loses_least_is_kept(
    bert: Path, tmp_path: Path
) -> None:
    model, fitted, evaluator = scripted(
        bert, tmp_path, [2.0, 1.5, 1.0, 0.5, 0.1], [10.0, 10.3, 10.2, 10.4, 10.5]
    )
    assert (fitted.best.epoch, fitted.keeps_quality) == (2, False)
    assert same(weights_of(model), evaluator.seen[2])


def test_a_flat_learning_curve_ends_the_training(bert: Path, tmp_path: Path) -> None:
    plateau = Plateau(epochs=2, within=0.1)
    _, fitted, _ = scripted(bert, tmp_path, [2.0, 1.0, 0.5, 0.49, 9.0], [10.0] * 5, plateau=plateau)
    assert [metrics.epoch for metrics in fitted.curve.epochs] == [0, 1, 2, 3]
    assert fitted.stopped == "the learning curve was flat"


def test_only_the_best_and_the_newest_weights_stay_on_the_disk(bert: Path, tmp_path: Path) -> None:
    there: list[set[str]] = []
    model = load_language_model(str(bert), device="cpu")
    fit(
        model,
        pretraining_objective(SENTENCES, model),
        RECIPE,
        evaluator=ScriptedEvaluator(model, [2.0, 1.0, 1.5, 1.6, 0.5], [10.0] * 5),
        folder=tmp_path,
        on_epoch=lambda _: there.append(files_with_tensors(tmp_path)),
    )
    assert there == [
        set(),
        {"epoch-00001/weights", "epoch-00001/optimizer"},
        {"epoch-00001/weights", "epoch-00002/weights", "epoch-00002/optimizer"},
        {"epoch-00001/weights", "epoch-00003/weights", "epoch-00003/optimizer"},
        {"epoch-00004/weights", "epoch-00004/optimizer"},
    ]
    assert files_with_tensors(tmp_path) == {"epoch-00004/weights"}


def files_with_tensors(folder: Path) -> set[str]:
    return {f"{path.parent.name}/{path.stem}" for path in folder.rglob("*.safetensors")}


def test_a_finished_training_is_only_loaded(bert: Path, tmp_path: Path) -> None:
    first, fitted = small_fit(bert, tmp_path)
    steps: list[int] = []
    again, loaded = small_fit(bert, tmp_path, progress=lambda done, _: steps.append(done))
    assert steps == []
    assert loaded == fitted
    assert same(weights_of(again), weights_of(first))


def test_the_learning_curve_is_on_the_disk_after_every_epoch(bert: Path, tmp_path: Path) -> None:
    lines: list[int] = []

    def count(_: LearningCurve) -> None:
        lines.append(len((tmp_path / "learning_curve.jsonl").read_text().splitlines()))

    _, fitted = small_fit(bert, tmp_path, on_epoch=count)
    assert lines == [1, 2, 3, 4, 5]
    last = json.loads((tmp_path / "learning_curve.jsonl").read_text().splitlines()[-1])
    assert last == fitted.curve.last.model_dump()


Fault = Callable[[], BaseException]


@pytest.mark.parametrize(
    "fault",
    [
        lambda: OSError(errno.ENOSPC, "No space left on device"),
        lambda: SafetensorError("I/O error: No space left on device (os error 28)"),
    ],
    ids=["system", "safetensors"],
)
def test_a_full_disk_leaves_the_checkpoint_before_it(
    bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    uninterrupted: dict[str, torch.Tensor],
) -> None:
    real = safetensors.torch.save_file
    calls = iter(range(1, 100))

    def full_in_the_third_epoch(*arguments: Any) -> None:
        if next(calls) > 5:
            raise fault()
        real(*arguments)

    monkeypatch.setattr(checkpoints, "save_file", full_in_the_third_epoch)
    with pytest.raises(OutputError, match=r"No space left.*checkpoint before it is whole.*from epoch 2"):
        small_fit(bert, tmp_path)
    assert "epoch-00002" in (there := {path.name for path in tmp_path.glob("*epoch*")})
    assert there <= {"epoch-00001", "epoch-00002"}
    monkeypatch.setattr(checkpoints, "save_file", real)
    model, _ = small_fit(bert, tmp_path)
    assert same(weights_of(model), uninterrupted)


def test_a_training_that_diverges_says_so(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match=r"Training diverged: after epoch 2 .*Lower the learning rate"):
        scripted(bert, tmp_path, [2.0, 1.0, 1.0], [10.0, 11.0, math.inf])


def test_the_folder_of_another_training_is_refused(bert: Path, tmp_path: Path) -> None:
    small_fit(bert, tmp_path)
    with pytest.raises(RunError, match=r"another training: it differs in recipe\."):
        small_fit(bert, tmp_path, recipe=RECIPE.model_copy(update={"seed": 8}))


def test_a_folder_with_something_else_is_refused(bert: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match="something else than a training"):
        small_fit(bert, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def removed_as_told(problem: RunError) -> Path:
    """Do what a message says, and tell which folder it was."""
    told = re.search(
        r"Remove the folder (.+) and give the same command again to train from the start\.", str(problem)
    )
    assert told, problem
    shutil.rmtree(told[1])
    return Path(told[1])


@pytest.mark.parametrize(
    "file", ["weights.safetensors", "optimizer.safetensors", "schedule.json", "learning_curve.json"]
)
def test_a_damaged_checkpoint_is_named_and_the_advice_leads_on(
    bert: Path, tmp_path: Path, file: str, uninterrupted: dict[str, torch.Tensor]
) -> None:
    folder = tmp_path / "fit"
    stop_after(2, bert, folder)
    (folder / "epoch-00002" / file).write_bytes(b"not what it was")
    with pytest.raises(RunError, match=r"checkpoint .*epoch-00002 is damaged") as problem:
        small_fit(bert, folder)
    assert removed_as_told(problem.value) == folder
    model, _ = small_fit(bert, folder)
    assert same(weights_of(model), uninterrupted)


def test_the_best_epoch_without_its_optimizer_is_not_called_damaged(bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fit"
    model = load_language_model(str(bert), device="cpu")
    evaluator = ScriptedEvaluator(model, [2.0, 1.0, 1.5], [10.0] * 3)
    with pytest.raises(IndexError):  # the script ends after the second epoch, which is worse than the first
        fit(model, pretraining_objective(SENTENCES, model), RECIPE, evaluator=evaluator, folder=folder)
    shutil.rmtree(folder / "epoch-00002")
    with pytest.raises(
        RunError, match=r"cannot go on from .*epoch-00001: .*only the newest epoch"
    ) as problem:
        small_fit(bert, folder)
    assert "damaged" not in str(problem.value)
    assert removed_as_told(problem.value) == folder
    small_fit(bert, folder)


def test_a_model_in_half_precision_is_refused(bert: Path, tmp_path: Path) -> None:
    model = load_language_model(ModelRef(id=str(bert), device="cpu", precision=Precision.BF16))
    objective = pretraining_objective(SENTENCES, model)
    with pytest.raises(ModelError, match="loaded in bf16"):
        fit(model, objective, RECIPE, evaluator=ScriptedEvaluator(model), folder=tmp_path)


def test_several_processes_are_refused(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ModelError, match="without torchrun"):
        small_fit(bert, tmp_path)


def test_an_objective_without_examples_is_refused(bert: Path, tmp_path: Path) -> None:
    model = load_language_model(str(bert), device="cpu")
    with pytest.raises(EvenhandError, match="nothing to train on"):
        fit(
            model,
            pretraining_objective([], model),
            RECIPE,
            evaluator=ScriptedEvaluator(model),
            folder=tmp_path,
        )


def test_figures_go_to_tensorboard_if_asked(bert: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]

    recipe = Recipe(epochs=2, batch_size=9, report_to=("tensorboard",))
    _, fitted = small_fit(bert, tmp_path, recipe=recipe)
    (written,) = (tmp_path / "logs").rglob("events.*")
    events = EventAccumulator(str(written))
    events.Reload()
    read = [event.value for event in events.Scalars(f"train/bias/{HE_SHE}")]
    assert read == pytest.approx([epoch.bias[HE_SHE] for epoch in fitted.curve.trained])
    assert len(events.Scalars("train/loss")) == 2


def test_half_precision_is_for_training_and_not_for_evaluating(menagerie: Zoo, tmp_path: Path) -> None:
    """What is read after an epoch is what the saved weights will give, not a rounded version of it."""
    model, plain = (load_language_model(str(menagerie.folder("gpt2")), device="cpu") for _ in range(2))
    network, other = model.loaded.model, plain.loaded.model
    ids = torch.tensor([[5, 6, 7, 8]])
    differences: list[float] = []

    def compare() -> None:
        other.load_state_dict(network.state_dict())
        with torch.no_grad():
            differences.append(float((network(ids).logits - other(ids).logits).abs().max()))

    evaluator = ScriptedEvaluator(model, meanwhile=compare)
    recipe = RECIPE.model_copy(update={"epochs": 2, "precision": Precision.BF16})
    fit(model, pretraining_objective(SENTENCES, model), recipe, evaluator=evaluator, folder=tmp_path)
    compare()
    assert differences == [0.0] * 4
    fresh = load_language_model(str(menagerie.folder("gpt2")), device="cpu")
    exact = ScriptedEvaluator(fresh)
    fit(
        fresh,
        pretraining_objective(SENTENCES, fresh),
        recipe.model_copy(update={"precision": Precision.FP32}),
        evaluator=exact,
        folder=tmp_path.with_name(f"{tmp_path.name}-exact"),
    )
    assert not same(evaluator.seen[1], exact.seen[1])
