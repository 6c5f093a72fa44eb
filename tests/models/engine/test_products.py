"""Kernels for matrix products: chosen by speed and error, never left on, never against the user's own setting."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fitting_runs import RECIPE, STEPS, small_fit
from zoo_fixtures import Zoo

from evenhand.certificate.finetuning import Finetuning, finetuned_answers
from evenhand.core.items import Span
from evenhand.core.recipes import Kernels
from evenhand.data.labelled import LabelledExample, LabelledText
from evenhand.models.engine import products
from evenhand.models.engine.products import UNCHANGED, MatrixProducts, matrix_products
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Embed, GenerationOptions
from evenhand.training.classification import new_classifier
from evenhand.training.perplexity import HeldOut

CPU = torch.device("cpu")
ONEDNN = MatrixProducts(True, "as the test wants it")

ONEDNN_SETTINGS: Any = torch.backends.mkldnn

pytestmark = pytest.mark.skipif(not ONEDNN_SETTINGS.is_available(), reason="this PyTorch has no oneDNN")


@pytest.fixture(autouse=True)
def _measured_anew() -> Iterator[None]:
    products._measured.cache_clear()
    yield
    products._measured.cache_clear()
    assert setting() == "none"


def setting() -> str:
    return str(ONEDNN_SETTINGS.matmul.fp32_precision)


def chosen() -> MatrixProducts:
    return matrix_products(CPU, torch.float32, Kernels.AUTO)


def with_speeds(monkeypatch: pytest.MonkeyPatch, *, usual: float, other: float) -> None:
    """Timings that do not depend on the machine."""
    monkeypatch.setattr(products, "_seconds", lambda *_: other if setting() == "bf16" else usual)


def with_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that rounds to bf16 as soon as it may, as those with AMX do."""

    product = torch.Tensor.__matmul__

    def rounded(left: Any, right: Any) -> Any:
        if setting() == "bf16" and left.dtype == torch.float32:
            left, right = left.bfloat16().float(), right.bfloat16().float()
        return product(left, right)

    monkeypatch.setattr(torch.Tensor, "__matmul__", rounded)


def test_the_faster_kernels_are_used_where_they_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    with_speeds(monkeypatch, usual=2.0, other=1.0)
    monkeypatch.setattr(products, "_error", lambda *_: 0.2)
    assert chosen().onednn
    assert "error of fp32" in str(chosen())


def test_kernels_that_are_not_faster_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with_speeds(monkeypatch, usual=1.0, other=1.0)
    monkeypatch.setattr(products, "_error", lambda *_: 0.2)
    assert chosen() == MatrixProducts(False, "oneDNN is not faster here")


def test_a_processor_that_rounds_to_bf16_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with_speeds(monkeypatch, usual=2.0, other=1.0)
    with_rounding(monkeypatch)
    assert chosen() == MatrixProducts(False, "oneDNN would round to bf16 on this processor")


def test_the_error_is_that_of_a_running_sum_in_fp32() -> None:
    """One that is summed step by step in fp32, and one with inputs rounded to bf16."""
    generator = torch.Generator().manual_seed(3)
    left = torch.randn(8, products.INNER, generator=generator)
    right = torch.randn(8, products.INNER, generator=generator)
    exact = left.double() @ right.double().T
    total = torch.zeros(8, 8)
    for place in range(products.INNER):
        total = total + left[:, place, None] * right[None, :, place]
    assert 0.1 < products._error(total, exact) < 1
    rounded = left.bfloat16().double() @ right.bfloat16().double().T
    assert products._error(rounded.float(), exact) > 100


def test_undefined_products_are_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    with_speeds(monkeypatch, usual=2.0, other=1.0)
    monkeypatch.setattr(products, "_error", lambda *_: float("nan"))
    assert not chosen().onednn


def test_a_user_s_own_setting_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with_speeds(monkeypatch, usual=2.0, other=1.0)
    ONEDNN_SETTINGS.matmul.fp32_precision = "ieee"
    try:
        assert chosen() == MatrixProducts(
            False, "this process had set the precision of products in fp32 to ieee"
        )
        assert setting() == "ieee"
    finally:
        ONEDNN_SETTINGS.matmul.fp32_precision = "none"


