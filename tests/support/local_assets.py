"""Assets in local files, with URLs that do not exist on any network.

A file is made on first use and kept.
"""

import mimetypes
from collections.abc import Callable, Mapping
from pathlib import Path

from framekiln.engine.assets import LocalAsset
from framekiln.kit.errors import InvalidInput

MEDIA_ORIGIN = "https://media.test/"
Maker = Callable[[Path], object]
"""Writes the file at the given path."""


class LocalAssets:
    """Responds to a URL below `MEDIA_ORIGIN` with the file that the maker of its name writes."""

    def __init__(self, folder: Path, makers: Mapping[str, Maker]) -> None:
        self._folder = folder
        self._makers = makers

    def fetch(self, url: str) -> LocalAsset:
        """Return the file; it is made now if it does not exist yet."""
        name = url.removeprefix(MEDIA_ORIGIN)
        if name not in self._makers:
            raise InvalidInput(f"{url} is not among the media of this test")
        path = self._folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._makers[name](path)
        return LocalAsset(path, mimetypes.guess_type(name)[0] or "application/octet-stream")
