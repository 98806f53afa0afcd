"""The assets of a render as local files: remote sources, uploaded files, captions and bundles.

Sources of inline HTML are downloaded whole, at most once an hour (`Ingest`). Bundles read large
sources in parts, by range requests.
"""

import asyncio
import hashlib
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from framekiln.db.pool import Database
from framekiln.engine.assets import (
    DOWNLOAD_WITHIN_S,
    FILE_ID,
    MAX_ASSET_BYTES,
    TRANSCRIPTION_OF,
    UNKNOWN_TYPE,
    LocalAsset,
)
from framekiln.engine.site import Site
from framekiln.files.ids import parse_file_id
from framekiln.files.ingest import Ingest
from framekiln.files.service import Files
from framekiln.kit.cancellation import wait_for_result
from framekiln.kit.confined.errors import rebuild_error
from framekiln.kit.content_version import ContentVersion
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.ids import FileId, OrganizationId, RenderId
from framekiln.kit.ranged_source import SourceParts, open_ranged
from framekiln.renders import source_store
from framekiln.renders.bundle import unpack
from framekiln.renders.jobs import FetchResults
from framekiln.renders.model import Render
from framekiln.storage.blob_store import BlobStore

_MARGIN_S: Final = 60.0
_SHOWN_URL_CHARACTERS: Final = 200
SLOW_AFTER_S: Final = 5.0
"""A download that takes longer is one of a slow server."""


class CaptionSource(Protocol):
    """Has the captions of transcribed files."""

    async def captions_json(self, organization_id: OrganizationId, file_id: FileId) -> bytes:
        """Return the captions of a file's transcription; raise if there is none."""
        ...


@dataclass(frozen=True)
class SourceVersions:
    """The versions of sources that are read in parts: all workers of a render read the same one."""

    database: Database

    async def find(self, render_id: RenderId, url: str) -> ContentVersion | None:
        """Return the version that this render uses, if a worker has read the source."""
        async with self.database.connection() as connection:
            return await source_store.find_source(connection, render_id, url)

    async def record(
        self, render_id: RenderId, url: str, version: ContentVersion
    ) -> ContentVersion:
        """Record a version, and return the one that was recorded first."""
        async with self.database.transaction() as connection:
            await source_store.record_source(connection, render_id, url, version)
            return await source_store.find_source(connection, render_id, url) or version


@dataclass(frozen=True)
class AssetSources:
    """Where the sources of renders come from."""

    ingest: Ingest
    files: Files
    captions: CaptionSource
    blobs: BlobStore
    fetcher: GuardedFetcher
    versions: SourceVersions


