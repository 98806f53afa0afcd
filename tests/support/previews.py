"""Previews in tests: a composition that is opened, asked over HTTP, and compared with its film."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.cli.preview import LocalComposition
from framekiln.compositor.picture import picture_of_planes, rgba_of
from framekiln.engine.film import open_renderer
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import cut_slices
from framekiln.pixels.conversion import Planes, rgba_to_yuv420
from framekiln.preview.frame_thread import FrameThread
from framekiln.preview.server import PreviewAccess, make_app
from framekiln.preview.service import Preview, PreviewSettings
from framekiln.settings import Settings
from tests.support.timeouts import FILM_LIMITS, TIMEOUT_S

PORT = 8600
Picture = NDArray[np.uint8]


class PreviewClient:
    """Asks a preview as its page does."""

    def __init__(self, preview: Preview) -> None:
        self.preview = preview
        self.access = PreviewAccess(PORT)
        self.transport = httpx.ASGITransport(make_app(preview, PORT, self.access))
        url = f"http://127.0.0.1:{PORT}"
        self.http = httpx.AsyncClient(transport=self.transport, base_url=url, timeout=TIMEOUT_S)

    async def composition(self) -> dict[str, Any]:
        response = await self.http.get("/composition")
        assert response.status_code == 200
        found: dict[str, Any] = response.json()
        return found

    async def picture(self, number: int) -> Picture:
        version = (await self.composition())["version"]
        response = await self.http.get(f"/frames/{version}/{number}?format=png")
        assert response.status_code == 200, response.text
        return read_picture(response.content)

    async def until(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the composition once it is as wanted."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                if is_so(found := await self.composition()):
                    return found
                await asyncio.sleep(0.05)


@asynccontextmanager
async def open_preview(
    path: Path, output: Path, data: dict[str, Any] | None = None
) -> AsyncIterator[PreviewClient]:
    """Open the preview of a local composition."""
    reader = LocalComposition(path, FilmOrder(), Settings())
    preview = Preview(reader, PreviewSettings(output, FILM_LIMITS), data)
    try:
        await preview.start()
        client = PreviewClient(preview)
        async with client.http:
            await client.http.get(client.access.url)
            yield client
    finally:
        await preview.close()


def read_picture(data: bytes) -> Picture:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def asked_frames(
    path: Path, order: FilmOrder, frames: FrameThread, numbers: Sequence[int]
) -> dict[int, Picture]:
    """Return frames of a preview, asked for in this order."""
    film = frames.open(path.name, order).result(TIMEOUT_S)
    last = film.plan.timeline.frame_count - 1
    asked = dict.fromkeys(min(number, last) for number in numbers)
    return {
        number: read_picture(frames.frame(path.name, (number, "png")).result(TIMEOUT_S))
        for number in asked
    }


def frames_unlike_film(
    order: FilmOrder, made: dict[int, Picture], browser: Browser, scratch: Path
) -> list[int]:
    """Return which frames of a preview are not those that a film encodes.

    Slices of a GIF are encoded without loss. Composed frames are compared as the preview converts
    them; what Chromium draws, as the film does.
    """
    differing = []
    with open_renderer(replace(order, container="gif"), browser, FILM_LIMITS) as renderer:
        for slice_ in cut_slices(renderer.plan.timeline):
            numbers = range(slice_.first_frame, slice_.end_frame)
            if not any(number in made for number in numbers):
                continue
            path = scratch / f"{slice_.number}.mkv"
            renderer.render_slice(slice_, path, lambda _number: None)
            is_composed = renderer.take_record().composed_frames > 0
            with av.open(path) as container:
                for number, frame in zip(numbers, container.decode(video=0), strict=True):
                    if number in made and not _is_same(made[number], frame, is_composed):
                        differing.append(number)
    return differing


def _is_same(picture: Picture, frame: av.VideoFrame, is_composed: bool) -> bool:
    width, height = frame.width, frame.height
    values: Picture = frame.to_ndarray().astype(np.uint8)
    blue, red = values[height:].reshape(2, height // 2, width // 2)
    encoded = Planes(values[:height], blue, red)
    if is_composed:
        return np.array_equal(rgba_of(picture_of_planes(*encoded.all, None))[..., :3], picture)
    planes = Planes.empty(width, height)
    rgba_to_yuv420(np.dstack([picture, np.full_like(picture[..., 0], 255)]), planes)
    return all(map(np.array_equal, encoded.all, planes.all))


def differing_frames(order: FilmOrder, made: dict[int, Picture], browser: Browser) -> list[int]:
    """Return which frames of a preview differ if they are shown one after the other."""
    differing = []
    with open_renderer(order, browser, FILM_LIMITS) as renderer:
        for number in range(max(made) + 1):
            expected = renderer.render_frame(number)[..., 2::-1]
            if number in made and not np.array_equal(made[number], expected):
                differing.append(number)
    return differing
