"""Assets, and which of them were asked for: what was not foreseen is in no digest."""

import hashlib
from collections.abc import Collection
from pathlib import Path

from framekiln.engine.assets import Assets, LocalAsset


class WatchedAssets:
    """Passes on to other assets. Asked by several threads, but never for the same thing twice."""

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
        """Return the digest of the bytes at an address, fetched now if nobody has."""
        if url not in self._digests:
            asset = self._found.get(url) or self.fetch(url)
            self._digests[url] = file_digest(asset.path)
        return self._digests[url]

    def forget(self) -> None:
        """Count from now on."""
        self._asked.clear()

    def asked_beside(self, foreseen: Collection[str]) -> bool:
        """Tell whether anything but that was asked for, in vain or not."""
        return not self._asked <= set(foreseen)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
