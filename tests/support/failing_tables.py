"""Tables on which PostgreSQL raises an error of its own, such as a deadlock or a full disk."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import sql

from framekiln.db.pool import Database


@asynccontextmanager
async def failing_table(
    database: Database, table: str, *, on: str, condition: str
) -> AsyncIterator[None]:
    """Raise a condition (its name in PostgreSQL) on every statement of a kind, during the block."""
    name = sql.Identifier(table)
    async with database.connection() as connection:
        await connection.execute(
            sql.SQL(
                "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE {}; END $$"
            ).format(sql.Identifier(condition))
        )
        await connection.execute(
            sql.SQL("CREATE TRIGGER fail BEFORE {} ON {} EXECUTE FUNCTION fail()").format(
                sql.SQL(on),
                name,
            )
        )
    try:
        yield
    finally:
        async with database.connection() as connection:
            await connection.execute(sql.SQL("DROP TRIGGER fail ON {}").format(name))
