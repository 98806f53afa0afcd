"""Applies the migrations of this version: numbered files in `migrations`.

A migration is `NNNN_what.sql` (plain SQL) or, where SQL must be computed, `NNNN_what.py`. A
released migration is never edited: a change is a new file. Each is applied and recorded in one
transaction. The whole run holds an advisory lock that ends with its connection, so two processes
may start at once, and one killed half-way leaves nothing behind.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
import structlog
from psycopg import sql

from framekiln.db.conninfo import complete_conninfo
from framekiln.db.pool import DatabaseUnavailable
from framekiln.kit.errors import FramekilnError

FOLDER = Path(__file__).parent / "migrations"
LOCK_KEY = 0x6672616D656B696C  # "framekil": arbitrary, but must never change
CLIENT_CHECK_EVERY_MS = 1000
# yoyo's own name and columns, so that it finds what earlier versions applied.
_TABLE: Final = "_yoyo_migration"

log = structlog.get_logger(__name__)


class MigrationFailed(FramekilnError):
    """The database rejected a migration, which was rolled back."""

    code = "migration_failed"


def migrate(conninfo: str) -> list[str]:
    """Apply missing migrations and return their names in order."""
    # Checked first: most processes have nothing to apply and need not import yoyo.
    return _apply_missing(conninfo) if pending(conninfo) else []


def pending(conninfo: str) -> list[str]:
    """Return the names `migrate` would apply; changes nothing."""
    known = sorted(path.stem for path in FOLDER.iterdir() if path.suffix in {".sql", ".py"})
    with _connection_errors(), psycopg.connect(complete_conninfo(conninfo)) as connection:
        applied = _applied(connection)
    return [name for name in known if name not in applied]


def _applied(connection: psycopg.Connection) -> set[str]:
    there = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (_TABLE,)).fetchone()
    if there != (True,):
        return set()
    rows = connection.execute(sql.SQL("SELECT migration_id FROM {}").format(sql.Identifier(_TABLE)))
    return {name for (name,) in rows}


def _apply_missing(conninfo: str) -> list[str]:
    from framekiln.db.yoyo_backend import open_backend  # noqa: PLC0415

    with _connection_errors():
        opened = open_backend(complete_conninfo(conninfo), table=_TABLE)
    with opened as backend:
        # Otherwise the server would finish a dead client's statement, and hold the lock until then.
        backend.execute(f"SET client_connection_check_interval = {CLIENT_CHECK_EVERY_MS}")
        backend.execute(f"SELECT pg_advisory_lock({LOCK_KEY})")
        missing = backend.missing_from(FOLDER)
        for migration in missing:
            log.info("migration.applying", name=migration.id)
            try:
                backend.apply_one(migration)
            except psycopg.Error as error:
                raise MigrationFailed(
                    f"Migration {migration.id} failed and was rolled back: {error}",
                    migration=migration.id,
                ) from error
        return [migration.id for migration in missing]


@contextmanager
def _connection_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(f"PostgreSQL cannot be reached: {error}") from error
