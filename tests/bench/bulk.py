"""What a row of a bulk costs in which only a name changes, beside a film of its own."""

import os
import tempfile
import time
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
SECONDS = 60
_NAME_FOR_S = 3


@dataclass(frozen=True)
class BulkCost:
    """Processor seconds for each row of a bulk, and for each film of its own."""

    name: str
    row_cpu_s: float
    film_cpu_s: float

    @property
    def ratio(self) -> float:
        """The cost of a row over that of a film."""
        return self.row_cpu_s / self.film_cpu_s


def measure_bulk() -> list[BulkCost]:
    """Make a few films that share nothing, then a bulk, with the same service."""
    with tempfile.TemporaryDirectory(prefix="framekiln-bench-") as name:
        folder = Path(name)
        media = folder / "media"
        media.mkdir()
        (folder / "service").mkdir()
        make_clip(
            media / "clip.mp4",
            Clip(width=1280, height=720, fps=Fraction(25), duration_s=Fraction(10)),
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
            pid = service.process.pid
            before_s = process_tree_cpu_s(pid)
            _run(account, template, [{"name": "A", "line": f"film {n}"} for n in range(FILMS)])
            between_s = process_tree_cpu_s(pid)
            _run(account, template, [{"name": f"Person {n}"} for n in range(ROWS)])
            after_s = process_tree_cpu_s(pid)
    title = f"{ROWS} rows, name for {_NAME_FOR_S} of {SECONDS} s"
    return [BulkCost(title, (after_s - between_s) / ROWS, (between_s - before_s) / FILMS)]


def print_bulk(rows: list[BulkCost]) -> None:
    """Write the table."""
    table = Table(title="A bulk of 720p films, processor seconds")
    for column in ("bulk", "each row", "a film of its own", "row / film"):
        table.add_column(column, justify="left" if column == "bulk" else "right")
    for row in rows:
        table.add_row(
            row.name, f"{row.row_cpu_s:.2f}", f"{row.film_cpu_s:.2f}", f"{row.ratio:.3f}x"
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
                {"id": "clip", "type": "video", "file": clip, "loop": True},
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
