"""As whom the service runs: root gives it an account of its own before anything untrusted is read.

`serve` stays root, because it starts the database as another account; it only starts and watches
processes. `api` and `worker` become the account themselves. An ordinary user stays who it is.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from framekiln.kit.account import (
    Account,
    AccountUnusable,
    account_name,
    current_account,
    open_to_group,
    service_account,
    transfer_ownership,
)
from framekiln.kit.folder_lock import lock_folder, make_folder
from framekiln.kit.lazy_log import LazyLogger
from framekiln.kit.mounts import closed_folders, open_path_view
from framekiln.settings import Settings

_PR_SET_NO_NEW_PRIVS: Final = 38
_FIRST_FREE_PORT: Final = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
_TRY_PYTHON: Final = "import framekiln, sys; sys.exit(0)"

log = LazyLogger(__name__)


def restrict_process() -> None:
    """Let nobody else read what this process writes, and let no program give it more rights."""
    os.umask(0o077)
    bwrap = shutil.which("bwrap")
    # With its setuid bit, as on old systems, bubblewrap could not work any more.
    needs_rights = bwrap is not None and Path(bwrap).stat().st_mode & stat.S_ISUID
    if os.geteuid() != 0 and not needs_rights:
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def account_of(settings: Settings) -> Account:
    """Return as whom the service runs. A data folder of another user stays that user's."""
    if os.geteuid() == 0 and not settings.run_as and settings.data.exists():
        owner = settings.data.stat()
        if owner.st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    return service_account(settings.run_as)


def enter_account(settings: Settings) -> Account:
    """Return as whom the service runs; raise if that cannot work here, unless root is allowed.

    As root, this may put the process into a mount namespace (`kit/mounts`). The data folder should
    exist.
    """
    account = account_of(settings)
    try:
        _require_reach(settings, account)
    except AccountUnusable as error:
        if not settings.allow_unconfined:
            raise
        log.warning("account.stays_root", reason=error.message)
        return current_account()
    return account


def _require_reach(settings: Settings, account: Account) -> None:
    """Raise if the account cannot reach the code and the data, after making a view for it."""
    if account.is_ours:
        return
    paths = _needed_paths(settings)
    try:
        open_path_view(paths)
    except OSError as error:
        closed = " ".join(map(str, closed_folders(path.resolve() for path in paths)))
        raise AccountUnusable(
            f"{_described(account)} cannot enter {closed}, and no mount namespace can be made"
            f" ({error.strerror}); move the project and FRAMEKILN_DATA to folders that others may"
            f" enter, such as /opt and /var/lib, or run: chmod o+x {closed}; or stay root, at your"
            " risk, with FRAMEKILN_ALLOW_UNCONFINED=1"
        ) from error
    _require_readable_code(account)


@contextlib.contextmanager
def lock_data(settings: Settings, account: Account) -> Iterator[None]:
    """Lock the data folder for the block, and make it that of the account."""
    with lock_folder(settings.data):
        prepare_data(settings, account)
        yield


def prepare_data(settings: Settings, account: Account) -> None:
    """Create what the account needs in the data folder, and give it what earlier versions left."""
    make_folder(settings.data)
    if account.is_ours:
        return
    if settings.data.stat().st_uid != account.uid:
        open_to_group(settings.data, account.gid)
    folders = [settings.data / "home", settings.data / "tmp", blob_folder(settings)]
    for folder in filter(None, folders):
        transfer_ownership(folder, account)


def account_environment(settings: Settings, account: Account) -> dict[str, str]:
    """Return the variables that processes of the account need."""
    if account.is_ours:
        return {}
    environment = {"HOME": str(settings.data / "home"), "USER": account_name(account.uid)}
    if not Path(tempfile.gettempdir()).stat().st_mode & stat.S_IWOTH:
        environment["TMPDIR"] = str(settings.data / "tmp")
    return environment


def account_command(account: Account, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that runs `argv` as the account."""
    return argv if account.is_ours else (*account.prefix(signal.SIGTERM), *argv)


def exec_as_account(
    account: Account, arguments: tuple[str, ...], environment: Mapping[str, str]
) -> None:
    """Replace this process with our command line, run as the account."""
    setpriv, *words = account_command(account, (*our_command(), *arguments))
    # It has no parent to die with: whoever started us may be gone.
    at = words.index("--pdeathsig")
    del words[at : at + 2]
    os.execve(setpriv, (setpriv, *words), {**os.environ, **environment})  # noqa: S606


def require_allowed_port(settings: Settings, account: Account) -> None:
    """Raise if only root may listen on the port, and the account is not root's."""
    if account.is_ours:
        return
    try:
        first = int(_FIRST_FREE_PORT.read_text())
    except (OSError, ValueError):
        return
    if settings.port < first:
        raise AccountUnusable(
            f"port {settings.port} is reserved for root, and the api does not run as root: set"
            f" FRAMEKILN_PORT to {first} or above with a proxy before it, or run:"
            f" sysctl -w net.ipv4.ip_unprivileged_port_start={settings.port}"
        )


def our_command() -> tuple[str, ...]:
    """Return the command that runs our command line."""
    return (sys.executable, "-P", "-m", "framekiln")


def blob_folder(settings: Settings) -> Path | None:
    """Return the folder of the blobs, unless they are in a bucket."""
    url = settings.storage_url
    if not url:
        return settings.data / "blobs"
    scheme, found, _ = url.partition("://")
    if not found:
        return Path(url).expanduser().absolute()
    return Path(unquote(urlsplit(url).path)) if scheme == "file" else None


def code_paths() -> list[Path]:
    """Return where our code and Python are."""
    package = Path(__file__).resolve().parents[2]
    python = (Path(p) for p in (sys.prefix, sys.base_prefix))
    return [package, *python, Path(sys.executable).resolve().parent]


def _needed_paths(settings: Settings) -> list[Path]:
    """Return the paths outside the system's folders that processes of the account use."""
    given = (blob_folder(settings), settings.fetch_ca_file, settings.speech_models)
    model = Path(settings.speech_model)
    elsewhere = [
        *(*code_paths(), Path(tempfile.gettempdir())),
        *(path.absolute() for path in given if path),
        *([model] if model.is_absolute() else []),
    ]
    # The data folder is closed on purpose, but not to the account.
    return [settings.data, *(path for path in elsewhere if settings.data not in path.parents)]


def _require_readable_code(account: Account) -> None:
    """Raise if the account cannot run Python with our code."""
    command = account_command(account, (sys.executable, "-P", "-c", _TRY_PYTHON))
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        package = Path(__file__).resolve().parents[2]
        raise AccountUnusable(
            f"{_described(account)} cannot run the service: {reason}; make the code readable:"
            f" chmod -R go+rX {package} {sys.prefix} {sys.base_prefix}"
        )


def _described(account: Account) -> str:
    return f"the account of the service ({account_name(account.uid)})"
