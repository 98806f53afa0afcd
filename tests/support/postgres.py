"""A private PostgreSQL cluster in a temporary folder, for tests with a real database.

It listens on a unix socket only, and runs as an unprivileged user if the tests run as root
(PostgreSQL refuses root). It never touches a server that it did not start itself.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from tests.support.memory_folder import new_database_folder
from tests.support.timeouts import TIMEOUT_S

UNPRIVILEGED = "nobody"
POLL_S = 0.02
# With these off, only a crash of the machine could lose data, which would end the test anyway.
# synchronous_commit stays on: without it, kill() would lose recent commits.
# Hundreds of databases live for seconds: to vacuum them costs more than they gain.
# The log is in memory, like the data.
SPEED_SETTINGS = ("fsync=off", "full_page_writes=off", "autovacuum=off", "max_wal_size=128MB")


class PostgresServer:
    """One cluster: created by the first start(), deleted by remove()."""

    def __init__(self) -> None:
        # Not in pytest's own folders, which other users cannot access.
        self.folder = new_database_folder()
        self.folder.chmod(0o711)
        self._data = self.folder / "data"
        self._log = self.folder / "server.log"
        self._log.touch()
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            user = pwd.getpwnam(UNPRIVILEGED)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            os.chown(self._log, user.pw_uid, user.pw_gid)

    @property
    def conninfo(self) -> str:
        """The maintenance database of the cluster."""
        return self._conninfo("postgres")

    @property
    def pid(self) -> int:
        """The process of the running server."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the server, after creating the cluster if necessary; return when it responds."""
        if not self._data.exists():
            self._make_cluster()
        settings = (f"unix_socket_directories={self.folder}", "listen_addresses=", *SPEED_SETTINGS)
        options = [part for setting in settings for part in ("-c", setting)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [_program("postgres"), "-D", str(self._data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._identity(),
            )
        self._wait_until_ready()

    def stop(self) -> None:
        """Shut the server down: connections are closed, data is written."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        self._process = None

    def kill(self) -> None:
        """Crash the server: SIGKILL to the postmaster and all its children."""
        assert self._process is not None, "the server is not running"
        children = _children(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._process = None
        for pid in children:
            _kill(pid)
        # A start is refused while one of them still holds the shared memory.
        while any(_is_running(pid) for pid in children):
            time.sleep(POLL_S)

    def restart(self) -> None:
        """Crash the server and start it again."""
        self.kill()
        self.start()

    def remove(self) -> None:
        """Stop the server and delete everything it wrote."""
        self.stop()
        shutil.rmtree(self.folder)

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Create a database and return its connection string."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            # Since version 15 the default writes every page of the template to the log as well.
            is_logged = connection.info.server_version >= 150_000
            connection.execute(
                psycopg.sql.SQL("CREATE DATABASE {} TEMPLATE {} {}").format(
                    psycopg.sql.Identifier(name),
                    psycopg.sql.Identifier(template),
                    psycopg.sql.SQL("STRATEGY file_copy" if is_logged else ""),
                )
            )
        return self._conninfo(name)

    def drop_database(self, name: str) -> None:
        """Delete a database, closing its connections."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute(
                psycopg.sql.SQL("DROP DATABASE {} WITH (FORCE)").format(
                    psycopg.sql.Identifier(name)
                )
            )

    def _conninfo(self, database: str) -> str:
        return make_conninfo(host=str(self.folder), user="framekiln", dbname=database)

    def _make_cluster(self) -> None:
        arguments = ["--auth=trust", "--username=framekiln", "--encoding=UTF8", "--locale=C"]
        subprocess.run(
            [_program("initdb"), "-D", str(self._data), "--no-sync", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            **self._identity(),
        )

    def _identity(self) -> dict[str, Any]:
        identity: dict[str, Any] = {"cwd": self.folder, "start_new_session": True}
        if os.geteuid() == 0:
            user = pwd.getpwnam(UNPRIVILEGED)
            identity |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        return identity

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        give_up_at = time.monotonic() + TIMEOUT_S
        while True:
            try:
                psycopg.connect(self.conninfo).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > give_up_at:
                    raise RuntimeError(f"no server:\n{self._log.read_text()}") from None
                time.sleep(POLL_S)


def _program(name: str) -> str:
    """Return the newest installed program of that name."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name)
    )
    for folder in reversed(folders):
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    assert found, f"{name} is not installed: apt-get install postgresql"
    return found


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _is_running(pid: int) -> bool:
    """Whether the process is running; a zombie is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
