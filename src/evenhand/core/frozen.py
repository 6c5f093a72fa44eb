"""Values that do not change once they are made, and can be written as JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """The base of records and results."""

    model_config = ConfigDict(frozen=True)
