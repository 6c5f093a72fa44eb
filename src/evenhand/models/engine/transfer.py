"""What is made in main memory, on the device that computes with it.

A plain copy to a GPU waits until everything that was launched before it is done. A training step makes a dozen of them,
and after each the GPU would stand idle until Python has launched more. Copies from page-locked memory wait for nothing.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def on_device(values: Tensor | np.ndarray, device: torch.device) -> Tensor:
    """A tensor or an array on a device."""
    tensor = torch.as_tensor(values)
    if device.type != "cuda" or tensor.is_cuda:
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
