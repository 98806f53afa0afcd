"""The only module that uses yoyo, which applies migrations; imported only if there are any.

Most processes have nothing to apply, and yoyo is slow to import.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict
from yoyo import read_migrations
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI


class Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]  # yoyo has no types
    """yoyo's own backend, made safe against a kill at any time."""

    def lock(self, timeout: float = 10) -> nullcontext[None]:
        """Take no lock: yoyo's lock is a row, which a killed process would leave behind."""
        return nullcontext()

    def apply_one(self, migration: Any, force: bool = False, mark: bool = True) -> None:
        """Apply and record in one transaction; yoyo does it in two."""
        with self.transaction():
            migration.process_steps(self, "apply", force=force)
            self.mark_one(migration, log=False)

    def missing_from(self, folder: Path) -> list[Any]:
        """Return the migrations in `folder` that are not applied yet, in order."""
        return list(self.to_apply(read_migrations(str(folder))))


def open_backend(conninfo: str, *, table: str) -> Backend:
    """Connect; `table` is where applied migrations are recorded."""
    # All libpq parameters go through `args`, including sockets and several hosts.
    arguments = conninfo_to_dict(conninfo)
    uri = DatabaseURI(
        scheme="postgresql+psycopg",
        username=None,
        password=None,
        hostname=None,
        port=None,
        database=arguments.pop("dbname", None),
        args=arguments,
    )
    return Backend(uri, table)