def test_oneDNN_that_was_switched_off_stays_off() -> None:
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        assert "enabled to False" in str(chosen())
    finally:
        torch._C._set_mkldnn_enabled(enabled)


@pytest.mark.parametrize("lacking", ["oneDNN", "the setting"])
def test_a_PyTorch_without_it_takes_its_own_way(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = SimpleNamespace(is_available=lambda: lacking != "oneDNN")
    with monkeypatch.context() as patched:
        patched.setattr(torch.backends, "mkldnn", without)
        assert not chosen().onednn


def test_other_formats_devices_and_wishes_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_measured", lambda _: pytest.fail("measured"))
    assert not matrix_products(CPU, torch.bfloat16, Kernels.AUTO).onednn
    assert not matrix_products(torch.device("cuda"), torch.float32, Kernels.AUTO).onednn
    assert str(matrix_products(CPU, torch.float32, Kernels.DEFAULT)).endswith("chosen by the user")


def test_the_setting_holds_for_the_block_only_and_may_be_nested() -> None:
    with ONEDNN.in_use():
        assert setting() == "bf16"
        with ONEDNN.in_use():
            assert setting() == "bf16"
        assert setting() == "bf16"
    assert setting() == "none"
    with UNCHANGED.in_use():
        assert setting() == "none"


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_the_setting_goes_when_work_is_broken_off(kind: type[BaseException]) -> None:
    with pytest.raises(kind), ONEDNN.in_use():
        raise kind
    assert setting() == "none"


def test_settings_that_the_process_has_frozen_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("not allowed to set flags")

    monkeypatch.setattr(products, "_enter", refuse)
    assert chosen() == MatrixProducts(False, "oneDNN cannot be used (not allowed to set flags)")


def test_a_setting_that_comes_after_the_measurement_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with_speeds(monkeypatch, usual=2.0, other=1.0)
    monkeypatch.setattr(products, "_error", lambda *_: 0.2)
    kernels = chosen()
    assert kernels.onednn
    ONEDNN_SETTINGS.matmul.fp32_precision = "ieee"
    try:
        with kernels.in_use():
            assert setting() == "ieee"
        assert setting() == "ieee"
        assert "had set the precision of products in fp32 to ieee" in str(chosen())
    finally:
        ONEDNN_SETTINGS.matmul.fp32_precision = "none"
    assert chosen().onednn


def test_a_setting_that_another_thread_makes_meanwhile_stays() -> None:
    try:
        with ONEDNN.in_use():
            ONEDNN_SETTINGS.matmul.fp32_precision = "ieee"
        assert setting() == "ieee"
    finally:
        ONEDNN_SETTINGS.matmul.fp32_precision = "none"


def test_two_threads_share_the_setting_and_the_last_one_takes_it_back() -> None:
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    seen: list[str] = []

    def first() -> None:
        with ONEDNN.in_use():
            first_is_in.set()
            second_is_in.wait(60)
        first_is_out.set()

    def second() -> None:
        first_is_in.wait(60)
        with ONEDNN.in_use():
            second_is_in.set()
            first_is_out.wait(60)
            seen.append(setting())
        seen.append(setting())

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == ["bf16", "none"]


def test_a_thread_that_measures_waits_for_nobody_and_nobody_disturbs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread begins to score in the middle of the measurement; both timings are of what they are said to be."""
    timed: list[str] = []
    scoring = threading.Thread(target=products._enter)

    def seconds(*_: Any) -> float:
        if not timed:
            scoring.start()
            scoring.join(0.2)
        timed.append(setting())
        return 1.0 if setting() == "bf16" else 2.0

    monkeypatch.setattr(products, "_seconds", seconds)
    monkeypatch.setattr(products, "_error", lambda *_: 0.2)
    try:
        assert chosen().onednn
        assert timed == ["none", "bf16"] * products.REPEATS
    finally:
        scoring.join(60)
        products._leave()


def test_what_is_measured_while_another_thread_scores_is_not_timed_against_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_speeds(monkeypatch, usual=2.0, other=1.0)
    monkeypatch.setattr(products, "_error", lambda *_: 0.2)
    with ONEDNN.in_use():
        assert chosen().onednn


@pytest.mark.parametrize("cores", ["all", "one"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_process_with_few_threads_or_cores_is_left_as_it_was(cores: str, threads: str) -> None:
    """The route is chosen by measurement there too; either way the record says which, and nothing stays changed."""
    program = f"""
import os
if {cores == "one"} and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
import torch
from evenhand.core.recipes import Kernels
from evenhand.models.engine.products import matrix_products
chosen = matrix_products(torch.device("cpu"), torch.float32, Kernels.AUTO)
left, right = torch.randn(64, 512), torch.randn(512, 512)
expected = left.double() @ right.double()
with chosen.in_use():
    error = ((left @ right).double() - expected).abs().max().item()
print(error < 1e-3, torch.get_num_threads(), torch.backends.mkldnn.matmul.fp32_precision, chosen, sep="|")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "OMP_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        check=True,
    )
    exact, counted, after, reason = done.stdout.strip().split("|")
    assert (exact, counted, after) == ("True", threads, "none")
    assert reason in (
        "oneDNN: faster here, with the error of fp32",
        "as PyTorch chooses: oneDNN is not faster here",
        "as PyTorch chooses: oneDNN would round to bf16 on this processor",
    )


