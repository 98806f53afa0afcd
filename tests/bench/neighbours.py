"""How much slower one organization's render is while another sends hostile work.

Unlike other benchmarks this one fails: nobody may make a neighbour's film take `MAX_RATIO` times as
long.
"""

import json
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import median
from threading import Event, Thread
from urllib.parse import urlsplit

import httpx
from rich.console import Console
from rich.table import Table

from tests.support.clips import Clip, make_clip
from tests.support.hostile_media import (
    gif_bomb,
    gif_of_many_large_pictures,
    many_cues,
    png_bomb,
    with_picture_size,
)
from tests.support.service import Account, Service, running_service

ROUNDS = 3
MAX_RATIO = 1.5
"""Of medians, on a machine that does nothing else."""
_HEAD_START_S = 2
_FILM = (
    "<style>@keyframes move{to{transform:translateX(300px)}}"
    "div{width:90px;height:90px;background:teal;animation:move 8s linear}</style><div></div>"
)
_ENDLESS = "<script>addEventListener('load', () => { for (;;); })</script>"
_MEMORY = """<script>
  const kept = [];
  for (;;) kept.push(new Uint8Array(64 << 20).fill(1));
</script>"""
_WORKERS = """<script>
  const loop = URL.createObjectURL(new Blob(["for (;;);"]));
  for (let i = 0; i < 100; i++) new Worker(loop);
</script>"""
_WINDOWS = """<script>
  setInterval(() => open("about:blank", "", "noopener"), 1);
</script>"""
_CANVASES = """<script>
  const kept = [];
  setInterval(() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 8192, height: 8192 });
    canvas.getContext("2d").fillRect(0, 0, 8192, 8192);
    kept.push(canvas);
  }, 1);
</script>"""
_CRASH = "<script>setTimeout(() => 'x'.repeat(2 ** 27 + 1).split(''), 200)</script>"
_NETWORK = """<script>
  const hosts = ["169.254.169.254", "127.0.0.1:22", "[::1]", "localhost"];
  setInterval(() => {
    for (const host of hosts) {
      fetch(`http://${host}/`).catch(() => {});
      new WebSocket(`ws://${host}/`).onerror = () => {};
      const peer = new RTCPeerConnection({ iceServers: [{ urls: `stun:${host}` }] });
      peer.createDataChannel("x");
      peer.createOffer().then((offer) => peer.setLocalDescription(offer));
      setTimeout(() => peer.close(), 100);
    }
  }, 10);
</script>"""
_SLOW_CLIENTS = 100
_SLOW_S = 1.0
_VALUES = b"[" + b"{}," * 4_000_000 + b"{}]"
_LOOPS = (
    "{% for a in (1..9999) %}{% for b in (1..9999) %}{{ a | times: b }}{% endfor %}{% endfor %}"
)

Attack = Callable[[Account], str | None]
"""Sends something; returns the id of the render that comes of it, if there is one."""


@dataclass(frozen=True)
class NeighbourRow:
    """The time of a film beside hostile work, and alone in the same run."""

    name: str
    beside_s: float
    alone_s: float

    @property
    def ratio(self) -> float:
        """How many times as long it takes."""
        return self.beside_s / self.alone_s


def measure_neighbours() -> list[NeighbourRow]:
    """Render a small film alone and beside each attack, by turns; keep the medians."""
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="framekiln-bench-") as folder,
        running_service(Path(folder)) as service,
        service.open_account("victim") as victim,
        service.open_account("attacker") as attacker,
    ):
        _film_seconds(victim)
        for name, attack in _ATTACKS.items():
            alone, beside = [], []
            for _ in range(ROUNDS):
                alone.append(_film_seconds(victim))
                with _repeated(attack, attacker):
                    beside.append(_film_seconds(victim))
            rows.append(NeighbourRow(name, median(beside), median(alone)))
            # It takes long, so it says how far it is.
            sys.stderr.write(f"{name}: {rows[-1].ratio:.2f}\n")
    return rows


def print_neighbours(rows: list[NeighbourRow]) -> None:
    """Print one line for each attack."""
    table = Table(title="A film of 240 frames beside another organization's hostile work, seconds")
    for column in ("hostile work", "alone", "beside it", "beside / alone"):
        table.add_column(column, justify="left" if column == "hostile work" else "right")
    for row in rows:
        table.add_row(row.name, f"{row.alone_s:.2f}", f"{row.beside_s:.2f}", f"{row.ratio:.2f}x")
    Console(width=160).print(table)


