"""The embedded Postgres: first start, next start, crashes, awkward folders."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
import pytest

from framekiln.cli.database import CONNECTIONS_OF_API, embedded_postgres
from framekiln.db import embedded, pool
from framekiln.db.embedded import EmbeddedPostgres, PostgresMissing, socket_folder
from framekiln.jobs import queue
from framekiln.kit.processes import ChildProcess, Program, processes_in_folder
from framekiln.settings import Settings
from tests.support.memory_folder import new_database_folder
from tests.support.timeouts import TIMEOUT_S

STARTER = """
import asyncio, signal, sys
from pathlib import Path
from framekiln.db.embedded import EmbeddedPostgres
from framekiln.kit.processes import ChildProcess, Program

async def main():
    postgres = EmbeddedPostgres(Path(sys.argv[1]))
    await postgres.prepare()
    program = Program("postgres", postgres.command(), folder="/", stop_signal=signal.SIGINT)
    await ChildProcess.start(program, lambda name, line: None)
    await postgres.wait_ready(300)
    print("ready", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@contextmanager
def entered_by_all() -> Iterator[Path]:
    folder = new_database_folder()
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are closed."""
    with entered_by_all() as folder:
        yield folder


@pytest.fixture(scope="module")
async def odd() -> AsyncIterator[Path]:
    """A running server in a folder with an odd name, where a creation had been interrupted."""
    with entered_by_all() as top:
        folder = top / 'it\'s, "odd" \u00e4 100%' / "pg"
        half_made = folder / "data.new"
        half_made.mkdir(parents=True)
        (half_made / "PG_VERSION").write_text("15\n")
        async with running(folder):
            yield folder


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def owner_of(path: Path) -> int:
    return path.stat().st_uid


def start_stranger(uid: int) -> subprocess.Popen[bytes]:
    become = ["setpriv", f"--reuid={uid}", "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.Popen([*become, "sleep", "3600"], cwd="/")


def start_starter(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", STARTER, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


async def wait_gone(cluster: Path) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            if not processes_in_folder(cluster, name="postgres"):
                return
            await asyncio.sleep(0.05)


def start(postgres: EmbeddedPostgres) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        postgres.command(), cwd="/", stdin=subprocess.DEVNULL, start_new_session=True
    )


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[EmbeddedPostgres]:
    async with started(EmbeddedPostgres(folder)) as postgres:
        yield postgres


@asynccontextmanager
async def started(postgres: EmbeddedPostgres) -> AsyncIterator[EmbeddedPostgres]:
    await postgres.prepare()
    program = Program(
        "postgres",
        postgres.command(),
        folder="/",
        stop_signal=signal.SIGINT,
        stop_timeout_s=TIMEOUT_S,
    )
    child = await ChildProcess.start(program, lambda _name, _line: None)
    try:
        await postgres.wait_ready(TIMEOUT_S)
        yield postgres
    finally:
        await child.stop()
        postgres.leave()


async def write_note(postgres: EmbeddedPostgres, text: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres.conninfo) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        await connection.execute("INSERT INTO note VALUES (%s)", [text])


async def read_notes(postgres: EmbeddedPostgres) -> list[str]:
    async with await psycopg.AsyncConnection.connect(postgres.conninfo) as connection:
        rows = await (await connection.execute("SELECT text FROM note")).fetchall()
    return [row[0] for row in rows]


async def show(postgres: EmbeddedPostgres, setting: str) -> str:
    async with await psycopg.AsyncConnection.connect(postgres.conninfo) as connection:
        row = await (await connection.execute("SELECT current_setting(%s)", [setting])).fetchone()
    assert row
    return str(row[0])


async def test_data_survives_a_stop_and_a_crash(open_folder: Path) -> None:
    folder = open_folder / "pg"
    async with running(folder) as postgres:
        await write_note(postgres, "first")
        assert await show(postgres, "listen_addresses") == ""
        assert await show(postgres, "data_checksums") == "on"
        assert await show(postgres, "synchronous_commit") == "on"
        assert await show(postgres, "server_encoding") == "UTF8"
    assert processes_in_folder(folder / "data", name="postgres") == []

    again = EmbeddedPostgres(folder)
    await again.prepare()
    process = start(again)
    await again.wait_ready(TIMEOUT_S)
    assert await read_notes(again) == ["first"]
    await write_note(again, "second")
    process.kill()
    process.wait()

    async with running(folder) as postgres:
        assert await read_notes(postgres) == ["first", "second"]


async def test_other_users_cannot_connect_and_the_server_is_not_root(odd: Path) -> None:
    assert mode_of(odd) & 0o067 == 0, "others can enter, or its group can read"
    assert mode_of(odd / "service.pgpass") == 0o600
    # The postmaster only: backends come and go while one looks at them.
    postmaster = (odd / "data" / "postmaster.pid").read_text().splitlines()[0]
    assert owner_of(Path(f"/proc/{postmaster}")) == owner_of(odd / "data") != 0
    assert mode_of(odd / "data") == 0o700
    assert mode_of(odd.parents[1]) == 0o711, "a foreign folder was changed"


async def test_a_pid_file_of_another_process_does_not_block(open_folder: Path) -> None:
    folder = open_folder / "pg"
    async with running(folder) as postgres:
        await write_note(postgres, "kept")
        saved = (folder / "data" / "postmaster.pid").read_text()
    # After a reboot the number may belong to any process, even one of the same user.
    stranger = start_stranger(owner_of(folder / "data"))
    try:
        stale = folder / "data" / "postmaster.pid"
        stale.write_text("\n".join([str(stranger.pid), *saved.splitlines()[1:]]))
        async with running(folder) as postgres:
            assert await read_notes(postgres) == ["kept"]
        assert stranger.poll() is None, "a stranger was ended"
    finally:
        stranger.kill()
        stranger.wait()


async def test_orphaned_server_is_ended_before_the_next(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_ORDERS_TO_END", ((signal.SIGINT, TIMEOUT_S),))
    folder = open_folder / "pg"
    first = EmbeddedPostgres(folder)
    await first.prepare()
    orphan = start(first)
    await first.wait_ready(TIMEOUT_S)
    await write_note(first, "by the orphan")
    async with running(folder) as postgres:
        assert await asyncio.to_thread(orphan.wait) == 0, "it was not asked, but killed"
        assert await read_notes(postgres) == ["by the orphan"]


async def test_a_path_too_long_for_a_socket_is_supported(open_folder: Path) -> None:
    folder = open_folder / ("long" * 20) / ("longer" * 20)
    folder.mkdir(parents=True)
    postgres_folder = folder / "pg"
    sockets = socket_folder(postgres_folder)
    assert not sockets.is_relative_to(open_folder)
    async with running(postgres_folder) as postgres:
        await write_note(postgres, "far away")
        assert mode_of(sockets) & 0o067 == 0
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(sockets / ".s.PGSQL.5432"))
    assert not sockets.exists(), "something was left outside the data folder"


async def test_special_characters_in_the_folder_name_are_supported(odd: Path) -> None:
    await write_note(EmbeddedPostgres(odd), "odd")
    assert await read_notes(EmbeddedPostgres(odd)) == ["odd"]


@pytest.mark.skipif(
    os.geteuid() != 0, reason="not run by root, who alone can give PostgreSQL a user of its own"
)
async def test_an_unreadable_parent_folder_keeps_its_mode(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    (closed / "data").mkdir(mode=0o755)
    async with running(closed / "data" / "pg") as postgres:
        await write_note(postgres, "inside")
        assert await read_notes(postgres) == ["inside"]
    assert mode_of(closed) == 0o700


async def test_each_more_api_process_has_connections_of_its_own(open_folder: Path) -> None:
    assert pool.MAX_CONNECTIONS + queue.MAX_CONNECTIONS + 1 == CONNECTIONS_OF_API
    settings = Settings(data=open_folder, api_processes=64)
    async with started(embedded_postgres(settings)) as postgres:
        assert int(await show(postgres, "max_connections")) == 100 + 63 * CONNECTIONS_OF_API


async def test_interrupted_creation_starts_over(odd: Path) -> None:
    assert await show(EmbeddedPostgres(odd), "data_checksums") == "on"
    assert not (odd / "data.new").exists()


async def test_data_of_another_major_is_refused(open_folder: Path) -> None:
    cluster = open_folder / "pg" / "data"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("9\n")
    with pytest.raises(PostgresMissing, match=r"created by PostgreSQL 9.*postgresql-9") as refused:
        await EmbeddedPostgres(open_folder / "pg").prepare()
    assert "\n" not in refused.value.message


async def test_the_server_ends_with_its_parent(open_folder: Path) -> None:
    folder = open_folder / "pg"
    starter = start_starter(folder)
    assert starter.stdout
    assert await asyncio.to_thread(starter.stdout.readline) == b"ready\n"
    assert processes_in_folder(folder / "data", name="postgres")
    starter.kill()
    starter.wait()
    starter.stdout.close()
    await wait_gone(folder / "data")
    assert not (folder / "data" / "postmaster.pid").exists(), "it did not shut down cleanly"
