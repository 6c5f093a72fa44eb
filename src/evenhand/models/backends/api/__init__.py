"""Models behind a server that speaks the protocol of OpenAI: ``api:NAME``.

The address of the server comes from ``EVENHAND_API_BASE`` or ``OPENAI_BASE_URL``, the key from ``EVENHAND_API_KEY`` or
``OPENAI_API_KEY`` and from nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.models.backends.api.options import (
    ApiError,
    ApiOptions,
    CostEstimate,
    Endpoint,
    estimate_cost,
)
from evenhand.models.references import ModelRef

if TYPE_CHECKING:
    from evenhand.models.backends.api.model import ApiModel

__all__ = [
    "API",
    "ApiBackend",
    "ApiError",
    "ApiOptions",
    "CostEstimate",
    "Endpoint",
    "estimate_cost",
]


class ApiBackend:
    """Loads models of a server, which are asked over the network."""

    name = "api"
    summary = "a model behind an OpenAI-compatible server; EVENHAND_API_BASE is its address"

    def location(self, ref: ModelRef) -> str:
        """The id itself: the weights are out of reach."""
        return ref.id

    def load(self, ref: ModelRef, options: ApiOptions | None = None) -> ApiModel:
        """The model; nothing is sent yet.

        Args:
            ref: Its id names the model as the server does, after ``api:``.
            options: Which server, and how; those of the environment if not given.
        """
        from evenhand.models.backends.api.model import ApiModel

        if ref.revision is not None:
            raise ApiError(
                f"{ref.id} was given the revision {ref.revision!r}, but a server has one only. Leave it out."
            )
        return ApiModel(ref, options or ApiOptions.from_environment())


API = ApiBackend()
