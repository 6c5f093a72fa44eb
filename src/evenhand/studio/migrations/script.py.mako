"""${message}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from evenhand.studio.tables import UtcTime

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Bring the tables up to this revision."""
    ${upgrades if upgrades else "pass"}
