"""The system calls that Chromium's processes may not use: a filter for bubblewrap.

Chromium filters its renderers itself, but not its browser, GPU and network processes. This filter
applies to all of them. It leaves what Chromium's own sandbox needs: user, process and network
namespaces, and `chroot`.
"""

from typing import Final

from framekiln.kit.confined.seccomp import allowed_values, allowed_without_bits, filter_program

_NEEDED: Final = frozenset(
    {
        "chroot",
        "execve",
        "execveat",
        "fork",
        "kill",
        "memfd_create",
        "rt_sigqueueinfo",
        "rt_tgsigqueueinfo",
        "setpriority",
        "socketpair",
        "tkill",
        "vfork",
    }
)
_CLONE_NEWTIME: Final = 0x00000080
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWCGROUP: Final = 0x02000000
_CLONE_NEWUTS: Final = 0x04000000
_CLONE_NEWIPC: Final = 0x08000000
_OTHER_NAMESPACES: Final = _CLONE_NEWNS | _CLONE_NEWCGROUP | _CLONE_NEWUTS | _CLONE_NEWIPC
# AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others, such as AF_VSOCK, ignore network namespaces.
_SOCKET_FAMILIES: Final = (1, 2, 10, 16)
# SCHED_OTHER, SCHED_BATCH, SCHED_IDLE. A realtime thread that never sleeps stops the machine.
_SCHEDULING_CLASSES: Final = (0, 3, 5)
# The ordinary personality, and the question which one it is.
_PERSONALITIES: Final = (0, 0xFFFFFFFF)


def chromium_filter() -> bytes | None:
    """Return the filter, or None on a processor whose system calls are not known."""
    return filter_program(
        needed=_NEEDED,
        rules={
            "clone": allowed_without_bits(_OTHER_NAMESPACES),
            # In clone, this bit belongs to the number of a signal.
            "unshare": allowed_without_bits(_OTHER_NAMESPACES | _CLONE_NEWTIME),
            "socket": allowed_values(*_SOCKET_FAMILIES),
            "personality": allowed_values(*_PERSONALITIES),
            "sched_setscheduler": allowed_values(*_SCHEDULING_CLASSES, position=1),
        },
    )
