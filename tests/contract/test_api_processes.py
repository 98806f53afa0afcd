"""Several api processes at one address: each answers, metrics are sums, dead ones are replaced."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.support.api_process import HttpServer, running_api
from tests.support.timeouts import TIMEOUT_S

CLIENT = httpx.Client(timeout=TIMEOUT_S, limits=httpx.Limits(max_keepalive_connections=0))
COUNT = re.compile(r'requests_total\{method="GET",route="/healthz",status="200"\} ([0-9.]+)')


def test_api_processes_share_an_address_and_their_metrics(conninfo: str, tmp_path: Path) -> None:
    with running_api(conninfo, tmp_path, FRAMEKILN_API_PROCESSES="2") as server:
        wait_for(lambda: len(servers_of(server)) == 2)
        first, second = servers_of(server)
        before = healthy_count(server)
        for stopped in (first, second):
            # So only the other one can answer.
            os.kill(stopped, signal.SIGSTOP)
            for _ in range(5):
                assert ask(server, "/healthz").status_code == 200
            os.kill(stopped, signal.SIGCONT)
        assert [healthy_count(server) for _ in range(6)] == [before + 10] * 6
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: len(set(servers_of(server)) - {first}) == 2)
        assert healthy_count(server) == before + 10, "what the dead one counted stays"
        assert "framekiln_build_info" in ask(server, "/metrics").text
        last = servers_of(server)
    assert server.process.returncode == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in last)


def ask(server: HttpServer, path: str) -> httpx.Response:
    """Send a request on a connection of its own."""
    return CLIENT.get(f"{server.url}{path}")


def healthy_count(server: HttpServer) -> float:
    found = COUNT.search(ask(server, "/metrics").text)
    return float(found[1]) if found else 0


def servers_of(server: HttpServer) -> list[int]:
    """Return the processes that listen."""
    return [pid for pid in server.children() if b"--listener" in command_line(pid)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def wait_for(is_true: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + TIMEOUT_S
    while not is_true():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)
