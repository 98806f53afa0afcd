"""What one Chromium may use: memory, processes, threads, disk; and what draws WebGL in it."""

import os
from dataclasses import dataclass, field
from typing import Final

from framekiln.settings import Settings

_MIB: Final = 1 << 20
_MAX_MEMORY_MIB: Final = 4096
# The kernel's own limits only back up the watchdog, which can say what was exceeded. They count
# reserved memory, such as the stacks of threads and the silence of long sounds, so they are higher.
_MIN_DATA_BYTES: Final = 16 << 30
_SPARE: Final = 2
_WRAPPER_TASKS: Final = 8


def _half_of_memory() -> int:
    installed_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(_MAX_MEMORY_MIB, installed_bytes // _MIB // 2)


@dataclass(frozen=True)
class BrowserLimits:
    """The limits of one browser with all its processes."""

    memory_mib: int = field(default_factory=_half_of_memory)
    processes: int = 64
    threads: int = 1024
    disk_mib: int = 1024
    """Of its temporary files, which are kept in memory where there is bubblewrap."""
    has_mesa: bool = False
    """Whether Mesa's llvmpipe draws WebGL, instead of Chromium's SwiftShader."""

    @classmethod
    def of(cls, settings: Settings) -> "BrowserLimits":
        """Return the limits that the settings ask for."""
        return cls(
            memory_mib=settings.browser_memory_mib or _half_of_memory(),
            processes=settings.browser_processes,
            threads=settings.browser_threads,
            disk_mib=settings.browser_disk_mib,
            has_mesa=settings.webgl == "llvmpipe",
        )

    @property
    def memory_bytes(self) -> int:
        """The memory of all processes together."""
        return self.memory_mib * _MIB

    @property
    def disk_bytes(self) -> int:
        """The size of all temporary files together."""
        return self.disk_mib * _MIB

    @property
    def tmpfs_bytes(self) -> int:
        """The size of the file system of temporary files.

        It is larger than the limit: a full one would make Chromium fail in ways that name no cause.
        """
        return self.disk_bytes * _SPARE

    @property
    def group_bytes(self) -> int:
        """The limit of a control group, which counts memory and temporary files together."""
        return self.memory_bytes + self.disk_bytes

    @property
    def group_tasks(self) -> int:
        """The limit of a control group for threads, with those of the programs around Chromium."""
        return self.threads + _WRAPPER_TASKS

    def kernel_limits(self, *, counts_threads: bool) -> list[str]:
        """Return options of `prlimit`. `counts_threads` needs a user namespace of its own."""
        data_bytes = max(self.memory_bytes * _SPARE, _MIN_DATA_BYTES)
        options = ["--core=0", f"--fsize={self.tmpfs_bytes}", f"--data={data_bytes}"]
        # No thread, such as one for audio, comes before those of other programs.
        options += ["--rtprio=0", "--nice=0"]
        if counts_threads:
            options.append(f"--nproc={self.threads * _SPARE}")
        return options
