"""Opens a remote source so that only the parts that are read are fetched.

If that is not safe (a server without ranges, or without version identifiers) or not useful (small
files), there is no ranged source: fetch the whole file.
"""

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framekiln.kit.content_version import ContentVersion, SourceChanged
from framekiln.kit.fetch import FetchFailed, FetchTooLarge, GuardedFetcher
from framekiln.kit.ranged_path import BLOCK_BYTES, RangedPath, SparseCopy, ranged_path

SMALL_BYTES: Final = 8 << 20
_BEGINNING_BYTES: Final = 4 * BLOCK_BYTES

Run = Callable[[Coroutine[Any, Any, bytes]], bytes]
"""Runs a coroutine to completion, for a reading thread."""


@dataclass(frozen=True)
class RangedSource:
    """A remote source that is read in parts."""

    path: RangedPath
    content_type: str | None
    version: ContentVersion


@dataclass
class SourceParts:
    """Fetches parts of one source, all of the same version, in `left_s` seconds in total."""

    fetcher: GuardedFetcher
    url: str
    left_s: float
    version: ContentVersion | None = None
    content_type: str | None = None

    async def get(self, start: int, end: int) -> bytes | None:
        """Return a part; None if the server does not support ranges."""
        begun_s = time.monotonic()
        if self.left_s <= 0:
            raise FetchFailed(f"{self.url[:200]}: reading it took too long in total.")
        try:
            part = await self.fetcher.download_part(
                self.url, start, end, version=self.version, within_s=self.left_s
            )
        finally:
            self.left_s -= time.monotonic() - begun_s
        if part is None:
            return None
        self.version, self.content_type = part.version, part.content_type or self.content_type
        return part.content

    async def get_all(self, start: int, end: int) -> bytes:
        """Return a part of a source that is known to support ranges."""
        part = await self.get(start, end)
        assert part is not None, "a version was given, so this would have been a change"
        return part


async def open_ranged(
    parts: SourceParts, path: Path, *, run: Run, max_bytes: int, is_pinned: bool = False
) -> RangedSource | None:
    """Return the source, with its sparse copy at `path`; None if it must be fetched whole.

    With `is_pinned`, only the version of `parts` is accepted.
    """
    beginning = await parts.get(0, _BEGINNING_BYTES)
    version = parts.version
    if beginning is None or version is None or not version.is_certain:
        return None
    if version.size_bytes > max_bytes:
        raise FetchTooLarge(
            f"{parts.url[:200]}: the content is larger than {max_bytes} bytes.",
            max_bytes=max_bytes,
        )
    if version.size_bytes <= SMALL_BYTES and not is_pinned:
        return None
    last = (version.size_bytes - 1) // BLOCK_BYTES * BLOCK_BYTES
    try:
        # Many files have their index there; and two parts show whether parts fit together at all.
        end = await parts.get_all(last, version.size_bytes)
    except SourceChanged:
        if is_pinned:
            raise
        return None
    blocks = SparseCopy(
        path, version.size_bytes, lambda start, stop: run(parts.get_all(start, stop))
    )
    blocks.put(0, beginning)
    blocks.put(last, end)
    return RangedSource(ranged_path(path, blocks), parts.content_type, version)
