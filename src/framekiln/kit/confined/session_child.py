"""The child of a session: opens sources that it is given, and answers requests about them.

It opens no file by name. A source arrives as a descriptor, only for reading; if it is a remote file
of which parts are missing, the child asks the parent for them. Large results, such as frames, are
written into memory that the parent made and both see. Messages are JSON with their length before.
"""

import array
import importlib
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from framekiln.kit.confined.channel import LENGTH
from framekiln.kit.confined.errors import describe_error
from framekiln.kit.confined.slots import SlotMemory
from framekiln.kit.ranged_path import BLOCK_BYTES, ranged_path

MAX_FILES: Final = 1
STARTED: Final = b"\1"
"""Sent first, so that the parent learns the process id."""


class ServedSource(Protocol):
    """What a session opens in its child; `kind` of `ConfinedSession.open` names the class."""

    facts: dict[str, Any]
    """Sent to the parent when the source was opened."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None: ...

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        """Return the answer to a request, as JSON; `slot` names a slot that was written."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


def serve(args: dict[str, Any], _report: Callable[[dict[str, Any]], None]) -> NoReturn:
    """Answer requests until the parent closes the channel; for a `ConfinedOrder`."""
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        _Server(channel, args["request_cpu_s"]).run()
    os._exit(0)


class _Server:
    def __init__(self, channel: socket.socket, request_cpu_s: int) -> None:
        self._channel = channel
        self._request_cpu_s = request_cpu_s
        self._sources: dict[int, ServedSource] = {}
        self._memory: dict[int, SlotMemory] = {}

    def run(self) -> None:
        """Answer requests until there are none."""
        self._channel.sendall(STARTED)
        while (received := self.receive()) is not None:
            _limit_cpu(self._request_cpu_s)
            try:
                response = {"result": self._carry_out(*received)}
            except BaseException as error:
                response = {"error": describe_error(error)}
            self.send({**response, "peak_bytes": _peak_bytes()})

    def send(self, words: dict[str, Any]) -> None:
        """Send one message."""
        body = json.dumps(words, allow_nan=False).encode()
        self._channel.sendall(LENGTH.pack(len(body)) + body)

    def receive(self) -> tuple[dict[str, Any], list[int]] | None:
        """Return one message and the files that came with it; None at the end."""
        files = array.array("i")
        head, ancillary, _, _ = self._channel.recvmsg(
            LENGTH.size, socket.CMSG_SPACE(MAX_FILES * files.itemsize), socket.MSG_WAITALL
        )
        for _, _, data in ancillary:
            files.frombytes(data)
        if len(head) < LENGTH.size:
            return None
        left = LENGTH.unpack(head)[0]
        body = self._channel.recv(left, socket.MSG_WAITALL)
        return (json.loads(body), list(files)) if len(body) == left else None

    def _carry_out(self, words: dict[str, Any], files: list[int]) -> dict[str, Any]:
        number = words["source"]
        match words["do"]:
            case "open":
                return self._open(number, words, files[0])
            case "share":
                self._memory[number] = SlotMemory(files[0], words["slot_bytes"], words["slots"])
                os.close(files[0])
                return {}
            case "close":
                self._memory.pop(number, None)
                source = self._sources.pop(number, None)
                if source is not None:
                    source.close()
                return {}
            case _:
                return self._sources[number].answer(words["request"], self._memory.get(number))

    def _open(self, number: int, words: dict[str, Any], file: int) -> dict[str, Any]:
        missing = words["present"]
        present = None if missing is None else bytearray(bytes.fromhex(missing))
        blocks = _PassedFile(file, present, lambda *asked: self._fetch(number, *asked))
        module, _, name = words["kind"].partition(":")
        made: type[ServedSource] = getattr(importlib.import_module(module), name)
        source = made(ranged_path(Path(words["name"]), blocks), words["args"])
        self._sources[number] = source
        return source.facts

    def _fetch(self, number: int, block: int, ahead: int) -> int:
        """Have the parent fetch a block; return the end of the blocks that are then present."""
        self.send({"fetch": [number, block, ahead]})
        received = self.receive()
        if received is None or "end" not in received[0]:
            raise OSError("the parent could not fetch a part of the source")
        end: int = received[0]["end"]
        return end


class _PassedFile:
    """The blocks of a file that came from the parent."""

    def __init__(
        self, file: int, present: bytearray | None, fetch: Callable[[int, int], int]
    ) -> None:
        self._file = file
        self._present = present
        self._fetch = fetch
        self.size_bytes = os.fstat(file).st_size

    def __del__(self) -> None:
        os.close(self._file)

    def read(self, start: int, count: int, *, ahead: int) -> bytes:
        """Return bytes from `start` on, at least one except at the end."""
        count = min(count, self.size_bytes - start)
        if count <= 0:
            return b""
        if self._present is not None:
            count = min(
                count, self._present_until(start // BLOCK_BYTES, start + count, ahead) - start
            )
        return os.pread(self._file, count, start)

    def has(self, start: int, end: int) -> bool:
        """Return whether all bytes from `start` up to, not including, `end` are present."""
        if self._present is None:
            return True
        return all(self._present[start // BLOCK_BYTES : -(-end // BLOCK_BYTES)])

    def stat(self) -> os.stat_result:
        """Return the status of the file."""
        return os.fstat(self._file)

    def _present_until(self, block: int, wanted: int, ahead: int) -> int:
        assert self._present is not None
        if not self._present[block]:
            end = self._fetch(block, ahead)
            self._present[block:end] = b"\1" * (end - block)
        end = block + 1
        while end * BLOCK_BYTES < wanted and self._present[end]:
            end += 1
        return end * BLOCK_BYTES


def _peak_bytes() -> int:
    """Return the most memory that this process has taken, with that of its frames."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _limit_cpu(request_cpu_s: int) -> None:
    """Limit the processor time of the next request."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime) + 1 + request_cpu_s
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard) if hard >= 0 else soft, hard))
