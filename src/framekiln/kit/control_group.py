"""Control groups (cgroup v2): the kernel limits a set of processes and kills them together.

A service may make groups only below one that was delegated to it: by systemd (`Delegate=yes`), or
as the root of a container with a writable cgroup file system. Elsewhere there are none, and
`NoControlGroups` says why.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from framekiln.kit.account import Account
from framekiln.kit.lazy_log import LazyLogger
from framekiln.kit.locked_folder import make_locked_folder, sweep_folders

_CONTROLLERS: Final = frozenset({"memory", "pids"})
# A group that passes controllers on may contain no process, so the service is in one below it.
_SERVICE_GROUP: Final = "framekiln-service"
_PREFIX: Final = "framekiln-limited-"
# What systemd marks a delegated group with; only root can read the second.
_DELEGATED: Final = ("user.delegate", "trusted.delegate")
_REMOVE_WITHIN_S: Final = 10.0
_POLL_S: Final = 0.02

log = LazyLogger(__name__)


class NoControlGroups(Exception):
    """Control groups cannot be made here; the message says why."""


class ControlGroup:
    """One group with limits. A process enters it by writing 0 to `entrance`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def entrance(self) -> Path:
        """The file that moves a process that writes 0 to it, with its future children."""
        return self.folder / "cgroup.procs"

    def is_over_memory(self) -> bool:
        """Return whether processes were killed because of the memory limit."""
        events = self._events("memory")
        # `oom` counts this limit alone, `oom_kill` also those above it and the machine's memory.
        return events.get("oom", 0) > 0 and events.get("oom_kill", 0) > 0

    def is_over_tasks(self) -> bool:
        """Return whether the kernel has refused processes or threads because of the limit."""
        if not self._events("pids").get("max"):
            return False
        # Before Linux 6.11, limits of the groups above count, too.
        with suppress(OSError):
            peak = int((self.folder / "pids.peak").read_text())
            return peak >= int((self.folder / "pids.max").read_text())
        return True

    def _events(self, controller: str) -> dict[str, int]:
        try:
            lines = (self.folder / f"{controller}.events").read_text().splitlines()
        except OSError:
            return {}
        return {name: int(count) for name, count in map(str.split, lines)}


@contextmanager
def open_group(parent: Path, *, memory_bytes: int, tasks: int) -> Iterator[ControlGroup]:
    """Make a group below `parent` for the block; then kill its processes and remove it.

    `tasks` limits processes and threads together. A group that uses too much memory is killed as a
    whole.
    """
    folder, lock = _create(parent)
    try:
        _limit(folder, memory_bytes=memory_bytes, tasks=tasks)
        yield ControlGroup(folder)
    finally:
        _remove(folder)
        os.close(lock)


def prepare_groups(account: Account) -> None:
    """Let processes of the account make groups, if this process may; call it before they start.

    Moves this process, and those that wait for it, to a group below its own. Removes groups of
    killed processes.
    """
    try:
        parent = delegated_folder()
        _enable(parent)
        if not account.is_ours:
            for path in (parent, parent / "cgroup.procs"):
                os.chown(path, account.uid, account.gid)
                # The topmost group of a machine is read-only even for its owner.
                path.chmod(path.stat().st_mode | stat.S_IWUSR)
        sweep_groups(parent)
    except (OSError, NoControlGroups) as error:
        # `framekiln doctor` and `/readyz` say so, too.
        log.debug("control_groups.unavailable", reason=str(error))


def delegated_folder(pid: int | str = "self") -> Path:
    """Return the group that was delegated to a process: its own, or the one above it."""
    own = group_of(pid)
    if own.name == _SERVICE_GROUP:
        return own.parent
    if not _words(own / "cgroup.controllers") >= _CONTROLLERS:
        raise NoControlGroups("the kernel offers no memory and pids controllers of cgroup v2 here")
    if own != _mount_point() and not _is_marked_delegated(own):
        raise NoControlGroups(f"{own} is not delegated: set Delegate=yes in the systemd unit")
    if not os.access(own / "cgroup.subtree_control", os.W_OK):
        raise NoControlGroups(f"{own} is read-only: in a container, mount it writable")
    return own


