"""Blocks system calls that decoders do not need: programs, sockets, other processes.

It is a deny list in the kernel's filter language: forbidden calls fail with EPERM. New threads are
allowed, new processes are not. It applies to all threads started later and cannot be undone.
"""

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass
from typing import Final

_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_FILTER_MODE: Final = 2

_LOAD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_AT_LEAST: Final = 0x35
_JUMP_IF_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
# Offsets in struct seccomp_data; arguments are 64 bits wide, little-endian.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16

_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_FAIL: Final = 0x00050000
_CLONE_THREAD: Final = 0x00010000
_X32: Final = 0x40000000

# The same number on every machine.
_FORBIDDEN_EVERYWHERE: Final = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "memfd_secret": 447,
}
# Name: number on x86_64, number on aarch64 (None where there is no such call).
_FORBIDDEN: Final[dict[str, tuple[int, int | None]]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
}
# An open file lets its owner change these, even if it was opened only for reading.
_CHANGE_OPEN_FILES: Final[dict[str, tuple[int, int | None]]] = {
    "fchmod": (91, 52),
    "fchown": (93, 55),
    "fsetxattr": (190, 7),
    "fremovexattr": (199, 16),
    "utimensat": (280, 88),
    "futimesat": (261, None),
    "flock": (73, 32),
}
_CLONE3: Final = 435


@dataclass(frozen=True)
class _Machine:
    audit_code: int
    column: int
    clone: int
    tgkill: int
    prlimit: int


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, 0, clone=56, tgkill=234, prlimit=302),
    "aarch64": _Machine(0xC00000B7, 1, clone=220, tgkill=131, prlimit=261),
}


def forbid_risky_calls(*, may_change_files: bool = True) -> bool:
    """Apply the filter to this process; return False if the machine does not support it."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    forbidden = _FORBIDDEN if may_change_files else _FORBIDDEN | _CHANGE_OPEN_FILES
    program = b"".join(_program(machine, forbidden))
    instructions = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(
        struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, header, 0, 0) == 0)


def _program(machine: _Machine, forbidden: dict[str, tuple[int, int | None]]) -> list[bytes]:
    numbers = [*_FORBIDDEN_EVERYWHERE.values()]
    numbers += [n for pair in forbidden.values() if (n := pair[machine.column]) is not None]
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_JUMP_IF_EQUAL, machine.audit_code, yes=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
        _instruction(_JUMP_IF_AT_LEAST, _X32, no=1),
        _instruction(_RETURN, _FAIL | errno.EPERM),
    ]
    for number in sorted(numbers):
        program += _if_called(number, [_instruction(_RETURN, _FAIL | errno.EPERM)])
    # Its flags are in memory, which a filter cannot read. The C library then falls back to clone.
    program += _if_called(_CLONE3, [_instruction(_RETURN, _FAIL | errno.ENOSYS)])
    program += _if_called(machine.clone, _allowed_if(_JUMP_IF_ANY_BIT, _CLONE_THREAD))
    # abort() sends a signal to its own process.
    program += _if_called(machine.tgkill, _allowed_if(_JUMP_IF_EQUAL, os.getpid()))
    program += _if_called(machine.prlimit, _allowed_if(_JUMP_IF_EQUAL, 0))
    return [*program, _instruction(_RETURN, _ALLOW)]


def _if_called(number: int, then: list[bytes]) -> list[bytes]:
    return [_instruction(_JUMP_IF_EQUAL, number, no=len(then)), *then]


def _allowed_if(jump: int, value: int) -> list[bytes]:
    """Return instructions that decide by the first argument."""
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(jump, value, yes=1),
        _instruction(_RETURN, _FAIL | errno.EPERM),
        _instruction(_RETURN, _ALLOW),
    ]


def _instruction(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
