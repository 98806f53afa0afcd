"""Classes that sessions of tests open in their child: useful ones, and hostile ones."""

import ctypes
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from framekiln.kit.confined import session_child
from framekiln.kit.confined.slots import SlotMemory
from framekiln.kit.errors import InvalidInput


class Reader:
    """Reads parts of its file, and writes them to slots."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None:
        self.facts = {"name": path.name, "size": path.stat().st_size, "pid": os.getpid()}
        self._file = path.open("rb")
        self._file.read(args.get("reads", 0))

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        self._file.seek(request.get("start", 0))
        data = self._file.read(request.get("count", 1))
        if memory is None:
            return {"text": data.decode()}
        number, slot = memory.next_slot()
        slot[: len(data)] = data
        return {"slot": number}

    def close(self) -> None:
        self._file.close()


class Hostile:
    """Does what its request says, as a decoder does that a file has taken over."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None:
        self.facts: dict[str, Any] = args.get("facts", {})
        self._path = path
        if "do" in args:
            self.answer(args, None)

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        found = getattr(self, request["do"])(**request.get("args", {}))
        return found if isinstance(found, dict) else {"found": found}

    def close(self) -> None:
        pass

    def crash(self) -> None:
        ctypes.string_at(0)

    def hang(self) -> None:
        time.sleep(100_000)

    def spin(self) -> None:
        while True:
            pass

    def fill_memory(self) -> int:
        return len(bytearray(8 << 30))

    def take_memory(self, mib: int) -> int:
        """Use so much memory, and give it back."""
        return len(b"1" * (mib << 20))

    def lie_about_memory(self, mib: int) -> int:
        session_child._peak_bytes = lambda: 1
        return self.take_memory(mib)

    def keep_memory(self, mib: int, keeps_s: float) -> int:
        """Use so much memory for so long."""
        taken = b"1" * (mib << 20)
        time.sleep(keeps_s)
        return len(taken)

    def leave(self) -> None:
        os._exit(3)

    def complain(self) -> None:
        raise InvalidInput("the file is bad", part="third")

    def fail(self) -> None:
        raise ZeroDivisionError("somewhere")

    def say(self, text: str) -> None:
        """Send a message of its own, and nothing else ever."""
        body = text.encode()
        self._send(struct.pack("=I", len(body)) + body)

    def say_twice(self) -> None:
        """Send two messages at once."""
        self._send(2 * (struct.pack("=I", 13) + b'{"result":{}}'))

    def say_endless(self) -> None:
        self._send(struct.pack("=I", (1 << 32) - 1))

    def echo(self, answer: dict[str, Any]) -> dict[str, Any]:
        return answer

    def reach(self) -> dict[str, bool]:
        """Try what a child may not do."""
        file = self._path.open("rb")
        number = file.raw._blocks._file  # type: ignore[attr-defined]
        return {
            "read a file": _works(lambda: Path("/etc/passwd").read_bytes()),
            "write a file": _works(lambda: Path("new").write_bytes(b"x")),
            "write the source": _works(lambda: os.write(number, b"x")),
            "truncate the source": _works(lambda: os.ftruncate(number, 0)),
            "change its mode": _works(lambda: os.fchmod(number, 0)),
            "change the mode of its folder": _works(lambda: Path().chmod(0o777)),
            "change its times": _works(lambda: os.utime(number, (0, 0))),
            "open a socket": _works(socket.socket),
            "start a process": _works(os.fork),
            "open the source again": _works(
                lambda: os.close(os.open(f"/proc/self/fd/{number}", os.O_RDWR))
            ),
        }

    def shrink(self) -> None:
        """Shrink every file that can be shrunk: the memory of frames too."""
        for number in range(3, 64):
            _works(lambda number=number: os.ftruncate(number, 0))

    def _send(self, message: bytes) -> None:
        os.write(int(sys.argv[1]), message)
        time.sleep(100_000)


class FixedAnswer:
    """Gives the same answer to every request."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None:
        self.facts: dict[str, Any] = {}
        self._answer: dict[str, Any] = args["answer"]

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        return self._answer

    def close(self) -> None:
        pass


def _works(call: Any) -> bool:
    try:
        call()
    except OSError:
        return False
    return True


def message(answer: object) -> dict[str, Any]:
    """Return the request that makes `Hostile` send a message of its own."""
    return {"do": "say", "args": {"text": json.dumps(answer)}}
