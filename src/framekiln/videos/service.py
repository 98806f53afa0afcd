"""The operations on videos. Each change is one transaction, together with that of the render."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from framekiln.audit.log import record
from framekiln.composition.layers import ConfigFinding, InvalidConfig, LayerConfig
from framekiln.composition.layers.sources import addresses_of, every_layer
from framekiln.composition.layers.values import HtmlLayer
from framekiln.db.pool import Connection, Database
from framekiln.files.lookup import find_asset
from framekiln.files.service import Files
from framekiln.identity.model import Caller
from framekiln.kit.clock import Clock
from framekiln.kit.fair_threads import FairThreads
from framekiln.kit.ids import FILE_ID_SCHEME, OrganizationId
from framekiln.renders.lookup import find_progress, find_render, find_renders, lock_render
from framekiln.renders.model import Render, RenderStatus
from framekiln.renders.service import Renders
from framekiln.videos import store
from framekiln.videos.accepted_config import AcceptedConfig, accept_config
from framekiln.videos.errors import VideoNotFound, VideoNotReady
from framekiln.videos.events import VideoEvents
from framekiln.videos.model import NewVideo, Video, VideoRecord, VideoRequest
from framekiln.videos.named_files import NamedFiles
from framekiln.videos.pagination import ListPage, PageNumberRequest
from framekiln.videos.public_ids import VideoId, is_public_id, new_public_id

WriteWithVideo = Callable[[Connection, Video], Awaitable[None]]


class Videos:
    """The videos of all organizations, for their owners."""

    def __init__(
        self,
        database: Database,
        *,
        renders: Renders,
        files: Files,
        events: VideoEvents,
        threads: FairThreads,
        clock: Clock,
    ) -> None:
        self._database = database
        self._threads = threads
        self._renders = renders
        self._files = NamedFiles(files)
        self._events = events
        self._clock = clock

    async def create(
        self,
        caller: Caller,
        request: VideoRequest,
        *,
        also_write: WriteWithVideo | None = None,
    ) -> Video:
        """Create a video; if an equal one is complete, its render is shared.

        `also_write` runs in the same transaction.
        """
        accepted = await self.validate(caller.organization.id, request)
        await self._check_callback(accepted)
        await self._files.check(caller.organization.id, accepted.config)
        again = await self._find_equal(caller.organization.id, accepted, also_write)
        return again or await self._make(caller, accepted, also_write)

    async def validate(
        self, organization_id: OrganizationId, request: VideoRequest
    ) -> AcceptedConfig:
        """Return what would be rendered, or raise its errors; store nothing."""
        return await self._threads.run(organization_id, lambda: accept_config(request))

    async def _check_callback(self, accepted: AcceptedConfig) -> None:
        url = accepted.config.callback
        complaint = None if url is None else await self._events.callbacks.url_error(url)
        if complaint is not None:
            raise InvalidConfig([ConfigFinding("callback", "not_allowed", complaint)])

    async def get(self, organization_id: OrganizationId, video_id: str) -> Video:
        """Return a video of the organization."""
        async with self._database.connection() as connection:
            record = await self._find(connection, organization_id, video_id)
            render = await find_render(connection, organization_id, record.render_id)
            if render is None:
                raise _no_video(video_id)
            (video,) = await _with_progress(connection, [Video(record, render)])
        return video

    async def get_ready(self, organization_id: OrganizationId, video_id: str) -> Video:
        """Return a finished video, or raise `VideoNotReady`."""
        video = await self.get(organization_id, video_id)
        if not video.is_ready:
            raise video_not_ready(video)
        return video

    async def list(
        self, organization_id: OrganizationId, page_request: PageNumberRequest
    ) -> ListPage[Video]:
        """Return a page of the organization's videos, newest first."""
        async with self._database.connection() as connection:
            total = await store.count(connection, organization_id)
            records = await store.list_page(connection, organization_id, page_request)
            ids = [record.render_id for record in records]
            renders = await find_renders(connection, organization_id, ids)
            videos = [
                Video(record, renders[record.render_id])
                for record in records
                if record.render_id in renders
            ]
            videos = await _with_progress(connection, videos)
        return ListPage(videos, page_request, total)

    async def delete(self, organization_id: OrganizationId, video_id: str) -> None:
        """Delete a video, and its render if no other video uses it; a running render is stopped."""
        video = await self.get(organization_id, video_id)
        is_over = False
        async with self._database.transaction() as connection:
            # Under the lock, so that no new video can share a render that is being deleted.
            await lock_render(connection, video.render.id)
            if not await store.delete(connection, video.id):
                raise _no_video(video_id)
            await record(
                connection,
                organization_id,
                "video.deleted",
                resource=video_id,
                now=self._clock.now(),
            )
            if not await store.is_render_used(connection, video.render.id):
                is_over = await self._renders.discard(connection, video.render)
        if is_over:
            await self._renders.delete_blobs(video.render)

    async def _make(
        self, caller: Caller, accepted: AcceptedConfig, also_write: WriteWithVideo | None
    ) -> Video:
        records: list[VideoRecord] = []

        async def add_video(connection: Connection, render: Render) -> None:
            records.append(await self._add(connection, accepted.new, render, also_write=also_write))

        render = await self._renders.create_from_layers(
            caller,
            accepted.new.config,
            digest=accepted.new.digest,
            output=accepted.output,
            also_write=add_video,
        )
        return Video(records[0], render)

    async def _find_equal(
        self,
        organization_id: OrganizationId,
        accepted: AcceptedConfig,
        also_write: WriteWithVideo | None,
    ) -> Video | None:
        """Return a new video that shares the render of an equal one, if there is one."""
        if has_html_layers(accepted.config):
            return None
        async with self._database.transaction() as connection:
            made = await store.find_complete_by_digest(
                connection, organization_id, accepted.new.digest
            )
            if made is None:
                return None
            render = await lock_render(connection, made.render_id)
            if render is None or render.status is not RenderStatus.COMPLETE:
                return None
            sources = _RenderSources(connection, render, now=self._clock.now())
            if not await sources.are_unchanged(source_addresses(accepted.config)):
                return None
            record = await self._add(connection, accepted.new, render, also_write=also_write)
            return Video(record, render)

    async def _add(
        self,
        connection: Connection,
        new: NewVideo,
        render: Render,
        *,
        also_write: WriteWithVideo | None,
    ) -> VideoRecord:
        while True:
            video_id = VideoId(new_public_id())
            now = self._clock.now()
            record = await store.insert(connection, video_id, new, render=render, now=now)
            if record is not None:
                await self._events.record_created(connection, Video(record, render))
                if also_write is not None:
                    await also_write(connection, Video(record, render))
                return record

    async def _find(
        self, connection: Connection, organization_id: OrganizationId, video_id: str
    ) -> VideoRecord:
        # Other texts cannot even be compared: PostgreSQL rejects U+0000.
        if is_public_id(video_id):
            record = await store.find(connection, organization_id, VideoId(video_id))
            if record is not None:
                return record
        raise _no_video(video_id)


