"""The embedded Postgres: a private cluster in the data folder, reached over a unix socket only.

This module prepares the cluster and returns the command that starts it; a supervisor runs it. It
never touches a cluster of the system, never runs as root, and never listens on a network address.
The caller of `prepare` owns the data folder (see `kit/folder_lock`): other servers on it are
stopped.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import psycopg

from framekiln.db.server_account import ServerAccount, able_to_reach, choose_account
from framekiln.kit.errors import Unavailable
from framekiln.kit.processes import processes_in_folder

OLDEST_MAJOR = 15
NAME = "framekiln"
"""Name of the database and of its user."""

# sun_path holds 108 bytes with the terminator; the server appends "/.s.PGSQL.5432".
_SOCKET_FOLDER_LIMIT_BYTES = 107 - len("/.s.PGSQL.5432.lock")
_POLL_S = 0.05
# The signals sent to a leftover server, and the seconds it has to exit.
_ORDERS_TO_END = ((signal.SIGINT, 5), (signal.SIGQUIT, 3), (signal.SIGKILL, 2))
_SERVER_SETTINGS = {
    "listen_addresses": "",
    "cluster_name": NAME,
    "shared_buffers": "64MB",
    "max_connections": "100",
    "fsync": "on",
    "synchronous_commit": "on",
    "jit": "off",  # costs more than our short queries take
    "huge_pages": "off",
    "log_min_messages": "fatal",  # errors reach the client that caused them
    "log_line_prefix": "",
    "logging_collector": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class PostgresMissing(Unavailable):
    """No usable Postgres is installed."""

    code = "postgres_missing"
    retryable = False


class PostgresFailed(Unavailable):
    """The embedded Postgres cannot be created or started."""

    code = "postgres_failed"


class EmbeddedPostgres:
    """A private Postgres cluster under `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = folder / "data"
        self._sockets = socket_folder(folder)
        self._account: ServerAccount | None = None

    @property
    def conninfo(self) -> str:
        """The conninfo of the database, as a URL."""
        return f"postgresql://{NAME}@/{NAME}?host={quote(str(self._sockets), safe='')}"

    def exists(self) -> bool:
        """Return whether the cluster exists; changes nothing."""
        try:
            return self._cluster.exists()
        except PermissionError as error:
            raise PostgresFailed(
                f"cannot read {self._folder}: {error.strerror}; run this as the user who runs"
                " the service, or choose another FRAMEKILN_DATA"
            ) from error

    async def prepare(self) -> None:
        """Prepare the start: create folders and a missing cluster, stop other servers on it."""
        account = choose_account(self._cluster)
        await asyncio.to_thread(self._make_folders, account)
        self._account = await able_to_reach(account, self._folder)
        if not self._cluster.exists():
            await self._create_cluster()
        self._binaries()
        await self._end_leftovers()

    def command(self) -> tuple[str, ...]:
        """Return the command that runs the server in the foreground; SIGINT stops it cleanly."""
        settings = {**_SERVER_SETTINGS, "unix_socket_directories": str(self._sockets)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        postgres = str(self._binaries() / "postgres")
        return (*self._prefix(), postgres, "-D", str(self._cluster), *options)

    async def wait_ready(self, timeout_s: float) -> None:
        """Wait until queries succeed; raise after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    if await self._answers():
                        return
                    await asyncio.sleep(_POLL_S)
        except TimeoutError as error:
            raise PostgresFailed(
                f"the embedded Postgres in {self._cluster} did not answer within {timeout_s:g} s"
            ) from error

    def leave(self) -> None:
        """Remove everything outside the data folder, after the server has exited."""
        if not self._sockets.is_relative_to(self._folder):
            shutil.rmtree(self._sockets, ignore_errors=True)

    def _make_folders(self, account: ServerAccount) -> None:
        try:
            for path in (self._folder, self._sockets):
                path.mkdir(mode=0o700, exist_ok=True)
                # Under /tmp another user could have created it first, or put a link there.
                if path.is_symlink() or path.stat().st_uid not in (os.geteuid(), account.uid):
                    raise PostgresFailed(f"{path} belongs to another user; remove it")
                account.own(path)
        except OSError as error:
            raise PostgresFailed(
                f"cannot create {error.filename}: {error.strerror}; choose another FRAMEKILN_DATA"
            ) from error

    async def _create_cluster(self) -> None:
        """Create the cluster under another name, so that it appears whole or not at all."""
        staging = self._folder / "data.new"
        await asyncio.to_thread(shutil.rmtree, staging, ignore_errors=True)
        binaries = self._binaries()
        await self._run(
            str(binaries / "initdb"),
            *("-D", str(staging), "-U", NAME, "-E", "UTF8", "--locale=C.UTF-8"),
            # Access to the socket's folder grants access to the database; TCP is rejected.
            *("--data-checksums", "--auth-local=trust", "--auth-host=reject"),
        )
        await self._run(
            str(binaries / "postgres"),
            *("--single", "-D", str(staging), "postgres"),
            text=f"CREATE DATABASE {NAME}\n",
        )
        staging.rename(self._cluster)

    async def _run(self, *argv: str, text: str = "") -> None:
        process = await asyncio.create_subprocess_exec(
            *self._prefix(),
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd="/",
        )
        output, _ = await process.communicate(text.encode())
        if process.returncode != 0:
            reason = " ".join(output.decode(errors="replace").split())[-500:]
            raise PostgresFailed(f"{Path(argv[0]).name} failed in {self._folder}: {reason}")

    async def _end_leftovers(self) -> None:
        """Stop a server that outlived its supervisor, then remove its pid file.

        The file alone proves nothing: after a reboot its pid may belong to any process, and
        Postgres would refuse to start. The server's processes are those that run inside the
        cluster's folder.
        """
        for order, patience_s in _ORDERS_TO_END:
            left = self._processes()
            if not left:
                break
            first = self._postmaster_pid()
            # The postmaster forwards signals; without it each process gets its own.
            _send(order, [first] if first in left and order != signal.SIGKILL else left)
            await self._wait_gone(patience_s)
        if left := self._processes():
            raise PostgresFailed(
                f"an older Postgres (pid {left[0]}) on {self._cluster} does not stop"
            )
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)

    def _processes(self) -> list[int]:
        return processes_in_folder(self._cluster.resolve(), name="postgres")

    async def _wait_gone(self, patience_s: float) -> None:
        for _ in range(int(patience_s / _POLL_S)):
            if not self._processes():
                return
            await asyncio.sleep(_POLL_S)

    def _postmaster_pid(self) -> int:
        lines = self._pid_file_lines()
        return int(lines[0]) if lines and lines[0].strip().isdigit() else 0

    async def _answers(self) -> bool:
        # The server writes its state on line 8. Earlier connections would only fill its log.
        lines = self._pid_file_lines()
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        try:
            connection = await psycopg.AsyncConnection.connect(self.conninfo, connect_timeout=2)
        except psycopg.OperationalError:
            return False
        await connection.close()
        return True

    def _pid_file_lines(self) -> list[str]:
        try:
            return (self._cluster / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _prefix(self) -> tuple[str, ...]:
        assert self._account is not None, "prepare() comes first"
        return self._account.prefix

    def _binaries(self) -> Path:
        """Return the binaries that match the cluster, or the newest for a new one."""
        installed = installed_servers()
        if not installed:
            raise PostgresMissing(
                f"PostgreSQL >= {OLDEST_MAJOR} is missing: apt-get install -y postgresql,"
                " or set DATABASE_URL"
            )
        version = self._cluster / "PG_VERSION"
        if not version.exists():
            return installed[max(installed)]
        major = int(version.read_text())
        if major not in installed:
            there = ", ".join(map(str, sorted(installed)))
            raise PostgresMissing(
                f"{self._cluster} was created by PostgreSQL {major}, but {there} is installed:"
                f" apt-get install -y postgresql-{major}, or choose another FRAMEKILN_DATA"
            )
        return installed[major]


def installed_servers() -> dict[int, Path]:
    """Return the binaries folder of every usable Postgres on this machine, by major version."""
    found = {
        int(folder.parent.name): folder
        for folder in Path("/usr/lib/postgresql").glob("*/bin")
        if folder.parent.name.isdigit() and _is_complete(folder)
    }
    on_path = shutil.which("postgres")
    if not found and on_path and _is_complete(folder := Path(on_path).resolve().parent):
        said = subprocess.run([on_path, "--version"], capture_output=True, text=True, check=False)
        if match := re.search(r"\) (\d+)", said.stdout):
            found[int(match[1])] = folder
    return {major: folder for major, folder in found.items() if major >= OLDEST_MAJOR}


def socket_folder(folder: Path) -> Path:
    """Return the socket folder of the cluster in `folder`; the same in every process.

    A path too long for a socket, or with characters that need quoting, is replaced by a short one
    elsewhere. Root uses /run, where no other user can create it first.
    """
    inside = folder / "run"
    text = str(inside)
    if len(os.fsencode(text)) <= _SOCKET_FOLDER_LIMIT_BYTES and re.fullmatch(r"[\w./-]+", text):
        return inside
    digest = hashlib.sha256(os.fsencode(text)).hexdigest()[:16]
    shared = Path("/run") if os.geteuid() == 0 and Path("/run").is_dir() else Path("/tmp")  # noqa: S108
    return shared / f"framekiln-{digest}"


def _is_complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ("postgres", "initdb"))


def _send(order: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, order)
