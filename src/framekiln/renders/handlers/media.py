"""Jobs: mix the sound of a render; join its slices and sound into the output."""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framekiln.engine.assets import Assets, TrackedAssets
from framekiln.engine.audio_mix import mix_audio
from framekiln.engine.film_plan import COPIED_SLICE, FilmPlan
from framekiln.engine.site import SiteAssets
from framekiln.jobs.failures import retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.queue import JobQueue
from framekiln.kit.cancellation import run_cancellable
from framekiln.kit.confined.budget import child_budget, children_of
from framekiln.kit.confined.run import run_warm
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.kit.warning_text import warnings_as_json, warnings_from_json
from framekiln.media.remux.assemble import assemble
from framekiln.media.remux.confined_join import join_order
from framekiln.renders.assets import AssetSources, RenderAssets, fetch_site
from framekiln.renders.cache import RenderCache, joined_film_digest
from framekiln.renders.handlers.sources import SlotRelease
from framekiln.renders.jobs import SOUND_QUEUE
from framekiln.renders.model import (
    FinishedSlice,
    Render,
    RenderResult,
    slices_prefix,
    sound_key,
)
from framekiln.renders.output import container_of
from framekiln.renders.output_file import store_output
from framekiln.renders.render_job import run_later_job
from framekiln.renders.worker import RenderWorker
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.keys import NewKey
from framekiln.storage.new_blobs import NewBlobs

_READABLE_FOLDER: Final = 0o755


@dataclass(frozen=True)
class MixSound:
    """Handles `render.sound` jobs."""

    worker: RenderWorker
    blobs: BlobStore
    new_blobs: NewBlobs
    sources: AssetSources
    cache: RenderCache
    jobs: JobQueue

    async def __call__(self, job: JobContext) -> None:
        """Mix the audio clips of the plan into one track."""
        await run_later_job(self.worker, job, self._make)

    async def _make(self, render: Render, job: JobContext) -> None:
        if render.plan is None:
            return
        plan = FilmPlan.from_json(render.plan)
        with tempfile.TemporaryDirectory(prefix="framekiln-sound-") as name:
            assets = RenderAssets(
                self.sources,
                render,
                folder=Path(name),
                loop=asyncio.get_running_loop(),
                fetched=job.args.get("fetched"),
            )
            await SlotRelease(self.worker, self.jobs).run(
                self._make_from(assets, render, plan),
                assets,
                render=render,
                job=job,
                queue=SOUND_QUEUE,
            )

    async def _make_from(self, assets: RenderAssets, render: Render, plan: FilmPlan) -> None:
        key = sound_key(render)
        digest = plan.sound_digest
        if not await self.cache.copy_sound(render, plan, to_key=key):
            digest = await self._mix(assets, render, plan, key)
            await self.cache.add(render, digest, key=key, record={})
        finished = await self.worker.finish_sound(
            render.id, blob_key=key, digest=digest, mixed=plan.audio_clips
        )
        if not finished:
            await self.new_blobs.discard(key)

    async def _mix(
        self, remote: RenderAssets, render: Render, plan: FilmPlan, key: NewKey
    ) -> str | None:
        """Mix and store the sound; return its digest if its sources are still those of the plan."""
        assets: Assets = remote
        if render.is_bundle and plan.audio_clips:
            assets = SiteAssets(await fetch_site(render, self.blobs, remote.folder), remote)
        path = remote.folder / "sound.mp4"
        tracked = TrackedAssets(assets)
        with children_of(str(render.organization_id)):
            await run_cancellable(
                mix_audio,
                plan.audio_clips,
                plan.timeline,
                tracked,
                path,
                mastering=plan.mastering,
                settings=plan.sound_settings,
            )
        await self.new_blobs.put_file(key, path)
        for source, digest in plan.sound_sources.items():
            if await run_cancellable(tracked.digest, source) != digest:
                return None
        return plan.sound_digest


