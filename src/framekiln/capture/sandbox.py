"""The sandbox of Chromium: builds arguments only, starts nothing but probes.

Compositions are untrusted. The strongest sandbox that the machine allows is used, in this order: no
network and an almost empty file system (bubblewrap) around Chromium's own sandbox; bubblewrap
alone; Chromium without either, as an unprivileged user. In bubblewrap, a filter blocks risky system
calls of every process. In none of them is Chromium root, or has it our environment. `framekiln
doctor` and every render's record report which one is in use.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.system_calls import chromium_filter
from framekiln.kit.account import STRANGER_ID
from framekiln.kit.confined.limits import is_realtime


class Confinement(StrEnum):
    """The kinds of sandboxes, strongest first."""

    NAMESPACES_AND_SECCOMP = "bubblewrap+seccomp"
    NAMESPACES = "bubblewrap"
    UNPRIVILEGED_USER = "unprivileged-user"

    @property
    def is_enough(self) -> bool:
        """Whether it may show pages of strangers."""
        return self is not Confinement.UNPRIVILEGED_USER


# Files that Chromium reads: itself, its libraries and fonts. Nothing else of /etc.
_READABLE: Final = (
    "/usr",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/var/cache/fontconfig",
    "/usr/local/share/fonts",
)
_LINKS: Final = (("usr/lib", "/lib"), ("usr/lib64", "/lib64"), ("usr/bin", "/bin"))
_PROFILE_INSIDE: Final = "/tmp/profile"  # noqa: S108
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_SMALL_BYTES: Final = 1 << 20
# Since then, the kernel counts the threads of each user namespace on its own.
_COUNTS_BY_NAMESPACE: Final = (5, 14)


def confined_command(
    command: list[str],
    confinement: Confinement,
    *,
    profile: Path,
    limits: BrowserLimits,
    filter_fd: int,
) -> list[str]:
    """Return `command` wrapped in the sandbox.

    `profile` is used only without bubblewrap, which has temporary folders of its own. bubblewrap
    reads the filter of system calls from `filter_fd`.
    """
    has_user_namespace = has_own_user_namespace(confinement)
    counts_threads = has_user_namespace and _kernel_version() >= _COUNTS_BY_NAMESPACE
    limited = ["prlimit", *limits.kernel_limits(counts_threads=counts_threads), "--"]
    if confinement is not Confinement.NAMESPACES_AND_SECCOMP:
        command = [*command, "--no-sandbox"]
    # A service that runs in a realtime class does not pass it on.
    ordinary = ["chrt", "--other", "0"] if is_realtime() else []
    if confinement is Confinement.UNPRIVILEGED_USER:
        bare = [*command, f"--user-data-dir={profile}"]
        stranger = _as_unprivileged("--no-new-privs", "--pdeathsig=KILL")
        return [*ordinary, *stranger, *limited, *bare]
    command = [*command, f"--user-data-dir={_PROFILE_INSIDE}", "--disable-dev-shm-usage"]
    options = [*_bubblewrap(limits, has_user_namespace=has_user_namespace)]
    options += ["--seccomp", str(filter_fd)]
    if has_user_namespace:
        return [*ordinary, *_as_unprivileged(), *options, *limited, *command]
    return [*ordinary, *options, *_as_unprivileged("--no-new-privs"), *limited, *command]


def chromium_environment(home: Path) -> dict[str, str]:
    """Return Chromium's complete environment; ours contains secrets."""
    return {"PATH": _PATH, "HOME": str(home), "LANG": "C.UTF-8"}


@contextmanager
def open_filter() -> Iterator[int]:
    """Provide a descriptor of the filter of system calls; empty if the processor is unknown."""
    descriptor = os.memfd_create("filter")
    try:
        os.write(descriptor, chromium_filter() or b"")
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def has_own_user_namespace(confinement: Confinement) -> bool:
    """Return whether Chromium has a user namespace of its own.

    Root needs none for bubblewrap, so it works where users may not create them.
    """
    if confinement is Confinement.NAMESPACES:
        return os.geteuid() != 0
    return confinement is Confinement.NAMESPACES_AND_SECCOMP


@cache
def strongest_confinement() -> Confinement:
    """Return the strongest sandbox that works on this machine; tested once."""
    if chromium_filter() is None or shutil.which("bwrap") is None:
        return Confinement.UNPRIVILEGED_USER
    # Chromium's own sandbox needs nested user namespaces.
    nested = ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/true"]
    if _works(Confinement.NAMESPACES_AND_SECCOMP, nested):
        return Confinement.NAMESPACES_AND_SECCOMP
    if _works(Confinement.NAMESPACES, ["/bin/true"]):
        return Confinement.NAMESPACES
    return Confinement.UNPRIVILEGED_USER


def _works(confinement: Confinement, command: list[str]) -> bool:
    with open_filter() as descriptor:
        wrapped = confined_command(
            command,
            confinement,
            profile=Path(_PROFILE_INSIDE),
            limits=BrowserLimits(),
            filter_fd=descriptor,
        )
        return _runs(wrapped, descriptor)


def _bubblewrap(limits: BrowserLimits, *, has_user_namespace: bool) -> list[str]:
    namespaces = ["--unshare-all"]
    if not has_user_namespace:
        names = ("ipc", "pid", "net", "uts", "cgroup-try")
        namespaces = [f"--unshare-{name}" for name in names]
    arguments = ["bwrap", *namespaces, "--die-with-parent", "--new-session", "--clearenv"]
    for path in _READABLE:
        arguments += ["--ro-bind-try", path, path]
    for target, link in _LINKS:
        if Path("/" + target).exists():
            arguments += ["--symlink", target, link]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    # Everything that can be written to has a size.
    sizes = {"/tmp": limits.tmpfs_bytes, "/dev/shm": _SMALL_BYTES, "/run": _SMALL_BYTES}  # noqa: S108
    for place, size_bytes in sizes.items():
        arguments += ["--perms", "1777", "--size", str(size_bytes), "--tmpfs", place]
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/"]
    if has_user_namespace:
        arguments += ["--uid", "1000", "--gid", "1000"]
    for name, value in chromium_environment(Path("/tmp")).items():  # noqa: S108
        arguments += ["--setenv", name, value]
    return [*arguments, "--chdir", "/tmp"]  # noqa: S108


def _as_unprivileged(*options: str) -> list[str]:
    """Return a prefix that makes a command of root run as an unprivileged user."""
    if os.geteuid() != 0:
        return ["setpriv", *options, "--"] if options else []
    identity = [f"--reuid={STRANGER_ID}", f"--regid={STRANGER_ID}", "--clear-groups"]
    return ["setpriv", *identity, *options, "--"]


def _kernel_version() -> tuple[int, ...]:
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int("".join(filter(str.isdigit, minor)))


def _runs(command: list[str], descriptor: int) -> bool:
    try:
        done = subprocess.run(
            command, pass_fds=[descriptor], cwd="/", capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
