"""Local copies of media that requests read: one for each file, however many ask for its frames.

A copy may be a download, or a file muxed from tracks. It stays for a moment after the last request,
because people look at neighbours.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from framekiln.files.errors import FileNotFound
from framekiln.files.model import File
from framekiln.files.service import Files
from framekiln.kit.confined.job_folders import ENTER_ONLY
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.storage.errors import BlobNotFound

_IDLE_S: Final = 30.0


@dataclass(eq=False)
class _Copy:
    """A copy, or what becomes one."""

    folder: "tempfile.TemporaryDirectory[str]"
    path: Path
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    is_whole: bool = False
    removal: asyncio.TimerHandle | None = None


class MediaCopies:
    """The copies of this process."""

    def __init__(
        self, files: Files, mux_limits: ResourceLimits, *, idle_s: float = _IDLE_S
    ) -> None:
        self._files = files
        self._mux_limits = mux_limits
        self._idle_s = idle_s
        self._copies: dict[str, _Copy] = {}

    @asynccontextmanager
    async def open(self, file: File) -> AsyncIterator[Path]:
        """Yield the path of a file's media, which is read only, for any user."""
        # A file that is processed again has another time.
        key = f"{file.id} {file.completed_at}"
        copy = self._copies.get(key)
        if copy is None:
            copy = self._copies[key] = _new_copy()
        if copy.removal is not None:
            copy.removal.cancel()
            copy.removal = None
        copy.users += 1
        try:
            async with copy.lock:
                if not copy.is_whole:
                    await self._fetch(file, copy.path)
                    copy.is_whole = True
            yield copy.path
        finally:
            copy.users -= 1
            if not copy.users:
                self._remove_later(key, copy)

    async def close(self) -> None:
        """Remove all copies."""
        for key, copy in list(self._copies.items()):
            if copy.removal is not None:
                copy.removal.cancel()
            self._remove(key)

    async def _fetch(self, file: File, path: Path) -> None:
        try:
            await self._files.fetch_media(file, path, mux_limits=self._mux_limits)
        except BlobNotFound as error:
            raise FileNotFound(f"file {file.id} was deleted") from error

    def _remove_later(self, key: str, copy: _Copy) -> None:
        delay_s = self._idle_s if copy.is_whole else 0.0
        copy.removal = asyncio.get_running_loop().call_later(delay_s, self._remove, key)

    def _remove(self, key: str) -> None:
        self._copies.pop(key).folder.cleanup()


def _new_copy() -> _Copy:
    folder = tempfile.TemporaryDirectory(prefix="framekiln-frames-")
    place = Path(folder.name)
    # Children that read it may run as another user.
    place.chmod(ENTER_ONLY)
    return _Copy(folder, place / uuid4().hex)
