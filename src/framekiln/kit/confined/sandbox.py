"""Sandboxes for child processes: command lines, and which of them this machine supports.

Strongest first: namespaces without network and with an almost empty file system (bubblewrap), under
an unprivileged user; otherwise Landlock for files, with an unprivileged user if the service has the
right to change users. In all of them the child blocks risky system calls (`seccomp`) and has limits
(`limits`). This module does not know the task of the child.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# No other process uses this id, so it gives access to nothing else.
UNPRIVILEGED_ID: Final = 64114
_PROBE: Final = ("framekiln.kit.confined.child", "probe")
_SYSTEM: Final = ("/usr", "/etc/ld.so.cache", "/etc/alternatives")
_OUTSIDE_USR: Final = ("/lib", "/lib64", "/lib32", "/bin", "/sbin")
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_PROBE_TIMEOUT_S: Final = 20


class Isolation(StrEnum):
    """The kind of isolation of a child."""

    NAMESPACES_AND_USER = "namespaces and a user of its own"
    """Only root can create them; the child is not root, nor mapped to root."""
    NAMESPACES = "namespaces"
    NONE = "none"
    """Only Landlock, which the child applies to itself, if available."""


@dataclass(frozen=True)
class Sandbox:
    """The strongest sandbox of this machine; `description` explains the choice."""

    isolation: Isolation
    description: str
    missing: tuple[str, ...] = ()
    """What it lacks to be enough for files of strangers."""


@dataclass(frozen=True)
class VisibleFiles:
    """The files that a child may see: `folder` is writable, the rest is read only."""

    folder: Path
    readable: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ("framekiln",)

    def package_folders(self) -> list[Path]:
        """Return the folders of the code that the child imports."""
        places = [spec.submodule_search_locations for p in self.packages if (spec := find_spec(p))]
        return [Path(place[0]) for place in places if place]

    def code(self) -> list[Path]:
        """Return the paths of Python and of our code."""
        prefixes = {Path(p) for p in (sys.prefix, sys.exec_prefix, sys.base_prefix)}
        return [*sorted(prefixes), *self.package_folders()]


def child_command(isolation: Isolation, view: VisibleFiles, module: tuple[str, ...]) -> list[str]:
    """Return the command line of a child that runs a module, with its arguments."""
    # Import nothing from the current folder or the home folder.
    python = [sys.executable, "-P", "-s", "-m", *module]
    stranger = [
        "setpriv",
        f"--reuid={UNPRIVILEGED_ID}",
        f"--regid={UNPRIVILEGED_ID}",
        "--clear-groups",
    ]
    if isolation is Isolation.NAMESPACES:
        return [*_bubblewrap(view, has_user_namespace=True), *python]
    if isolation is Isolation.NAMESPACES_AND_USER:
        return [*_bubblewrap(view, has_user_namespace=False), *stranger, "--", *python]
    if os.geteuid() != 0:
        return python
    if runs_unprivileged(isolation, view):
        return [*stranger, "--", *python]
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--", *python]


def runs_unprivileged(isolation: Isolation, view: VisibleFiles) -> bool:
    """Return whether the child runs as another user, who needs access to its folder."""
    if isolation is not Isolation.NONE:
        return isolation is Isolation.NAMESPACES_AND_USER
    reached = [*view.code(), view.folder, *view.readable]
    return os.geteuid() == 0 and all(_is_open_to_all(path) for path in reached)


def child_environment(view: VisibleFiles) -> dict[str, str]:
    """Return the child's complete environment; ours contains secrets."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {
        **kept,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(view.folder),
        "TMPDIR": str(view.folder),
        "PYTHONPATH": os.pathsep.join(str(place.parent) for place in view.package_folders()),
        "PYTHONDONTWRITEBYTECODE": "1",
        # Threads are reserved for decoding; each arena and each extra thread takes memory.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }


def landlock_paths(view: VisibleFiles) -> list[Path]:
    """Return the readable paths for Landlock when there are no namespaces."""
    system = [Path(path) for path in (*_SYSTEM, *_OUTSIDE_USR, *_DEVICES)]
    return [*system, *view.code(), *view.readable]


