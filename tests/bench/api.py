"""What a request costs the api and PostgreSQL, beside an empty application on plain uvicorn."""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx
from rich.console import Console
from rich.table import Table

from framekiln.db.migrate import migrate
from framekiln.db.pool import Database
from framekiln.identity.service import Identity
from framekiln.kit.clock import SystemClock
from framekiln.kit.logs import configure_logs
from tests.bench.cpu import process_tree_cpu_s
from tests.support.api_process import HttpServer, running_api, running_server
from tests.support.postgres import PostgresServer
from tests.support.service import API_KEY
from tests.support.timeouts import TIMEOUT_S
from tests.support.videos import NEW, plain_config

ROUNDS = 3
CONNECTIONS = 8
REQUESTS = 1000
FEWER = REQUESTS // 4
"""Of those that cost more."""
_LISTED = 20
_BODY = {"html": "<h1>Hello</h1>", "width": 640, "height": 360, "fps": 30, "duration_ms": 1000}


@dataclass(frozen=True)
class ApiRow:
    """One kind of request; milliseconds of processor time for each."""

    name: str
    api_ms: float
    postgres_ms: float
    per_s: float
    empty_ms: float
    """Of the empty application, in the same run."""

    @property
    def ratio(self) -> float:
        """How many times as much as the empty application."""
        return self.api_ms / self.empty_ms


@dataclass
class _Case:
    name: str
    server: HttpServer
    request: bytes
    status: int
    count: int = REQUESTS
    rounds: list[tuple[float, float, float]] = field(default_factory=list)

    def measure(self, postgres_pid: int) -> None:
        begun_s, pids = time.perf_counter(), (self.server.process.pid, postgres_pid)
        before = [process_tree_cpu_s(pid) for pid in pids]
        asyncio.run(_send_all(self))
        took_s = time.perf_counter() - begun_s
        api_s, postgres_s = (
            process_tree_cpu_s(pid) - used_s for pid, used_s in zip(pids, before, strict=True)
        )
        n = self.count
        self.rounds.append((api_s * 1000 / n, postgres_s * 1000 / n, n / took_s))


def measure_api() -> list[ApiRow]:
    """Send each kind of request in turn, several times over; keep the medians."""
    configure_logs()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="framekiln-bench-")))
        postgres = PostgresServer()
        stack.callback(postgres.remove)
        postgres.start()
        api = stack.enter_context(_running_api(postgres, folder))
        empty = {
            parser: stack.enter_context(_running_empty_app(parser))
            for parser in ("h11", "httptools")
        }
        cases = _cases(api, empty)
        for _ in range(ROUNDS):
            for case in cases:
                case.measure(postgres.pid)
    # Each value by itself: the slowest request of a round is not the dearest.
    found = {case.name: [median(each) for each in zip(*case.rounds, strict=True)] for case in cases}
    empty_ms = found["empty application, httptools"][0]
    return [
        ApiRow(name, api_ms, postgres_ms, per_s, empty_ms)
        for name, (api_ms, postgres_ms, per_s) in found.items()
    ]


def print_api(rows: list[ApiRow]) -> None:
    """Print one line for each kind of request."""
    table = Table(title=f"The api, {CONNECTIONS} connections, CPU milliseconds a request")
    for column in ("request", "api", "PostgreSQL", "requests/s", "api / empty application"):
        table.add_column(column, justify="left" if column == "request" else "right")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.api_ms:.3f}",
            f"{row.postgres_ms:.3f}",
            f"{row.per_s:.0f}",
            f"{row.ratio:.2f}x",
        )
    Console(width=160).print(table)


def _cases(api: HttpServer, empty: dict[str, HttpServer]) -> list[_Case]:
    with httpx.Client(
        base_url=api.url,
        headers={"Authorization": f"Bearer {API_KEY}"},
        timeout=TIMEOUT_S,
    ) as client:
        for _ in range(_LISTED):
            client.post(NEW, json={"config": plain_config()}).raise_for_status()
        render_id = client.post("/api/v1/renders", json=_BODY).raise_for_status().json()["id"]
    health = _request("GET", "/healthz")
    return [
        *(
            _Case(f"empty application, {name}", server, health, 200)
            for name, server in empty.items()
        ),
        _Case("GET /healthz", api, health, 200),
        _Case("GET /api/v1/renders/:id", api, _request("GET", f"/api/v1/renders/{render_id}"), 200),
        _Case(
            f"GET /v2/videos ({_LISTED})", api, _request("GET", "/v2/videos"), 200, REQUESTS // 4
        ),
        _Case(
            "POST /api/v1/renders",
            api,
            _request("POST", "/api/v1/renders", json.dumps(_BODY).encode()),
            201,
            FEWER,
        ),
    ]


def _request(method: str, path: str, body: bytes = b"") -> bytes:
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n"
        f"Authorization: Bearer {API_KEY}\r\n{length}\r\n"
    )
    return head.encode() + body


async def _send_all(case: _Case) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(_send(case, case.count // CONNECTIONS))


async def _send(case: _Case, count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", case.server.port.number)
    for _ in range(count):
        writer.write(case.request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
        assert head.startswith(b"http/1.1 %d " % case.status), head + body
    writer.close()
    await writer.wait_closed()


@contextmanager
def _running_api(postgres: PostgresServer, folder: Path) -> Iterator[HttpServer]:
    conninfo = postgres.create_database("bench")
    migrate(conninfo)
    asyncio.run(_add_key(conninfo))
    # As costly as any limits, and never reached.
    quotas = ("FRAMEKILN_QUOTA_REQUESTS_PER_MINUTE", "FRAMEKILN_QUOTA_QUEUED_JOBS")
    with running_api(conninfo, folder, **dict.fromkeys(quotas, "1000000000")) as server:
        yield server


async def _add_key(conninfo: str) -> None:
    database = Database(conninfo)
    await database.open()
    try:
        await Identity(database, SystemClock()).ensure_default(API_KEY)
    finally:
        await database.close()


@contextmanager
def _running_empty_app(parser: str) -> Iterator[HttpServer]:
    words = ["-m", "uvicorn", "tests.bench.empty_app:app", "--http", parser, "--loop", "asyncio"]
    words += ["--no-access-log", "--port", "{port}"]
    with running_server(words, Path(os.devnull), {}) as server:
        yield server
