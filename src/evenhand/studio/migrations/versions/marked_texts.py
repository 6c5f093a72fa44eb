"""Texts with marked words and what is asked about them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns of marked texts."""
    op.add_column("texts", sa.Column("topic", sa.Text(), nullable=False, server_default=""))
    op.add_column("texts", sa.Column("marks", sa.JSON(), nullable=False, server_default="[]"))
