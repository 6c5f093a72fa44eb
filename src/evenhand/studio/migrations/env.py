"""How alembic reaches the database: over the connection that ``Database`` hands it."""

from __future__ import annotations

from alembic import context

from evenhand.studio.tables import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
context.run_migrations()
