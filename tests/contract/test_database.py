"""The pool, the migrations and the notifications, on a real PostgreSQL that really crashes."""

import asyncio
import json
import multiprocessing
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from procrastinate.schema import SchemaManager
from psycopg.conninfo import conninfo_to_dict

from framekiln.db import migrate as migrate_module
from framekiln.db import notify as notify_module
from framekiln.db import pool
from framekiln.db.conninfo import DatabaseUrlInvalid
from framekiln.db.migrate import MigrationFailed, migrate, pending
from framekiln.db.notify import Notifications, notify
from framekiln.db.pool import Database, DatabaseUnavailable
from tests.support.jobs import open_database, wait_until
from tests.support.postgres import PostgresServer
from tests.support.timeouts import TIMEOUT_S


@pytest.fixture
def empty_conninfo(postgres: PostgresServer) -> Iterator[str]:
    """A database without our schema."""
    name = f"empty_{uuid4().hex}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A migrations folder of the test's own, with one table."""
    (tmp_path / "0001_note.sql").write_text("CREATE TABLE note (text text);")
    monkeypatch.setattr(migrate_module, "FOLDER", tmp_path)
    return tmp_path


class TestPool:
    async def test_transaction_commits_and_rows_are_dictionaries(self, conninfo: str) -> None:
        async with open_database(conninfo) as database:
            async with database.transaction() as connection:
                await connection.execute("CREATE TABLE note (text text)")
                await connection.execute("INSERT INTO note VALUES ('kept')")
            async with database.connection() as connection:
                rows = await (await connection.execute("SELECT text FROM note")).fetchall()
        assert rows == [{"text": "kept"}]

    async def test_json_is_read_as_python_reads_it(self, conninfo: str) -> None:
        values = [
            {"a": [None, True, "", '\u2028 \U0001f600 \\ "'], "a.b": {"": {}}},
            [0, -1, 2**63, -(10**30), 0.1, 1e-320, 1.7976931348623157e308, 1 / 3, -0.0],
            "text",
            None,
        ]
        # The server writes 1e+22 as digits, and 1.50 as it was.
        texts = [*(json.dumps(value) for value in values), "[1e22, 1.50, 1e-7, 12345678901.5]"]
        async with open_database(conninfo) as database, database.connection() as connection:
            for text in texts:
                cursor = await connection.execute(
                    "SELECT %s::jsonb AS read, %s::jsonb::text AS written", (text, text)
                )
                row = await cursor.fetchone()
                assert row is not None
                assert repr(row["read"]) == repr(json.loads(row["written"]))

    async def test_times_are_read_in_utc_whatever_the_server_is_set_to(self, conninfo: str) -> None:
        name = conninfo_to_dict(conninfo)["dbname"]
        async with open_database(conninfo) as database, database.connection() as connection:
            await connection.execute(f"ALTER DATABASE \"{name}\" SET timezone TO 'Asia/Tokyo'")
        async with open_database(conninfo) as database, database.connection() as connection:
            row = await (await connection.execute("SELECT now() AS at")).fetchone()
        assert row is not None
        assert row["at"].isoformat().endswith("+00:00")

    async def test_exception_rolls_back(self, conninfo: str) -> None:
        async with open_database(conninfo) as database:

            async def create_and_fail() -> None:
                async with database.transaction() as connection:
                    await connection.execute("CREATE TABLE note (text text)")
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await create_and_fail()
            async with database.connection() as connection:
                row = await (await connection.execute("SELECT to_regclass('note') t")).fetchone()
        assert row == {"t": None}

    @pytest.mark.parametrize("steps", range(12))
    async def test_a_cancellation_that_comes_with_the_connection_is_not_lost(
        self, conninfo: str, steps: int
    ) -> None:
        """On Python 3.11 the pool drops it at one of these steps of the event loop."""

        async def use(database: Database) -> None:
            async with database.connection():
                await asyncio.sleep(0)

        async with open_database(conninfo, max_connections=1) as database:
            async with database.connection():
                waiting = asyncio.create_task(use(database))
                await asyncio.sleep(0.01)
            for _ in range(steps):
                await asyncio.sleep(0)
            if waiting.cancel():
                await asyncio.wait([waiting])
                assert waiting.cancelled()
            await use(database)

    async def test_a_cancellation_that_comes_with_a_crash_of_the_server_is_not_lost(
        self, fragile_postgres: PostgresServer
    ) -> None:
        async with open_database(fragile_postgres.conninfo) as database:

            async def use() -> None:
                async with database.connection() as connection:
                    await connection.execute("SELECT pg_sleep(3600)")

            waiting = asyncio.create_task(use())
            await asyncio.to_thread(_wait_for_query, fragile_postgres.conninfo, "%pg_sleep%")
            # Not in a thread: the event loop must not see the crash before the cancellation.
            fragile_postgres.kill()
            waiting.cancel()
            await asyncio.wait([waiting])
            assert waiting.cancelled()

    async def test_full_pool_of_dead_connections_survives_a_crash(
        self, fragile_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "ACQUIRE_TIMEOUT_S", TIMEOUT_S)
        async with open_database(fragile_postgres.conninfo) as database:
            await asyncio.gather(*(_hold(database) for _ in range(8)))
            await asyncio.to_thread(fragile_postgres.restart)
            async with database.connection() as connection:
                row = await (await connection.execute("SELECT 1 AS one")).fetchone()
        assert row == {"one": 1}

    async def test_every_failure_of_a_dead_server_is_database_unavailable(
        self, fragile_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with open_database(fragile_postgres.conninfo) as database:
            assert await database.is_ready()

            async def lose_the_server() -> None:
                async with database.transaction() as connection:
                    await asyncio.to_thread(fragile_postgres.kill)
                    await connection.execute("SELECT 1")

            with pytest.raises(DatabaseUnavailable, match="lost"):
                await lose_the_server()
            with monkeypatch.context() as hasty:
                hasty.setattr(pool, "ACQUIRE_TIMEOUT_S", 0.2)
                assert not await database.is_ready()
                with pytest.raises(DatabaseUnavailable, match="it is down"):
                    async with database.connection():
                        pass
            await asyncio.to_thread(fragile_postgres.start)
            await wait_until(database.is_ready)

    async def test_a_server_lost_among_many_statements_is_database_unavailable(
        self, conninfo: str
    ) -> None:
        """Seen when PostgreSQL was killed during an executemany: its last words came second."""
        async with open_database(conninfo) as database:

            async def end_among_many() -> None:
                async with database.transaction():
                    try:
                        raise psycopg.errors.AdminShutdown("unexpected postmaster exit")
                    finally:
                        raise psycopg.OperationalError("cannot exit pipeline mode while busy")

            with pytest.raises(DatabaseUnavailable, match="lost"):
                await end_among_many()
            assert await database.is_ready()

    async def test_opening_without_a_server(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "OPEN_TIMEOUT_S", 0.2)
        database = Database(f"host={tmp_path}")
        with pytest.raises(DatabaseUnavailable, match="is it running"):
            await database.open()
        assert not await database.is_ready()

    async def test_a_refused_statement_is_not_an_outage(self, conninfo: str) -> None:
        async with open_database(conninfo) as database:

            async def take_too_long() -> None:
                async with database.transaction() as connection:
                    await connection.execute("SET LOCAL statement_timeout = 1")
                    await connection.execute("SELECT pg_sleep(5)")

            with pytest.raises(psycopg.errors.QueryCanceled):
                await take_too_long()
            assert await database.is_ready()

    def test_unreadable_url_does_not_show_the_password(self) -> None:
        with pytest.raises(DatabaseUrlInvalid) as caught:
            Database("postgresql://me:hunter2@[::1/name")
        assert "hunter2" not in caught.value.message


class TestMigrate:
    def test_a_second_migration_changes_nothing(self, empty_conninfo: str) -> None:
        expected = pending(empty_conninfo)
        assert expected[0] == "0001_jobs"
        assert migrate(empty_conninfo) == expected
        assert pending(empty_conninfo) == []
        assert migrate(empty_conninfo) == []

    def test_listing_pending_migrations_changes_nothing(self, empty_conninfo: str) -> None:
        pending(empty_conninfo)
        with psycopg.connect(empty_conninfo) as connection:
            tables = connection.execute("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")
            assert tables.fetchall() == []

    def test_url_with_a_socket_as_host_parameter(self, empty_conninfo: str) -> None:
        parts = conninfo_to_dict(empty_conninfo)
        host = quote(str(parts["host"]), safe="")
        url = f"postgresql://{parts['user']}@/{parts['dbname']}?host={host}"
        assert "0001_jobs" in migrate(url)

    async def test_concurrent_processes_migrate_once(self, empty_conninfo: str) -> None:
        results = await asyncio.gather(
            *(asyncio.to_thread(migrate, empty_conninfo) for _ in range(4))
        )
        applied = [result for result in results if result]
        assert len(applied) == 1
        assert pending(empty_conninfo) == []

    def test_refused_migration_leaves_nothing(self, empty_conninfo: str, notes: Path) -> None:
        broken = "CREATE TABLE half (id int); INSERT INTO nowhere VALUES (1);"
        (notes / "0002_broken.sql").write_text(broken)
        with pytest.raises(MigrationFailed, match="0002_broken"):
            migrate(empty_conninfo)
        assert pending(empty_conninfo) == ["0002_broken"]
        with psycopg.connect(empty_conninfo) as connection:
            row = connection.execute("SELECT to_regclass('half'), to_regclass('note')").fetchone()
        assert row == (None, "note")

    def test_a_killed_migration_does_not_block_the_next(
        self, empty_conninfo: str, notes: Path
    ) -> None:
        slow = notes / "0002_slow.sql"
        slow.write_text("CREATE TABLE half (id int); DO $$ BEGIN PERFORM pg_sleep(600); END $$;")
        process = multiprocessing.get_context("fork").Process(
            target=migrate, args=(empty_conninfo,)
        )
        process.start()
        _wait_for_query(empty_conninfo, "%pg_sleep%")
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()

        slow.write_text("CREATE TABLE half (id int);")
        assert migrate(empty_conninfo) == ["0002_slow"]

    def test_schema_of_the_queue_is_the_reviewed_one(self, conninfo: str) -> None:
        """When this fails, follow the upgrade rule in 0001_jobs.py, then change the name here."""
        reviewed = "03.04.00_50_post_add_retry_failed_job_procedure"
        installed = max(p.stem for p in Path(SchemaManager.get_migrations_path()).glob("*.sql"))
        assert installed == reviewed
        with psycopg.connect(conninfo) as connection:
            row = connection.execute(
                "SELECT obj_description('procrastinate_jobs'::regclass)"
            ).fetchone()
        assert row == (reviewed,)


class TestNotifications:
    async def test_only_the_topic_is_woken_and_only_after_commit(self, conninfo: str) -> None:
        async with (
            open_database(conninfo) as database,
            _open_notifications(conninfo) as notifications,
            notifications.follow("render:1") as one,
            notifications.follow("render:2") as two,
        ):
            async with database.transaction() as connection:
                await notify(connection, "render:1")
                assert not await one.wait(0.2)
            assert await one.wait(TIMEOUT_S)
            assert not await one.wait(0)
            assert not await two.wait(0)

    async def test_wake_up_between_read_and_wait_is_kept(self, conninfo: str) -> None:
        async with (
            open_database(conninfo) as database,
            _open_notifications(conninfo) as notifications,
            notifications.follow("render:1") as follower,
            notifications.follow("render:1") as witness,
        ):
            for _ in range(3):
                async with database.transaction() as connection:
                    await notify(connection, "render:1")
                # It has arrived in this process, and the first follower was not waiting.
                assert await witness.wait(TIMEOUT_S)
                assert await follower.wait(0)

    async def test_counting_by_notifications_never_hangs(self, conninfo: str) -> None:
        async with (
            open_database(conninfo) as database,
            _open_notifications(conninfo) as notifications,
            notifications.follow("counter:1") as follower,
        ):
            async with database.connection() as connection:
                await connection.execute("CREATE TABLE counter AS SELECT 0 AS n")

            async def count() -> None:
                for _ in range(200):
                    async with database.transaction() as connection:
                        await connection.execute("UPDATE counter SET n = n + 1")
                        await notify(connection, "counter:1")

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(count())
                while await _read_counter(database) < 200:
                    assert await follower.wait(TIMEOUT_S)

    async def test_a_database_crash_wakes_all_listeners_and_listening_continues(
        self, fragile_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "ACQUIRE_TIMEOUT_S", TIMEOUT_S)
        async with (
            open_database(fragile_postgres.conninfo) as database,
            _open_notifications(fragile_postgres.conninfo) as notifications,
            notifications.follow("render:1") as follower,
        ):
            await asyncio.to_thread(fragile_postgres.restart)
            assert await follower.wait(TIMEOUT_S)
            async with database.transaction() as connection:
                await notify(connection, "render:1")
            assert await follower.wait(TIMEOUT_S)

    async def test_opening_without_a_server(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(notify_module, "OPEN_TIMEOUT_S", 0.2)
        with pytest.raises(DatabaseUnavailable):
            await Notifications(f"host={tmp_path}").open()


@asynccontextmanager
async def _open_notifications(conninfo: str) -> AsyncIterator[Notifications]:
    notifications = Notifications(conninfo)
    await notifications.open()
    try:
        yield notifications
    finally:
        await notifications.close()


async def _hold(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("SELECT pg_sleep(0.3)")


async def _read_counter(database: Database) -> int:
    async with database.connection() as connection:
        row = await (await connection.execute("SELECT n FROM counter")).fetchone()
    assert row is not None
    return int(row["n"])


def _wait_for_query(conninfo: str, pattern: str) -> None:
    give_up_at = time.monotonic() + TIMEOUT_S
    while not _running(conninfo, pattern):
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def _running(conninfo: str, pattern: str) -> list[int]:
    with psycopg.connect(conninfo) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE query LIKE %s AND pid <> pg_backend_pid() AND datname = current_database()",
            (pattern,),
        ).fetchall()
    return [pid for (pid,) in rows]
