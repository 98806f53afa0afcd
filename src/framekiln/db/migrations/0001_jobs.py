"""The tables and functions of the job queue, as the installed Procrastinate ships them.

Upgrade rule: this migration installs the newest schema and records, as the comment of its main
table, the newest migration file of the package that it contains. When a new Procrastinate brings
more migration files, add a migration here that runs those newer than the recorded one and updates
it; on a fresh database it then has nothing to do. A contract test fails until that is done.
"""

from pathlib import Path
from typing import Any

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql
from yoyo import step


def install(connection: psycopg.Connection[Any]) -> None:
    """Create the schema and record its version."""
    newest = max(path.stem for path in Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    connection.execute(SchemaManager.get_schema())
    connection.execute(
        sql.SQL("COMMENT ON TABLE procrastinate_jobs IS {}").format(sql.Literal(newest))
    )


step(install)
