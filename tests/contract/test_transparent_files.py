"""Uploaded films that are transparent stay so in compositions and layers that name them by id."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.composition.layers import ReadOptions, config_digest, read_config, write_config
from framekiln.renders.output import MP4
from tests.support.app import AppHarness
from tests.support.layer_films import config_of
from tests.support.layer_media import glass
from tests.support.looks import decode_frames
from tests.support.uploads import upload_file, wait_processed


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


async def uploaded(app: AppHarness, folder: Path) -> str:
    glass(folder / "glass.webm")
    data = (folder / "glass.webm").read_bytes()
    file = await wait_processed(app, (await upload_file(app, data, filename="glass.webm"))["id"])
    return str(file["id"])


async def check_seen_through(made: bytes, path: Path) -> None:
    await asyncio.to_thread(path.write_bytes, made)
    picture = decode_frames(path)[5].rgb.astype(int)
    for x, wanted in ((16, (0, 0, 255)), (48, (127, 0, 128)), (100, (255, 0, 0))):
        assert np.abs(picture[32, x] - wanted).max() <= 12


async def test_a_page_shows_what_is_behind_a_transparent_file(
    app: AppHarness, tmp_path: Path
) -> None:
    file_id = await uploaded(app, tmp_path)
    video = f'<ef-video file-id="{file_id}" style="width:64px;height:64px"></ef-video>'
    style = "width:320px;height:240px;background:#f00"
    html = f'<ef-timegroup mode="contain" style="{style}">{video}</ef-timegroup>'
    await check_seen_through(await app.output(await app.render(html)), tmp_path / "film.mp4")


async def test_a_layer_shows_what_is_behind_a_transparent_file(
    app: AppHarness, tmp_path: Path
) -> None:
    file_id = await uploaded(app, tmp_path)
    layer = {"id": "v", "type": "video", "file": "https://replaced.test/"}
    config = config_of(layer, backgroundColor="#ff0000")
    read = read_config(config, ReadOptions(uploads={"v": f"file-id:{file_id}"})).config
    render = await app.services.renders.create_from_layers(
        await app.services.identity.authenticate(app.key),
        write_config(read),
        digest=config_digest(read),
        output=MP4,
    )
    info = await app.wait_ended(str(render.id))
    await check_seen_through(await app.output(info), tmp_path / "film.mp4")
