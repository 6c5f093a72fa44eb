"""The administrator: a one-time link on the first start, a password, sessions that end with it or when signing out."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from evenhand.studio.database import Database
from evenhand.studio.security import Refusal, new_token, token_digest
from evenhand.studio.tables import AdministratorRow, SettingRow, SignInRow, utc_now

SHORTEST_PASSWORD = 12
SETUP_LIFETIME = timedelta(hours=1)
SIGN_IN_LIFETIME = timedelta(days=60)
SESSION_KEY = "session-key"
SETUP_DIGEST = "setup-digest"
LEAD_DIGEST = "lead-digest"
PUBLIC_URL = "public-url"
DEFAULT_URL = "http://127.0.0.1:8321"

_HASHER = PasswordHasher()
MOST_HASHES = 2
"""Passwords that are hashed at the same time; each takes 64 MiB and a core."""
MOST_WAITING = 18
"""Others that wait for their turn, in threads that pages need too."""
_turns = threading.BoundedSemaphore(MOST_HASHES)
_places = threading.BoundedSemaphore(MOST_HASHES + MOST_WAITING)

_NOBODY = _HASHER.hash(secrets.token_hex(16))
"""Checked when there is no administrator, so that the time to answer tells nothing."""


def session_key(database: Database) -> str:
    """The key that signs sessions; made once and kept, so that a restart signs nobody out."""
    with database.write() as session:
        key = setting(session, SESSION_KEY)
        if key is None:
            key = secrets.token_urlsafe(48)
            session.add(SettingRow(name=SESSION_KEY, value=key))
        return key


def setting(session: Session, name: str) -> str | None:
    """A value of the server itself."""
    row = session.get(SettingRow, name)
    return row.value if row else None


def public_url(session: Session) -> str:
    """Where people find the server: what it was last started with."""
    return setting(session, PUBLIC_URL) or DEFAULT_URL


def put_setting(session: Session, name: str, value: str) -> None:
    """Keep a value of the server itself."""
    session.merge(SettingRow(name=name, value=value))


def new_setup_token(database: Database, *, replace: bool = False) -> str | None:
    """A token for the one-time link, in the place of any earlier one. It expires after an hour.

    Args:
        database: The server's.
        replace: Make one also where there is an administrator, whose password the link replaces.

    Returns:
        The token; None if there is an administrator who is not to be replaced.
    """
    with database.write() as session:
        if session.scalar(select(AdministratorRow.id)) is not None and not replace:
            return None
        token = new_token()
        until = utc_now() + SETUP_LIFETIME
        put_setting(session, SETUP_DIGEST, f"{until.isoformat()} {token_digest(token)}")
        return token


def is_setup_token(session: Session, token: str) -> bool:
    """Whether this token opens the one-time link, which nobody has used and which has not expired."""
    until, _, digest = (setting(session, SETUP_DIGEST) or "").partition(" ")
    if not hmac.compare_digest(digest, token_digest(token)):
        return False
    return utc_now() < datetime.fromisoformat(until)


def put_administrator(session: Session, password: str) -> AdministratorRow:
    """Make the administrator, or give the one there is another password."""
    row = session.scalar(select(AdministratorRow))
    if row is None:
        row = AdministratorRow(created_at=utc_now())
        session.add(row)
    change_password(session, row, password)
    return row


def new_lead_token(database: Database) -> str:
    """A token for a link that signs in without a password, for a demonstration. Nobody knows the password."""
    token = new_token()
    with database.write() as session:
        put_administrator(session, secrets.token_urlsafe(32))
        put_setting(session, LEAD_DIGEST, token_digest(token))
    return token


def administrator_of(session: Session, token: str) -> AdministratorRow | None:
    """The administrator, if this token signs in."""
    kept = setting(session, LEAD_DIGEST)
    if kept is None or not hmac.compare_digest(kept, token_digest(token)):
        return None
    return session.scalar(select(AdministratorRow))


def sign_in(session: Session, password: str) -> AdministratorRow | None:
    """The administrator, if this is the password."""
    row = session.scalar(select(AdministratorRow))
    try:
        with _hashing():
            _HASHER.verify(row.password if row else _NOBODY, password)
    except (VerificationError, InvalidHashError):
        return None
    return row


def change_password(session: Session, row: AdministratorRow, password: str) -> None:
    """Set another password, which ends all sessions and every link that signs in or sets a password."""
    with _hashing():
        row.password = _HASHER.hash(password)
    row.epoch = secrets.token_hex(16)
    session.execute(delete(SettingRow).where(SettingRow.name.in_([SETUP_DIGEST, LEAD_DIGEST])))


def begin_sign_in(session: Session, row: AdministratorRow) -> str:
    """Sign the administrator in, as they were when their password was checked, and return the session's token."""
    is_current = SignInRow.epoch.in_(select(AdministratorRow.epoch))
    session.execute(
        delete(SignInRow).where(or_(SignInRow.created_at < utc_now() - SIGN_IN_LIFETIME, ~is_current))
    )
    token = new_token()
    session.add(SignInRow(digest=token_digest(token), epoch=row.epoch, created_at=utc_now()))
    return token


def is_signed_in(session: Session, token: str) -> bool:
    """Whether the session with this token is signed in: not signed out of, not too old, and of this password."""
    query = (
        select(SignInRow.digest)
        .join(AdministratorRow, AdministratorRow.epoch == SignInRow.epoch)
        .where(SignInRow.digest == token_digest(token), SignInRow.created_at >= utc_now() - SIGN_IN_LIFETIME)
    )
    return session.scalar(query) is not None


def end_sign_in(session: Session, token: str) -> None:
    """Sign out of the session with this token; what was copied from its browser opens nothing any more."""
    session.execute(delete(SignInRow).where(SignInRow.digest == token_digest(token)))


@contextmanager
def _hashing() -> Iterator[None]:
    """A turn to hash a password.

    Raises:
        Refusal: If too many wait for theirs already.
    """
    if not _places.acquire(blocking=False):
        raise Refusal(503, "refused_busy")
    try:
        with _turns:
            yield
    finally:
        _places.release()
