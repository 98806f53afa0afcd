"""Kills a Chromium that uses more than its limits, and says which; slows down a greedy one.

The kernel can limit a process, but not a tree of processes without a control group, which few
machines allow. So a thread looks at the tree a few times a second. Where there is a control group,
the kernel enforces its limits at once, and the thread says which one it was.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.errors import PageOverLimit
from framekiln.capture.process_tree import ProcessStatus, ProcessTree
from framekiln.kit.control_group import ControlGroup
from framekiln.kit.lazy_log import LazyLogger

_EVERY_S: Final = 0.3
# A page that keeps more cores busy than drawing needs, for some seconds, gets a low priority.
_CPU_WINDOW_S: Final = 1.5
_MAX_CORES: Final = 1.5
_BUSY_WINDOWS: Final = 2
_MANY: Final = "it opens too many windows, frames or workers"

log = LazyLogger(__name__)


class Watchdog:
    """Watches one browser until it is stopped or has killed it."""

    def __init__(
        self,
        processes: ProcessTree,
        limits: BrowserLimits,
        *,
        profile: Path | None,
        group: ControlGroup | None,
        kill: Callable[[], None],
        slow_down: Callable[[], None],
    ) -> None:
        """Watch the browser; `profile` is its folder if it has no file system of its own."""
        self._exceeded: PageOverLimit | None = None
        self._processes = processes
        self._limits = limits
        self._profile = profile
        self._group = group
        self._kill = kill
        self._slow_down = slow_down
        self._cpu = (time.monotonic(), 0.0)
        self._busy_windows = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="browser-watchdog", daemon=True)
        self._thread.start()

    @property
    def exceeded(self) -> PageOverLimit | None:
        """The limit for which the browser was killed, by this thread or by the kernel."""
        # The kernel may have killed it since the last look.
        return self._exceeded or self._group_excess()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(_EVERY_S):
            try:
                if self._look():
                    return
            except Exception:
                # Without a next look no limit would hold any more.
                log.exception("watchdog.look_failed")

    def _look(self) -> bool:
        """Return whether the browser was over a limit, and was killed."""
        self._exceeded = self._group_excess() or self._excess(self._processes.statuses())
        if self._exceeded is not None:
            self._kill()
            return True
        if self._is_greedy():
            self._slow_down()
        return False

    def _is_greedy(self) -> bool:
        """Whether it has kept more cores busy than drawing needs, in several windows in a row."""
        now_s, (begun_s, cpu_before_s) = time.monotonic(), self._cpu
        if now_s - begun_s < _CPU_WINDOW_S:
            return False
        cpu_s = self._processes.cpu_seconds()
        self._cpu = now_s, cpu_s
        is_busy = cpu_s - cpu_before_s > _MAX_CORES * (now_s - begun_s)
        self._busy_windows = self._busy_windows + 1 if is_busy else 0
        return self._busy_windows == _BUSY_WINDOWS

    def _excess(self, statuses: list[ProcessStatus]) -> PageOverLimit | None:
        limits = self._limits
        if len(statuses) > limits.processes:
            return _over(f"{limits.processes} processes", _MANY, "PROCESSES")
        if sum(status.threads for status in statuses) > limits.threads:
            return _over_threads(limits)
        if self._uses_too_much_memory(statuses):
            return _over_memory(limits)
        if self._disk_bytes() > limits.disk_bytes:
            return _over(f"{limits.disk_mib} MiB of disk", "it stores too much", "DISK_MIB")
        return None

    def _group_excess(self) -> PageOverLimit | None:
        if self._group is None:
            return None
        if self._group.is_over_memory():
            return _over_memory(self._limits)
        return _over_threads(self._limits) if self._group.is_over_tasks() else None

    def _uses_too_much_memory(self, statuses: list[ProcessStatus]) -> bool:
        limit_bytes = self._limits.memory_bytes
        if sum(status.memory_bytes for status in statuses) <= limit_bytes:
            return False
        # Shared memory was counted several times.
        return sum(status.proportional_bytes() for status in statuses) > limit_bytes

    def _disk_bytes(self) -> int:
        if self._profile is not None:
            # Chromium removes folders meanwhile, which `os.walk` passes over and `rglob` does not.
            return sum(
                _size_bytes(Path(folder) / name)
                for folder, folders, files in os.walk(self._profile)
                for name in (*folders, *files)
            )
        return self._processes.temporary_bytes()


def _size_bytes(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_blocks * 512
    return 0


def _over_threads(limits: BrowserLimits) -> PageOverLimit:
    return _over(f"{limits.threads} threads", _MANY, "THREADS")


def _over_memory(limits: BrowserLimits) -> PageOverLimit:
    large = "its pictures, canvases or data are too large"
    return _over(f"{limits.memory_mib} MiB of memory", large, "MEMORY_MIB")


def _over(limit: str, guess: str, setting: str) -> PageOverLimit:
    return PageOverLimit(
        f"the page used more than {limit}: {guess};"
        f" simplify the page, or raise FRAMEKILN_BROWSER_{setting}"
    )
