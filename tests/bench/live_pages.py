"""How soon open pages of the studio show what has changed.

`python -m tests.bench.live_pages`: a real service and a real browser. The time begins when the API
has answered, or at the time that the service has stored, and ends when the page has changed.
"""

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from framekiln.client.client import Client
from tests.support.browser_tab import open_tab
from tests.support.service import Account, running_service
from tests.support.studio_tab import StudioTab

CHANGES = 20
_CLIP = Path(__file__).parents[2] / "examples" / "media" / "bunny.mp4"
_FILM = (
    "<style>@keyframes move{to{transform:translateX(300px)}}"
    "div{width:90px;height:90px;background:teal;animation:move 8s linear}</style><div></div>"
)
_STEPS = {
    "check": {"type": "review", "with": {"instructions": "May it be shown?"}},
    "facts": {"type": "probe", "needs": ["check"]},
}
# The first time at which the page had each link, and each text of a status or of a step.
_WATCH = """
(() => {
  window.__seen = {};
  const look = () => {
    const links = [...document.querySelectorAll('main a')].map((each) => each.pathname);
    const statuses = [...document.querySelectorAll('.facts .status')].map((it) => it.textContent);
    const steps = [...document.querySelectorAll('.graph g')].map((it) =>
      [...it.querySelectorAll('text')].map((text) => text.textContent).join(' '));
    for (const each of [...links, ...statuses, ...steps]) __seen[each] ??= Date.now();
  };
  new MutationObserver(look).observe(document.body, {
    subtree: true, childList: true, characterData: true, attributes: true,
  });
  look();
})()
"""


@dataclass(frozen=True)
class LiveRow:
    """A page, what changes, and after how many milliseconds the page shows it."""

    page: str
    change: str
    delays_ms: list[float]


def measure_live_pages() -> list[LiveRow]:
    """Change something again and again while each page is open."""
    with (
        tempfile.TemporaryDirectory(prefix="framekiln-bench-") as folder,
        running_service(Path(folder)) as service,
        service.open_account("live pages") as account,
        open_tab() as tab,
    ):
        studio = StudioTab(tab, account.url)
        studio.show_as()
        studio.open(account.login_link("owner"))
        studio.wait_text("Log out")
        return [
            LiveRow("home", "a new file", _list_delays(studio, account, "/", _new_file)),
            LiveRow(
                "list of renders",
                "a new render",
                _list_delays(studio, account, "/studio/renders", _new_render),
            ),
            LiveRow(
                "list of files",
                "a new file",
                _list_delays(studio, account, "/studio/files", _new_file),
            ),
            LiveRow("page of a render", "its end", _render_delays(studio, account)),
            *_run_rows(studio, account),
        ]


def print_live_pages(rows: list[LiveRow]) -> None:
    """Print one line for each page."""
    table = Table(title="From a change to the page that shows it, milliseconds")
    for column in ("page", "change"):
        table.add_column(column)
    for column in ("changes", "median", "longest"):
        table.add_column(column, justify="right")
    for row in rows:
        median, longest = statistics.median(row.delays_ms), max(row.delays_ms)
        count = str(len(row.delays_ms))
        table.add_row(row.page, row.change, count, f"{median:.0f}", f"{longest:.0f}")
    Console(width=120).print(table)


def _new_file(account: Account) -> str:
    """Register a file, which nobody uploads; return the address of its page."""
    body = {"filename": "clip.mp4", "type": "video", "byte_size": 10}
    return f"/studio/files/{_created(account, '/api/v1/files', body)['id']}"


def _new_render(account: Account) -> str:
    """Make a render that waits for its bundle; return the address of its page."""
    body = {"width": 64, "height": 36, "duration_ms": 100}
    return f"/studio/renders/{_created(account, '/api/v1/renders', body)['id']}"


def _created(account: Account, path: str, body: object) -> Any:
    answer = account.http.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def _list_delays(
    studio: StudioTab, account: Account, path: str, change: Callable[[Account], str]
) -> list[float]:
    """Two changes soon after each other share an event, so the pauses differ."""
    chance = random.Random(1)
    delays = []
    with _watched(studio, path):
        for _ in range(CHANGES):
            address = change(account)
            began_ms = 1000 * time.time()
            delays.append(_seen_ms(studio, address) - began_ms)
            time.sleep(chance.random())
    return delays


def _render_delays(studio: StudioTab, account: Account) -> list[float]:
    body = {"html": _FILM, "width": 640, "height": 360, "fps": 30, "duration_ms": 8000}
    delays = []
    for _ in range(CHANGES):
        path = f"/api/v1/renders/{_created(account, '/api/v1/renders', body)['id']}"
        with _watched(studio, path.replace("/api/v1", "/studio")):
            seen_ms = _seen_ms(studio, "complete")
        delays.append(seen_ms - _ms(account.http.get(path).json()["completed_at"]))
    return delays


def _run_rows(studio: StudioTab, account: Account) -> list[LiveRow]:
    with Client(account.url, account.api_key) as client:
        file_id = str(client.files.upload(_CLIP).id)
    body = {"name": "check", "definition": {"steps": _STEPS}}
    pipeline_id = _created(account, "/api/v1/pipelines", body)["id"]
    of_steps, of_runs = [], []
    for _ in range(CHANGES):
        body = {"pipeline_id": pipeline_id, "file_id": file_id}
        run_id = _created(account, "/api/v1/pipeline-runs", body)["id"]
        with _watched(studio, f"/studio/runs/{run_id}"):
            _seen_ms(studio, "check waiting review")
            query = {"run_id": run_id}
            found = account.http.get("/api/v1/pipeline-reviews", params=query)
            [review] = found.json()["reviews"]
            account.http.post(f"/api/v1/pipeline-reviews/{review['id']}/approve", json={})
            began_ms = 1000 * time.time()
            of_steps.append(_seen_ms(studio, "check succeeded") - began_ms)
            seen_ms = _seen_ms(studio, "succeeded")
        run = account.http.get(f"/api/v1/pipeline-runs/{run_id}").json()
        of_runs.append(seen_ms - _ms(run["completed_at"]))
    return [
        LiveRow("page of a run", "the end of a step", of_steps),
        LiveRow("page of a run", "its end", of_runs),
    ]


@contextmanager
def _watched(studio: StudioTab, path: str) -> Iterator[None]:
    """Open a page and note when it shows something for the first time."""
    studio.open(path)
    studio.wait("!!document.querySelector('main h1') && !document.body.innerText.includes('Load')")
    studio.run(_WATCH)
    yield
    assert studio.errors == []


def _seen_ms(studio: StudioTab, text: str) -> float:
    return float(studio.wait(f"__seen[{json.dumps(text)}]"))


def _ms(iso: str) -> float:
    return 1000 * datetime.fromisoformat(iso).timestamp()


if __name__ == "__main__":
    print_live_pages(measure_live_pages())
