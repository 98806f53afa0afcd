"""Reuses films, slices and sounds that were rendered before from the same inputs.

`RenderCache` copies equal ones instead of rendering them again, with the same fences and states.
If nothing equal is found, or it disappears during the copy, it is rendered as usual.
`PartCache` keeps slices and sounds by digest: until a day after their last use, and up to a limit
for each organization. Readers get a copy under a key of their own, so entries can be deleted at
any time.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import structlog

from framekiln.db.pool import Database
from framekiln.engine.film_plan import FilmPlan, FilmSlice
from framekiln.kit.canonical_json import sha256_digest
from framekiln.kit.clock import Clock
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.kit.warning_text import warnings_as_json
from framekiln.renders import part_cache_store
from framekiln.renders.model import (
    CopiedParts,
    FinishedSlice,
    Render,
    TakenRenderSlice,
    output_key,
    slice_key,
    sound_key,
)
from framekiln.renders.output import OutputFormat, output_as_json
from framekiln.renders.part_cache_store import CachedPart
from framekiln.renders.worker import RenderWorker
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.errors import BlobNotFound
from framekiln.storage.keys import NewKey, TrackedKey
from framekiln.storage.new_blobs import NewBlobs

log = structlog.get_logger(__name__)

RETENTION: Final = timedelta(days=1)
MAX_BYTES: Final = 2 << 30
"""For each organization."""
_DELETED_AT_A_TIME: Final = 500
_COPIED_AT_A_TIME: Final = 16
"""A film of hours has tens of thousands of slices."""
_TOUCHED_EVERY: Final = timedelta(minutes=1)
"""Films of a bulk use the same parts many times a second; not each use is written down."""


@dataclass(frozen=True)
class PartCache:
    """Slices and sounds by organization and digest."""

    database: Database
    blobs: BlobStore
    clock: Clock
    max_bytes: int = MAX_BYTES

    @property
    def new_blobs(self) -> NewBlobs:
        """Where its blobs, and copies of them, are stored."""
        return NewBlobs(self.database, self.blobs, self.clock)

    async def copy_to(
        self, organization_id: OrganizationId, digest: str, *, to_key: NewKey
    ) -> dict[str, Any] | None:
        """Copy a part to a key and return its record; None when there is none."""
        async with self.database.transaction() as connection:
            part = await part_cache_store.find_and_touch(
                connection, organization_id, digest, now=self.clock.now()
            )
        if part is None:
            return None
        [tracked] = await self.new_blobs.register(to_key)
        return part.record if await self._copy(part, tracked) else None

    async def copy_all(
        self, organization_id: OrganizationId, wanted: Mapping[NewKey, str]
    ) -> dict[NewKey, dict[str, Any]]:
        """Copy parts to the keys that want them, by digest; return the records of those found."""
        now = self.clock.now()
        async with self.database.transaction() as connection:
            found = await part_cache_store.find_all_and_touch(
                connection,
                organization_id,
                sorted(set(wanted.values())),
                now=now,
                touched_before=now - _TOUCHED_EVERY,
            )
        parts = {key: found[digest] for key, digest in wanted.items() if digest in found}
        tracked = await self.new_blobs.register(*parts)
        copied = await self._copy_each(dict(zip(tracked, parts.values(), strict=True)))
        keys = zip(parts.items(), tracked, strict=True)
        return {key: part.record for (key, part), each in keys if each in copied}

    async def add(
        self, organization_id: OrganizationId, digest: str, *, key: str, record: dict[str, Any]
    ) -> None:
        """Cache a copy of a blob. An error is logged, and never fails the render."""
        try:
            await self._add(organization_id, digest, key, record)
        except FramekilnError as error:
            log.warning("render.part_not_cached", digest=digest, reason=error.message)

    async def evict_unused(self) -> int:
        """Delete expired parts, and those above the limit; return how many."""
        deletions = BlobDeletions(self.database, self.blobs, self.clock)
        async with self.database.transaction() as connection:
            keys = await part_cache_store.delete_unused(
                connection,
                used_before=self.clock.now() - RETENTION,
                max_bytes=self.max_bytes,
                limit=_DELETED_AT_A_TIME,
            )
            await deletions.add(connection, *keys)
        await deletions.run(*keys)
        return len(keys)

    async def _copy_each(self, parts: Mapping[TrackedKey, CachedPart]) -> set[TrackedKey]:
        """Copy parts to their keys; return the keys of those found. The first error ends all."""
        waiting, copied = iter(parts.items()), set[TrackedKey]()

        async def copy_waiting() -> None:
            for key, part in waiting:
                if await self._copy(part, key):
                    copied.add(key)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(_COPIED_AT_A_TIME):
                    tasks.create_task(copy_waiting())
        except ExceptionGroup as group:
            # The queue retries the error itself.
            raise group.exceptions[0] from None
        return copied

    async def _copy(self, part: CachedPart, to_key: TrackedKey) -> bool:
        try:
            await self.blobs.copy(part.blob_key, to_key)
        except BlobNotFound:
            # It was evicted meanwhile; or, in older versions, its worker died before it copied it.
            async with self.database.transaction() as connection:
                await part_cache_store.delete(connection, part)
            return False
        return True

    async def _add(
        self, organization_id: OrganizationId, digest: str, key: str, record: dict[str, Any]
    ) -> None:
        async with self.database.connection() as connection:
            is_cached = await part_cache_store.is_cached(connection, organization_id, digest)
        info = None if is_cached else await self.blobs.info(key)
        if info is None:
            return
        new = NewKey(f"org/{organization_id}/kept/{new_uuid()}")
        await self.new_blobs.copy(key, new)
        part = CachedPart(
            organization_id=organization_id,
            digest=digest,
            blob_key=new,
            byte_size=info.size_bytes,
            record=record,
        )
        async with self.database.transaction() as connection:
            is_new = await part_cache_store.insert(connection, part, now=self.clock.now())
        if not is_new:
            await self.new_blobs.discard(new)


@dataclass(frozen=True)
class RenderCache:
    """Finds equal films, slices and sounds, and copies them instead of making them again."""

    worker: RenderWorker
    parts: PartCache

    async def complete_from_cache(
        self, render: Render, plan: FilmPlan, *, digest: str | None
    ) -> bool:
        """Complete a render with a copy of an equal film; False when there is none."""
        found = None if digest is None else await self.worker.find_equal_film(render, digest)
        if digest is None or found is None:
            return False
        key = output_key(render)
        try:
            await self.parts.new_blobs.copy(found.output_key, key)
        except BlobNotFound:
            return False
        record = {**found.record, **_unrendered_record(plan), "reused": "film"}
        made = replace(found, output_key=key, record=record)
        if not await self.worker.complete(render.id, made, film_digest=digest, plan=plan):
            await self.parts.new_blobs.discard(key)
        return True

    async def save_plan(
        self,
        render: Render,
        plan: FilmPlan,
        slices: Sequence[FilmSlice],
        digests: Sequence[str | None],
    ) -> None:
        """Store a plan together with copies of all its parts that are cached.

        Most slices of a film in a bulk are. One transaction for all of them costs a fraction of
        what taking and finishing each would.
        """
        keys = {slice_key(render, each.number): each for each in slices}
        wanted = {
            key: digest for key, digest in zip(keys, digests, strict=True) if digest is not None
        }
        sound = sound_key(render)
        if plan.sound_digest is not None and not plan.has_page_audio:
            wanted[sound] = plan.sound_digest
        records = await self.parts.copy_all(render.organization_id, wanted) if wanted else {}
        copied = CopiedParts(
            slices=tuple(
                FinishedSlice(each.number, key, _copied_record(records[key], plan, wanted[key]))
                for key, each in keys.items()
                if key in records
            ),
            sound_key=sound if sound in records else None,
        )
        if not await self.worker.save_plan(render, plan, slices, digests, copied):
            await self.parts.new_blobs.discard(*copied.keys)

    async def finish_slice_from_cache(
        self, render: Render, taken: TakenRenderSlice, plan: FilmPlan
    ) -> bool:
        """Finish a slice with a copy of an equal one; False when there is none."""
        if taken.digest is None:
            return False
        key = slice_key(render, taken.slice.number)
        made = await self.parts.copy_to(render.organization_id, taken.digest, to_key=key)
        if made is None:
            return False
        record = _copied_record(made, plan, taken.digest)
        if not await self.worker.finish_slice(taken, blob_key=key, record=record):
            await self.parts.new_blobs.discard(key)
        return True

    async def copy_sound(self, render: Render, plan: FilmPlan, *, to_key: NewKey) -> bool:
        """Copy an equal sound to a key; False when there is none."""
        if plan.sound_digest is None:
            return False
        digest, owner = plan.sound_digest, render.organization_id
        return await self.parts.copy_to(owner, digest, to_key=to_key) is not None

    async def add(
        self, render: Render, digest: str | None, *, key: str, record: dict[str, Any]
    ) -> None:
        """Cache a finished part, if its digest is known."""
        if digest is not None:
            await self.parts.add(render.organization_id, digest, key=key, record=record)


def joined_film_digest(render: Render, parts: list[FinishedSlice]) -> str | None:
    """Return the digest of a film from its finished parts; None when one of theirs is unknown."""
    slices = [part.record.get("digest") for part in parts]
    return film_digest(slices, render.sound_digest, render.request.output)


def film_digest(
    slices: Sequence[str | None], sound: str | None, output: OutputFormat
) -> str | None:
    """Return the digest of a whole film in its container; None when a part's is unknown."""
    if sound is None or not slices or None in slices:
        return None
    return sha256_digest({"slices": list(slices), "sound": sound, "output": output_as_json(output)})


def _unrendered_record(plan: FilmPlan) -> dict[str, Any]:
    return {"captured_frames": 0, "composed_frames": 0, **warnings_as_json(plan.warnings)}


def _copied_record(record: dict[str, Any], plan: FilmPlan, digest: str) -> dict[str, Any]:
    return {**record, **_unrendered_record(plan), "reused": "slice", "digest": digest}