@dataclass(frozen=True)
class JoinRender:
    """Handles `render.join` jobs."""

    worker: RenderWorker
    blobs: BlobStore
    new_blobs: NewBlobs
    deletions: BlobDeletions
    sandbox: WarmSandbox

    async def __call__(self, job: JobContext) -> None:
        """Make the output, complete the render, and delete the parts."""
        await run_later_job(self.worker, job, self._make)

    async def _make(self, render: Render, _: JobContext) -> None:
        if render.plan is None or render.sound_key is None:
            return
        plan = FilmPlan.from_json(render.plan)
        parts = await self.worker.finished_slices(render.id)
        result = await self._join(render, plan, parts)
        digest = joined_film_digest(render, parts)
        unused = f"{slices_prefix(render)}/", render.sound_key
        if not await retry_while_database_down(
            lambda: self.worker.complete(render.id, result, film_digest=digest, unused=unused)
        ):
            await self.new_blobs.discard(result.output_key)
        await self.deletions.run(*unused)

    async def _join(
        self, render: Render, plan: FilmPlan, parts: list[FinishedSlice]
    ) -> RenderResult:
        folders = self.sandbox.folders
        with (
            tempfile.TemporaryDirectory(dir=folders.sources) as sources,
            tempfile.TemporaryDirectory(dir=folders.work) as work,
        ):
            path = Path(work, "output.mp4")
            await self._assemble(render, plan, parts, Path(sources), path)
            output = await store_output(render, path, self.new_blobs)
        return RenderResult(
            width_px=plan.size.width_px,
            height_px=plan.size.height_px,
            fps=plan.timeline.fps,
            duration_ms=plan.timeline.duration_ms,
            output_key=output.key,
            byte_size=output.byte_size,
            record=merge_records([part.record for part in parts]),
            md5=output.md5,
        )

    async def _assemble(
        self,
        render: Render,
        plan: FilmPlan,
        parts: list[FinishedSlice],
        sources: Path,
        output: Path,
    ) -> None:
        # A confined child may be another user.
        await asyncio.to_thread(sources.chmod, _READABLE_FOLDER)
        slices = [sources / f"{part.number}.mp4" for part in parts]
        for part, path in zip(parts, slices, strict=True):
            await self.blobs.get_to_read(part.blob_key, path)
        sound = sources / "sound.mp4"
        assert render.sound_key is not None
        await self.blobs.get_to_read(render.sound_key, sound)
        film: dict[str, Any] = {
            "container": container_of(render.request.output),
            "fps": plan.timeline.fps,
            "frame_count": plan.timeline.frame_count,
        }
        if any(part.record["grabbing"] == COPIED_SLICE for part in parts):
            order = join_order(slices, sound, output, **film)
            with children_of(str(render.organization_id)):
                async with child_budget().place(order.limits.memory_bytes):
                    await run_warm(self.sandbox, order)
        else:
            await run_cancellable(assemble, slices, sound, output, **film)


_SLICE_FIELDS: Final = ("digest", "reused", "has_differed")


def merge_records(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one record for the whole film; a slice with a fallback decides where they differ."""
    worst = next((r for r in records if r["fallback_reason"]), records[0])
    warnings = dict.fromkeys(each for record in records for each in warnings_from_json(record))
    missing = dict.fromkeys(each for r in records for each in r.get("missing_confinement", ()))
    return {
        **{name: value for name, value in worst.items() if name not in _SLICE_FIELDS},
        "captured_frames": sum(record["captured_frames"] for record in records),
        "composed_frames": sum(record.get("composed_frames", 0) for record in records),
        "filmed_reason": next(
            (r["filmed_reason"] for r in records if r.get("filmed_reason")), None
        ),
        "differing_slices": sum(record.get("has_differed", False) for record in records),
        "slices": len(records),
        "reused_slices": sum("reused" in record for record in records),
        "copied_slices": sum(record["grabbing"] == COPIED_SLICE for record in records),
        **warnings_as_json(warnings),
        "missing_confinement": list(missing),
    }
