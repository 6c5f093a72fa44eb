"""Number formats."""

from __future__ import annotations

from enum import StrEnum


class Precision(StrEnum):
    """The number format of the weights."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
