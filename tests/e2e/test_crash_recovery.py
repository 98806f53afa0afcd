"""kill -9 of any process during a render: the service is whole again and the render completes."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import IO, Any

import httpx
import psycopg
import pytest

from framekiln.db.embedded import EmbeddedPostgres
from framekiln.engine.film_plan import cut_slices
from framekiln.timeline import Timeline
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.looks import colour_at, iter_frames, packets_of
from tests.support.service import POLL_S, Service
from tests.support.timeouts import TIMEOUT_S

FPS = Fraction(30)
FRAMES = 60
VICTIMS = {
    "api": ("framekiln", " api"),
    "render worker": ("framekiln", " worker", "render"),
    "control worker": ("framekiln", " worker", "control"),
    "browser": ("chromium", "--type=gpu-process"),
    "page": ("chromium", "--type=renderer"),
    "database": ("postgres", "-D"),
}

# Two slices: the first with the box, the second the same in all films.
CLIP = Clip(fps=Fraction(15), duration_s=Fraction(5))
PRIMARIES = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1))
BOXES = [tuple(level * on for on in each) for level in range(255, 192, -1) for each in PRIMARIES]
"""Colours of boxes, each of them for one film."""
# Whoever takes a slice counts its fence up.
TAKEN = "SELECT render_id, number, fence FROM render_slice WHERE status = 'taken'"
LOOK_EVERY_S = 0.02
LOOKS_BETWEEN_QUESTIONS = 25
Database = psycopg.Connection[tuple[Any, ...]]


class Interrupter:
    """Kills processes of a service in the middle of the work on a slice."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._conninfo = EmbeddedPostgres(service.data / "pg").conninfo
        self._seen: set[tuple[Any, ...]] = set()

    def kill(self, victim: str, is_over: Callable[[], bool]) -> bool:
        """Kill while a slice is made that no earlier kill has hit; False when all was over."""
        workers = self._service.wait_for(
            lambda: self._service.find_processes(*VICTIMS["render worker"]), "no render worker"
        )
        # One connection for all looks: each new one costs both sides more than the look itself.
        database = psycopg.connect(self._conninfo, autocommit=True)
        with closing(database):
            for number in count(1):
                if self._kill_at_work(workers[0], victim, database):
                    break
                # Asked seldom: an answer of the service costs more than a hundred looks.
                if number % LOOKS_BETWEEN_QUESTIONS == 0 and is_over():
                    return False
                time.sleep(LOOK_EVERY_S)
        self._service.wait_ready()
        return True

    def _kill_at_work(self, worker: int, victim: str, database: Database) -> bool:
        if not self._new_slices(database):
            return False
        # While the only worker stands still, what it is at stays unfinished.
        with standing_still(worker):
            hit = self._new_slices(database)
            if hit:
                self._service.kill(*VICTIMS[victim])
        self._seen |= hit
        return bool(hit)

    def _new_slices(self, database: Database) -> set[tuple[Any, ...]]:
        return {*database.execute(TAKEN)} - self._seen


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    """Stop a process for a moment; it may be killed meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.spec("3.1")
def test_render_completes_after_kill_9_of(
    victim: str, killable_service: Service, tmp_path: Path
) -> None:
    service = killable_service
    render_id = _interrupted_render(service, victim)
    info = service.wait_ended(render_id)
    assert info["status"] == "complete", info
    film = service.download(render_id, tmp_path / "out.mp4")
    codes = [read_frame_code(frame.rgb) for frame in iter_frames(film)]
    assert codes == list(range(FRAMES))


def _interrupted_render(service: Service, victim: str) -> str:
    """Begin a render of two slices, and kill somebody while one of them is made."""
    page = frame_code_page(PageDriver.RAF_DOM, FPS, frame_count=FRAMES)
    asked = {"width": 320, "height": 180, "fps": 30, "work_slice_ms": 1000}
    interrupter = Interrupter(service)
    while True:
        render_id = service.create_render(html=page, duration_ms=FRAMES * 1000 // 30, **asked)

        def is_over(render_id: str = render_id) -> bool:
            info = service.render_info(render_id)
            return info is not None and info["status"] in ("complete", "failed")

        if interrupter.kill(victim, is_over):
            return render_id


def test_variants_that_share_slices_complete_after_kill_9_of_workers(
    killable_service: Service, tmp_path: Path
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", CLIP)
    client = killable_service.http
    first = _video(client, clip, (255, 255, 255))
    _wait_made(client, [first])
    boxes = iter(BOXES)
    # When all are made before a worker could be killed, another one follows.
    variants = [_video(client, clip, next(boxes)) for _ in range(2)]
    interrupter = Interrupter(killable_service)
    for victim in ("render worker", "control worker"):
        while not interrupter.kill(victim, lambda: _are_made(client, variants)):
            variants.append(_video(client, clip, next(boxes)))
    _wait_made(client, variants)
    films = [_fetch(client, each, tmp_path / f"{each}.mp4") for each in (first, *variants)]
    frame_count = len(CLIP.frame_numbers)
    slice_frames = cut_slices(Timeline(CLIP.fps, frame_count))[0].frame_count
    assert slice_frames < frame_count
    packets = [packets_of(path) for path in films]
    for path, each, box in zip(films[1:], packets[1:], BOXES, strict=False):
        frames = list(iter_frames(path))
        assert [read_frame_code(frame.rgb) for frame in frames] == CLIP.frame_numbers
        shown = colour_at(frames[30].rgb, 160, 220)
        assert [level > 96 for level in shown] == [level > 96 for level in box]
        # What is the same in all of them is the same to the bit, whoever made it.
        assert each[slice_frames:] == packets[0][slice_frames:]
        assert each[:slice_frames] != packets[0][:slice_frames]


def test_each_row_of_a_bulk_has_one_video_after_kill_9_of_the_control_worker(
    killable_service: Service, tmp_path: Path
) -> None:
    """It follows bulks; a render worker only knows slices, as in the test before."""
    client = killable_service.http
    box = {
        "type": "shape",
        "shape": {"kind": "rect", "color": "{{ color }}"},
        "size": {"width": 160, "height": 90},
    }
    config = {"dimensions": {"width": 160, "height": 90}, "fps": 10, "duration": 2, "layers": [box]}
    template = {
        "name": "box",
        "config": config,
        "inputs": {"color": "required|color"},
        "default_values": {"color": "#FFFFFF"},
    }
    made = client.post("/v2/templates", json=template).raise_for_status().json()
    address = f"/v2/templates/{made['data']['id']}/bulk"
    before = client.get("/v2/videos").json()["meta"]["total"]
    colours = iter(BOXES)
    bulks: list[str] = []

    def create_bulk() -> None:
        rows = [{"color": f"#{bytes(next(colours)).hex()}"} for _ in PRIMARIES]
        bulks.append(client.post(address, json=rows).raise_for_status().json()["data"]["id"])

    def are_complete() -> bool:
        shown = [client.get(f"/v2/bulks/{each}").json()["data"] for each in bulks]
        return all(each["status"] == "complete" for each in shown)

    create_bulk()
    interrupter = Interrupter(killable_service)
    while not interrupter.kill("control worker", are_complete):
        create_bulk()
    killable_service.wait_for(are_complete, "the bulks do not end")
    rows = [row for each in bulks for row in client.get(f"/v2/bulks/{each}/rows").json()["data"]]
    assert {row["status"] for row in rows} == {"ready"}
    assert len({row["video_id"] for row in rows}) == len(rows) == len(PRIMARIES) * len(bulks)
    assert client.get("/v2/videos").json()["meta"]["total"] == before + len(rows)
    for row, colour in zip(rows, BOXES, strict=False):
        film = _fetch(client, row["video_id"], tmp_path / f"{row['video_id']}.mp4")
        frames = list(iter_frames(film))
        shown = colour_at(frames[-1].rgb, 80, 45)
        assert (len(frames), [level > 96 for level in shown]) == (
            20,
            [each > 96 for each in colour],
        )


def _video(client: httpx.Client, clip: Path, colour: tuple[int, ...]) -> str:
    """Have the clip made into a film with a box over its lower edge for the first three seconds."""
    box = {
        "type": "shape",
        "shape": {"kind": "rect", "color": f"#{bytes(colour).hex()}"},
        "position": {"x": 0, "y": 190},
        "size": {"width": 320, "height": 50},
        "trim": {"end": 3},
    }
    config = {
        "dimensions": {"width": 320, "height": 240},
        "fps": int(CLIP.fps),
        "layers": [{"id": "clip", "type": "video"}, box],
    }
    with clip.open("rb") as source:
        files: dict[str, tuple[str | None, str | IO[bytes]]] = {
            "config": (None, json.dumps(config)),
            "fileclip": ("clip.mp4", source),
        }
        answer = client.post("/v2/videos", files=files)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def _wait_made(client: httpx.Client, video_ids: list[str]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not _are_made(client, video_ids):
        assert time.monotonic() < deadline, video_ids
        time.sleep(POLL_S)


def _are_made(client: httpx.Client, video_ids: list[str]) -> bool:
    videos = [client.get(f"/v2/videos/{each}").json() for each in video_ids]
    assert not any(each["is_failed"] for each in videos), videos
    return all(each["is_ready"] for each in videos)


def _fetch(client: httpx.Client, video_id: str, path: Path) -> Path:
    address = client.get(f"/v2/videos/{video_id}").json()["download_url"]
    path.write_bytes(client.get(address).raise_for_status().content)
    return path


def test_stopping_leaves_no_process_behind_and_the_next_start_has_the_same_data(
    killable_service: Service, tmp_path: Path
) -> None:
    service = killable_service
    render_id = service.create_render(
        html="<body style='background:#0a0'>", width=320, height=180, fps=30, duration_ms=500
    )
    assert service.wait_ended(render_id)["status"] == "complete"
    before = service.download(render_id, tmp_path / "before.mp4").read_bytes()
    everything = {pid: _started_at(pid) for pid in service.process_tree()}
    assert len(everything) > 5
    service.stop()
    deadline = time.monotonic() + TIMEOUT_S
    while left := [pid for pid, at in everything.items() if at and _started_at(pid) == at]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(POLL_S)
    service.start()
    assert service.download(render_id, tmp_path / "after.mp4").read_bytes() == before


def _started_at(pid: int) -> str | None:
    """Return when a process was started; None when it is gone. Numbers are used again."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return None
