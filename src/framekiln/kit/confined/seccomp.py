"""Blocks risky system calls: a deny list in the kernel's filter language.

Forbidden calls fail with EPERM. `forbid_risky_calls` blocks all that decoders do not need:
programs, sockets, other processes. A program that needs some of them, such as Chromium, gets its
own list (`filter_program`). A filter applies to everything started later and cannot be undone.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Mapping
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
_ARGUMENT_BYTES: Final = 8

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
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
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
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "fanotify_mark": (301, 263),
    "lookup_dcookie": (212, 18),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
}
# The owner of a file may use these even if it was opened only for reading.
_CHANGE_FILES: Final[dict[str, tuple[int, int | None]]] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fsetxattr": (190, 7),
    "fremovexattr": (199, 16),
    "utimensat": (280, 88),
    "futimesat": (261, None),
    "flock": (73, 32),
}
# Calls that are allowed or not by their first argument.
_CONDITIONAL: Final[dict[str, tuple[int, int]]] = {
    "clone": (56, 220),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "personality": (135, 92),
}
_CLONE3: Final = 435


@dataclass(frozen=True)
class _Machine:
    audit_code: int
    column: int


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, 0),
    "aarch64": _Machine(0xC00000B7, 1),
}

Rule = list[bytes]
"""Instructions that decide about a call by one of its arguments."""


def forbid_risky_calls(*, may_change_files: bool = True) -> bool:
    """Apply the filter to this process; return False if the machine does not support it."""
    program = filter_program(
        may_change_files=may_change_files,
        rules={
            # New threads are allowed, new processes are not.
            "clone": allowed_with_bits(_CLONE_THREAD),
            # abort() sends a signal to its own process.
            "tgkill": allowed_values(os.getpid()),
            "prlimit64": allowed_values(0),
        },
    )
    if program is None:
        return False
    instructions = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(
        struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, header, 0, 0) == 0)


def filter_program(
    *,
    needed: Collection[str] = (),
    rules: Mapping[str, Rule] | None = None,
    may_change_files: bool = True,
) -> bytes | None:
    """Return a filter that forbids all risky calls except those `needed`.

    `rules` decide about single calls by an argument. The result is None on a processor
    whose system calls are not known here.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return None
    rules = rules or {}
    everywhere = {name: (number, number) for name, number in _FORBIDDEN_EVERYWHERE.items()}
    calls = {**everywhere, **_FORBIDDEN, **_CONDITIONAL}
    if not may_change_files:
        calls |= _CHANGE_FILES
    if unknown := {*needed, *rules} - calls.keys():
        raise ValueError(f"unknown system calls: {', '.join(sorted(unknown))}")
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_JUMP_IF_EQUAL, machine.audit_code, yes=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
        _instruction(_JUMP_IF_AT_LEAST, _X32, no=1),
        _instruction(_RETURN, _FAIL | errno.EPERM),
    ]
    forbidden = calls.keys() - _CONDITIONAL.keys() - rules.keys() - set(needed)
    for name in sorted(forbidden, key=lambda name: calls[name][machine.column] or 0):
        if (number := calls[name][machine.column]) is not None:
            program += _if_called(number, [_instruction(_RETURN, _FAIL | errno.EPERM)])
    # Its flags are in memory, which a filter cannot read. The C library then falls back to clone.
    program += _if_called(_CLONE3, [_instruction(_RETURN, _FAIL | errno.ENOSYS)])
    for name, rule in rules.items():
        if (number := calls[name][machine.column]) is not None:
            program += _if_called(number, rule)
    return b"".join([*program, _instruction(_RETURN, _ALLOW)])


def allowed_values(*values: int, position: int = 0) -> Rule:
    """Allow a call if its argument at `position`, counted from 0, is one of these."""
    matches = [
        _instruction(_JUMP_IF_EQUAL, value, yes=len(values) - index)
        for index, value in enumerate(values)
    ]
    argument = _FIRST_ARGUMENT + position * _ARGUMENT_BYTES
    return [_instruction(_LOAD, argument), *matches, *_FAIL_OR_ALLOW]


def allowed_with_bits(bits: int) -> Rule:
    """Allow a call if its first argument has one of these bits."""
    has_any = _instruction(_JUMP_IF_ANY_BIT, bits, yes=1)
    return [_instruction(_LOAD, _FIRST_ARGUMENT), has_any, *_FAIL_OR_ALLOW]


def allowed_without_bits(bits: int) -> Rule:
    """Allow a call if its first argument has none of these bits."""
    has_any = _instruction(_JUMP_IF_ANY_BIT, bits, no=1)
    return [_instruction(_LOAD, _FIRST_ARGUMENT), has_any, *_FAIL_OR_ALLOW]


def _if_called(number: int, then: Rule) -> list[bytes]:
    return [_instruction(_JUMP_IF_EQUAL, number, no=len(then)), *then]


def _instruction(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


_FAIL_OR_ALLOW: Final = (
    _instruction(_RETURN, _FAIL | errno.EPERM),
    _instruction(_RETURN, _ALLOW),
)