@cache
def strongest_sandbox() -> Sandbox:
    """Try the sandboxes of this machine, once, and return the strongest that works."""
    reasons: list[str] = []
    for isolation in _possible_isolations():
        try:
            restrictions = _try(isolation)
        except _SandboxUnavailable as error:
            reasons.append(str(error))
            continue
        return Sandbox(
            isolation,
            _describe(isolation, restrictions, reasons),
            _missing(isolation, restrictions),
        )
    description = f"only limits ({'; '.join(reasons)})"
    return Sandbox(Isolation.NONE, description, _missing(Isolation.NONE, []))


class _SandboxUnavailable(Exception):
    """A sandbox is not available; the message says why."""


def _possible_isolations() -> Iterator[Isolation]:
    if os.geteuid() == 0:
        yield Isolation.NAMESPACES_AND_USER
    yield Isolation.NAMESPACES
    yield Isolation.NONE


def _try(isolation: Isolation) -> list[str]:
    """Start a child that only reports which restrictions succeeded."""
    with tempfile.TemporaryDirectory() as folder:
        view = VisibleFiles(Path(folder))
        if runs_unprivileged(isolation, view):
            os.chown(folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        try:
            done = subprocess.run(
                child_command(isolation, view, _PROBE),
                env=child_environment(view),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PROBE_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _SandboxUnavailable(f"{isolation}: {error}") from error
    if done.returncode != 0:
        errors = done.stderr.strip().splitlines()
        raise _SandboxUnavailable(
            f"{isolation}: {errors[-1] if errors else f'exit code {done.returncode}'}"
        )
    return done.stdout.splitlines()


def _describe(isolation: Isolation, restrictions: list[str], reasons: list[str]) -> str:
    if isolation is not Isolation.NONE:
        parts = ["bubblewrap", *(word for word in restrictions if word != "landlock")]
        return ", ".join(parts)
    return f"{', '.join([*restrictions, 'limits'])} ({'; '.join(reasons)})"


def _missing(isolation: Isolation, restrictions: list[str]) -> tuple[str, ...]:
    is_root = "user 0" in restrictions or (isolation is Isolation.NAMESPACES and os.geteuid() == 0)
    lacks = {
        "namespaces (bubblewrap) or Landlock": isolation is Isolation.NONE
        and "landlock" not in restrictions,
        "seccomp": "seccomp" not in restrictions,
        "a user other than root": is_root,
    }
    return tuple(name for name, is_missing in lacks.items() if is_missing)


def _bubblewrap(view: VisibleFiles, *, has_user_namespace: bool) -> list[str]:
    arguments = ["bwrap", "--die-with-parent", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    arguments += ["--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]
    if has_user_namespace:
        arguments += [
            "--unshare-user",
            "--uid",
            str(UNPRIVILEGED_ID),
            "--gid",
            str(UNPRIVILEGED_ID),
        ]
    else:
        # For setpriv, which drops them.
        arguments += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    for system in _SYSTEM:
        arguments += ["--ro-bind-try", system, system]
    for place in map(Path, _OUTSIDE_USR):
        if place.is_symlink():
            arguments += ["--symlink", str(place.readlink()), str(place)]
        else:
            arguments += ["--ro-bind-try", str(place), str(place)]
    arguments += ["--dev", "/dev", "--remount-ro", "/dev"]
    shown = [*view.code(), *view.readable]
    # Bubblewrap would create the parent folders with access for itself alone.
    for above in sorted({parent for path in (*shown, view.folder) for parent in path.parents}):
        arguments += ["--perms", "0755", "--dir", str(above)]
    for path in shown:
        arguments += ["--ro-bind", str(path), str(path)]
    folder = str(view.folder)
    # The root is a tmpfs: if it were writable, the child could use it as extra memory.
    arguments += ["--bind", folder, folder, "--remount-ro", "/", "--chdir", "/"]
    return arguments


def _is_open_to_all(path: Path) -> bool:
    """Return whether any user can reach a path (not what they may do there)."""
    return all(parent.stat().st_mode & 0o001 for parent in path.resolve().parents)
