"""Starts `noting_endpoint`, kills it and has it there again, as a supervisor has a real one."""

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.endpoint_log import EndpointLog
from tests.support.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[2]


class EndpointProcess:
    """The endpoint, whichever process it is at the moment."""

    def __init__(self, folder: Path) -> None:
        self.port = _quiet_port()
        self._notes = folder / "endpoint.sqlite"
        self.log = EndpointLog(self._notes)
        self._process = self._start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def kill(self) -> None:
        """kill -9, and start it again at once, on the same port and with the same notes."""
        self._process.kill()
        self._process.wait()
        self._process = self._start()

    def close(self) -> None:
        """End it for good."""
        self._process.kill()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.support.endpoint_server"]
        process = subprocess.Popen([*command, str(self._notes), str(self.port)], cwd=ROOT)
        deadline = time.monotonic() + TIMEOUT_S
        while not self._answers():
            assert process.poll() is None, "the endpoint ended by itself"
            assert time.monotonic() < deadline, "the endpoint does not listen"
            time.sleep(0.05)
        return process

    def _answers(self) -> bool:
        with socket.socket() as trying:
            return trying.connect_ex(("127.0.0.1", self.port)) == 0


def _quiet_port() -> int:
    """Return a free port that the system gives to nobody else while the endpoint is away."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as trying, suppress(OSError):
            trying.bind(("127.0.0.1", port))
            return port


@contextmanager
def running_endpoint(folder: Path) -> Iterator[EndpointProcess]:
    """Have the endpoint there, with its notes in a folder."""
    endpoint = EndpointProcess(folder)
    try:
        yield endpoint
    finally:
        endpoint.close()
