"""How smoothly the studio scrolls through a list of 100,000 renders, beside a list of 100.

`python -m tests.bench.long_list`: a real service and a real browser; the rows are copies of one.
"""

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from framekiln.db.migrate import migrate
from tests.support.browser_tab import open_tab
from tests.support.postgres import PostgresServer
from tests.support.service import Account, running_service
from tests.support.studio_tab import StudioTab

FEW, MANY = 100, 100_000
_STEPS = 240
_STEP_PX = 700

_COPY = """
INSERT INTO render SELECT (jsonb_populate_record(render, jsonb_build_object(
    'id', gen_random_uuid(), 'created_at', created_at - number * interval '1 second'))).*
FROM render, generate_series(1, %s) AS number WHERE id = %s
"""
# Scrolls to the end until nothing is left to load.
_LOAD = """
(async () => {
  const list = document.querySelector('.long-list');
  for (let idle = 0; idle < 200; idle += 1) {
    const height = list.scrollHeight;
    list.scrollTop = height;
    await new Promise((done) => setTimeout(done, 10));
    if (list.scrollHeight !== height) idle = 0;
  }
  return list.getAttribute('aria-rowcount');
})()
"""
# Milliseconds from one frame to the next while the list scrolls by most of its height.
_SCROLL = """
(async () => {
  const list = document.querySelector('.long-list');
  const middle = Math.max(0, list.scrollHeight / 2 - %(steps)d * %(step_px)d / 2);
  const times = [];
  for (let step = 0; step <= %(steps)d; step += 1) {
    list.scrollTop = middle + (step * %(step_px)d) %% list.scrollHeight;
    times.push(await new Promise(requestAnimationFrame));
  }
  const rows = document.querySelectorAll('.long-list-row').length;
  return [rows, ...times.slice(1).map((each, index) => each - times[index])];
})()
"""


@dataclass(frozen=True)
class ListRow:
    """One list: rows in all and in the document, and milliseconds between frames."""

    rows: int
    drawn_rows: int
    median_ms: float
    late_frames: float
    """The share of frames that came after more than 34 ms, which is two frames of a display."""
    most_ms: float


def measure_lists() -> list[ListRow]:
    """Open the list of renders with few and with many, and scroll."""
    with tempfile.TemporaryDirectory(prefix="framekiln-bench-") as folder:
        postgres = PostgresServer()
        postgres.start()
        try:
            conninfo = postgres.create_database("lists")
            migrate(conninfo)
            with (
                running_service(Path(folder), DATABASE_URL=conninfo) as service,
                service.open_account("lists") as account,
            ):
                return [_measured(account, conninfo, count) for count in (FEW, MANY)]
        finally:
            postgres.remove()


def _measured(account: Account, conninfo: str, count: int) -> ListRow:
    body = {"html": "<p>x", "width": 64, "height": 36, "duration_ms": 100}
    known = account.http.get("/api/v1/renders").json()["renders"]
    first = (
        known[0]["id"] if known else account.http.post("/api/v1/renders", json=body).json()["id"]
    )
    with account.http.stream("GET", f"/api/v1/renders/{first}/progress") as events:
        for _ in events.iter_lines():
            pass
    with psycopg.connect(conninfo) as connection:
        [rows] = connection.execute("SELECT count(*) FROM render").fetchone() or [0]
        connection.execute(_COPY, (count - rows, first))
    with open_tab() as tab:
        studio = StudioTab(tab, account.url)
        studio.show_as()
        studio.open(account.login_link("owner"))
        studio.wait_text("Log out")
        studio.open("/studio/renders")
        studio.wait("document.querySelectorAll('.long-list-row').length > 5")
        loaded = int(studio.run(_LOAD))
        drawn, *gaps = studio.run(_SCROLL % {"steps": _STEPS, "step_px": _STEP_PX})
        assert loaded == count, loaded
    late = sum(gap > 34 for gap in gaps) / len(gaps)
    return ListRow(loaded, drawn, statistics.median(gaps), late, max(gaps))


def print_lists(rows: list[ListRow]) -> None:
    """Print one line for each list."""
    table = Table(title="Scrolling the list of renders, milliseconds between frames")
    for column in ("renders", "rows in the page", "median", "later than 34 ms", "longest"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            f"{row.rows:,}",
            f"{row.drawn_rows}",
            f"{row.median_ms:.1f}",
            f"{row.late_frames:.0%}",
            f"{row.most_ms:.0f}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    print_lists(measure_lists())
