"""Job: one render, from its composition to its output.

Any job may run twice. Each run takes the render with a higher fence and writes under a key of its
own; only the run with the highest fence can end the render, so the second replaces the first.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import structlog

from framekiln.db.pool import DatabaseUnavailable
from framekiln.engine.film import Film, FilmOrder
from framekiln.engine.studio import Studio
from framekiln.jobs.model import JobContext
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import RenderId
from framekiln.renders.model import Failure, Made, Render, output_key
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore

log = structlog.get_logger(__name__)

# Workers die for many reasons that are not the render's fault; one that takes this many down
# with it is poison.
MAX_TAKES: Final = 5
_REPORT_EVERY_S: Final = 0.25
_DATABASE_BACK_WITHIN_S: Final = 120.0


class RenderRunner:
    """Handles `render.run` jobs."""

    def __init__(self, renders: Renders, blobs: BlobStore, studio: Studio) -> None:
        self._renders = renders
        self._blobs = blobs
        self._studio = studio

    async def __call__(self, job: JobContext) -> None:
        """Take the render on and end it, one way or the other."""
        render = await self._renders.take(RenderId(UUID(job.args["render_id"])))
        if render is None:
            return
        structlog.contextvars.bind_contextvars(render_id=str(render.id), fence=render.fence)
        if render.fence > MAX_TAKES:
            reason = f"{MAX_TAKES} workers in a row died while rendering this composition"
            await self._fail(render, Failure("render_kills_workers", reason))
            return
        try:
            made = await self._make(render)
        except Exception as error:
            # While the queue will try again the render goes on; the last try ends it.
            if job.tries_again_after(error):
                raise
            await self._fail(render, _failure(error))
        else:
            await _patiently(lambda: self._renders.complete(render, made))

    async def _fail(self, render: Render, failure: Failure) -> None:
        log.warning("render failed", code=failure.code, reason=failure.message)
        await _patiently(lambda: self._renders.fail(render, failure))

    async def _make(self, render: Render) -> Made:
        html = (await self._blobs.get(render.source_key)).decode()
        order = FilmOrder(
            html=html,
            width_px=render.asked.width_px,
            height_px=render.asked.height_px,
            fps=render.asked.fps,
            duration_ms=render.asked.duration_ms,
        )
        with tempfile.TemporaryDirectory(prefix="framekiln-render-") as folder:
            path = Path(folder) / "output.mp4"
            film = await self._film(render, order, path)
            key = output_key(render)
            byte_size = path.stat().st_size
            await self._blobs.put_file(key, path)
        return Made(
            width_px=film.size.width_px,
            height_px=film.size.height_px,
            fps=film.timeline.fps,
            duration_ms=film.timeline.duration_ms,
            output_key=key,
            byte_size=byte_size,
            record=_record(film),
        )

    async def _film(self, render: Render, order: FilmOrder, path: Path) -> Film:
        progress = _Progress()
        reporting = asyncio.create_task(self._report(render, progress))
        try:
            return await self._studio.make(order, path, progress.set)
        finally:
            reporting.cancel()
            with suppress(asyncio.CancelledError):
                await reporting

    async def _report(self, render: Render, progress: "_Progress") -> None:
        """Pass progress on, a few times a second at most; a lost report costs nothing."""
        told = 0
        while True:
            await asyncio.sleep(_REPORT_EVERY_S)
            done, count = progress.now
            if done == told:
                continue
            with suppress(DatabaseUnavailable):
                await self._renders.report(render, frames_done=done, frame_count=count)
                told = done


class _Progress:
    """Written by the film's thread, read by the event loop; one tuple, so never half-written."""

    def __init__(self) -> None:
        self.now = (0, 0)

    def set(self, done: int, count: int) -> None:
        self.now = (done, count)


async def _patiently(work: Callable[[], Awaitable[Any]]) -> None:
    """Do the last write of a render even if the database is away for a while."""
    async with asyncio.timeout(_DATABASE_BACK_WITHIN_S):
        while True:
            try:
                await work()
            except DatabaseUnavailable:
                await asyncio.sleep(1)
            else:
                return


def _failure(error: Exception) -> Failure:
    if isinstance(error, FramekilnError):
        return Failure(error.code, error.message)
    log.exception("unexpected error")
    return Failure("internal_error", f"unexpected error: {type(error).__name__}")


def _record(film: Film) -> dict[str, Any]:
    return {
        "grabbing": film.grabbing,
        "fallback_reason": film.fallback_reason,
        "confinement": film.confinement,
        "browser": film.browser,
        "frame_count": film.timeline.frame_count,
        "captured_frames": film.captured_frames,
        "warnings": list(film.warnings),
    }
