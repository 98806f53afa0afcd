"""Slow servers of some organizations delay neither films nor sound of others."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.engine.audio_clips import PageAudioClip
from framekiln.renders.jobs import SOUND_QUEUE
from framekiln.worker.pools import worker_pools
from tests.support.app import AppHarness, running_worker
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.jobs import is_empty, wait_until
from tests.support.looks import decode_frames
from tests.support.planned_renders import has_sound, planned
from tests.support.playback import ClipServer

FPS = 10
CLIP = Clip(fps=Fraction(FPS), width=160, height=120, duration_s=Fraction(1))
HEARD = [f"heard-{number}.mp4" for number in range(1000)]
ASKED = {"width": 160, "height": 120, "fps": FPS, "duration_ms": 500}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClipServer]:
    clip = make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", CLIP)
    with ClipServer(dict.fromkeys(["seen.mp4", *HEARD], clip)) as server:
        yield server


@pytest.fixture(scope="module")
def app_options(server: ClipServer) -> dict[str, Any]:
    return {"fetch_allow": frozenset({f"127.0.0.1:{server.port}"})}


async def test_films_do_not_wait_for_slow_servers_of_others(
    app: AppHarness, server: ClipServer, tmp_path: Path
) -> None:
    """Two such films kept both slots of a worker, one of them for other organizations."""
    slow = {name: await app.other_organization() for name in ("seen.mp4", "missing.mp4")}
    # Alone, the worker of films keeps a slot for others.
    async with (
        running_worker(app.services, ["render"]),
        running_worker(app.services, ["media"]),
    ):
        with server.holding(*slow):
            waiting = {}
            for name, owner in slow.items():
                page = f'<ef-video src="{server.address(name)}"></ef-video>'
                waiting[name] = owner, await owner.create(html=page, **ASKED)

                async def is_requested(name: str = name) -> bool:
                    return server.request_count(name) > 0

                await wait_until(is_requested)
            assert (await app.render("<p>at once", **ASKED))["status"] == "complete"
            for owner, render_id in waiting.values():
                assert (await owner.info(render_id))["status"] == "rendering"
        ended = {name: await owner.wait_ended(each) for name, (owner, each) in waiting.items()}
        await wait_until(is_empty(app.services.jobs))
    film = tmp_path / "film.mp4"
    film.write_bytes(await slow["seen.mp4"].output(ended["seen.mp4"]))
    assert [read_frame_code(frame.rgb) for frame in decode_frames(film)] == list(range(5))
    # Whoever gave up a slot fails as if it had kept it.
    failed = ended["missing.mp4"]
    assert (failed["status"], failed["error"]["code"]) == ("failed", "asset_missing")
    assert server.address("missing.mp4") in failed["error"]["message"]


async def test_mixes_do_not_wait_for_slow_servers_of_others(
    app: AppHarness, server: ClipServer
) -> None:
    pools = worker_pools(["media"], concurrency=1, slots=app.services.settings.slots)
    [slots] = [pool.concurrency for pool in pools if pool.queues == (SOUND_QUEUE,)]
    names = HEARD[: slots + 1]
    owner, last_owner = await app.other_organization(), await app.other_organization()
    slow = []
    async with running_worker(app.services, ["media"]):
        with server.holding(*names):
            for name in names:
                clip = PageAudioClip("ef-audio", server.address(name), None, 0, 500, 0, gain=1)
                # The last slot is for organizations without a mix.
                asker = last_owner if name == names[-1] else owner
                slow.append(await planned(asker, 500, (clip,)))

                async def is_requested(name: str = name) -> bool:
                    return server.request_count(name) > 0

                await wait_until(is_requested)
            wanted = await planned(app, 100)
            await wait_until(lambda: has_sound(app, wanted))
            assert not any([await has_sound(app, render) for render in slow])

        async def are_mixed() -> bool:
            return all([await has_sound(app, render) for render in slow])

        await wait_until(are_mixed)
        await wait_until(is_empty(app.services.jobs))
