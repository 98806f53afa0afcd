"""Messages between the two sides of a session: JSON with its length before, and a file with it.

The parent trusts no message: its size, its form and the time that it takes are bounded.
"""

import array
import json
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from framekiln.kit.cancellation import CHECK_EVERY_S, check_cancelled

LENGTH: Final = struct.Struct("=I")
_MAX_ANSWER_BYTES: Final = 8 << 20
# Memory is taken at about 1 GiB in a second.
WATCH_EVERY_S: Final = 0.05
# Process, user and group of a sender, as the kernel notes them.
_SENDER: Final = struct.Struct("3i")


class InvalidAnswer(Exception):
    """A message of the child is wrong."""


def send(
    channel: socket.socket, words: dict[str, Any], deadline: float, *, file: int | None = None
) -> None:
    """Send a message to the child, with an open file if there is one."""
    body = json.dumps(words).encode()
    message = LENGTH.pack(len(body)) + body
    rights = [] if file is None else [_rights(file)]
    channel.settimeout(_left_s(deadline))
    sent = channel.sendmsg([message], rights)
    channel.sendall(message[sent:])


def receive_start(channel: socket.socket, deadline: float) -> int:
    """Receive the child's first byte and return its process id, which the kernel vouches for."""
    while True:
        check_cancelled(once=True)
        channel.settimeout(min(_left_s(deadline), CHECK_EVERY_S))
        try:
            data, notes, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(_SENDER.size))
        except TimeoutError:
            continue
        if not data:
            raise EOFError
        for level, kind, note in notes:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                pid: int = _SENDER.unpack(note)[0]
                return pid
        raise InvalidAnswer("it does not say who it is")


def receive(channel: socket.socket, deadline: float, watch: Callable[[], None]) -> dict[str, Any]:
    """Return a message of the child; raise `EOFError` if it has closed the channel.

    `watch` is called again and again while there is none.
    """
    size = LENGTH.unpack(_read(channel, LENGTH.size, deadline, watch))[0]
    if size > _MAX_ANSWER_BYTES:
        raise InvalidAnswer(f"{size} bytes")
    try:
        message = json.loads(_read(channel, size, deadline, watch), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer("it is not JSON") from error
    if not isinstance(message, dict):
        raise InvalidAnswer("it is not an object")
    return message


def _read(channel: socket.socket, size: int, deadline: float, watch: Callable[[], None]) -> bytes:
    data = bytearray()
    while len(data) < size:
        check_cancelled(once=True)
        channel.settimeout(min(_left_s(deadline), WATCH_EVERY_S))
        try:
            chunk = channel.recv(size - len(data))
        except TimeoutError:
            watch()
            continue
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _rights(file: int) -> tuple[int, int, "array.array[int]"]:
    return socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file])


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
