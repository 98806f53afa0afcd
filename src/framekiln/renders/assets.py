"""The assets of a render, for its film thread: ingested sources and bundles as local files."""

import asyncio
import hashlib
from pathlib import Path
from typing import Final

from framekiln.engine.assets import DOWNLOAD_WITHIN_S, LocalAsset
from framekiln.engine.site import Site
from framekiln.files.ingest import Ingest
from framekiln.kit.ids import OrganizationId
from framekiln.renders.bundle import unpack
from framekiln.renders.model import Render
from framekiln.storage.blob_store import BlobStore

_MARGIN_S: Final = 60.0


class IngestedAssets:
    """Fetches through the ingest of the render's organization; each file once per job."""

    def __init__(
        self,
        ingest: Ingest,
        blobs: BlobStore,
        organization_id: OrganizationId,
        *,
        folder: Path,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._ingest = ingest
        self._blobs = blobs
        self._organization_id = organization_id
        self._folder = folder
        self._loop = loop

    def fetch(self, url: str) -> LocalAsset:
        """Return the file behind a URL; blocks the film's thread, not the event loop."""
        fetching = asyncio.run_coroutine_threadsafe(self.fetch_soon(url), self._loop)
        return fetching.result(DOWNLOAD_WITHIN_S + _MARGIN_S)

    async def fetch_soon(self, url: str) -> LocalAsset:
        """Return the file behind a URL."""
        asset = await self._ingest.get(self._organization_id, url)
        path = self._folder / f"asset-{hashlib.sha256(url.encode()).hexdigest()[:32]}"
        await self._blobs.get_to_file(asset.blob_key, path)
        return LocalAsset(path, asset.content_type)


async def fetch_site(render: Render, blobs: BlobStore, folder: Path) -> Site:
    """Return the unpacked bundle of a render."""
    archive, unpacked = folder / "bundle.tar.gz", folder / "bundle"
    await blobs.get_to_file(render.source_key, archive)
    unpacked.mkdir()
    await asyncio.to_thread(unpack, archive, unpacked)
    return Site(unpacked)
