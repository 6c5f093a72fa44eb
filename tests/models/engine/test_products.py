"""Kernels for matrix products: chosen by speed and error, never left on, never against the user's own setting."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evenhand.core.recipes import Kernels
from evenhand.models.engine import products
from evenhand.models.engine.products import UNCHANGED, MatrixProducts, matrix_products

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
