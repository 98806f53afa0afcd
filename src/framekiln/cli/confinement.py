"""Refuses to work where strangers' pages and media cannot be confined, unless that is allowed.

Run as a module, it prints what is missing for the service: as root, for its account.
"""

import json
import subprocess
import sys

from framekiln.cli.account import account_command, enter_account
from framekiln.engine.confinement import missing_confinement
from framekiln.kit.account import Account, current_account
from framekiln.kit.errors import Unavailable
from framekiln.kit.lazy_log import LazyLogger
from framekiln.settings import Settings

_HELP = (
    "install bubblewrap and allow user namespaces (framekiln doctor names the commands; in a"
    " container: --security-opt seccomp=unconfined --cap-add SYS_ADMIN), or accept the risk with"
    " FRAMEKILN_ALLOW_UNCONFINED=1"
)

_MODULE = "framekiln.cli.confinement"

log = LazyLogger(__name__)


class ConfinementMissing(Unavailable):
    """Pages and media of strangers cannot be confined on this machine."""

    code = "confinement_missing"
    retryable = False


def require_confinement(settings: Settings, *, has_pages: bool = True) -> None:
    """Raise if what this process opens cannot be confined, unless that is allowed."""
    _refuse_or_log(settings, missing_confinement(has_pages=has_pages))


def require_account_confinement(settings: Settings, account: Account) -> None:
    """The same for the whole service, which runs as the account."""
    missing = missing_for(account)
    if account.uid == 0:
        missing = ("an account other than root (FRAMEKILN_RUN_AS)", *missing)
    _refuse_or_log(settings, missing)


def missing_for(account: Account) -> tuple[str, ...]:
    """Return what is missing when processes run as the account."""
    if account.is_ours:
        return missing_confinement()
    return _ask(account_command(account, (sys.executable, "-P", "-m", _MODULE)))


def _refuse_or_log(settings: Settings, missing: tuple[str, ...]) -> None:
    if not missing:
        return
    if not settings.allow_unconfined:
        raise ConfinementMissing(
            f"strangers' pages and media cannot be confined here; missing: {'; '.join(missing)}."
            f" To go on, {_HELP}"
        )
    log.warning("confinement.missing", missing=list(missing), uid=current_account().uid)


def missing_for_service() -> tuple[str, ...]:
    """Return what the service lacks, or would lack. Looked up in another process.

    Root may have to change its view of the file system for the account (`enter_account`).
    """
    return _ask((sys.executable, "-P", "-m", _MODULE))


def _ask(command: tuple[str, ...]) -> tuple[str, ...]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return (f"the check failed: {reason}",)
    return tuple(json.loads(done.stdout))


if __name__ == "__main__":
    account = enter_account(Settings())
    sys.stdout.write(json.dumps(missing_for(account)))
