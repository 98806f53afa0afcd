"""The files that a composition uses, looked at for changes: those it has asked for, or missed."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, overload
from urllib.parse import unquote

from framekiln.engine.site import PageFolder, Site

MAX_WATCHED_FILES: Final = 2000
_Stamp = tuple[int, int, int] | None
"""Time of change, size and inode; None if there is no file."""


class WatchedFiles:
    """Notes files, and says whether one has changed since. May be used from several threads."""

    def __init__(self, max_files: int = MAX_WATCHED_FILES) -> None:
        self._max_files = max_files
        self._lock = threading.Lock()
        self._stamps: dict[Path, _Stamp] = {}

    def add(self, path: Path) -> None:
        """Watch a file from now on; files beyond the limit are not watched."""
        with self._lock:
            if path not in self._stamps and len(self._stamps) < self._max_files:
                self._stamps[path] = _stamp(path)

    def has_changed(self) -> bool:
        """Whether a file has changed since the last call, or since it was added."""
        with self._lock:
            now = {path: _stamp(path) for path in self._stamps}
            has_changed = now != self._stamps
            self._stamps = now
        return has_changed

    @overload
    def watched(self, site: Site) -> Site: ...

    @overload
    def watched(self, site: None) -> None: ...

    def watched(self, site: Site | None) -> Site | None:
        """Return a site that notes what it serves; an unpacked bundle never changes."""
        if not isinstance(site, PageFolder):
            return site
        return WatchedFolder(site.folder, site.page, self)


@dataclass(frozen=True)
class WatchedFolder(PageFolder):
    """The folder of a page, which notes each file that the page asks for."""

    files: WatchedFiles

    def locate(self, url_path: str) -> Path | None:
        """Return the local path of a file."""
        found = super().locate(url_path)
        if found is not None:
            self.files.add(found)
        elif (missing := self._missing(url_path)) is not None:
            # It may be added later.
            self.files.add(missing)
        return found

    def _missing(self, url_path: str) -> Path | None:
        root = self.folder.resolve()
        try:
            path = (root / unquote(url_path).lstrip("/")).resolve()
            is_hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        except (OSError, ValueError):
            return None
        return None if is_hidden or path == root else path


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
