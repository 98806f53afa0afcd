"""Previews in tests: a composition that is opened, asked over HTTP, and compared with its film."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.cli.preview import LocalComposition
from framekiln.engine.film import open_renderer
from framekiln.engine.film_order import FilmOrder
from framekiln.preview.frame_thread import FrameThread
from framekiln.preview.model import FilmChoice
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


def differing_frames(
    path: Path, frames: FrameThread, browser: Browser, numbers: Sequence[int], scratch: Path
) -> list[int]:
    """Return which frames of a preview are not those of the film, shown one after the other."""
    reader = LocalComposition(path, FilmOrder(), Settings())
    order = reader.read(None, FilmChoice(), scratch).order
    film = frames.open(path.name, order).result(TIMEOUT_S)
    last = film.plan.timeline.frame_count - 1
    asked = [min(number, last) for number in numbers]
    made = {number: frames.frame(path.name, (number, "png")).result(TIMEOUT_S) for number in asked}
    differing = []
    with open_renderer(order, browser, FILM_LIMITS) as renderer:
        for number in range(max(asked) + 1):
            expected = renderer.render_frame(number)[..., 2::-1]
            if number in made and not np.array_equal(read_picture(made[number]), expected):
                differing.append(number)
    return differing
