"""Assets of films that are made without a service, fetched from their addresses."""

import asyncio
import hashlib
from pathlib import Path

from framekiln.engine.assets import (
    DOWNLOAD_WITHIN_S,
    FILE_ID,
    MAX_ASSET_BYTES,
    TRANSCRIPTION_OF,
    UNKNOWN_TYPE,
    LocalAsset,
)
from framekiln.kit.errors import InvalidInput
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.ranged_source import SourceParts, open_ranged


class FetchedAssets:
    """Fetches each URL once into a folder, and large ones in parts."""

    def __init__(self, fetcher: GuardedFetcher, folder: Path) -> None:
        self._fetcher = fetcher
        self._folder = folder
        self._known: dict[str, LocalAsset] = {}

    def fetch(self, url: str) -> LocalAsset:
        """Fetch through the guarded fetcher."""
        if url.startswith((FILE_ID, TRANSCRIPTION_OF)):
            raise InvalidInput(
                f"{url[:200]} is kept by a service, and this film is made without one"
            )
        if url not in self._known:
            path = self._folder / f"asset-{hashlib.sha256(url.encode()).hexdigest()[:32]}"
            self._known[url] = asyncio.run(self._fetch(url, path))
        return self._known[url]

    async def _fetch(self, url: str, path: Path) -> LocalAsset:
        parts = SourceParts(self._fetcher, url, DOWNLOAD_WITHIN_S)
        ranged = await open_ranged(parts, path, run=asyncio.run, max_bytes=MAX_ASSET_BYTES)
        if ranged is not None:
            return LocalAsset(ranged.path, ranged.content_type or UNKNOWN_TYPE)
        fetched = await self._fetcher.download(
            url, path, max_bytes=MAX_ASSET_BYTES, within_s=DOWNLOAD_WITHIN_S
        )
        return LocalAsset(path, fetched.content_type or UNKNOWN_TYPE)
