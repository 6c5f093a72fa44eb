"""Training of judges: what is learnt, at which rates, and that a kill changes nothing."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fitting_runs import die
from forking import exit_code
from judge_models import RECIPE, model_folder, small_pairs
from torch import nn
from zoo_fixtures import Zoo

from evenhand.core.errors import DatasetError, EvenhandError, OutputError, RunError
from evenhand.core.recipes import Precision
from evenhand.heads import workflow
from evenhand.heads.encoded_pairs import PairSelection, encode_pairs
from evenhand.heads.judged_pairs import accuracy_estimate, judge_pairs
from evenhand.heads.page import smoothed
from evenhand.heads.pairs import NextSentencePairs, open_next_sentence_pairs
from evenhand.heads.training import JudgeTraining, recipe_for
from evenhand.heads.workflow import (
    NextSentenceTraining,
    open_next_sentence_training,
    train_next_sentence,
)
from evenhand.models.judges import new_head_record, new_judge
from evenhand.models.language_model import load_language_model
from evenhand.models.next_sentence import PairEncoder
from evenhand.models.references import ModelRef
from evenhand.store.head_records import HEAD_CURVE_FILE, HeadKind, NextSentenceCurve
from evenhand.training.batches import StageBatches
from evenhand.training.half_precision import ScaledHalfPrecision


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> NextSentencePairs:
    torch.set_num_threads(1)
    return small_pairs(tmp_path_factory.mktemp("pairs"))


def trained(
    source: Path, pairs: NextSentencePairs, out: Path, *, max_pairs: int | None = None, **recipe: Any
) -> NextSentenceTraining:
    ref = ModelRef(id=str(source), device="cpu")
    return train_next_sentence(ref, [pairs.folder], out=out, recipe={**RECIPE, **recipe}, max_pairs=max_pairs)


# Batches


def test_stages_go_through_every_example_once_in_a_pass() -> None:
    batches = StageBatches(np.arange(1, 97), batch_size=8, seed=3, stages=4, passes=2)
    seen: dict[int, list[int]] = {0: [], 1: []}
    for epoch in range(batches.stages):
        batches.set_epoch(epoch)
        own = list(batches)
        assert len(own) == len(batches) == 6
        seen[epoch // 2] += [draw.place for batch in own for draw in batch]

    assert batches.stages == 4
    assert all(sorted(places) == list(range(96)) for places in seen.values())
    assert seen[0] != seen[1]


@pytest.mark.parametrize(("stages", "passes"), [(3, 8), (1, 5), (20, 3)])
def test_every_stage_has_as_many_full_batches_as_it_says(stages: int, passes: int) -> None:
    batches = StageBatches(np.arange(1, 120), batch_size=16, seed=0, stages=stages, passes=passes)

    assert batches.stages % passes == 0
    for epoch in range(batches.stages):
        batches.set_epoch(epoch)
        assert [len(batch) for batch in batches] == [16] * len(batches)


@pytest.mark.parametrize(("examples", "stages"), [(5, 20), (100, 7), (1_003, 20)])
def test_what_is_left_out_is_less_than_a_stage(examples: int, stages: int) -> None:
    batches = StageBatches(np.ones(examples, dtype=np.int64), batch_size=4, seed=0, stages=stages, passes=1)

    assert 0 <= examples - batches.used < 4 * (len(batches) + 1)
    assert batches.stages <= max(1, examples // 4)


# What is learnt


def test_a_decoder_learns_which_sentences_go_together(tmp_path: Path, menagerie: Zoo) -> None:
    pairs = small_pairs(tmp_path / "pairs", articles=75)
    rates: dict[str, Any] = {"body_rate": 2e-3, "head_rate": 2e-3, "batch_size": 16}
    result = trained(menagerie.folder("llama"), pairs, tmp_path / "out", passes=8, test_pairs=200, **rates)

    losses = [point.loss for point in result.curve.losses]
    assert np.mean(losses[-8:]) < 0.7 * np.mean(losses[:8])
    assert result.record.test_accuracy is not None
    assert result.record.test_accuracy.low > 0.6
    assert "Test accuracy" in (tmp_path / "out" / "next_sentence.html").read_text()


def test_the_head_has_a_rate_of_its_own_and_both_follow_one_cosine(
    tmp_path: Path, menagerie: Zoo, pairs: NextSentencePairs
) -> None:
    result = trained(
        menagerie.folder("gpt2"), pairs, tmp_path / "out",
        body_rate=1e-5, head_rate=1e-2, report_every=8, passes=2, restarts=2,
    )  # fmt: skip

    training = result.record.training
    assert training is not None
    steps, warmup = training.steps, training.steps // 100 + 1
    assert len(result.curve.losses) == steps
    for done, point in enumerate(result.curve.losses):
        share = (done - warmup) / (steps - warmup)
        expected = done / warmup if done < warmup else 0.5 * (1 + math.cos(math.pi * ((2 * share) % 1)))
        assert point.body_rate == pytest.approx(1e-5 * expected)
        assert point.head_rate == pytest.approx(1e-2 * expected)


def test_the_first_loss_is_that_of_plain_code(
    tmp_path: Path, menagerie: Zoo, pairs: NextSentencePairs
) -> None:
    model = load_language_model(str(menagerie.folder("gpt2")), device="cpu")
    record = new_head_record(model.loaded)
    result = trained(
        menagerie.folder("gpt2"), pairs, tmp_path / "out", max_pairs=8, checkpoints=1, report_every=8
    )
    judge = new_judge(model.loaded, record, seed=0)
    encoder = PairEncoder(model.tokenizer, record)
    rows = [row for frame in PairSelection((pairs,), "train", 8).rows(pairs) for row in frame.iter_rows()]
    torch.manual_seed(0)
    losses = []
    with torch.no_grad():
        for first, second, follows, _ in rows:
            ((ids, types),) = encoder.encode([(first, second)])
            scores = judge(torch.tensor([ids]), torch.ones(1, len(ids)), torch.tensor([types]))[0]
            losses.append(float(nn.functional.cross_entropy(scores, torch.tensor(int(follows)))))

    # Dropout is on in training, so the two agree only about.
    assert result.curve.losses[0].loss == pytest.approx(float(np.mean(losses)), rel=0.3)


def test_pairs_of_several_languages_count_the_same(
    tmp_path: Path, menagerie: Zoo, pairs: NextSentencePairs
) -> None:
    more = small_pairs(tmp_path / "pairs", language="de", articles=60)
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu")

    result = train_next_sentence(ref, [pairs.folder, more.folder], out=tmp_path / "out", recipe=RECIPE)

    assert result.record.training is not None
    counts = {used.language: used.train_pairs for used in result.record.training.pairs}
    assert counts == {"en": pairs.record.train_pairs, "de": pairs.record.train_pairs}
    with pytest.raises(EvenhandError, match="Two folders of pairs are in 'en'"):
        train_next_sentence(ref, [pairs.folder, pairs.folder], out=tmp_path / "twice")


@pytest.mark.parametrize("precision", list(Precision))
def test_every_precision_learns(
    tmp_path: Path, menagerie: Zoo, pairs: NextSentencePairs, precision: Precision
) -> None:
    rates: dict[str, Any] = {"body_rate": 2e-3, "head_rate": 2e-3}
    result = trained(
        menagerie.folder("gpt2"), pairs, tmp_path / "out", passes=4, precision=precision, **rates
    )

    losses = [point.loss for point in result.curve.losses]
    assert np.mean(losses[-4:]) < np.mean(losses[:4])
    assert result.record.training is not None
    assert result.record.training.precision is precision


# Half precision with a scale


def test_gradients_in_fp16_are_those_without_a_scale() -> None:
    torch.manual_seed(0)
    network = nn.Linear(4, 2)
    scaled = ScaledHalfPrecision(network, scale=1_024.0)
    data = torch.randn(3, 4)
    scaled.start()
    loss = scaled.add(network, lambda double: double(data.half()).float().square().mean())
    scaled.clip(100.0)
    plain = nn.Linear(4, 2)
    plain.load_state_dict(network.state_dict())
    expected = plain(data).square().mean()
    torch.autograd.backward(expected)

    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-2)
    assert network.weight.grad is not None
    assert plain.weight.grad is not None
    assert torch.allclose(network.weight.grad, plain.weight.grad, rtol=2e-2, atol=1e-3)


def test_a_step_in_fp16_that_overflows_is_left_out_and_the_scale_halved() -> None:
    network = nn.Linear(4, 2)
    scaled = ScaledHalfPrecision(network, scale=2.0**16)
    scaled.start()
    scaled.add(network, lambda double: (double(torch.full((1, 4), 300.0).half()) * 300).sum())
    scaled.clip(1.0)

    assert scaled.scale == 2.0**15
    assert network.weight.grad is None


# Kills


KILLED_AFTER = (0, 1, 2)


def small_training(source: Path, pairs: Path, out: Path, killed_after: int | None = None) -> None:
    torch.set_num_threads(1)
    patch = pytest.MonkeyPatch()
    if killed_after is not None:
        original = JudgeTraining._point

        def point(self: Any, epoch: int, **options: Any) -> Any:
            if epoch == killed_after + 1:
                die()
            return original(self, epoch, **options)

        patch.setattr(JudgeTraining, "_point", point)
    trained(source, open_next_sentence_pairs(pairs), out)
    patch.undo()


@pytest.fixture(scope="module")
def undisturbed(
    menagerie: Zoo, pairs: NextSentencePairs, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    small_training(menagerie.folder("gpt2"), pairs.folder, out)
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.mark.parametrize("killed_after", KILLED_AFTER)
def test_a_killed_training_goes_on_to_the_same_bytes(
    menagerie: Zoo,
    pairs: NextSentencePairs,
    tmp_path: Path,
    killed_after: int,
    undisturbed: dict[str, bytes],
) -> None:
    out, source = tmp_path / "out", menagerie.folder("gpt2")
    assert exit_code(small_training, source, pairs.folder, out, killed_after) == -signal.SIGKILL
    assert not out.exists()
    small_training(source, pairs.folder, out)

    assert {path.name: path.read_bytes() for path in out.iterdir()} == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_finished_training_is_opened_and_another_is_not_replaced(
    menagerie: Zoo, pairs: NextSentencePairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = menagerie.folder("gpt2"), tmp_path / "out"
    first = trained(source, pairs, out)
    monkeypatch.setattr(workflow, "_train_head", None)

    assert trained(source, pairs, out).record == first.record
    with pytest.raises(RunError, match="holds another result"):
        trained(source, pairs, out, seed=5)
    point = {"epoch": 1, "pairs": 8, "accuracy": math.nan}
    curves: list[dict[str, Any]] = [{"points": 3}, {"checkpoints": []}, {"checkpoints": [point]}]
    for damaged in curves:
        (out / HEAD_CURVE_FILE).write_text(json.dumps(damaged))
        with pytest.raises(RunError, match=r"is damaged .* Train the head again"):
            open_next_sentence_training(out)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "note.txt").write_text("mine")
    with pytest.raises(OutputError, match="something else than a next-sentence head"):
        trained(source, pairs, tmp_path / "else")


# Encoded pairs, recipes, figures


def test_pairs_of_another_tokenizer_are_refused(
    tmp_path: Path, menagerie: Zoo, pairs: NextSentencePairs
) -> None:
    encoders = {}
    for name in ("gpt2", "llama"):
        loaded = load_language_model(str(menagerie.folder(name)), device="cpu").loaded
        encoders[name] = PairEncoder(loaded.tokenizer, new_head_record(loaded))
    selection = PairSelection((pairs,), "test", 8)
    encoded = encode_pairs(selection, tmp_path / "encoded", encoders["gpt2"], longest=64)

    assert len(encoded) == 8
    assert encoded.classes.sum() == 4
    with pytest.raises(RunError, match="encoded with another tokenizer"):
        encode_pairs(selection, tmp_path / "encoded", encoders["llama"], longest=64)


def test_pairs_in_letters_that_the_tokenizer_does_not_know_are_refused(
    tmp_path: Path, menagerie: Zoo
) -> None:
    corpus = tmp_path / "a.jsonl"
    lines = [{"sentences": [f"第{n}々 章々 一", f"第{n}々 章々 二", f"第{n}々 章々 三"]} for n in range(30)]
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    from evenhand.heads.pairs import NextSentenceOptions
    from evenhand.heads.pairs_workflow import build_next_sentence_pairs

    pairs = build_next_sentence_pairs(
        corpus, tmp_path / "zh", options=NextSentenceOptions("zh", test_share=0.3)
    )

    with pytest.raises(DatasetError, match=r"of the tokens .* are unknown to the model's tokenizer"):
        trained(menagerie.folder("bert"), pairs, tmp_path / "out")


def test_too_few_pairs_are_refused(tmp_path: Path, menagerie: Zoo, pairs: NextSentencePairs) -> None:
    with pytest.raises(DatasetError, match="no pairs to train with"):
        trained(menagerie.folder("gpt2"), pairs, tmp_path / "out", max_pairs=1)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"batch_size": 0}, "batch size is 0"),
        ({"body_rate": 2.0}, "learning rate is 2"),
        ({"max_tokens": 3}, "8 tokens or more"),
        ({"report_to": ("telegram",)}, "cannot be reported to"),
    ],
)
def test_impossible_recipes_are_refused(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        recipe_for(HeadKind.POOLED, **chosen)


def test_usual_rates_are_those_of_the_papers() -> None:
    assert recipe_for(HeadKind.POOLED).body_rate == 5e-6
    assert recipe_for(HeadKind.POOLED, head_rate=None).head_rate == 1e-3
    assert recipe_for(HeadKind.LABELS).body_rate == 1e-4


def test_answers_do_not_depend_on_their_batch(
    tmp_path: Path, menagerie: Zoo, pairs: NextSentencePairs
) -> None:
    loaded = load_language_model(str(menagerie.folder("gpt2")), device="cpu").loaded
    record = new_head_record(loaded)
    judge = new_judge(loaded, record)
    encoded = encode_pairs(
        PairSelection((pairs,), "test"),
        tmp_path / "encoded",
        PairEncoder(loaded.tokenizer, record),
        longest=64,
    )

    judged = judge_pairs(judge, encoded, pad=loaded.pad_id)

    assert judged.without_label == 0
    for place in range(0, len(encoded), 5):
        example = encoded[place]
        ids = torch.from_numpy(np.array(example.ids, dtype=np.int64))[None]
        with torch.no_grad():
            answer = int(judge.answers(ids, torch.ones_like(ids), torch.zeros_like(ids))[0])
        assert judged.answers[place] == answer
        assert judged.right[place] == (answer == example.label)


def test_accuracy_has_an_interval_over_articles() -> None:
    right = np.array([True] * 30 + [False] * 10)
    articles = np.arange(40, dtype=np.uint64)

    independent = accuracy_estimate(right, articles)
    clustered = accuracy_estimate(right, articles // 10)

    assert independent.value == clustered.value == 0.75
    assert (independent.clusters, clustered.clusters) == (40, 4)
    assert clustered.high - clustered.low > independent.high - independent.low
    assert not accuracy_estimate(right, articles // 100).defined


def test_a_smoothed_curve_of_one_value_is_that_value() -> None:
    assert smoothed([2.0] * 5) == pytest.approx([2.0] * 5)
    assert smoothed([0.0, 1.0], 0.5) == pytest.approx([0.0, 2 / 3])


def test_t5_shaped_models_train_and_are_tested_by_what_they_write(
    tmp_path: Path, pairs: NextSentencePairs
) -> None:
    source = model_folder("t5", tmp_path / "t5")
    result = trained(source, pairs, tmp_path / "out", passes=10, body_rate=2e-2, test_pairs=20)

    assert result.record.test_accuracy is not None
    assert result.record.test_accuracy.value > 0.2
    assert "writes by itself" in result.record.accuracy_by
    curve = NextSentenceCurve.model_validate_json(
        (tmp_path / "out" / "next_sentence_curve.json").read_bytes()
    )
    # An untrained model writes no label, so it is never right, whatever it would say when led to one.
    assert curve.checkpoints[0].accuracy == 0
