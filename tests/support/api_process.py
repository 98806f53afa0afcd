"""Servers in processes of their own: `framekiln api` without workers, and any other."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.ports import ReservedPort
from tests.support.service import confinement_settings
from tests.support.timeouts import TIMEOUT_S


@dataclass(frozen=True)
class HttpServer:
    """A running server on this machine."""

    process: subprocess.Popen[bytes]
    port: ReservedPort

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port.number}"

    def children(self) -> list[int]:
        """Return the processes that it started."""
        pid = self.process.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def running_api(conninfo: str, folder: Path, **environment: str) -> Iterator[HttpServer]:
    """Run `framekiln api` on a migrated database."""
    environment = {
        "DATABASE_URL": conninfo,
        "FRAMEKILN_DATA": str(folder),
        **confinement_settings(),
        **environment,
    }
    with running_server(["-m", "framekiln", "api"], folder / "api.log", environment) as server:
        yield server


@contextmanager
def running_server(
    words: Sequence[str], log: Path, environment: dict[str, str]
) -> Iterator[HttpServer]:
    """Run a Python program that answers /healthz at `FRAMEKILN_PORT`, which `{port}` stands for."""
    port = ReservedPort()
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *(word.format(port=port.number) for word in words)],
            env={**os.environ, **environment, "FRAMEKILN_PORT": str(port.number)},
            stdout=output,
            stderr=output,
        )
    server = HttpServer(process, port)
    try:
        _wait_until_answered(server)
        yield server
    finally:
        process.terminate()
        process.wait()


def _wait_until_answered(server: HttpServer) -> None:
    give_up_at = time.monotonic() + TIMEOUT_S
    # Each new client reads the certificates of the machine, which takes 30 ms of processor time.
    with httpx.Client(base_url=server.url, timeout=TIMEOUT_S) as client:
        while True:
            try:
                client.get("/healthz").raise_for_status()
                return
            except httpx.TransportError:
                assert server.process.poll() is None, "the server has ended"
                assert time.monotonic() < give_up_at, "the server does not answer"
                time.sleep(0.1)
