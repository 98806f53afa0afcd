"""A network proxy that counts sent bytes, and has faults at chosen byte counts."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

PIECE_BYTES = 64 << 10


@dataclass(frozen=True)
class NetworkFault:
    """A fault after this many sent bytes; if `happen` returns True, the connection is cut."""

    at_byte: int
    name: str
    happen: Callable[[], bool]


@dataclass
class FaultyNetwork:
    """Forwards connections to a local port; a context manager."""

    port: int
    faults: list[NetworkFault]
    sent_bytes: int = 0
    happened: list[str] = field(default_factory=list)

    def __enter__(self) -> "FaultyNetwork":
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Wakes the accepting thread; closing the socket alone does not.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                threading.Thread(target=self._connect, args=(here,), daemon=True).start()

    def _connect(self, here: socket.socket) -> None:
        with here, suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as there:
            down = threading.Thread(target=_pump, args=(there, here), daemon=True)
            down.start()
            self._pass_up(here, there)
            down.join()

    def _pass_up(self, here: socket.socket, there: socket.socket) -> None:
        try:
            while piece := here.recv(PIECE_BYTES):
                there.sendall(piece)
                if self._count(len(piece)):
                    break
        finally:
            _end(here)
            _end(there)

    def _count(self, size: int) -> bool:
        """Count bytes, trigger a due fault, and return whether to cut the connection."""
        with self._lock:
            self.sent_bytes += size
            if not self.faults or self.sent_bytes < self.faults[0].at_byte:
                return False
            trouble = self.faults.pop(0)
            self.happened.append(trouble.name)
            return trouble.happen()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            target.sendall(piece)
    _end(source)
    _end(target)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
