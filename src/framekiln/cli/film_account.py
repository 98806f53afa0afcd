"""As whom `framekiln render` works: root leaves the work to a process of another account.

That process opens pages and media; root only starts it, and gives the finished file to the caller.
It sees the composition's folder as its own, but cannot change it, and writes to two temporary
folders: one beside the output, so that the film need not be copied, and one for everything else.
"""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from framekiln.cli.account import account_command, code_paths
from framekiln.cli.film_request import FilmRequest
from framekiln.kit.account import (
    STRANGER_ID,
    Account,
    AccountUnusable,
    account_name,
    current_account,
    service_account,
)
from framekiln.kit.confined.errors import rebuild_error
from framekiln.kit.errors import FramekilnError
from framekiln.kit.lazy_log import LazyLogger
from framekiln.kit.mapped_mount import map_folder
from framekiln.kit.mounts import closed_folders, open_path_view
from framekiln.settings import Settings

_CHILD: Final = "framekiln.cli.film_child"
_FILM: Final = "film"
_MODE: Final = 0o644
# Everything else stays here: credentials of buckets, databases and other services.
_VARIABLES: Final = ("PATH", "LANG", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR")
_VARIABLE_PREFIXES: Final = ("FRAMEKILN_", "LC_", "PYTHON", "SSL_CERT_")
_SECRETS: Final = ("FRAMEKILN_API_KEY", "FRAMEKILN_SECRET_KEYS", "FRAMEKILN_METRICS_TOKEN")

log = LazyLogger(__name__)


class FilmProcessEnded(FramekilnError):
    """The process that makes the film ended without a result."""

    code = "film_process_ended"


def film_account(settings: Settings) -> Account:
    """Return as whom films are made: our own account, unless this is root."""
    if os.geteuid() != 0:
        return current_account()
    if not settings.run_as:
        return Account(STRANGER_ID, STRANGER_ID)
    account = service_account(settings.run_as)
    if account.uid == 0 and not settings.allow_unconfined:
        raise AccountUnusable(
            f"FRAMEKILN_RUN_AS={settings.run_as}: root makes no films; name another account, or"
            " accept the risk with FRAMEKILN_ALLOW_UNCONFINED=1"
        )
    return account


def make_film_as(
    account: Account, request: FilmRequest, output: Path, settings: Settings, *, quiet: bool
) -> dict[str, Any]:
    """Make the film in a process of the account, put it at `output`, and return its facts."""
    parent = output.absolute().parent
    with (
        folder_for(account, f".{output.name}.", parent) as (beside, descriptor),
        folder_for(account, "framekiln-render-", None) as (work, _),
    ):
        view = _FilmView(account, request, settings, kept=(beside, work))
        order = {
            "request": {**request.as_json(), "composition": str(view.composition)},
            "path": str(beside.resolve() / _FILM),
            "quiet": quiet,
        }
        facts = _facts_of(_run_child(account, order, view.enter, work.resolve()))
        publish(descriptor, output, account)
    return facts


@contextmanager
def folder_for(account: Account, prefix: str, parent: Path | None) -> Iterator[tuple[Path, int]]:
    """Provide a temporary folder of the account, and a descriptor of it."""
    folder = Path(mkdtemp(prefix=prefix, dir=parent))
    try:
        descriptor = _open_own(folder)
        try:
            os.fchown(descriptor, account.uid, account.gid)
            yield folder, descriptor
        finally:
            os.close(descriptor)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open_own(folder: Path) -> int:
    """Open a new folder; whoever owns the one above may have put something in its place."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    replaced = AccountUnusable(f"{folder} was replaced by another process: use another folder")
    try:
        descriptor = os.open(folder, flags)
    except OSError as error:
        raise replaced from error
    if os.fstat(descriptor).st_uid != os.geteuid() or os.listdir(descriptor):  # noqa: PTH208
        os.close(descriptor)
        raise replaced
    return descriptor


class _FilmView:
    """The file system that the process sees."""

    def __init__(
        self, account: Account, request: FilmRequest, settings: Settings, *, kept: tuple[Path, ...]
    ) -> None:
        self._account = account
        self._settings = settings
        self._kept = kept
        self._folder = _folder_of(request)
        self.composition = request.composition
        here = Path.cwd()
        if self._folder is None:
            return
        named = request.composition.absolute()
        if named.parent != named.parent.resolve():
            # The process may not see the link to the folder.
            self.composition = self._folder if named.is_dir() else self._folder / named.name
        elif self._folder not in (here, *here.parents):
            # The process cannot reach the current folder.
            self.composition = named

    def enter(self) -> None:
        """Change what this process sees; called between fork and exec."""
        given = [self._settings.fetch_ca_file, self._folder]
        if self._folder is not None:
            # The page itself may be a link to another folder.
            given.append(self.composition.absolute())
        paths = [*code_paths(), *self._kept, *(path.absolute() for path in given if path)]
        if self._folder is None or not self._map(self._folder, paths):
            self._open(paths)

    def _map(self, folder: Path, paths: list[Path]) -> bool:
        """Make the folder that of the account; return False where the kernel cannot do that."""
        if folder == Path("/"):
            return False
        # A folder that is mapped need not be open to others, nor those in it.
        self._open([path for path in paths if folder not in path.resolve().parents])
        try:
            map_folder(folder, self._account, kept=self._kept)
        except OSError as error:
            log.debug("account.folder_not_mapped", folder=str(folder), reason=str(error))
            return False
        return True

    def _open(self, paths: list[Path]) -> None:
        try:
            open_path_view(paths)
        except OSError as error:
            closed = " ".join(map(str, closed_folders(path.resolve() for path in paths)))
            raise AccountUnusable(
                f"{account_name(self._account.uid)}, as whom root makes films, cannot enter"
                f" {closed}, and no mount namespace can be made ({error.strerror}); use folders"
                " that others may enter, or run the command as an ordinary user"
            ) from error


def _folder_of(request: FilmRequest) -> Path | None:
    """Return the folder whose files the composition may use."""
    if request.page is not None:
        return None
    named = request.composition.absolute()
    folder = (named if named.is_dir() else named.parent).resolve()
    return folder if folder.is_dir() else None


def _run_child(
    account: Account, order: dict[str, Any], enter: Callable[[], None], temporary: Path
) -> tuple[int, bytes]:
    """Return the exit code of the process, and what it wrote."""

    def prepare() -> None:
        # Ctrl-C reaches all processes of a terminal; this one is told by its parent.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            enter()
        except FramekilnError as error:
            os.write(1, json.dumps({"error": described(error)}).encode())
            os._exit(1)

    command = account_command(account, (sys.executable, "-P", "-m", _CHILD))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(account, temporary),
        # There are no other threads yet.
        preexec_fn=prepare,  # noqa: PLW1509
    )
    with process:
        try:
            answer, _ = process.communicate(json.dumps(order).encode())
        except BaseException:
            process.terminate()
            process.wait()
            raise
    return process.returncode, answer


def _environment(account: Account, temporary: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if (name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES)) and name not in _SECRETS
    }
    own = {"HOME": str(temporary), "TMPDIR": str(temporary), "USER": account_name(account.uid)}
    return {**kept, **own}


def _facts_of(ended: tuple[int, bytes]) -> dict[str, Any]:
    code, answer = ended
    try:
        found = json.loads(answer)
    except ValueError as error:
        raise FilmProcessEnded(
            f"the process that makes the film ended with exit code {code} and without a result;"
            " what it wrote above says why"
        ) from error
    if "error" in found:
        raised = rebuild_error(found["error"], "render")
        raised.warnings = tuple(map(str, found["error"].get("warnings", ())))
        raise raised
    facts: dict[str, Any] = found["facts"]
    return facts


def described(error: FramekilnError) -> dict[str, Any]:
    """Return an error as JSON values."""
    return {
        "module": type(error).__module__,
        "name": type(error).__qualname__,
        "message": error.message,
        "details": error.details,
        "warnings": list(error.warnings),
    }


def publish(folder: int, output: Path, account: Account) -> None:
    """Give the film in an open folder of the account to the caller, and put it at `output`."""
    parent = output.absolute().parent
    whole = parent / f".{output.name}.{os.getpid()}.whole"
    os.rename(_FILM, whole, src_dir_fd=folder)
    try:
        # The account may have made something else, such as a link to a file of root's.
        file = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(file)
            is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            if not is_plain or found.st_uid != account.uid:
                raise FilmProcessEnded("the process that makes the film made something else")
            above = parent.stat()
            group = above.st_gid if above.st_mode & stat.S_ISGID else os.getegid()
            os.fchown(file, os.geteuid(), group)
            os.fchmod(file, _MODE)
        finally:
            os.close(file)
        whole.replace(output)
    finally:
        whole.unlink(missing_ok=True)
