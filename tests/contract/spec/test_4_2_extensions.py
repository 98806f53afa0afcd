"""Videos that are no MP4, the whole way: made by a worker, downloaded, shown in part."""

import asyncio
import io
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from tests.support.app import AppHarness
from tests.support.timeouts import TIMEOUT_S
from tests.support.videos import VIDEOS, create_video

pytestmark = pytest.mark.spec("4.2")

FILMS = {
    "webm": ("video/webm", "vp9"),
    "mov": ("video/quicktime", "prores"),
    "gif": ("image/gif", "gif"),
}
STILLS = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


def halves(**changes: Any) -> dict[str, Any]:
    """Five seconds, two slices: a green box that comes in the last of them, on nothing."""
    box = {"type": "shape", "shape": {"kind": "rect", "color": "#00ff00"}}
    return {
        "backgroundColor": "transparent",
        "dimensions": {"width": 64, "height": 48},
        "duration": 5,
        "fps": 10,
        "layers": [
            {**box, "size": {"width": 32, "height": 48}},
            {
                **box,
                "size": {"width": 32, "height": 48},
                "position": {"x": 32},
                "timeline": {"start": 4.5},
            },
        ],
        **changes,
    }


async def ended(app: AppHarness, video_id: str) -> dict[str, Any]:
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            body: dict[str, Any] = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
            if body["is_ready"] or body["is_failed"]:
                return body
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("extension", FILMS)
async def test_a_film_has_the_codec_of_its_extension(
    app: AppHarness, extension: str, tmp_path: Path
) -> None:
    media_type, codec = FILMS[extension]
    video = await ended(app, await create_video(app, halves(extension=extension)))
    assert video["is_ready"], video
    assert video["duration"] == 5
    assert "stream_url" not in video
    answer = await app.client.get(video["download_url"])
    assert answer.headers["content-type"] == media_type
    assert f"{video['id']}.{extension}" in answer.headers["content-disposition"]
    path = tmp_path / "film"
    path.write_bytes(answer.content)
    with av.open(path) as container:
        assert container.streams.video[0].codec_context.name == codec
        assert sum(1 for _ in container.decode(video=0)) == 50

    streamed = await app.client.get(f"{VIDEOS}/{video['id']}/stream")
    assert (streamed.status_code, streamed.json()["error"]) == (409, "not_a_film")
    thumbnail = await app.client.get(video["thumbnail_url"])
    assert thumbnail.headers["content-type"] == "image/jpeg"
    # JPEG has no alpha: what is nothing is black.
    assert mean(thumbnail.content)[0] == pytest.approx([0, 255, 0], abs=12)
    assert mean(thumbnail.content)[1] == pytest.approx([0, 0, 0], abs=12)
    frame = await app.client.get(
        f"{VIDEOS}/{video['id']}/frame", params={"t": 4.7, "format": "png"}
    )
    assert mean(frame.content)[1] == pytest.approx([0, 255, 0], abs=8)


@pytest.mark.parametrize("extension", STILLS)
async def test_a_still_shows_the_configured_instant(app: AppHarness, extension: str) -> None:
    config = halves(extension=extension, time=4.7, filename=f"cover.{extension}")
    config["layers"].append({**config["layers"][0], "position": {"x": 64}})
    video = await ended(app, await create_video(app, config))
    assert video["is_ready"], video
    [warning] = video["warnings"]
    assert (warning["path"], warning["code"]) == ("layers.2.position", "off_screen")
    assert not {"stream_url", "duration"} & video.keys()
    answer = await app.client.get(video["download_url"])
    assert answer.headers["content-type"] == STILLS[extension]
    assert f"cover.{extension}" in answer.headers["content-disposition"]
    assert mean(answer.content)[1] == pytest.approx([0, 255, 0], abs=8)


def mean(data: bytes) -> list[list[float]]:
    """Return the colours of the left and the right half."""
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), float)
    middle = pixels.shape[1] // 2
    halves = (pixels[:, 4 : middle - 4], pixels[:, middle + 4 : -4])
    return [half.mean(axis=(0, 1)).tolist() for half in halves]
