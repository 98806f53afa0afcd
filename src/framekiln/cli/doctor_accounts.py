"""The checks of `framekiln doctor` about rights: account, folder modes, role, confinement, groups.

What runs is read from /proc, what is stored from its modes and owners; nothing is taken from
settings that can be looked at.
"""

import asyncio
import os
import stat
from pathlib import Path
from typing import Final

from framekiln.cli.account import account_of, blob_folder
from framekiln.cli.confinement import missing_for_service
from framekiln.cli.database import embedded_postgres
from framekiln.cli.doctor_checks import CheckResult, CheckState
from framekiln.db.service_role import login_role
from framekiln.kit.account import account_name
from framekiln.kit.control_group import NoControlGroups, delegated_folder, find_group_folder
from framekiln.kit.folder_lock import lock_holder
from framekiln.settings import Settings

_OTHERS: Final = 0o007


async def check_rights(settings: Settings) -> list[CheckResult]:
    """Check as whom the service runs, and who can read what it keeps."""
    serve = await asyncio.to_thread(lock_holder, settings.data)
    results = [
        await asyncio.to_thread(check_account, settings, serve),
        await asyncio.to_thread(check_modes, settings),
        await asyncio.to_thread(check_service_confinement, settings),
        await asyncio.to_thread(check_control_groups, serve),
    ]
    role = await asyncio.to_thread(check_role, settings, is_serving=serve is not None)
    return [*results, *([role] if role else [])]


def check_account(settings: Settings, serve: int | None) -> CheckResult:
    """Check as whom the api and the workers run, or would run."""
    name = "account"
    if serve is None:
        would = account_of(settings)
        state = CheckState.OK if would.uid else CheckState.WARN
        return CheckResult(name, state, f"the service will run as {account_name(would.uid)}")
    users = {uid for pid in _children(serve) if (uid := _service_uid(pid)) is not None}
    names = ", ".join(account_name(uid) for uid in sorted(users)) or "nobody"
    if 0 in users:
        fix = "unset FRAMEKILN_RUN_AS and FRAMEKILN_ALLOW_UNCONFINED"
        return CheckResult(name, CheckState.WARN, "the service runs as root", fix)
    return CheckResult(name, CheckState.OK, f"the service runs as {names}")


def check_modes(settings: Settings) -> CheckResult:
    """Check that other users can read neither the data folder nor the blobs."""
    name = "folder modes"
    folders = [settings.data, settings.data / "pg", blob_folder(settings)]
    modes = []
    for folder in filter(None, folders):
        try:
            mode = stat.S_IMODE(folder.stat().st_mode)
        except OSError:
            continue
        if mode & _OTHERS:
            fix = f"chmod o-rwx {folder}"
            return CheckResult(name, CheckState.WARN, f"others can enter {folder}", fix)
        modes.append(f"{folder.name} {mode:o}")
    return CheckResult(name, CheckState.OK, ", ".join(modes) or "no data yet")


def check_service_confinement(settings: Settings) -> CheckResult:
    """Check whether pages and media are confined well enough for the service to start."""
    name = "confinement"
    account = account_of(settings)
    missing = missing_for_service()
    if not missing:
        return CheckResult(name, CheckState.OK, f"enough, as {account_name(account.uid)}")
    state = CheckState.WARN if settings.allow_unconfined else CheckState.MISSING
    fix = "allow user namespaces; or, at your risk, FRAMEKILN_ALLOW_UNCONFINED=1"
    return CheckResult(name, state, f"not enough; missing: {'; '.join(missing)}", fix)


def check_control_groups(serve: int | None) -> CheckResult:
    """Check whether the kernel limits each Chromium as a whole, or would; it is no fault if not."""
    name = "control groups"
    try:
        folder = delegated_folder() if serve is None else find_group_folder(serve)
    except NoControlGroups as error:
        detail = f"none, so a watchdog alone limits each Chromium as a whole: {error}"
        return CheckResult(name, CheckState.OK, detail)
    has = "will have" if serve is None else "has"
    return CheckResult(name, CheckState.OK, f"each Chromium {has} one, below {folder}")


def check_role(settings: Settings, *, is_serving: bool) -> CheckResult | None:
    """Check the role with which the service uses its database, if the database runs."""
    if not settings.database_url and not is_serving:
        return None
    conninfo = settings.database_url or embedded_postgres(settings).conninfo
    role = login_role(conninfo)
    if role is None:
        # The check of the database itself says why.
        return None
    if role.is_superuser:
        fix = "let DATABASE_URL name a role that only owns its database"
        return CheckResult("database role", CheckState.WARN, f"{role.name} is a superuser", fix)
    return CheckResult("database role", CheckState.OK, f"{role.name}, no superuser")


def _children(pid: int) -> list[int]:
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


def _service_uid(pid: int) -> int | None:
    """Return the user of a process if it is an api or a worker of ours."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        uid = os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116
    except OSError:
        return None
    return uid if b"framekiln" in words and {b"api", b"worker"} & set(words) else None
