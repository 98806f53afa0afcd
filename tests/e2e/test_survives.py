"""kill -9 of any process during a render: the service is whole again and the render completes."""

import json
import os
import signal
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import IO

import httpx
import pytest

from framekiln.engine.slices import cut
from framekiln.timeline import Timeline
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.looks import colour_at, iter_frames, packets_of
from tests.support.service import Service, running_service

FPS = Fraction(30)
FRAMES = 360
VICTIMS = {
    "api": ("framekiln", " api"),
    "render worker": ("framekiln", " worker", "render"),
    "control worker": ("framekiln", " worker", "control"),
    "browser": ("chromium", "--type=gpu-process"),
    "page": ("chromium", "--type=renderer"),
    "database": ("postgres", "-D"),
}


BOXES = {
    "#ff0000": (True, False, False),
    "#00ff00": (False, True, False),
    "#0000ff": (False, False, True),
    "#00ffff": (False, True, True),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("survives")) as service:
        yield service


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.spec("3.1")
def test_render_completes_after_kill_9_of(victim: str, service: Service, tmp_path: Path) -> None:
    page = frame_code_page(PageDriver.RAF_DOM, FPS, frame_count=FRAMES)
    render_id = service.create_render(
        html=page, width=1280, height=720, fps=30, duration_ms=FRAMES * 1000 // 30
    )
    service.wait_for_status(render_id, "rendering", within_s=30)
    time.sleep(0.5)
    os.kill(service.find_process(*VICTIMS[victim]), signal.SIGKILL)

    service.wait_ready(within_s=30)
    info = service.wait_for_status(render_id, "complete", "failed", within_s=120)

    assert info["status"] == "complete", info
    film = service.download(render_id, tmp_path / "out.mp4")
    codes = [read_frame_code(frame.rgb) for frame in iter_frames(film)]
    assert codes == list(range(FRAMES))


def test_variants_that_share_slices_complete_after_kill_9_of_workers(
    service: Service, tmp_path: Path
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(fps=FPS, duration_s=Fraction(FRAMES, 30)))
    client = service.http
    first = _video(client, clip, "#ffffff")
    _wait_made(client, [first])
    variants = [_video(client, clip, colour) for colour in BOXES]
    for victim in ("render worker", "control worker", "render worker"):
        time.sleep(0.7)
        os.kill(service.find_process(*VICTIMS[victim]), signal.SIGKILL)
        service.wait_ready(within_s=60)
    _wait_made(client, variants)
    films = [_fetch(client, each, tmp_path / f"{each}.mp4") for each in (first, *variants)]
    slice_frames = cut(Timeline(FPS, FRAMES))[0].frame_count
    packets = [packets_of(path) for path in films]
    for path, each, colour in zip(films[1:], packets[1:], BOXES.values(), strict=True):
        frames = list(iter_frames(path))
        assert [read_frame_code(frame.rgb) for frame in frames] == list(range(FRAMES))
        red, green, blue = colour_at(frames[30].rgb, 160, 220)
        assert (red > 128, green > 128, blue > 128) == colour
        # What is the same in all of them is the same to the bit, whoever made it.
        assert each[slice_frames:] == packets[0][slice_frames:]
        assert each[:slice_frames] != packets[0][:slice_frames]


def _video(client: httpx.Client, clip: Path, colour: str) -> str:
    """Have the clip made into a film with a box over its lower edge for the first three seconds."""
    box = {
        "type": "shape",
        "shape": {"kind": "rect", "color": colour},
        "position": {"x": 0, "y": 190},
        "size": {"width": 320, "height": 50},
        "trim": {"end": 3},
    }
    config = {
        "dimensions": {"width": 320, "height": 240},
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
    deadline = time.monotonic() + 180
    while True:
        videos = [client.get(f"/v2/videos/{each}").json() for each in video_ids]
        assert not any(each["is_failed"] for each in videos), videos
        if all(each["is_ready"] for each in videos):
            return
        assert time.monotonic() < deadline, videos
        time.sleep(0.2)


def _fetch(client: httpx.Client, video_id: str, path: Path) -> Path:
    address = client.get(f"/v2/videos/{video_id}").json()["download_url"]
    path.write_bytes(client.get(address).raise_for_status().content)
    return path


def test_stopping_leaves_no_process_behind(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        everything = service.process_tree()
        assert len(everything) > 5
    deadline = time.monotonic() + 10
    while left := [pid for pid in everything if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)


def test_second_start_continues_with_the_same_data(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        render_id = service.create_render(
            html="<body style='background:#0a0'>", width=320, height=180, fps=30, duration_ms=500
        )
        service.wait_for_status(render_id, "complete", within_s=60)
    with running_service(tmp_path) as service:
        assert service.download(render_id, tmp_path / "out.mp4").stat().st_size > 500
