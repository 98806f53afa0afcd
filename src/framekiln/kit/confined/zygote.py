"""The zygote of a warm sandbox: imports the modules of tasks, then forks a process for each order.

It opens no untrusted file itself. Its children restrict themselves as any child does (`child`), and
by Landlock to their own folder and sources, because they all share the sandbox. Orders and signals
arrive over one socket, which also reports the exit of each process. Three files come with an order:
its arguments, the pipe for messages, and standard error. When the socket closes, everything exits.
"""

import array
import ctypes
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any, Final, NoReturn

from framekiln.kit.confined.child import carry_out, probe
from framekiln.kit.garbage import uncollected_imports

MESSAGE_BYTES: Final = 4096
FILES: Final = 3
_PR_SET_PDEATHSIG: Final = 1
_RESTRICTIONS: Final = {"landlock", "seccomp"}


def main() -> None:
    """Serve the socket named by the first argument; the others are modules to import."""
    with socket.socket(fileno=int(sys.argv[1])) as control:
        if int(sys.argv[2]):
            # Without namespaces, nothing else ends this process with its parent.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        # Garbage collection in a child would copy the pages of what is imported here.
        with uncollected_imports():
            for module in sys.argv[3:]:
                importlib.import_module(module)
        _send(control, {"ready": _can_restrict_children()})
        _Zygote(control).serve()
    os._exit(0)


class _Zygote:
    """A single thread and loop, so that a fork copies no inconsistent state of another thread."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.PollSelector()
        self._running: dict[int, int] = {}

    def serve(self) -> None:
        """Fork and report until the socket is closed."""
        self._selector.register(self._control, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is not self._control:
                    self._report_end(key)
                elif not self._handle_message():
                    return

    def _handle_message(self) -> bool:
        files = array.array("i")
        message, ancillary, _, _ = self._control.recvmsg(
            MESSAGE_BYTES, socket.CMSG_SPACE(FILES * files.itemsize)
        )
        for _, _, data in ancillary:
            files.frombytes(data)
        if not message:
            return False
        fields = json.loads(message)
        if "fork" in fields:
            self._fork(fields["fork"], list(files))
        elif fields["signal"][0] in self._running:
            number, sent = fields["signal"]
            os.kill(self._running[number], sent)
        return True

    def _fork(self, number: int, files: list[int]) -> None:
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            _send(self._control, {"ended": [number, 1]})
        else:
            if pid == 0:
                _become_child(files, parent)
            self._running[number] = pid
            self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (number, pid))
        for file in files:
            os.close(file)

    def _report_end(self, key: selectors.SelectorKey) -> None:
        number, pid = key.data
        _, status = os.waitpid(pid, 0)
        self._selector.unregister(key.fileobj)
        os.close(key.fd)
        del self._running[number]
        _send(self._control, {"ended": [number, os.waitstatus_to_exitcode(status)]})


def _become_child(files: list[int], parent: int) -> NoReturn:
    """Run an order in the newly forked process, with only its own files open."""
    try:
        order_descriptor, channel, complaints = files
        with os.fdopen(order_descriptor, "rb", closefd=False) as file:
            order = json.load(file)
        for stream in (1, 2):
            os.dup2(complaints, stream)
        os.closerange(3, channel)
        os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
        sys.argv[1:] = [str(channel)]
        carry_out(order, channel, parent=parent, is_alone=False)
    except BaseException:
        traceback.print_exc()
    finally:
        # Never return to the loop, which belongs to the parent.
        os._exit(1)


def _can_restrict_children() -> bool:
    """Return whether forked children can be isolated, by applying all restrictions to a process."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if set(probe()) >= _RESTRICTIONS else 1)
    return os.waitpid(pid, 0)[1] == 0


def _send(control: socket.socket, fields: dict[str, Any]) -> None:
    # If the parent is gone, it needs no report; the loop ends by itself.
    with suppress(OSError):
        control.send(json.dumps(fields).encode())


if __name__ == "__main__":
    main()
