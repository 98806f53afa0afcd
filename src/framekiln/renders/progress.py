"""Progress from film threads to the database: a few times a second, and never in the way."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from framekiln.db.pool import DatabaseUnavailable
from framekiln.renders.slices.store import TakenSlice
from framekiln.renders.work import RenderWork

_REPORT_EVERY_S: Final = 0.25


class ProgressReports:
    """Written by a film thread, passed on by a task of the event loop."""

    def __init__(self, work: RenderWork) -> None:
        self._work = work
        # One tuple, replaced whole, so that a reader never sees half of it.
        self._now: tuple[TakenSlice, int] | None = None

    def set(self, taken: TakenSlice, frames_done: int) -> None:
        """Note how far a slice is."""
        self._now = (taken, frames_done)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._pass_on())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _pass_on(self) -> None:
        told = None
        while True:
            await asyncio.sleep(_REPORT_EVERY_S)
            now = self._now
            if now is None or now == told:
                continue
            # A lost report costs nothing.
            with suppress(DatabaseUnavailable):
                await self._work.report(now[0], frames_done=now[1])
                told = now
