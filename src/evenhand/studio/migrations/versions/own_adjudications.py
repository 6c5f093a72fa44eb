"""Adjudications of each adjudicator, instead of one per text."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Let a text have a row of each adjudicator."""
    with op.batch_alter_table("adjudications") as table:
        table.drop_constraint("uq_adjudications_text_id", type_="unique")
        table.create_unique_constraint("uq_adjudications_text_annotator", ["text_id", "annotator_id"])
