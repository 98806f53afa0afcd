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
from framekiln.kit.json_scan import TooManyValues, scan_json

LENGTH: Final = struct.Struct("=I")
_MAX_ANSWER_BYTES: Final = 8 << 20
_MAX_ANSWER_VALUES: Final = 50_000
"""An animation has at most 20,000 pictures, and a time for each."""
_SHORT_BYTES: Final = 2 * _MAX_ANSWER_VALUES
"""Has fewer values than allowed, whatever it is."""
_READ_BYTES: Final = 64 << 10
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
    data = bytearray()
    # Nearly always one read brings all of it.
    while len(data) < LENGTH.size:
        data += _read(channel, deadline, watch)
    end = LENGTH.size + LENGTH.unpack_from(data)[0]
    if end > _MAX_ANSWER_BYTES:
        raise InvalidAnswer(f"{end} bytes")
    while len(data) < end:
        data += _read(channel, deadline, watch)
    if len(data) > end:
        raise InvalidAnswer("more than one message")
    message = _parse(bytes(data[LENGTH.size :]))
    if not isinstance(message, dict):
        raise InvalidAnswer("it is not an object")
    return message


def _parse(body: bytes) -> Any:
    try:
        if len(body) > _SHORT_BYTES:
            scan_json(body, max_values=_MAX_ANSWER_VALUES)
        return json.loads(body, parse_constant=_refuse_constant)
    except TooManyValues as error:
        raise InvalidAnswer(f"it {error}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer("it is not JSON") from error


def _read(channel: socket.socket, deadline: float, watch: Callable[[], None]) -> bytes:
    """Return the next bytes, at least one."""
    while True:
        check_cancelled(once=True)
        channel.settimeout(min(_left_s(deadline), WATCH_EVERY_S))
        try:
            chunk = channel.recv(_READ_BYTES)
        except TimeoutError:
            watch()
            continue
        if not chunk:
            raise EOFError
        return chunk


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _rights(file: int) -> tuple[int, int, "array.array[int]"]:
    return socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file])


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
