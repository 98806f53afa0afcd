"""Starts, kills and restarts `endpoint_server`, like the supervisor of a real endpoint."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.endpoint_log import EndpointLog
from tests.support.ports import ReservedPort
from tests.support.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[2]


class EndpointProcess:
    """The endpoint; its process changes with each restart."""

    def __init__(self, folder: Path) -> None:
        # Reserved also while the endpoint is down.
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self._notes = folder / "endpoint.sqlite"
        self.log = EndpointLog(self._notes)
        self._process = self._start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def kill(self) -> None:
        """Send SIGKILL, and restart it immediately, on the same port and with the same log."""
        self._process.kill()
        self._process.wait()
        self._process = self._start()

    def close(self) -> None:
        """Stop it."""
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


@contextmanager
def running_endpoint(folder: Path) -> Iterator[EndpointProcess]:
    """Run the endpoint, with its log in a folder."""
    endpoint = EndpointProcess(folder)
    try:
        yield endpoint
    finally:
        endpoint.close()
