"""Messages between the two sides of a session: JSON with its length before, and a file with it.

The parent trusts no message: its size, its form and the time that it takes are bounded.
"""

import array
import json
import socket
import struct
import time
from typing import Any, Final, NoReturn

from framekiln.kit.cancellation import CHECK_EVERY_S, check_cancelled

LENGTH: Final = struct.Struct("=I")
_MAX_ANSWER_BYTES: Final = 8 << 20


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


def receive(channel: socket.socket, deadline: float) -> dict[str, Any]:
    """Return a message of the child; raise `EOFError` if it has closed the channel."""
    size = LENGTH.unpack(_read(channel, LENGTH.size, deadline))[0]
    if size > _MAX_ANSWER_BYTES:
        raise InvalidAnswer(f"{size} bytes")
    try:
        message = json.loads(_read(channel, size, deadline), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer("it is not JSON") from error
    if not isinstance(message, dict):
        raise InvalidAnswer("it is not an object")
    return message


def _read(channel: socket.socket, size: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        check_cancelled(once=True)
        channel.settimeout(min(_left_s(deadline), CHECK_EVERY_S))
        try:
            chunk = channel.recv(size - len(data))
        except TimeoutError:
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
