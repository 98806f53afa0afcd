"""The sandbox of Chromium: builds arguments only, starts nothing.

Compositions are untrusted. The strongest sandbox that the machine allows is used, in this order: no
network and an almost empty file system (bubblewrap) around Chromium's own sandbox; bubblewrap
alone; Chromium without either, as an unprivileged user. `framekiln doctor` and every render's
record report which one is in use.
"""

import os
import shutil
import subprocess
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final


class Confinement(StrEnum):
    """The kinds of sandboxes, strongest first."""

    NAMESPACES_AND_SECCOMP = "bubblewrap+seccomp"
    NAMESPACES = "bubblewrap"
    UNPRIVILEGED_USER = "unprivileged-user"


# Files that Chromium reads: itself, its libraries and fonts. Nothing else of /etc.
_READABLE: Final = (
    "/usr",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/var/cache/fontconfig",
    "/usr/local/share/fonts",
)
# A user id for Chromium only: as `nobody`, a page that escapes could reach the database server.
STRANGER_ID: Final = 64113
_LINKS: Final = (("usr/lib", "/lib"), ("usr/lib64", "/lib64"), ("usr/bin", "/bin"))


def confined_command(command: list[str], confinement: Confinement, *, profile: Path) -> list[str]:
    """Return `command` wrapped in the sandbox; `profile` is the only writable folder."""
    if confinement is Confinement.UNPRIVILEGED_USER:
        return [*_as_a_stranger(), *command, "--no-sandbox", f"--user-data-dir={profile}"]
    if confinement is Confinement.NAMESPACES:
        command = [*command, "--no-sandbox"]
    return [*_bubblewrap(), *command, "--user-data-dir=/tmp/profile", "--disable-dev-shm-usage"]


@cache
def strongest_confinement() -> Confinement:
    """Return the strongest sandbox that works on this machine; tested once."""
    if shutil.which("bwrap") is None or not _runs([*_bubblewrap(), "/bin/true"]):
        return Confinement.UNPRIVILEGED_USER
    # Chromium's own sandbox needs nested user namespaces.
    nested = ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/true"]
    if not _runs([*_bubblewrap(), *nested]):
        return Confinement.NAMESPACES
    return Confinement.NAMESPACES_AND_SECCOMP


def _bubblewrap() -> list[str]:
    arguments = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    for path in _READABLE:
        arguments += ["--ro-bind-try", path, path]
    for target, link in _LINKS:
        if Path("/" + target).exists():
            arguments += ["--symlink", target, link]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"]  # noqa: S108
    arguments += ["--uid", "1000", "--gid", "1000", "--setenv", "HOME", "/tmp", "--chdir", "/tmp"]  # noqa: S108
    return arguments


def _as_a_stranger() -> list[str]:
    if os.geteuid() != 0:
        return ["setpriv", "--pdeathsig=KILL", "--"]
    identity = [f"--reuid={STRANGER_ID}", f"--regid={STRANGER_ID}", "--clear-groups"]
    return ["setpriv", *identity, "--pdeathsig=KILL", "--"]


def _runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