def settings_seen(module: torch.nn.Module) -> list[str]:
    """The settings under which a module computes from here on."""
    seen: list[str] = []
    module.register_forward_pre_hook(lambda *_: seen.append(setting()))
    return seen


@pytest.mark.parametrize("work", ["scoring", "generation", "vectors", "perplexity", "fine-tuning"])
def test_the_chosen_kernels_compute_all_work(
    work: str, menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_measured", lambda _: ONEDNN)
    model = load_language_model(str(menagerie.folder("gpt2")), device="cpu")
    sentences = ["The man saw cats.", "The cats saw the man."]
    questions = HeldOut(sentences, model)
    model.score_texts(sentences)  # the self-check of the fast ways comes once, before
    seen = settings_seen(model.loaded.model.get_submodule("transformer.h.0"))
    if work == "scoring":
        model.score_texts(sentences)
    elif work == "generation":
        list(model.generate(sentences, GenerationOptions(max_new_tokens=3)))
    elif work == "vectors":
        model.answer([Embed(sentences[0], Span(4, 7))])
    elif work == "perplexity":
        questions.loss(model.loaded.model)
    else:
        examples = tuple(LabelledExample(text, label) for text, label in zip(sentences, "ab", strict=True))

        def watched(*arguments: Any, **options: Any) -> Any:
            classifier = new_classifier(*arguments, **options)
            seen.clear()
            classifier.register_forward_pre_hook(lambda *_: seen.append(setting()))
            return classifier

        monkeypatch.setattr("evenhand.certificate.finetuning.new_classifier", watched)
        data = LabelledText("tiny", examples, examples, ("a", "b"), "0" * 64)
        finetuned_answers(model, data, Finetuning(steps=2), seed=0)
    assert seen
    assert set(seen) == {"bf16"}


def test_the_chosen_kernels_compute_a_training(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(products, "_measured", lambda _: ONEDNN)
    seen: list[str] = []
    with torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: seen.append(setting())):
        small_fit(menagerie.folder("gpt2"), tmp_path / "fit", recipe=RECIPE.model_copy(update={"epochs": 1}))
    assert seen.count("bf16") >= STEPS


def test_the_record_says_which_kernels_and_an_option_turns_the_choice_off(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_measured", lambda _: ONEDNN)
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu")
    assert load_language_model(ref).record.products == "oneDNN: as the test wants it"
    model = load_language_model(ref.model_copy(update={"kernels": Kernels.DEFAULT}))
    assert model.record.products == "as PyTorch chooses: chosen by the user"
    seen = settings_seen(model.loaded.model.get_submodule("transformer.h.0"))
    model.score_texts(["The man saw cats."])
    assert set(seen) == {"none"}