def find_group_folder(pid: int | str = "self") -> Path:
    """Return where a process makes groups, after `prepare_groups` in it or in its parent."""
    parent = delegated_folder(pid)
    if not _words(parent / "cgroup.subtree_control") >= _CONTROLLERS:
        raise NoControlGroups(f"{parent} does not pass on the memory and pids controllers")
    for path in (parent, parent / "cgroup.procs"):
        if not os.access(path, os.W_OK):
            raise NoControlGroups(f"this user may not write to {path}")
    return parent


def has_control_groups() -> bool:
    """Return whether this process makes groups."""
    try:
        find_group_folder()
    except NoControlGroups:
        return False
    return True


def sweep_groups(parent: Path) -> int:
    """Remove groups of processes that have ended without doing so; return their number."""
    count = sweep_folders(_PREFIX, parent, _remove)
    if count:
        log.info("control_groups.swept", folder=str(parent), count=count)
    return count


def group_of(pid: int | str) -> Path:
    """Return the folder of the group of a process."""
    for line in _read(Path(f"/proc/{pid}/cgroup")).splitlines():
        if line.startswith("0::"):
            return _mount_point() / line.removeprefix("0::/")
    raise NoControlGroups("the kernel has no cgroup v2")


def _mount_point() -> Path:
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        root, mount_point = before.split()[3:5]
        if after.split()[0] == "cgroup2" and root == "/":
            return Path(mount_point)
    raise NoControlGroups("no cgroup v2 file system is mounted")


def _is_marked_delegated(folder: Path) -> bool:
    for name in _DELEGATED:
        with suppress(OSError):
            return os.getxattr(folder, name) == b"1"
    return False


def _enable(parent: Path) -> None:
    """Pass the controllers on to groups below, after leaving the group."""
    service = parent / _SERVICE_GROUP
    service.mkdir(exist_ok=True)
    for pid in _waiting_processes(parent):
        (service / "cgroup.procs").write_text(str(pid))
    control = parent / "cgroup.subtree_control"
    if not _words(control) >= _CONTROLLERS:
        control.write_text(" ".join(f"+{name}" for name in _CONTROLLERS))


def _waiting_processes(folder: Path) -> Iterator[int]:
    """Yield this process and its ancestors in the same group, such as `make` or a shell."""
    pid, members = os.getpid(), _words(folder / "cgroup.procs")
    while str(pid) in members:
        yield pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def _limit(folder: Path, *, memory_bytes: int, tasks: int) -> None:
    limits = {"memory.max": memory_bytes, "memory.oom.group": 1, "pids.max": tasks}
    # Not there in kernels that do not count swap.
    if (folder / "memory.swap.max").exists():
        limits["memory.swap.max"] = 0
    try:
        for name, value in limits.items():
            (folder / name).write_text(str(value))
    except OSError as error:
        raise NoControlGroups(f"the limits of {folder} cannot be set: {error}") from error


def _create(parent: Path) -> tuple[Path, int]:
    try:
        return make_locked_folder(_PREFIX, parent)
    except OSError as error:
        raise NoControlGroups(f"no group can be made below {parent}: {error}") from error


def _remove(folder: Path) -> None:
    """Kill all processes of a group and remove it, as soon as they have ended."""
    # Not there before Linux 5.14; then only what its owner has killed ends.
    with suppress(OSError):
        (folder / "cgroup.kill").write_text("1")
    end_s = time.monotonic() + _REMOVE_WITHIN_S
    while time.monotonic() < end_s:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(_POLL_S)
        else:
            return
    log.warning("control_groups.not_removed", folder=str(folder))


def _words(file: Path) -> frozenset[str]:
    return frozenset(_read(file).split())


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        raise NoControlGroups(f"{file} cannot be read: {error.strerror}") from error
