"""kill -9 of any process during a render: the service is whole again and the render completes."""

import os
import signal
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.looks import iter_frames
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
