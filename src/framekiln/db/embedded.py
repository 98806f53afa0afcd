"""The embedded Postgres: a private cluster in the data folder, reached over a unix socket only.

This module prepares the cluster and returns the command that starts it; a supervisor runs it. It
never touches a cluster of the system, never runs as root, and never listens on a network address.
The caller of `prepare` owns the data folder (see `kit/folder_lock`): other servers on it are
stopped. Root runs it as an account of its own (`server_account`); the service logs in with a role
that is no superuser (`service_role`). Clusters of earlier versions are brought to that form.
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
import structlog

from framekiln.db.server_account import (
    creator_account,
    database_account,
    require_own,
    server_prefix,
)
from framekiln.db.service_role import (
    DATABASE,
    ROLE,
    SUPERUSER,
    access_rules,
    new_password,
    ownership_statements,
    password_line,
    role_statements,
    write_private,
)
from framekiln.kit.account import Account, chown_tree, service_account
from framekiln.kit.errors import Unavailable
from framekiln.kit.processes import processes_in_folder

OLDEST_MAJOR = 15

# sun_path holds 108 bytes with the terminator; the server appends "/.s.PGSQL.5432".
_SOCKET_FOLDER_LIMIT_BYTES = 107 - len("/.s.PGSQL.5432.lock")
_POLL_S = 0.05
# The signals sent to a leftover server, and the seconds it has to exit.
_ORDERS_TO_END = ((signal.SIGINT, 5), (signal.SIGQUIT, 3), (signal.SIGKILL, 2))
_SERVER_SETTINGS = {
    "listen_addresses": "",
    "cluster_name": DATABASE,
    "shared_buffers": "64MB",
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

log = structlog.get_logger(__name__)


class PostgresMissing(Unavailable):
    """No usable Postgres is installed."""

    code = "postgres_missing"
    retryable = False


class PostgresFailed(Unavailable):
    """The embedded Postgres cannot be created or started."""

    code = "postgres_failed"


class EmbeddedPostgres:
    """A private Postgres cluster under `folder`."""

    def __init__(
        self, folder: Path, client: Account | None = None, *, max_connections: int = 100
    ) -> None:
        self._folder = folder
        self._max_connections = max_connections
        self._cluster = folder / "data"
        self._sockets = socket_folder(folder)
        self._password_file = folder / "service.pgpass"
        self._access_file = folder / "access.conf"
        self._client = client or service_account()
        self._prefix: tuple[str, ...] | None = None

    @property
    def conninfo(self) -> str:
        """The conninfo of the database, as a URL."""
        host, passfile = (quote(str(p), safe="") for p in (self._sockets, self._password_file))
        return f"postgresql://{ROLE}@/{DATABASE}?host={host}&passfile={passfile}"

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
        account = database_account(self._folder, self._client)
        is_new = not self._cluster.exists()
        if not is_new:
            require_own(self._cluster, account)
        await asyncio.to_thread(self._make_folders, account)
        self._binaries()
        if is_new:
            await self._create_cluster(account)
        await self._end_leftovers()
        if not self._password_file.exists():
            await self._separate_role(account)
        if self._cluster.stat().st_uid != account.uid:
            await asyncio.to_thread(self._give_to, account)
        self._prefix = await server_prefix(account, self._folder)

    def command(self) -> tuple[str, ...]:
        """Return the command that runs the server in the foreground; SIGINT stops it cleanly."""
        assert self._prefix is not None, "prepare() comes first"
        settings = {
            **_SERVER_SETTINGS,
            "max_connections": str(self._max_connections),
            "unix_socket_directories": str(self._sockets),
            "hba_file": str(self._access_file),
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        postgres = str(self._binaries() / "postgres")
        return (*self._prefix, postgres, "-D", str(self._cluster), *options)

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

    def _make_folders(self, account: Account) -> None:
        """Create the folders: of a separate account, the client may pass through them."""
        is_separate = account.uid != self._client.uid and not account.is_ours
        owner = Account(os.geteuid(), account.gid) if is_separate else account
        mode = 0o710 if is_separate else 0o700
        try:
            for path, its_owner in ((self._folder, owner), (self._sockets, account)):
                path.mkdir(mode=0o700, exist_ok=True)
                self._require_known_owner(path, account)
                if os.geteuid() == 0:
                    os.chown(path, its_owner.uid, its_owner.gid)
                path.chmod(mode)
            write_private(self._access_file, access_rules(), owner=owner, mode=0o640)
            if self._password_file.exists() and is_separate:
                os.chown(self._password_file, self._client.uid, self._client.gid)
        except OSError as error:
            raise PostgresFailed(
                f"cannot create {error.filename}: {error.strerror}; choose another FRAMEKILN_DATA"
            ) from error

    def _require_known_owner(self, path: Path, account: Account) -> None:
        """Raise if another user created the folder: under /tmp somebody could have been first."""
        known = {os.geteuid(), account.uid}
        if self._cluster.exists():
            # Of an earlier version, which ran as another account.
            known.add(self._cluster.stat().st_uid)
        if path.is_symlink() or path.stat().st_uid not in known:
            raise PostgresFailed(f"{path} belongs to another user; remove it")

    async def _create_cluster(self, account: Account) -> None:
        """Create the cluster under another name, so that it appears whole or not at all."""
        staging = self._folder / "data.new"
        await asyncio.to_thread(shutil.rmtree, staging, ignore_errors=True)
        self._password_file.unlink(missing_ok=True)
        creator = creator_account(account)
        staging.mkdir(mode=0o700)
        if not creator.is_ours:
            os.chown(staging, creator.uid, creator.gid)
        initdb = (
            *(str(self._binaries() / "initdb"), "-D", str(staging), "-U", SUPERUSER),
            *("-E", "UTF8", "--locale=C.UTF-8", "--data-checksums"),
            # The server does not use these rules, but those of `access_rules`.
            "--auth=reject",
        )
        await self._run(creator, initdb)
        password = new_password()
        await self._run_single(
            creator, "postgres", role_statements(password, is_new=True), cluster=staging
        )
        self._save_password(password, account)
        if creator != account:
            await asyncio.to_thread(chown_tree, staging, account)
        staging.rename(self._cluster)

    async def _separate_role(self, account: Account) -> None:
        """Give the database of an earlier version, where the superuser owned it, to the role."""
        owner = creator_account(Account(self._cluster.stat().st_uid, account.gid))
        if self._cluster.stat().st_uid != owner.uid:
            await asyncio.to_thread(chown_tree, self._cluster, owner)
        password = new_password()
        await self._run_single(owner, "postgres", role_statements(password, is_new=False))
        await self._run_single(owner, DATABASE, ownership_statements())
        self._save_password(password, account)
        log.info("database.role_separated", folder=str(self._folder), role=ROLE)

    def _save_password(self, password: str, account: Account) -> None:
        is_separate = account.uid != self._client.uid and not account.is_ours
        owner = self._client if is_separate else account
        write_private(self._password_file, password_line(password), owner=owner)

    def _give_to(self, account: Account) -> None:
        before = self._cluster.stat().st_uid
        chown_tree(self._cluster, account)
        log.info("database.owner_changed", folder=str(self._folder), before=before, now=account.uid)

    async def _run_single(
        self,
        account: Account,
        database: str,
        statements: tuple[str, ...],
        *,
        cluster: Path | None = None,
    ) -> None:
        """Run statements as superuser while no server runs; the first error ends it."""
        postgres = str(self._binaries() / "postgres")
        options = ("--single", "-j", "-c", "exit_on_error=on", "-D", str(cluster or self._cluster))
        text = "".join(f"{statement.strip()};\n\n" for statement in statements)
        await self._run(account, (postgres, *options, database), text=text)

    async def _run(self, account: Account, argv: tuple[str, ...], *, text: str = "") -> None:
        process = await asyncio.create_subprocess_exec(
            *await server_prefix(account, self._folder),
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
        for order, within_s in _ORDERS_TO_END:
            left = self._processes()
            if not left:
                break
            first = self._postmaster_pid()
            # The postmaster forwards signals; without it each process gets its own.
            _send(order, [first] if first in left and order != signal.SIGKILL else left)
            await self._wait_gone(within_s)
        if left := self._processes():
            raise PostgresFailed(
                f"an older Postgres (pid {left[0]}) on {self._cluster} does not stop"
            )
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)

    def _processes(self) -> list[int]:
        return processes_in_folder(self._cluster.resolve(), name="postgres")

    async def _wait_gone(self, within_s: float) -> None:
        for _ in range(int(within_s / _POLL_S)):
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
        result = subprocess.run([on_path, "--version"], capture_output=True, text=True, check=False)
        if match := re.search(r"\) (\d+)", result.stdout):
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
