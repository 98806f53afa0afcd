"""The user of the embedded Postgres, which refuses to run as root.

Root therefore runs it as another user. Permissions of other folders are never changed: if that user
cannot reach the data folder, it gets the one capability needed to traverse it.
"""

import asyncio
import os
import pwd
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from framekiln.kit.errors import Unavailable

_WALK_ANYWHERE = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


class NoServerAccount(Unavailable):
    """No user can run the embedded Postgres on this data folder."""

    code = "no_server_account"
    retryable = False


@dataclass(frozen=True)
class ServerAccount:
    """A user, its main group, and the command prefix to run as it."""

    uid: int
    gid: int
    prefix: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether commands run as the current user."""
        return self.uid == os.geteuid()

    def own(self, path: Path) -> None:
        """Make this user the owner of `path`, with no access for others."""
        if not self.is_ours:
            os.chown(path, self.uid, self.gid)
        path.chmod(0o700)


def choose_account(cluster: Path) -> ServerAccount:
    """Return the owner of an existing cluster, else the current user, else one for root."""
    owner = cluster.stat() if cluster.exists() else None
    if os.geteuid() != 0:
        if owner and owner.st_uid != os.geteuid():
            raise NoServerAccount(
                f"{cluster} belongs to {_name_of(owner.st_uid)}; run framekiln as that user or as"
                " root, or choose another FRAMEKILN_DATA"
            )
        return ServerAccount(os.geteuid(), os.getegid())
    if owner and owner.st_uid != 0:
        return ServerAccount(owner.st_uid, owner.st_gid)
    for name in ("framekiln", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerAccount(entry.pw_uid, entry.pw_gid)
    raise NoServerAccount("Postgres cannot run as root; add a user for it: useradd -r framekiln")


async def able_to_reach(account: ServerAccount, folder: Path) -> ServerAccount:
    """Return the account with the command prefix that lets it use `folder`."""
    if account.is_ours:
        return account
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise NoServerAccount("setpriv is missing: apt-get install -y util-linux")
    # A change of user clears the parent-death signal, so it is set again in the same command.
    become = (
        setpriv,
        *(f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"),
        *("--pdeathsig", signal.SIGINT.name.removeprefix("SIG")),
    )
    for prefix in (become, (*become, *_WALK_ANYWHERE)):
        if await _succeeds(*prefix, "test", "-d", f"{folder}/."):
            return ServerAccount(account.uid, account.gid, prefix)
    raise NoServerAccount(
        f"user {_name_of(account.uid)}, who runs the embedded Postgres, cannot reach {folder};"
        " choose another FRAMEKILN_DATA, such as /var/lib/framekiln"
    )


async def _succeeds(*argv: str) -> bool:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
    )
    return await process.wait() == 0


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
