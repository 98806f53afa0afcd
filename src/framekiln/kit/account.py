"""Accounts: as whom root runs the service and its database.

Neither needs an entry in /etc/passwd, so nothing has to be set up first. Both have ids that nothing
else uses, and one group, so that both can pass through the data folder and nobody else can.
"""

import os
import pwd
import shutil
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.kit.errors import InvalidInput, Unavailable
from framekiln.kit.lazy_log import LazyLogger

SERVICE_ID: Final = 64112
DATABASE_ID: Final = 64111
# For what needs nothing of the service: `framekiln render`, and Chromium that root starts. As
# `nobody`, a page that escapes could reach others' processes.
STRANGER_ID: Final = 64113
_PRIVATE_FOLDER: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_GROUP_MAY_ENTER: Final = 0o710

log = LazyLogger(__name__)


class UnknownAccount(InvalidInput):
    """FRAMEKILN_RUN_AS names no account that can be used."""

    code = "unknown_account"


class AccountUnusable(Unavailable):
    """The account of the service or of its database cannot be used on this machine."""

    code = "account_unusable"
    retryable = False


@dataclass(frozen=True)
class Account:
    """A user id and a group id."""

    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        """Whether this process already runs as it."""
        return self.uid == os.geteuid()

    def prefix(self, death_signal: signal.Signals) -> tuple[str, ...]:
        """Return the beginning of a command that runs as this account, without other groups."""
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise AccountUnusable("setpriv is missing: apt-get install -y util-linux")
        return (
            setpriv,
            *(f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"),
            # A change of user clears the parent-death signal, so it is set in the same command.
            *("--pdeathsig", death_signal.name.removeprefix("SIG")),
        )


def current_account() -> Account:
    """Return the account of this process."""
    return Account(os.geteuid(), os.getegid())


def service_account(run_as: str | None = None) -> Account:
    """Return the account of the service: that of this process, unless root runs it.

    `run_as` is a name, `uid` or `uid:gid`.
    """
    ours = current_account()
    chosen = parse_account(run_as) if run_as else None
    if ours.uid == 0:
        return chosen or Account(SERVICE_ID, SERVICE_ID)
    if chosen and chosen.uid != ours.uid:
        raise UnknownAccount(
            f"FRAMEKILN_RUN_AS={run_as}: only root can run the service as another account;"
            f" this is {account_name(ours.uid)}",
            field="FRAMEKILN_RUN_AS",
        )
    return ours


def parse_account(text: str) -> Account:
    """Read a name, `uid` or `uid:gid`."""
    uid, _, gid = text.partition(":")
    if uid.isdecimal() and (not gid or gid.isdecimal()):
        return Account(int(uid), int(gid or uid))
    try:
        entry = pwd.getpwnam(text)
    except KeyError as error:
        raise UnknownAccount(
            f"FRAMEKILN_RUN_AS={text}: there is no such user; add it (useradd -r {text}), or give"
            " a user id, such as 64112",
            field="FRAMEKILN_RUN_AS",
        ) from error
    return Account(entry.pw_uid, entry.pw_gid)


def account_name(uid: int) -> str:
    """Return the name of a user, or its id if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def open_to_group(folder: Path, gid: int) -> None:
    """Let the group pass through a folder of ours, and nobody else."""
    found = folder.stat()
    if (found.st_gid, stat.S_IMODE(found.st_mode)) != (gid, _GROUP_MAY_ENTER):
        os.chown(folder, -1, gid)
        folder.chmod(_GROUP_MAY_ENTER)


def transfer_ownership(folder: Path, account: Account) -> None:
    """Give a folder to an account, with everything in it, unless the account has it already.

    What an account owns is not searched again: it could have put links there.
    """
    try:
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        owner = folder.lstat().st_uid
        if owner == account.uid:
            folder.chmod(_PRIVATE_FOLDER)
            return
        if owner not in (0, SERVICE_ID):
            raise AccountUnusable(
                f"{folder} belongs to {account_name(owner)}, not to {account_name(account.uid)}, as"
                f" whom the service runs; chown it, or set FRAMEKILN_RUN_AS={owner}"
            )
        count = chown_tree(folder, account)
    except OSError as error:
        raise AccountUnusable(
            f"cannot give {folder} to {account_name(account.uid)}: {error.strerror}"
        ) from error
    if count:
        log.info("account.folder_taken_over", folder=str(folder), uid=account.uid, entries=count)


def chown_tree(folder: Path, account: Account) -> int:
    """Give a folder and its contents to an account alone; return the number of entries in it.

    The folder itself comes last: if this is interrupted, it is done again.
    """
    count = 0
    for name, mode, parent in _entries(folder):
        os.chown(name, account.uid, account.gid, dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISLNK(mode):
            private = _PRIVATE_FOLDER if stat.S_ISDIR(mode) else _PRIVATE_FILE
            os.chmod(name, private, dir_fd=parent)
        count += 1
    folder.chmod(_PRIVATE_FOLDER)
    os.chown(folder, account.uid, account.gid)
    return count


def _entries(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield name, mode and open parent folder of everything in `folder`; contents first."""
    for _, folders, files, parent in os.fwalk(folder, topdown=False):
        for name in (*files, *folders):
            yield name, os.lstat(name, dir_fd=parent).st_mode, parent
