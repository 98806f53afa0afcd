"""What a row of a bulk costs in which only a name changes, beside a film of its own."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.cpu import process_tree_cpu_s
from tests.support.clips import Clip, make_clip
from tests.support.service import Account, running_service
from tests.support.videos import MediaServer

ROWS = int(os.environ.get("BENCH_BULK_ROWS", "100"))
FILMS = int(os.environ.get("BENCH_BULK_FILMS", "3"))
SECONDS = int(os.environ.get("BENCH_BULK_SECONDS", "60"))
_NAME_FOR_S = 3
_IDLE_FOR_S = 10
_WHOLE_ROWS = 1000


@dataclass(frozen=True)
class BulkCost:
    """Processor seconds for the first row of a bulk, each further one, and a film of its own."""

    name: str
    first_cpu_s: float
    row_cpu_s: float
    film_cpu_s: float

    @property
    def ratio(self) -> float:
        """The cost of a thousand rows over that of a thousand films: from samples of both."""
        rows_s = self.first_cpu_s + (_WHOLE_ROWS - 1) * self.row_cpu_s
        return rows_s / (_WHOLE_ROWS * self.film_cpu_s)


@dataclass(frozen=True)
class _Work:
    """Measures what a service uses for videos, without what it uses while nothing happens.

    Its processes look for work all the time. On a busy machine a bulk takes longer, and that part
    would grow with the load of others.
    """

    pid: int
    idle_share: float

    @classmethod
    def of(cls, pid: int) -> "_Work":
        before_s = process_tree_cpu_s(pid)
        time.sleep(_IDLE_FOR_S)
        return cls(pid, (process_tree_cpu_s(pid) - before_s) / _IDLE_FOR_S)

    def measure(self, run: Callable[[], None]) -> float:
        began_s, before_s = time.monotonic(), process_tree_cpu_s(self.pid)
        run()
        idle_s = self.idle_share * (time.monotonic() - began_s)
        return process_tree_cpu_s(self.pid) - before_s - idle_s


def measure_bulk() -> list[BulkCost]:
    """Make a few films that share nothing, then a bulk, with the same service."""
    with tempfile.TemporaryDirectory(prefix="framekiln-bench-") as name:
        folder = Path(name)
        media = folder / "media"
        media.mkdir()
        (folder / "service").mkdir()
        make_clip(
            media / "clip.mp4",
            # As long as the film: a loop repeats slices, and a film would share them with itself.
            Clip(width=1280, height=720, fps=Fraction(25), duration_s=Fraction(SECONDS)),
        )
        with (
            MediaServer(media) as host,
            running_service(
                folder / "service", FRAMEKILN_FETCH_ALLOW=f"127.0.0.1:{host.port}"
            ) as service,
            service.open_account("bulk") as account,
        ):
            template = _create_template(account, host.url("/clip.mp4"))
            _run(account, template, [{"name": "warm", "line": "a warm start"}])
            work = _Work.of(service.process.pid)
            films = [{"name": "A", "line": f"film {number}"} for number in range(FILMS)]
            films_s = work.measure(lambda: _run(account, template, films))
            first_s = work.measure(lambda: _run(account, template, [{"name": "First"}]))
            rows = [{"name": f"Person {number}"} for number in range(ROWS)]
            rows_s = work.measure(lambda: _run(account, template, rows))
    title = f"{ROWS} rows, name for {_NAME_FOR_S} of {SECONDS} s"
    return [BulkCost(title, first_s, rows_s / ROWS, films_s / FILMS)]


def print_bulk(rows: list[BulkCost]) -> None:
    """Write the table."""
    table = Table(title="A bulk of 720p films, processor seconds")
    ratio = f"{_WHOLE_ROWS} rows / {_WHOLE_ROWS} films"
    for column in ("bulk", "first row", "further row", "a film of its own", ratio):
        table.add_column(column, justify="left" if column == "bulk" else "right")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.first_cpu_s:.2f}",
            f"{row.row_cpu_s:.2f}",
            f"{row.film_cpu_s:.2f}",
            f"{row.ratio:.3f}x",
        )
    Console(width=160).print(table)


def _create_template(account: Account, clip: str) -> str:
    def text(layer_id: str, words: str, y: int, **changes: Any) -> dict[str, Any]:
        style = {"text": words, "fontSize": 60, "backgroundColor": "#00000080"}
        return {
            "id": layer_id,
            "type": "text",
            "text": style,
            "position": {"x": 80, "y": y},
        } | changes

    body = {
        "name": "Greeting",
        "config": {
            "dimensions": {"width": 1280, "height": 720},
            "fps": 25,
            "duration": SECONDS,
            "layers": [
                {"id": "clip", "type": "video", "file": clip},
                text("line", "{{ line }}", 600),
                text("name", "{{ name }}", 80, trim={"end": _NAME_FOR_S}),
            ],
        },
        "inputs": {"name": "required|string", "line": "string"},
        "default_values": {"name": "you", "line": "a line for everybody"},
    }
    answer = account.http.post("/v2/templates", json=body).raise_for_status()
    return str(answer.json()["data"]["id"])


def _run(account: Account, template: str, rows: list[dict[str, str]]) -> None:
    answer = account.http.post(f"/v2/templates/{template}/bulk", json=rows, timeout=600)
    bulk_id = answer.raise_for_status().json()["data"]["id"]
    while True:
        bulk = account.http.get(f"/v2/bulks/{bulk_id}").raise_for_status().json()["data"]
        if bulk["status"] != "running":
            assert bulk["counts"]["ready"] == len(rows), bulk
            return
        time.sleep(1)
