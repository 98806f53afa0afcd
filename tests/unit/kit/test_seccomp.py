"""Filters of system calls, interpreted for both processors."""

import struct

import pytest

from framekiln.kit.confined.seccomp import (
    allowed_values,
    allowed_with_bits,
    allowed_without_bits,
    filter_program,
)

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
AUDIT_CODES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# As in the kernel's tables.
NUMBERS = {
    "x86_64": {"read": 0, "ptrace": 101, "socket": 41, "clone": 56, "bpf": 321, "clone3": 435},
    "aarch64": {"read": 63, "ptrace": 117, "socket": 198, "clone": 220, "bpf": 280, "clone3": 435},
}
MACHINES = pytest.mark.parametrize("machine", sorted(AUDIT_CODES))


def decide(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """Run the filter as the kernel does and return its verdict."""
    padded = (*arguments, 0, 0)[:2]
    call = struct.pack("=IIQQQ", number, AUDIT_CODES[machine], 0, *padded)
    at, value = 0, 0
    while True:
        code, yes, no, operand = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", call, operand)
            case 0x15:
                at += yes if value == operand else no
            case 0x35:
                at += yes if value >= operand else no
            case 0x45:
                at += yes if value & operand else no
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@MACHINES
def test_risky_calls_fail_and_others_do_not(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    program = filter_program(needed=["socket"])
    assert program is not None
    verdicts = {name: decide(program, machine, n) for name, n in NUMBERS[machine].items()}
    assert verdicts == {
        "read": ALLOW,
        "ptrace": EPERM,
        "socket": ALLOW,
        "clone": ALLOW,
        "bpf": EPERM,
        "clone3": ENOSYS,
    }


@MACHINES
def test_rules_decide_by_an_argument(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    rules = {
        "socket": allowed_values(1, 2, 10),
        "clone": allowed_without_bits(0x30),
        "ptrace": allowed_with_bits(0x30),
    }
    program = filter_program(rules=rules)
    assert program is not None
    numbers = NUMBERS[machine]
    for name, allowed, refused in (
        ("socket", (1, 2, 10), (0, 3, 40)),
        ("clone", (0, 0x0F, 0x40), (0x10, 0x20, 0xFF)),
        ("ptrace", (0x10, 0x20, 0xFF), (0, 0x0F, 0x40)),
    ):
        for argument in allowed:
            assert decide(program, machine, numbers[name], argument) == ALLOW
        for argument in refused:
            assert decide(program, machine, numbers[name], argument) == EPERM
    program = filter_program(rules={"socket": allowed_values(0, 3, position=1)})
    assert program is not None
    verdicts = [decide(program, machine, numbers["socket"], 7, second) for second in range(5)]
    assert verdicts == [ALLOW, EPERM, EPERM, ALLOW, EPERM]


@MACHINES
def test_calls_of_another_processor_end_the_process(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    program = filter_program()
    assert program is not None
    other = next(name for name in AUDIT_CODES if name != machine)
    assert decide(program, other, 0) == KILL


def test_an_unknown_processor_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert filter_program() is None


def test_a_misspelled_call_is_an_error() -> None:
    with pytest.raises(ValueError, match="soket"):
        filter_program(needed=["soket"])