def slow_neighbours(rows: list[NeighbourRow]) -> list[str]:
    """Return the attacks that make a neighbour's film too slow."""
    return [row.name for row in rows if row.ratio > MAX_RATIO]


def _film_seconds(account: Account) -> float:
    begun_s = time.monotonic()
    body = {"html": _FILM, "width": 640, "height": 360, "fps": 30, "duration_ms": 8000}
    # A changed page, so that no earlier film is copied.
    made = account.http.post(
        "/api/v1/renders", json=body | {"html": f"{_FILM}<!-- {time.monotonic_ns()} -->"}
    )
    service: Service = account.service
    render_id = made.raise_for_status().json()["id"]

    def ended() -> bool:
        found = account.http.get(f"/api/v1/renders/{render_id}").raise_for_status().json()
        assert found["status"] != "failed", found
        return bool(found["status"] == "complete")

    service.wait_for(ended, "the neighbour's film has not ended")
    return time.monotonic() - begun_s


@contextmanager
def _repeated(attack: Attack, account: Account) -> Iterator[None]:
    """Attack again and again until the block ends, which begins when the first has had time."""
    is_over, is_started = Event(), Event()
    renders: list[str | None] = []

    def go_on() -> None:
        while not is_over.is_set():
            renders.append(attack(account))
            is_started.set()
            is_over.wait(0.5)

    thread = Thread(target=go_on)
    thread.start()
    is_started.wait()
    time.sleep(_HEAD_START_S)
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        for render_id in filter(None, renders):
            account.http.delete(f"/api/v1/renders/{render_id}")


def _sends_page(html: str) -> Attack:
    body = {"html": html, "width": 640, "height": 360, "fps": 30, "duration_ms": 2000}
    return lambda account: _post(account, "/api/v1/renders", json.dumps(body).encode())


def _post(account: Account, path: str, body: bytes) -> str | None:
    """Send it; how it is refused does not matter here."""
    headers = {"Content-Type": "application/json"}
    try:
        answer = account.http.post(path, content=body, headers=headers)
    except httpx.TransportError:
        return None
    return str(answer.json()["id"]) if answer.is_success and "id" in answer.json() else None


def _sends_template(account: Account) -> None:
    layers = [{"type": "text", "text": {"text": _LOOPS}, "timeline": {"start": 0}}]
    config = {"dimensions": {"width": 320, "height": 180}, "duration": 1, "layers": layers}
    body = {"name": "loops", "config": config, "inputs": {}, "default_values": {}}
    _post(account, "/v2/templates", json.dumps(body).encode())


def _uploads_bombs(account: Account) -> None:
    for type_, data in (
        ("image", png_bomb()),
        ("image", gif_bomb()),
        ("image", gif_of_many_large_pictures()),
        ("caption", many_cues(80_000)),
        ("video", _video_bomb()),
    ):
        fields = {"filename": "a", "type": type_, "byte_size": len(data)}
        file_id = _post(account, "/api/v1/files", json.dumps(fields).encode())
        if file_id is not None:
            _post(account, f"/api/v1/files/{file_id}/upload", data)


@cache
def _video_bomb() -> bytes:
    """Return a film whose pictures state enormous sides."""
    with tempfile.TemporaryDirectory(prefix="framekiln-bench-") as folder:
        clip = make_clip(Path(folder) / "a.mp4", Clip(duration_s=Fraction(1)))
        return with_picture_size(clip.read_bytes())


def _opens_slow_connections(account: Account) -> None:
    address = urlsplit(account.url)
    assert address.hostname
    assert address.port
    with ExitStack() as stack:
        for _ in range(_SLOW_CLIENTS):
            client = socket.create_connection((address.hostname, address.port))
            stack.enter_context(closing(client))
            client.sendall(b"POST /api/v1/renders HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        time.sleep(_SLOW_S)


_ATTACKS: dict[str, Attack] = {
    "a page with an endless loop": _sends_page(_ENDLESS),
    "a page that takes all memory": _sends_page(_MEMORY),
    "a page with 100 busy workers": _sends_page(_WORKERS),
    "a page that opens windows": _sends_page(_WINDOWS),
    "a page with huge canvases": _sends_page(_CANVASES),
    "a page that crashes": _sends_page(_CRASH),
    "a page that wants the network": _sends_page(_NETWORK),
    "pictures, captions and films that expand": _uploads_bombs,
    "100 slow connections": _opens_slow_connections,
    "12 MB of empty JSON objects": lambda account: _post(account, "/api/v1/renders", _VALUES),
    "a template with nested loops": _sends_template,
}
