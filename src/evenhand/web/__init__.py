"""Pages for people: surveys that collect sentences, annotation, and what the lead of a project sees.

A server is one FastAPI application over one database, SQLite or PostgreSQL. Every answer is committed before it is
acknowledged. Pages work without JavaScript; scripts add keys and save without a reload.
"""

from __future__ import annotations

__all__ = ["Database", "ServerOptions", "create_app"]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: FastAPI and SQLAlchemy take half a second."""
    if name == "Database":
        from evenhand.web.database import Database

        return Database
    if name in ("ServerOptions", "create_app"):
        from evenhand.web import app

        return getattr(app, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
