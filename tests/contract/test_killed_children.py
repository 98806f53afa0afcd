"""Confined children killed from outside: requests get the same answers as without."""

import asyncio
import os
import signal
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from tests.support.app import AppHarness
from tests.support.child_killer import ChildKiller
from tests.support.clips import Clip, make_clip, make_still
from tests.support.decoders import order_children
from tests.support.timeouts import TIMEOUT_S
from tests.support.uploads import upload_file
from tests.support.videos import MediaServer, plain_config, template_body

TASKS = "tests.support.confined_tasks"
LIMITS = ResourceLimits(cpu_s=60, memory_bytes=256 << 20, file_bytes=4 << 20, wall_s=TIMEOUT_S)
# Templates of more than 16 KiB are read in a child.
LAYERS = 40

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may signal processes of another user"
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaServer]:
    folder = tmp_path_factory.mktemp("media")
    make_clip(folder / "clip.mp4", Clip(duration_s=Fraction(2)))
    with MediaServer(folder) as running:
        yield running


@pytest.fixture(scope="module")
def app_options(host: MediaServer) -> dict[str, Any]:
    return {"fetch_allow": frozenset({f"127.0.0.1:{host.port}"})}


async def test_a_killed_child_is_repeated_without_what_it_left(tmp_path: Path) -> None:
    folder, readable = tmp_path / "work", tmp_path / "readable"
    for each in (folder, readable):
        each.mkdir()
    (folder / "given").write_text("kept")
    awaited = readable / "awaited"
    before = order_children()
    running = asyncio.create_task(
        run_confined(
            f"{TASKS}:leave_a_file",
            {"awaited": str(awaited)},
            limits=LIMITS,
            folder=folder,
            readable=[readable],
        )
    )
    while not (folder / "left").exists():
        assert not running.done(), running
        await asyncio.sleep(0.01)
    [child] = order_children() - before
    os.kill(child, signal.SIGKILL)
    awaited.touch()
    assert await running == {"seen": ["given"]}
    assert (folder / "given").read_text() == "kept"


async def test_a_child_that_is_killed_twice_fails(tmp_path: Path) -> None:
    with ChildKiller(2) as killer, pytest.raises(ConfinedKilled, match="SIGKILL"):
        await run_confined(
            f"{TASKS}:leave_a_file", {"awaited": "never"}, limits=LIMITS, folder=tmp_path
        )
    assert len(killer.killed) == 2


async def test_a_template_is_not_blamed_for_a_killed_child(app: AppHarness) -> None:
    texts = [{"type": "text", "text": {"text": "{{ name }}" + "x" * 500}} for _ in range(LAYERS)]
    body = template_body(
        config=plain_config(layers=texts),
        inputs={"name": "required|string"},
        default_values={"name": "you"},
    )
    with ChildKiller() as killer:
        made = await app.client.post("/v2/templates", json=body)
    assert (made.status_code, len(killer.killed)) == (201, 1), made.text
    with ChildKiller() as killer:
        rows = await app.client.post(
            f"/v2/templates/{made.json()['data']['id']}/bulk", json=[{"name": "Ada"}]
        )
    assert (rows.status_code, len(killer.killed)) == (201, 1), rows.text


async def test_a_source_is_not_blamed_for_a_killed_child(
    app: AppHarness, host: MediaServer
) -> None:
    config = plain_config(layers=[{"id": "v", "type": "video", "file": host.url("/clip.mp4")}])
    with ChildKiller() as killer:
        plan = await app.client.post("/v2/videos/plan", json={"config": config})
    assert (plan.status_code, len(killer.killed)) == (200, 1), plan.text
    assert plan.json()["sources"][host.url("/clip.mp4")]["duration"] == 2


async def test_an_image_is_not_blamed_for_a_killed_child(app: AppHarness, tmp_path: Path) -> None:
    png = make_still(tmp_path / "a.png", 1).read_bytes()
    with ChildKiller() as killer:
        file = await upload_file(app, png, type="image", filename="a.png")
    assert (file["status"], len(killer.killed)) == ("ready", 1)