class RenderAssets:
    """Fetches the assets of one render, for one job."""

    def __init__(
        self,
        sources: AssetSources,
        render: Render,
        *,
        folder: Path,
        loop: asyncio.AbstractEventLoop,
        fetched: FetchResults | None = None,
    ) -> None:
        self._sources = sources
        self._render = render
        self.folder = folder
        self._loop = loop
        self._fetched = fetched or {}
        self._ranged: dict[str, LocalAsset] = {}
        self._downloads: dict[object, tuple[str, float]] = {}

    def slow_downloads(self) -> list[str]:
        """Return the URLs of slow servers that are waited for now."""
        slow_since_s = time.monotonic() - SLOW_AFTER_S
        waited_for = list(self._downloads.values())
        return sorted({url for url, since_s in waited_for if since_s < slow_since_s})

    def fetch(self, url: str) -> LocalAsset:
        """Return the file at an address; called from a film thread, which it blocks."""
        fetching = asyncio.run_coroutine_threadsafe(self.fetch_async(url), self._loop)
        return wait_for_result(fetching, DOWNLOAD_WITHIN_S + _MARGIN_S)

    async def fetch_async(self, url: str) -> LocalAsset:
        """Return the file at an address."""
        path = self.folder / f"asset-{hashlib.sha256(url.encode()).hexdigest()[:32]}"
        owner = self._render.organization_id
        if url.startswith(FILE_ID):
            return await self._fetch_file(parse_file_id(url.removeprefix(FILE_ID)), path)
        if url.startswith(TRANSCRIPTION_OF):
            file_id = parse_file_id(url.removeprefix(TRANSCRIPTION_OF))
            captions = await self._sources.captions.captions_json(owner, file_id)
            await asyncio.to_thread(path.write_bytes, captions)
            return LocalAsset(path, "application/json")
        if (failure := self._fetched.get(url)) is not None:
            raise rebuild_error(failure, "download")
        return await self._fetch_remote(url, path)

    async def _fetch_remote(self, url: str, path: Path) -> LocalAsset:
        # Another name, because the path may already hold the whole source.
        parts = path.with_name(f"{path.name}-parts")
        is_ranged = self._render.is_bundle and url not in self._fetched
        # Not what follows: our own store is no slow server.
        with self._download(url):
            if is_ranged and (ranged := await self._open_ranged(url, parts)):
                return ranged
            asset = await self._sources.ingest.get(self._render.organization_id, url)
        if url in self._fetched and (pinned := await self._pinned(url)):
            pinned.check(replace(pinned, size_bytes=asset.byte_size), url[:_SHOWN_URL_CHARACTERS])
        await self._sources.blobs.get_to_read(asset.blob_key, path)
        return LocalAsset(path, asset.content_type)

    async def _open_ranged(self, url: str, path: Path) -> LocalAsset | None:
        """Return a large source that is read in parts; None if it has to be downloaded."""
        if url in self._ranged:
            return self._ranged[url]
        sources, render_id = self._sources, self._render.id
        pinned = await self._pinned(url)
        if pinned is None and await sources.ingest.find(self._render.organization_id, url):
            return None
        parts = SourceParts(sources.fetcher, url, DOWNLOAD_WITHIN_S, version=pinned)
        run = partial(self._run, url)
        source = await open_ranged(
            parts, path, run=run, max_bytes=MAX_ASSET_BYTES, is_pinned=pinned is not None
        )
        if source is None:
            return None
        first = await sources.versions.record(render_id, url, source.version)
        first.check(source.version, url[:_SHOWN_URL_CHARACTERS])
        self._ranged[url] = LocalAsset(source.path, source.content_type or UNKNOWN_TYPE)
        return self._ranged[url]

    async def _pinned(self, url: str) -> ContentVersion | None:
        return await self._sources.versions.find(self._render.id, url)

    def _run(self, url: str, reading: Coroutine[Any, Any, bytes]) -> bytes:
        with self._download(url):
            fetching = asyncio.run_coroutine_threadsafe(self._counted(reading), self._loop)
            return wait_for_result(fetching, DOWNLOAD_WITHIN_S + _MARGIN_S)

    @contextmanager
    def _download(self, url: str) -> Iterator[None]:
        """Note that the film waits for a download, unless it has already given up its slot."""
        key = object()
        if url not in self._fetched:
            self._downloads[key] = url, time.monotonic()
        try:
            yield
        finally:
            self._downloads.pop(key, None)

    async def _counted(self, reading: Coroutine[Any, Any, bytes]) -> bytes:
        quotas, owner = self._sources.ingest.quotas, self._render.organization_id
        try:
            await quotas.check_downloads(owner)
            part = await reading
        finally:
            # Not awaited if the quota is used up.
            reading.close()
        await quotas.record_download(owner, len(part))
        return part

    async def _fetch_file(self, file_id: FileId, path: Path) -> LocalAsset:
        file = await self._sources.files.get(self._render.organization_id, file_id)
        await self._sources.files.fetch_media(file, path)
        return LocalAsset(path, file.media_type or UNKNOWN_TYPE)


async def fetch_site(render: Render, blobs: BlobStore, folder: Path) -> Site:
    """Fetch and unpack the bundle of a render."""
    archive, unpacked = folder / "bundle.tar.gz", folder / "bundle"
    await blobs.get_to_read(render.source_key, archive)
    unpacked.mkdir()
    await asyncio.to_thread(unpack, archive, unpacked)
    return Site(unpacked)