@dataclass(frozen=True)
class _RenderSources:
    """The sources of a finished render that are still stored."""

    connection: Connection
    render: Render
    now: datetime

    async def are_unchanged(self, addresses: set[str]) -> bool:
        """Whether another render would get the same bytes that this one used."""
        for address in sorted(addresses):
            if address.startswith(FILE_ID_SCHEME):
                # Was found just now, and the content of a file never changes.
                continue
            asset = await find_asset(
                self.connection, self.render.organization_id, address, now=self.now
            )
            # A source that was fetched during the render may have been fetched twice, and differ.
            # In that case the worker compares bytes, and copies the film if nothing has changed.
            if asset is None or asset.created_at > self.render.created_at:
                return False
        return True


async def _with_progress(connection: Connection, videos: list[Video]) -> list[Video]:
    """Add the progress of those that are being rendered."""
    begun = [video.render.id for video in videos if not video.render.status.is_terminal]
    if not begun:
        return videos
    found = await find_progress(connection, begun)
    return [replace(video, render_progress=found.get(video.render.id)) for video in videos]


def video_not_ready(video: Video) -> VideoNotReady:
    """Return the error for a video that is not finished."""
    failure = video.render.failure
    if failure is not None:
        return VideoNotReady(f"video {video.id} failed: {failure.message}", status="failed")
    return VideoNotReady(f"video {video.id} is not ready yet", status="processing")


def _no_video(video_id: str) -> VideoNotFound:
    return VideoNotFound(f"there is no video {video_id[:50]!r}")


def source_addresses(config: LayerConfig) -> set[str]:
    """Return the URL of each source and font."""
    found = {address for layer in every_layer(config.layers) for address in addresses_of(layer)}
    return found | {font.src for font in config.fonts}


def has_html_layers(config: LayerConfig) -> bool:
    """Whether the config has HTML layers, whose requests cannot be known in advance."""
    return any(isinstance(layer, HtmlLayer) for layer in every_layer(config.layers))
