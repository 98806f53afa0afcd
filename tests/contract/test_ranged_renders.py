"""Renders of bundles read large sources where they lie; all their workers read the same version."""

import asyncio
import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from framekiln.kit.content_version import ContentVersion, SourceChanged
from framekiln.kit.ids import RenderId
from framekiln.kit.ranged_path import RangedPath
from framekiln.renders.assets import RenderAssets
from framekiln.worker.media_handlers import render_sources
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.player_bundles import packed
from tests.support.ranged_server import RangedServer
from tests.support.sounds import beep_times

RENDERS = "/api/v1/renders"
PAGE = """<ef-timegroup mode="contain" style="display:block;width:320px;height:240px">
<ef-video src="{src}" style="width:320px;height:240px"></ef-video></ef-timegroup>"""

pytestmark = pytest.mark.spec("4.3")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RangedServer]:
    """Has a clip of two seconds, followed by 9 MiB that nobody needs."""
    path = tmp_path_factory.mktemp("clips") / "clip.mp4"
    make_clip(path, Clip(fps=Fraction(10)))
    with path.open("ab") as file:
        file.write(struct.pack(">I4s", 9 << 20, b"free") + bytes((9 << 20) - 8))
    with RangedServer({"clip.mp4": path}) as server:
        yield server


@pytest.fixture(scope="module")
def app_options(server: RangedServer) -> dict[str, Any]:
    return {"fetch_allow": frozenset({f"127.0.0.1:{server.port}"}), "workers": 1}


async def uploaded(app: AppHarness, page: str) -> str:
    render_id = await app.create(width=320, height=240, fps=10, work_slice_ms=1000)
    bundle = packed({"index.html": page.encode()})
    answer = await app.client.post(f"{RENDERS}/{render_id}/upload", content=bundle)
    assert answer.is_success, answer.text
    return render_id


async def test_a_bundle_fetches_only_the_ranges_it_shows(
    app: AppHarness, server: RangedServer, tmp_path: Path
) -> None:
    server.bytes_sent = 0
    info = await app.wait_ended(await uploaded(app, PAGE.format(src=server.address("clip.mp4"))))
    path = tmp_path / "film.mp4"
    path.write_bytes(await app.output(info))
    assert [read_frame_code(frame.rgb) for frame in decode_frames(path)] == list(range(20))
    assert [round(at_s, 2) for at_s in beep_times(path)] == [0.0, 1.0]
    # Once for pictures, once for sound: each reads the first MiB and the last block.
    assert server.bytes_sent < server.size("clip.mp4") / 3
    # The bundle and the film; nothing was ingested.
    assert (await app.count_stored())[1] == 2


async def test_all_workers_of_a_render_read_the_same_version(
    app: AppHarness, server: RangedServer, tmp_path: Path
) -> None:
    url, loop = server.address("clip.mp4"), asyncio.get_running_loop()
    render_id = await app.create(width=320, height=240)
    render = await app.services.render_worker.get(RenderId(UUID(render_id)))
    assert render is not None
    sources = render_sources(app.services)

    async def fetch(worker: str) -> Path:
        folder = tmp_path / worker
        folder.mkdir()
        assets = RenderAssets(sources, render, folder=folder, loop=loop)
        return (await assets.fetch_async(url)).path

    assert isinstance(await fetch("first"), RangedPath)
    assert isinstance(await fetch("second"), RangedPath)
    server.tag = '"another"'
    with pytest.raises(SourceChanged, match="the source changed while a film was made from it"):
        await fetch("third")
    server.sends_parts = False
    with pytest.raises(SourceChanged):
        await fetch("fourth")
    server.tag, server.sends_parts = '"one"', True


async def test_a_source_downloaded_for_a_film_that_gave_up_its_slot_is_read_whole(
    app: AppHarness, server: RangedServer, tmp_path: Path
) -> None:
    url, loop = server.address("clip.mp4"), asyncio.get_running_loop()
    bundle = RenderId(UUID(await app.create(width=320, height=240)))
    render = await app.services.render_worker.get(bundle)
    assert render is not None
    sources = render_sources(app.services)
    waited = RenderAssets(sources, render, folder=tmp_path, loop=loop, fetched={url: None})
    path = (await waited.fetch_async(url)).path
    assert not isinstance(path, RangedPath)
    assert path.stat().st_size == server.size("clip.mp4")
    # Unless another worker has read parts of another version.
    await sources.versions.record(bundle, url, ContentVersion(5, '"other"', None))
    with pytest.raises(SourceChanged):
        await waited.fetch_async(url)
