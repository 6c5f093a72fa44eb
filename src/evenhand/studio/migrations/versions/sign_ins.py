"""Sessions that end on the server, and ids that are never used again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

WITH_IDS = (
    *("administrators", "projects", "texts", "annotators", "assignments", "adjudications"),
    *("surveys", "survey_versions", "pictures", "invitations", "participants", "answers"),
    *("reviews", "review_items", "reviewers", "review_verdicts"),
)


def upgrade() -> None:
    """Create the table of sign-ins, and let SQLite count ids on; PostgreSQL always did."""
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sign_ins")),
    )
    if op.get_bind().dialect.name != "sqlite":
        return
    for name in WITH_IDS:
        # Rows are copied into a new table, and the old one is dropped: foreign keys must be off.
        counted_on = {"sqlite_autoincrement": True}
        with op.batch_alter_table(name, recreate="always", table_kwargs=counted_on):
            pass
