"""Slices of one render, made one after the other by one worker, until none is free.

The first worker also plans the render: the page must be open for that, so it goes on filming with
it. Runs in a film thread; every step that touches the database or the store is handed to the event
loop and waited for.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from framekiln.capture.browser import Browser
from framekiln.capture.grab import RawPixelsDiffer
from framekiln.engine.digests import film_digest
from framekiln.engine.order import FilmLimits, FilmOrder
from framekiln.engine.slices import Slice, cut
from framekiln.engine.sound import mix_sounds
from framekiln.engine.stages import AnyStage
from framekiln.engine.studio import Alive
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.renders.chain_stages import ChainStages
from framekiln.renders.jobs import FILM_QUEUE
from framekiln.renders.model import Render, slice_key, sound_key
from framekiln.renders.output import output_as_json
from framekiln.renders.plan import RenderPlan, Sounds
from framekiln.renders.progress import ProgressReports
from framekiln.renders.reuse.reusing import Reuse
from framekiln.renders.slices.store import TakenSlice
from framekiln.renders.still import stage_record
from framekiln.renders.work import RenderWork
from framekiln.storage.blob_store import BlobStore

T = TypeVar("T")

_STEP_WITHIN_S: Final = 300.0


@dataclass(frozen=True)
class ChainParts:
    """What all chains work with."""

    work: RenderWork
    blobs: BlobStore
    jobs: JobQueue
    limits: FilmLimits
    reuse: Reuse


@dataclass(frozen=True)
class Chain:
    """Made for one job; `run` is its film work."""

    parts: ChainParts
    render: Render
    job: JobContext
    order: FilmOrder
    folder: Path
    loop: asyncio.AbstractEventLoop
    reports: ProgressReports

    def run(self, browser: Browser, alive: Alive) -> None:
        """Take slice after slice; a stage is kept as long as the next slice lies ahead of it."""
        # A browser that died under an earlier try has left its slice taken.
        self._wait(self.parts.work.take_back(self.render.id, job_id=self.job.job_id))
        stored = self.render.plan
        kept = None if stored is None else RenderPlan.from_json(stored)
        with ChainStages(self.order, browser, self.parts.limits, plan=kept) as stages:
            plan = kept or self._plan(stages.at(0))
            made: int | None = None
            while plan is not None and (taken := self._take(after=made)) is not None:
                if not self._wait(self.parts.reuse.slice(self.render, taken, plan)):
                    self._film(taken, stages, alive)
                made = taken.slice.number
                alive()
                if self._others_wait():
                    return

    def _plan(self, stage: AnyStage) -> RenderPlan | None:
        """Return the plan; None when the whole film was found, and there is nothing to do."""
        slices = cut(stage.shot.timeline, self.render.slice_ms)
        digests = stage.digests(slices)
        plan = RenderPlan.of(stage.shot, digests, warnings=stage.warnings())
        whole = film_digest(digests.slices, digests.sound, output_as_json(self.render.output))
        reuse, attempt = self.parts.reuse, self.job.attempt
        if self._wait(reuse.film(self.render, plan, digest=whole, attempt=attempt)):
            return None
        self._wait(self.parts.work.save_plan(self.render, plan, slices, digests.slices))
        return plan

    def _take(self, *, after: int | None) -> TakenSlice | None:
        return self._wait(
            self.parts.work.take_slice(self.render, job_id=self.job.job_id, after=after)
        )

    def _film(self, taken: TakenSlice, stages: ChainStages, alive: Alive) -> None:
        path = self.folder / f"{taken.slice.number}-{taken.fence}.mp4"
        first = taken.slice.first_frame

        def shown(number: int) -> None:
            alive()
            self.reports.set(taken, number + 1 - first)

        try:
            stage = stages.at(first)
            stage.film(taken.slice, path, shown)
        except RawPixelsDiffer as reason:
            stage = stages.without_raw(first, str(reason))
            stage.film(taken.slice, path, shown)
        # First the sound: the last slice has the film joined.
        if taken.slice.end_frame == stage.shot.timeline.frame_count:
            self._settle_sound(stage, fence=taken.fence)
        record = {**stage_record(stage), "digest": _sure_digest(stage, taken.slice)}
        self._wait(self._keep(taken, path, record))
        path.unlink()

    def _settle_sound(self, stage: AnyStage, *, fence: int) -> None:
        if stage.shot.has_page_sound:
            self._keep_sound(stage, fence=fence)
        elif not stage.shot.is_declarative:
            self._wait(self._change_sounds(stage.sounds()))

    async def _change_sounds(self, sounds: Sounds) -> None:
        """Have the sound mixed again if scripts have made it another than was planned."""
        replaced = await self.parts.work.change_sounds(self.render.id, sounds)
        if replaced is not None:
            await self.parts.blobs.delete(replaced)

    def _keep_sound(self, stage: AnyStage, *, fence: int) -> None:
        """Mix what is heard with what the page itself has made heard until its last frame."""
        path = self.folder / "sound.mp4"
        own, timeline = stage.save_sounds(self.folder), stage.shot.timeline
        mix_sounds(stage.sounds(), timeline, self.order.assets, path, page_sounds=own)
        key = sound_key(self.render, job_id=self.job.job_id, attempt=fence)
        self._wait(self.parts.blobs.put_file(key, path))
        self._wait(self.parts.work.finish_sound(self.render.id, blob_key=key))
        for file in (path, *(sound.path for sound in own)):
            file.unlink()

    async def _keep(self, taken: TakenSlice, path: Path, record: dict[str, Any]) -> None:
        key = slice_key(self.render, number=taken.slice.number, fence=taken.fence)
        await self.parts.blobs.put_file(key, path)
        # Before it is finished: the last slice has the film joined, and all slices removed.
        await self.parts.reuse.keep(self.render, record["digest"], key=key, record=record)
        if not await self.parts.work.finish_slice(taken, blob_key=key, record=record):
            await self.parts.blobs.delete(key)

    def _others_wait(self) -> bool:
        """Make room for another organization: somebody else was called in for what is left."""
        return self._wait(
            self.parts.jobs.has_waiting_of_others(
                FILM_QUEUE, argument="organization_id", value=str(self.render.organization_id)
            )
        )

    def _wait(self, step: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(step, self.loop).result(_STEP_WITHIN_S)


def _sure_digest(stage: AnyStage, slice_: Slice) -> str | None:
    """Return what a slice was made of, by the sources of this stage: they may be newer ones."""
    return stage.digests([slice_]).slices[0] if stage.is_foreseen else None
