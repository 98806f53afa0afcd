"""How much slower renders are while many dashboards follow the activity of their organization."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
from rich.console import Console
from rich.table import Table

from tests.bench.cpu import process_tree_cpu_s
from tests.support.service import Account, Service, running_service

DASHBOARDS = 200
STREAMS_PER_KEY = 50
"""A user may open 100; each key stands for a user."""
ROUNDS = 3
_FILM = (
    "<style>@keyframes move{to{transform:translateX(300px)}}"
    "div{width:90px;height:90px;background:teal;animation:move 8s linear}</style><div></div>"
)


@dataclass(frozen=True)
class DashboardRow:
    """A film beside open dashboards, and alone in the same run: seconds, and of them CPU."""

    dashboards: int
    events: int
    beside_s: float
    alone_s: float
    beside_cpu_s: float
    alone_cpu_s: float


def measure_dashboards() -> list[DashboardRow]:
    """Render a film with and without dashboards, by turns; keep the medians."""
    alone, beside = [], []
    with (
        tempfile.TemporaryDirectory(prefix="framekiln-bench-") as folder,
        running_service(Path(folder)) as service,
        service.open_account("dashboards") as account,
    ):
        _film(service, account)
        events, keys = 0, _keys(service, account)
        for _ in range(ROUNDS):
            alone.append(_film(service, account))
            with _open_dashboards(account.url, keys) as streams:
                beside.append(_film(service, account))
            events += streams.events
    return [
        DashboardRow(
            DASHBOARDS,
            events // ROUNDS,
            *(median(each[0] for each in times) for times in (beside, alone)),
            *(median(each[1] for each in times) for times in (beside, alone)),
        )
    ]


def print_dashboards(rows: list[DashboardRow]) -> None:
    """Print the times and their ratios."""
    table = Table(title="A film of 240 frames beside open dashboards; CPU is of the whole service")
    for column in ("dashboards", "events", "seconds", "alone", "ratio", "CPU s", "alone", "ratio"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            str(row.dashboards),
            str(row.events),
            f"{row.beside_s:.2f}",
            f"{row.alone_s:.2f}",
            f"{row.beside_s / row.alone_s:.2f}x",
            f"{row.beside_cpu_s:.2f}",
            f"{row.alone_cpu_s:.2f}",
            f"{row.beside_cpu_s / row.alone_cpu_s:.2f}x",
        )
    Console(width=120).print(table)


def _film(service: Service, account: Account) -> tuple[float, float]:
    """Return the seconds until a film was complete, and the CPU seconds of the service."""
    body = {"html": _FILM, "width": 640, "height": 360, "fps": 30, "duration_ms": 8000}
    before_s, began_s = process_tree_cpu_s(service.process.pid), time.monotonic()
    render = account.http.post("/api/v1/renders", json=body).json()
    path = f"/api/v1/renders/{render['id']}"
    with account.http.stream("GET", f"{path}/progress") as events:
        for _ in events.iter_lines():
            pass
    took_s = time.monotonic() - began_s
    assert account.http.get(path).json()["status"] == "complete"
    return took_s, process_tree_cpu_s(service.process.pid) - before_s


class _Streams:
    """The streams of all dashboards, read by one thread each."""

    def __init__(self) -> None:
        self.events = 0
        self.opened = threading.Barrier(DASHBOARDS + 1)
        self.is_over = threading.Event()

    def follow(self, client: httpx.Client) -> None:
        """Count the changes of one stream until the end."""
        with client.stream("GET", "/api/v1/activity") as stream:
            lines = stream.iter_lines()
            first = next(lines)
            self.opened.wait()
            assert (stream.status_code, first) == (200, "event: changed"), first
            for line in lines:
                if self.is_over.is_set():
                    return
                self.events += line == "event: changed"


def _keys(service: Service, account: Account) -> list[str]:
    count = DASHBOARDS // STREAMS_PER_KEY
    made = (service.command("keys", "create", "--org", account.name) for _ in range(count))
    return [str(each["api_key"]) for each in made]


@contextmanager
def _open_dashboards(url: str, keys: list[str]) -> Iterator[_Streams]:
    streams = _Streams()
    clients = [
        httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=None,
            # One address may have 200 connections.
            transport=httpx.HTTPTransport(
                local_address=f"127.0.0.{number}",
                limits=httpx.Limits(max_connections=STREAMS_PER_KEY),
            ),
        )
        for number, key in enumerate(keys, start=2)
    ]
    threads = [
        threading.Thread(target=streams.follow, args=(clients[number % len(clients)],), daemon=True)
        for number in range(DASHBOARDS)
    ]
    for thread in threads:
        thread.start()
    streams.opened.wait()
    try:
        yield streams
    finally:
        # Each ends with its next event, at the latest with the heartbeat.
        streams.is_over.set()
        for thread in threads:
            thread.join()
        for client in clients:
            client.close()
