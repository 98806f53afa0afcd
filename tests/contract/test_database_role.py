"""Who may use the embedded database: one role, which is no superuser, and one account."""

import asyncio
import os
import pwd
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from framekiln.db.embedded import EmbeddedPostgres, installed_servers
from framekiln.db.migrate import migrate, pending
from framekiln.kit.account import DATABASE_ID, SERVICE_ID
from tests.contract.test_embedded_postgres import owner_of, read_notes, running, write_note
from tests.support.memory_folder import new_database_folder

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="not run by root, who alone can use several accounts"
)
NOBODY = 65534


@contextmanager
def new_open_folder() -> Iterator[Path]:
    """A folder that every user may enter, as that of a service of root was."""
    folder = new_database_folder()
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with new_open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
async def new_server() -> AsyncIterator[EmbeddedPostgres]:
    """A server that was never started before; tests only look at it."""
    with new_open_folder() as folder:
        async with running(folder / "pg") as postgres:
            yield postgres


def log_in_as(uid: int, conninfo: str) -> str:
    """Log in as a local user, and return what came of it."""
    psql = str(installed_servers()[max(installed_servers())] / "psql")
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    done = subprocess.run(
        [*become, psql, conninfo, "-Atw", "-c", "SELECT 'connected'"],
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    return done.stdout + done.stderr


def status_of(pid: str) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def make_old_cluster(folder: Path) -> None:
    """Create what the first version created: trusting everybody, owned by its superuser."""
    folder.mkdir(mode=0o700)
    become: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    binaries = installed_servers()[max(installed_servers())]
    cluster = str(folder / "data")
    locale = ["-E", "UTF8", "--locale=C.UTF-8"]
    auth = ["--auth-local=trust", "--auth-host=reject"]
    initdb = [str(binaries / "initdb"), "-D", cluster, "-U", "framekiln", *locale, *auth]
    subprocess.run([*become, *initdb], check=True, capture_output=True, cwd="/")
    single = [*become, str(binaries / "postgres"), "--single", "-D", cluster]
    for database, text in (
        ("postgres", "CREATE DATABASE framekiln\n"),
        (
            "framekiln",
            "CREATE TABLE note (text text, id serial)\n"
            "INSERT INTO note (text) VALUES ('of old')\n"
            "CREATE TYPE mood AS ENUM ('good')\n"
            "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'\n"
            "CREATE SEQUENCE alone\n"
            "CREATE VIEW seen AS SELECT text FROM note\n",
        ),
    ):
        subprocess.run(
            [*single, database], input=text.encode(), check=True, capture_output=True, cwd="/"
        )


async def ask(postgres: EmbeddedPostgres, query: str) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(postgres.conninfo) as connection:
        return await (await connection.execute(query)).fetchall()


async def test_the_service_is_no_superuser_and_can_migrate(new_server: EmbeddedPostgres) -> None:
    rights = "rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls"
    roles = await ask(new_server, f"SELECT {rights} FROM pg_roles WHERE rolname = current_user")
    assert roles == [(False,) * 5]
    assert await asyncio.to_thread(migrate, new_server.conninfo)
    assert await asyncio.to_thread(pending, new_server.conninfo) == []
    for hostile in ("COPY note FROM PROGRAM 'id'", "SELECT pg_read_file('/etc/passwd')"):
        with pytest.raises(psycopg.errors.Error):
            await ask(new_server, hostile)


async def test_logins_need_the_password_and_are_never_the_superuser(
    new_server: EmbeddedPostgres,
) -> None:
    for change in ({"passfile": "/dev/null"}, {"user": "framekiln"}, {"dbname": "postgres"}):
        refused = psycopg.conninfo.make_conninfo(new_server.conninfo, **change)
        with pytest.raises(psycopg.OperationalError, match=r"password|pg_hba"):
            await psycopg.AsyncConnection.connect(refused)


@needs_root
async def test_no_other_local_user_reaches_the_database(new_server: EmbeddedPostgres) -> None:
    assert "connected" in log_in_as(SERVICE_ID, new_server.conninfo)
    as_superuser = psycopg.conninfo.make_conninfo(new_server.conninfo, user="framekiln")
    for uid in (NOBODY, DATABASE_ID + 1000, SERVICE_ID):
        assert "connected" not in log_in_as(uid, as_superuser)
    assert "Permission denied" in log_in_as(NOBODY, new_server.conninfo)


@needs_root
async def test_it_has_an_account_of_its_own(open_folder: Path) -> None:
    async with running(open_folder / "pg"):
        cluster = open_folder / "pg" / "data"
        status = status_of((cluster / "postmaster.pid").read_text().splitlines()[0])
        assert f"Uid:\t{DATABASE_ID}\t" in status
        assert "CapEff:\t0000000000000000" in status
        assert {owner_of(path) for path in cluster.rglob("*")} == {DATABASE_ID}


async def test_a_database_of_the_first_version_gets_the_role_and_keeps_its_data(
    open_folder: Path,
) -> None:
    folder = open_folder / "pg"
    make_old_cluster(folder)
    for text in ("first start", "second start"):
        async with running(folder) as postgres:
            await write_note(postgres, text)
    async with running(folder) as postgres:
        assert await read_notes(postgres) == ["of old", "first start", "second start"]
        await ask(
            postgres,
            "WITH a AS (SELECT 1) SELECT nextval('alone'), one(), 'good'::mood FROM seen",
        )
        owners = await ask(
            postgres,
            "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace",
        )
        assert owners == [("framekiln_service",)]
        async with await psycopg.AsyncConnection.connect(postgres.conninfo) as connection:
            await connection.execute("ALTER TYPE mood RENAME TO temper")
            await connection.execute("DROP FUNCTION one()")
            await connection.execute("ALTER TABLE note ADD COLUMN more text")
        with pytest.raises(psycopg.OperationalError, match="pg_hba"):
            await psycopg.AsyncConnection.connect(
                psycopg.conninfo.make_conninfo(postgres.conninfo, user="framekiln")
            )
    if os.geteuid() == 0:
        assert {owner_of(path) for path in (folder / "data").rglob("*")} == {DATABASE_ID}


async def test_a_lost_password_is_replaced(open_folder: Path) -> None:
    folder = open_folder / "pg"
    async with running(folder) as postgres:
        await write_note(postgres, "kept")
    (folder / "service.pgpass").unlink()
    async with running(folder) as postgres:
        assert await read_notes(postgres) == ["kept"]
