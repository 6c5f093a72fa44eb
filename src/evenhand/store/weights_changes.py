"""How the weights of two models differ."""

from __future__ import annotations

from evenhand.core.estimates import Number
from evenhand.core.frozen import FrozenModel


class TensorChange(FrozenModel):
    """How far one tensor moved."""

    name: str
    relative: Number
    """Length of the change over the length of the tensor before."""


class WeightsChange(FrozenModel):
    """Whether two models differ, tensor by tensor, as they are loaded."""

    tensors: int
    changed: int
    parameters: int
    relative: Number
    """Length of the change of all weights together over their length before."""
    largest: tuple[TensorChange, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    """Tensors that the other model lacks, or has in another shape."""
    adapter: str | None = None
    """What kind of adapter was loaded onto the model, where its folder is one."""

    @property
    def any(self) -> bool:
        """Whether anything differs."""
        return bool(self.changed or self.only_before or self.only_after)
