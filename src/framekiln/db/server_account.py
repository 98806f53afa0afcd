"""The account of the embedded Postgres, which refuses to run as root.

Root therefore runs it as an account of its own. Permissions of other folders are never changed: if
that account cannot reach the data folder, it gets the one capability needed to traverse it.
"""

import asyncio
import os
import pwd
import signal
from pathlib import Path

from framekiln.kit.account import (
    DATABASE_ID,
    Account,
    AccountUnusable,
    account_name,
    current_account,
)

_WALK_ANYWHERE = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
# initdb and single-user mode insist on an entry in /etc/passwd. What they write is handed over.
_LISTED_USERS = ("postgres", "nobody")


def database_account(folder: Path, client: Account) -> Account:
    """Return who runs the server in `folder`: a user's own, or a separate one below root's.

    It has the group of its client, so that both can pass through the same folders.
    """
    if os.geteuid() != 0:
        return current_account()
    # Root may serve a folder of somebody else, who then keeps it.
    owner = folder.parent.stat()
    return Account(owner.st_uid, owner.st_gid) if owner.st_uid else Account(DATABASE_ID, client.gid)


def creator_account(account: Account) -> Account:
    """Return who creates the cluster: `account`, or a listed user if it is not listed itself."""
    if account.is_ours or _is_listed(account.uid):
        return account
    for name in _LISTED_USERS:
        try:
            return Account(pwd.getpwnam(name).pw_uid, account.gid)
        except KeyError:
            continue
    raise AccountUnusable(
        "the embedded Postgres needs a listed user to create its files: useradd -r postgres"
    )


def require_own(cluster: Path, account: Account) -> None:
    """Raise if the cluster belongs to somebody else, and this is not root."""
    owner = cluster.stat().st_uid
    if account.is_ours and owner != account.uid:
        raise AccountUnusable(
            f"{cluster} belongs to {account_name(owner)}; run framekiln as that user or as root,"
            " or choose another FRAMEKILN_DATA"
        )


async def server_prefix(account: Account, folder: Path) -> tuple[str, ...]:
    """Return the command prefix that runs as `account` and lets it use `folder`."""
    if account.is_ours:
        return ()
    become = (*account.prefix(signal.SIGINT), "--no-new-privs")
    for prefix in (become, (*become, *_WALK_ANYWHERE)):
        if await _succeeds(*prefix, "test", "-d", f"{folder}/."):
            return prefix
    raise AccountUnusable(
        f"{account_name(account.uid)}, who runs the embedded Postgres, cannot reach {folder};"
        " choose another FRAMEKILN_DATA, such as /var/lib/framekiln"
    )


def _is_listed(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


async def _succeeds(*argv: str) -> bool:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
    )
    return await process.wait() == 0
