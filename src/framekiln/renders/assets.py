"""The assets of a render, for its film thread, as local files: sources from elsewhere, uploaded
files, what is said in them, and bundles.
"""

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from framekiln.engine.assets import DOWNLOAD_WITHIN_S, FILE_ID, TRANSCRIPTION_OF, LocalAsset
from framekiln.engine.site import Site
from framekiln.files.ids import file_id_of
from framekiln.files.ingest import Ingest
from framekiln.files.service import Files
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.renders.bundle import unpack
from framekiln.renders.model import Render
from framekiln.storage.blob_store import BlobStore

_MARGIN_S: Final = 60.0


class Spoken(Protocol):
    """Knows what is said in files."""

    async def captions_json(self, organization_id: OrganizationId, file_id: FileId) -> bytes:
        """Return the captions of a file's transcription, or raise why there are none."""
        ...


@dataclass(frozen=True)
class Sources:
    """Where the sources of renders come from."""

    ingest: Ingest
    files: Files
    spoken: Spoken
    blobs: BlobStore


class RenderAssets:
    """Fetches for the render's organization; each file once per job."""

    def __init__(
        self,
        sources: Sources,
        organization_id: OrganizationId,
        *,
        folder: Path,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._sources = sources
        self._organization_id = organization_id
        self._folder = folder
        self._loop = loop

    def fetch(self, url: str) -> LocalAsset:
        """Return the file at an address; blocks the film's thread, not the event loop."""
        fetching = asyncio.run_coroutine_threadsafe(self.fetch_soon(url), self._loop)
        return fetching.result(DOWNLOAD_WITHIN_S + _MARGIN_S)

    async def fetch_soon(self, url: str) -> LocalAsset:
        """Return the file at an address."""
        path = self._folder / f"asset-{hashlib.sha256(url.encode()).hexdigest()[:32]}"
        if url.startswith(FILE_ID):
            return await self._fetch_file(file_id_of(url.removeprefix(FILE_ID)), path)
        if url.startswith(TRANSCRIPTION_OF):
            file_id = file_id_of(url.removeprefix(TRANSCRIPTION_OF))
            said = await self._sources.spoken.captions_json(self._organization_id, file_id)
            await asyncio.to_thread(path.write_bytes, said)
            return LocalAsset(path, "application/json")
        asset = await self._sources.ingest.get(self._organization_id, url)
        await self._sources.blobs.get_to_file(asset.blob_key, path)
        return LocalAsset(path, asset.content_type)

    async def _fetch_file(self, file_id: FileId, path: Path) -> LocalAsset:
        file = await self._sources.files.get(self._organization_id, file_id)
        await self._sources.files.fetch_media(file, path)
        return LocalAsset(path, file.media_type or "application/octet-stream")


async def fetch_site(render: Render, blobs: BlobStore, folder: Path) -> Site:
    """Return the unpacked bundle of a render."""
    archive, unpacked = folder / "bundle.tar.gz", folder / "bundle"
    await blobs.get_to_file(render.source_key, archive)
    unpacked.mkdir()
    await asyncio.to_thread(unpack, archive, unpacked)
    return Site(unpacked)
