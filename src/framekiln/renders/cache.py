"""Films, slices and sounds that were made before end a render's work without being made again.

All of it goes the way of what is made: the same fences, the same states. What is not found, or
goes while it is copied, is made as if nobody had looked.
"""

from dataclasses import dataclass, replace
from typing import Any

from framekiln.engine.digests import film_digest
from framekiln.renders.model import (
    FinishedSlice,
    Render,
    TakenRenderSlice,
    copied_output_key,
    slice_key,
)
from framekiln.renders.output import output_as_json
from framekiln.renders.part_cache import PartCache
from framekiln.renders.plan import RenderPlan
from framekiln.renders.worker import RenderWorker
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound


@dataclass(frozen=True)
class RenderCache:
    """Finds equal films, slices and sounds, and copies them instead of making them again."""

    worker: RenderWorker
    blobs: BlobStore
    parts: PartCache

    async def complete_from_cache(
        self, render: Render, plan: RenderPlan, *, digest: str | None, attempt: int
    ) -> bool:
        """End a render with a copy of an equal film; False when there is none."""
        found = None if digest is None else await self.worker.find_equal_film(render, digest)
        if digest is None or found is None:
            return False
        key = copied_output_key(render, attempt=attempt)
        try:
            await self.blobs.copy(found.output_key, key)
        except BlobNotFound:
            return False
        record = {**found.record, **_without_work(plan), "reused": "film"}
        made = replace(found, output_key=key, record=record)
        if not await self.worker.complete(render.id, made, film_digest=digest, plan=plan):
            await self.blobs.delete(key)
        return True

    async def finish_slice_from_cache(
        self, render: Render, taken: TakenRenderSlice, plan: RenderPlan
    ) -> bool:
        """Finish a slice with a copy of an equal one; False when there is none."""
        if taken.digest is None:
            return False
        key = slice_key(render, number=taken.slice.number, fence=taken.fence)
        made = await self.parts.copy_to(render.organization_id, taken.digest, to_key=key)
        if made is None:
            return False
        record = {**made, **_without_work(plan), "reused": "slice", "digest": taken.digest}
        if not await self.worker.finish_slice(taken, blob_key=key, record=record):
            await self.blobs.delete(key)
        return True

    async def copy_sound(self, render: Render, plan: RenderPlan, *, to_key: str) -> bool:
        """Copy an equal sound to a key; False when there is none."""
        if plan.sound_digest is None:
            return False
        digest, owner = plan.sound_digest, render.organization_id
        return await self.parts.copy_to(owner, digest, to_key=to_key) is not None

    async def add(
        self, render: Render, digest: str | None, *, key: str, record: dict[str, Any]
    ) -> None:
        """Keep a finished part for others, if its digest is sure."""
        if digest is not None:
            await self.parts.add(render.organization_id, digest, key=key, record=record)


def joined_film_digest(render: Render, parts: list[FinishedSlice]) -> str | None:
    """Return the digest of a film that is about to be joined; None when a part's is not sure."""
    slices = [part.record.get("digest") for part in parts]
    return film_digest(slices, render.sound_digest, output_as_json(render.output))


def _without_work(plan: RenderPlan) -> dict[str, Any]:
    return {"captured_frames": 0, "warnings": list(plan.warnings)}
