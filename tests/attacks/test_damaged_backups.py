"""Damaged backups: each is refused in a sentence that names the fault and no answer, and leaves nothing."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from running import Command
from sqlalchemy import func, select, text
from web_fixtures import Visitor
from web_projects import joined, made_project, small_project
from web_surveys import finished, small_survey

from evenhand.studio.annotation.projects import ProjectText
from evenhand.studio.backup import back_up, fill, made_for_restoring, restore
from evenhand.studio.backup_checks import DIGESTS, checked_backup
from evenhand.studio.database import Database, DatabaseError
from evenhand.studio.tables import AnswerRow, SettingRow

WRITTEN = "Zebrafinken"
"""In every answer of the backup, and in no message."""

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A backup with answers, votes and links."""
    from fastapi.testclient import TestClient

    from evenhand.studio.app import create_app

    folder = tmp_path_factory.mktemp("whole")
    database = Database(str(folder / "server.db"))
    small_project(database)
    small_survey(database)
    server = create_app(database)

    def visitor() -> Visitor:
        return Visitor(TestClient(server, base_url="http://127.0.0.1:8321"))

    joined(database, visitor, "Anna").send(choice="label:1", comment=f"about {WRITTEN}")
    finished(visitor)
    with database.write() as session:
        for row in session.scalars(select(AnswerRow)):
            row.written = f"{row.written} and {WRITTEN}"
    back_up(database, folder / "backup.db")
    database.close()
    return (folder / "backup.db").read_bytes()


def run_sql(*statements: str, without_digests: bool = False) -> Damage:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            for statement in statements:
                connection.execute(statement)
            if without_digests:
                connection.execute("DELETE FROM settings WHERE name = ?", (DIGESTS,))

    return damage


def in_schema(table: str, old: str, new: str) -> Damage:
    """Change how a table says that it was made, as only damage does."""

    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("DELETE FROM settings WHERE name = ?", (DIGESTS,))
            changed = connection.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)",
                (old, new, table, old),
            )
            assert changed.rowcount == 1

    return damage


def in_bytes(change: Callable[[bytes], bytes]) -> Damage:
    def damage(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return damage


def flipped(seed: int) -> Damage:
    """Eight bytes of each page but the first changed, somewhere."""

    def change(content: bytes) -> bytes:
        chance = random.Random(seed)  # noqa: S311  no secret
        broken = bytearray(content)
        for start in range(4096, len(content), 4096):
            for _ in range(8):
                broken[start + chance.randrange(4096)] ^= chance.randrange(1, 256)
        return bytes(broken)

    return in_bytes(change)


def at(share: float) -> Damage:
    return in_bytes(lambda content: content[: int(share * len(content))])


VALUES = {
    "answered_at of answers": "UPDATE answers SET answered_at = 'Zebrafinken'",
    "answered_at in answers": "UPDATE answers SET answered_at = 17",
    "remarks": "UPDATE answers SET remarks = '{Zebrafinken'",
    "prompts": "UPDATE participants SET prompts = x'00ff'",
    "seconds": "UPDATE answers SET seconds = 'Zebrafinken'",
    "endless": "UPDATE answers SET seconds = 9e999",
    "skipped": "UPDATE answers SET skipped = 7",
    "a text for a truth": "UPDATE answers SET skipped = 'Zebrafinken'",
    "position": "UPDATE answers SET position = position || ' Zebrafinken'",
    "a large number": "UPDATE participants SET seed = 99999999999",
    "no UTF-8": "UPDATE answers SET written = CAST(x'5a65627261ff' AS TEXT)",
    "bytes for a text": "UPDATE answers SET written = CAST(written AS BLOB)",
    "a NUL": "UPDATE answers SET written = 'Zebrafinken' || char(0) || 'x'",
    "a long name": "UPDATE annotators SET name = hex(zeroblob(100))",
    "deep JSON": "UPDATE answers SET remarks = replace(hex(zeroblob(50000)), '0', '[')",
    "the day": "UPDATE participants SET created_at = '2026-13-45 00:00:00'",
}

DAMAGES: dict[str, Damage] = {
    **{f"value: {name}": run_sql(statement, without_digests=True) for name, statement in VALUES.items()},
    **{f"cut at {share}": at(share) for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)},
    **{f"flipped {seed}": flipped(seed) for seed in range(8)},
    "empty": in_bytes(lambda _: b""),
    "cut in the header": in_bytes(lambda content: content[:50]),
    "only zeros": in_bytes(lambda content: bytes(len(content))),
    "zeros in the middle": in_bytes(lambda content: content[:20480] + bytes(8192) + content[28672:]),
    "two pages changed places": in_bytes(
        lambda content: content[:12288] + content[16384:20480] + content[12288:16384] + content[20480:]
    ),
    "a byte of a comment": in_bytes(lambda content: content.replace(WRITTEN.encode(), b"Zebrafunken", 1)),
    "another first byte": in_bytes(lambda content: b"X" + content[1:]),
    "another page size": in_bytes(lambda content: content[:16] + b"\x03\x01" + content[18:]),
    "compressed": in_bytes(gzip.compress),
    "a download page": in_bytes(lambda _: b"<!doctype html><title>Sign in</title>"),
    "without answers": run_sql("DROP TABLE answers"),
    "without any table": run_sql("DROP TABLE answers", "DROP TABLE alembic_version"),
    "without settings": run_sql("DROP TABLE settings"),
    "another name": run_sql("ALTER TABLE answers RENAME TO replies"),
    "without a column": run_sql("ALTER TABLE answers DROP COLUMN remarks", without_digests=True),
    "another column": run_sql("ALTER TABLE answers ADD COLUMN more TEXT", without_digests=True),
    "another table": run_sql("CREATE TABLE more (text)", without_digests=True),
    "without an index": run_sql("DROP INDEX ix_participants_survey_state", without_digests=True),
    "an answer less": run_sql("DELETE FROM answers WHERE position = 1"),
    "an answer more": run_sql(
        "INSERT INTO answers SELECT 99, participant_id, 9, written, text, skipped, remarks, seconds, answered_at "
        "FROM answers WHERE position = 1"
    ),
    "another answer": run_sql("UPDATE answers SET written = 'something else'"),
    "answers of nobody": run_sql("DELETE FROM participants", without_digests=True),
    "votes of nobody": run_sql("UPDATE assignments SET annotator_id = 4711", without_digests=True),
    "no version": run_sql("DELETE FROM alembic_version"),
    "a later version": run_sql("UPDATE alembic_version SET version_num = '9999'"),
    "two versions": run_sql("INSERT INTO alembic_version VALUES ('0001')"),
    "an earlier version": run_sql("UPDATE alembic_version SET version_num = '0001'"),
    "digests that are none": run_sql("UPDATE settings SET value = '[1' WHERE name = 'backup-digests'"),
    "digests of nothing": run_sql("UPDATE settings SET value = '[]' WHERE name = 'backup-digests'"),
    "digests of other tables": run_sql("UPDATE settings SET value = '{}' WHERE name = 'backup-digests'"),
    "nothing must be there": in_schema("answers", "written TEXT NOT NULL", "written TEXT"),
    "twice": in_schema("answers", "UNIQUE (participant_id, position)", "UNIQUE (participant_id, id)"),
    "broken SQL": in_schema("answers", "CREATE TABLE", "CREATE TABEL"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_backup_is_refused_and_leaves_nothing(
    whole: bytes, tmp_path: Path, damage: Damage, run_evenhand_here: Command
) -> None:
    backup = tmp_path / "backup.db"
    backup.write_bytes(whole)
    damage(backup)
    before = backup.read_bytes()
    assert before != whole
    target = tmp_path / "restored" / "server.db"
    target.parent.mkdir()
    result = run_evenhand_here("serve", "restore", backup, "--db", target)
    assert result.returncode == 2
    said = result.stdout + result.stderr
    assert said.startswith(f"Error: {backup} ")
    assert WRITTEN not in said
    assert list(target.parent.iterdir()) == []
    assert backup.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (DAMAGES["value: seconds"], "row 1 of answers has something in seconds that cannot be there"),
        (DAMAGES["value: no UTF-8"], "row 1 of answers has something in written that cannot be there"),
        (DAMAGES["without answers"], "the table answers is missing"),
        (DAMAGES["without a column"], "the column answers.remarks is missing"),
        (DAMAGES["another table"], "the table more is not one of Evenhand"),
        (DAMAGES["another answer"], "the table answers is not as it was backed up"),
        (DAMAGES["a byte of a comment"], "the table assignments is not as it was backed up"),
        (DAMAGES["answers of nobody"], "row 1 of answers belongs to a row of participants that is not there"),
        (DAMAGES["cut at 0.5"], "database disk image is malformed"),
    ],
)
def test_the_fault_is_named(whole: bytes, tmp_path: Path, damage: Damage, fault: str) -> None:
    backup = tmp_path / "backup.db"
    backup.write_bytes(whole)
    damage(backup)
    with pytest.raises(DatabaseError) as refused, checked_backup(backup):
        pass
    assert str(refused.value) == (f"{backup} is damaged: {fault}. Nothing was restored; use another backup.")


