"""Assets: the files of a composition, fetched by address.

An address is a URL, `file-id:<id>` for an uploaded file, or `transcription-of:<id>` for the
captions of one, in JSON.
"""

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from framekiln.kit.errors import InvalidInput
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.ids import FILE_ID_SCHEME
from framekiln.kit.ranged_source import SourceParts, open_ranged

FILE_ID: Final = FILE_ID_SCHEME
TRANSCRIPTION_OF: Final = "transcription-of:"
MAX_ASSET_BYTES: Final = 1 << 30
DOWNLOAD_WITHIN_S: Final = 600.0
UNKNOWN_TYPE: Final = "application/octet-stream"


@dataclass(frozen=True)
class LocalAsset:
    """A local file that exists as long as the film is being made.

    The path may be a `RangedPath`, whose bytes are fetched when Python reads them.
    """

    path: Path
    content_type: str


class Assets(Protocol):
    """Fetches assets; called from the film's thread, so it may block."""

    def fetch(self, url: str) -> LocalAsset:
        """Return the file at an address, or raise a FramekilnError."""
        ...


class NoAssets:
    """For films without assets."""

    def fetch(self, url: str) -> LocalAsset:
        """Refuse."""
        raise InvalidInput(f"{url[:200]} cannot be fetched here")


class FetchedAssets:
    """Fetches each URL once into a folder, and large ones in parts; for films made without a
    service.
    """

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


class TrackedAssets:
    """Records which assets are fetched, and their digests.

    Several threads may use it, but never for the same address at once.
    """

    def __init__(self, assets: Assets) -> None:
        self._assets = assets
        self._asked: set[str] = set()
        self._digests: dict[str, str] = {}
        self._found: dict[str, LocalAsset] = {}

    def fetch(self, url: str) -> LocalAsset:
        """Return the file at an address."""
        self._asked.add(url)
        asset = self._assets.fetch(url)
        self._found[url] = asset
        return asset

    def digest(self, url: str) -> str:
        """Return the digest of the file at an address, which is fetched if necessary."""
        if url not in self._digests:
            asset = self._found.get(url) or self.fetch(url)
            self._digests[url] = file_digest(asset.path)
        return self._digests[url]

    @property
    def fetched(self) -> Mapping[str, LocalAsset]:
        """The files that were fetched so far, by address."""
        return self._found

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths of these files."""
        return tuple(asset.path for asset in self._found.values())

    def reset(self) -> None:
        """Forget which addresses were requested."""
        self._asked.clear()

    def fetched_other_than(self, known: Collection[str]) -> bool:
        """Return whether any other address was requested, successfully or not."""
        return not self._asked <= set(known)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
