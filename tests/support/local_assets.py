"""Assets that tests have on disk, known under addresses that no network has.

A file is made when it is asked for the first time and kept for the others.
"""

import mimetypes
from collections.abc import Callable, Mapping
from pathlib import Path

from framekiln.engine.assets import LocalAsset
from framekiln.kit.errors import InvalidInput

MEDIA_ORIGIN = "https://media.test/"
Maker = Callable[[Path], object]
"""Writes the file whose path it is given."""


class LocalAssets:
    """Answers for `https://media.test/<name>` with the file that the maker of `name` writes."""

    def __init__(self, folder: Path, makers: Mapping[str, Maker]) -> None:
        self._folder = folder
        self._makers = makers

    def fetch(self, url: str) -> LocalAsset:
        """Return the file, made now if it is not there yet."""
        name = url.removeprefix(MEDIA_ORIGIN)
        if name not in self._makers:
            raise InvalidInput(f"{url} is not among the media of this test")
        path = self._folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._makers[name](path)
        return LocalAsset(path, mimetypes.guess_type(name)[0] or "application/octet-stream")
