"""Assets: the files of a composition, fetched by address.

An address is a URL, `file-id:<id>` for an uploaded file, or `transcription-of:<id>` for the
captions of one, in JSON.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from framekiln.kit.errors import InvalidInput
from framekiln.kit.ids import FILE_ID_SCHEME

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
