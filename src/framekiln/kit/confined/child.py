"""The confined child: restricts itself, calls one function, and sends its result.

Started as `python -m` by `spawned_child`, with its order on standard input, or forked by `zygote`.
Its messages go to a separate pipe, one JSON object per line: {"report": ...} any number of times,
then {"result": ...} or {"error": ...}. It imports little, because every start pays for it.
"""

import ctypes
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

from framekiln.kit.confined.errors import describe_error
from framekiln.kit.confined.landlock import restrict_paths
from framekiln.kit.confined.limits import ResourceLimits, apply_limits
from framekiln.kit.confined.seccomp import forbid_risky_calls
from framekiln.kit.errors import FramekilnError

Task = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4


def main() -> None:
    """Run the order on standard input."""
    if sys.argv[1] == "probe":
        sys.stdout.write("\n".join(probe()))
        return
    order = json.loads(sys.stdin.buffer.read())
    carry_out(order, int(sys.argv[1]), parent=order["parent"])


def carry_out(
    order: dict[str, Any], channel: int, *, parent: int, is_alone: bool = True
) -> NoReturn:
    """Restrict this process, run the order, send the result, and exit.

    A child that shares its sandbox runs nothing unless it is isolated from the other children.
    """
    os.chdir(order["folder"])
    if not _lock_in(order, parent) and not is_alone:
        os._exit(1)
    _write_all(channel, _answer(order, channel))
    # Exit without waiting for anything the function left running.
    os._exit(0)


def _answer(order: dict[str, Any], channel: int) -> bytes:
    def report(content: dict[str, Any]) -> None:
        _write_all(channel, _line({"report": content}))

    try:
        result = _find(order["task"])(order["args"], report)
        return _line({"result": result})
    except BaseException as error:
        described = describe_error(error)
        if "limit" not in described and not isinstance(error, FramekilnError):
            traceback.print_exc()
        return _line({"error": described})


def _find(task: str) -> Task:
    module, _, name = task.partition(":")
    found: Task = getattr(importlib.import_module(module), name)
    return found


def _lock_in(order: dict[str, Any], parent: int) -> bool:
    """Apply all restrictions; return whether all of them succeeded."""
    limits = ResourceLimits(**order["limits"])
    apply_limits(limits)
    os.nice(limits.niceness)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    # A core size limit of zero does not stop a core dump that is piped to a program.
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    readable = order["landlock"]
    is_kept_in = False
    if readable is not None:
        if os.getppid() != parent:
            os._exit(1)
        is_kept_in = restrict_paths(map(Path, readable), map(Path, order["writable"]))
    return forbid_risky_calls(may_change_files=bool(order["writable"])) and is_kept_in


def probe() -> list[str]:
    """Apply all restrictions and return the names of those that succeeded."""
    restrictions = [f"user {os.geteuid()}"]
    if restrict_paths([Path(sys.prefix)], []):
        restrictions.append("landlock")
    if forbid_risky_calls():
        restrictions.append("seccomp")
    return restrictions


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, allow_nan=False).encode() + b"\n"


def _write_all(channel: int, data: bytes) -> None:
    while data:
        data = data[os.write(channel, data) :]


if __name__ == "__main__":
    main()