def test_a_backup_of_a_version_without_digests_is_restored(
    whole: bytes, database: Database, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    backup.write_bytes(whole)
    run_sql(without_digests=True)(backup)
    assert restore(database, backup)["answers"] == 3


def test_digests_are_of_one_backup_and_stay_in_it(whole: bytes, database: Database, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backup.write_bytes(whole)
    restore(database, backup)
    with database.read() as session:
        assert session.get(SettingRow, DIGESTS) is None
    with closing(sqlite3.connect(backup)) as connection:
        (value,) = connection.execute("SELECT value FROM settings WHERE name = ?", (DIGESTS,)).fetchone()
    assert {"answers", "settings", "participants"} <= set(json.loads(value))
    served = Database(str(backup))
    made_project(served, [ProjectText("z", "The person of another project.")], name="other")
    again = tmp_path / "again.db"
    back_up(served, again)
    served.close()
    with checked_backup(again) as copy, copy.read() as session:
        assert session.scalar(select(func.count()).select_from(AnswerRow)) == 3


def test_a_database_that_cannot_be_filled_is_not_left_behind(whole: bytes, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backup.write_bytes(whole)
    target = tmp_path / "target.db"

    def restore_without_a_table() -> None:
        with checked_backup(backup) as copy, made_for_restoring(str(target)) as database:
            with database.engine.begin() as connection:
                connection.execute(text("DROP TABLE answers"))
            fill(database, copy)

    with pytest.raises(DatabaseError, match=r"cannot be filled: .*Nothing was restored"):
        restore_without_a_table()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("target")]


def test_a_database_that_was_there_stays(whole: bytes, tmp_path: Path, run_evenhand_here: Command) -> None:
    backup = tmp_path / "backup.db"
    backup.write_bytes(whole)
    target = tmp_path / "target.db"
    database = Database(str(target))
    small_project(database)
    database.close()
    assert run_evenhand_here("serve", "restore", backup, "--db", target).returncode == 2
    with closing(sqlite3.connect(target)) as connection:
        assert connection.execute("SELECT count(*) FROM projects").fetchone() == (1,)
