"""Brings a database to the schema this version needs: numbered files in `migrations`.

A migration is `NNNN_what.sql` (plain SQL) or, where SQL must be computed, `NNNN_what.py`. One
that was released is never edited: a change is a new file. Each is applied and recorded in one
transaction, and the whole run holds an advisory lock that ends with its connection, so two
processes may start at once and one killed half-way leaves nothing behind.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import structlog
from psycopg.conninfo import conninfo_to_dict
from yoyo import read_migrations
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI
from yoyo.migrations import default_migration_table

from framekiln.db.conninfo import complete_conninfo
from framekiln.db.pool import DatabaseUnavailable
from framekiln.kit.errors import FramekilnError

FOLDER = Path(__file__).parent / "migrations"
LOCK_KEY = 0x6672616D656B696C  # "framekil": any number, as long as it never changes
CLIENT_CHECK_EVERY_MS = 1000

log = structlog.get_logger(__name__)


class MigrationFailed(FramekilnError):
    """A migration was refused by the database; nothing of it was kept."""

    code = "migration_failed"


def migrate(conninfo: str) -> list[str]:
    """Apply what is missing and return the names, in the order they were applied."""
    with _open(conninfo) as backend:
        # Else the server would finish a dead client's statement, and hold the lock until then.
        backend.execute(f"SET client_connection_check_interval = {CLIENT_CHECK_EVERY_MS}")
        backend.execute(f"SELECT pg_advisory_lock({LOCK_KEY})")
        missing = list(backend.to_apply(read_migrations(str(FOLDER))))
        for migration in missing:
            log.info("migration.applying", name=migration.id)
            try:
                backend.apply_one(migration)
            except psycopg.Error as error:
                raise MigrationFailed(
                    f"Migration {migration.id} was refused and rolled back: {error}",
                    migration=migration.id,
                ) from error
        return [migration.id for migration in missing]


def pending(conninfo: str) -> list[str]:
    """Return the names `migrate` would apply; changes nothing."""
    with _open(conninfo) as backend:
        known = read_migrations(str(FOLDER))
        if backend.migration_table in backend.list_tables():
            known = backend.to_apply(known)
        return [migration.id for migration in known]


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]  # yoyo has no types
    """yoyo's own backend, made safe against being killed at any moment."""

    def lock(self, timeout: float = 10) -> nullcontext[None]:
        """Take no lock: yoyo's is a row, which a killed process would leave behind."""
        return nullcontext()

    def apply_one(self, migration: Any, force: bool = False, mark: bool = True) -> None:
        """Apply and record in one transaction; yoyo does it in two."""
        with self.transaction():
            migration.process_steps(self, "apply", force=force)
            self.mark_one(migration, log=False)


@contextmanager
def _open(conninfo: str) -> Iterator[_Backend]:
    # Everything libpq understands goes through `args`: sockets and several hosts included.
    arguments = conninfo_to_dict(complete_conninfo(conninfo))
    uri = DatabaseURI(
        scheme="postgresql+psycopg",
        username=None,
        password=None,
        hostname=None,
        port=None,
        database=arguments.pop("dbname", None),
        args=arguments,
    )
    try:
        backend = _Backend(uri, default_migration_table)
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(f"PostgreSQL cannot be reached: {error}") from error
    with backend:
        yield backend
