"""The fonts that Chromium finds on this machine."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FOLDERS: Final = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/share/fontconfig",
    "/etc/fonts",
)


def installed_fonts_digest() -> str:
    """Return a digest of all font files and their settings: paths, sizes and times of change."""
    sums = hashlib.sha256()
    for facts in sorted(_files()):
        sums.update(f"{facts}\n".encode(errors="surrogateescape"))
    return sums.hexdigest()


def _files() -> Iterator[tuple[str, int, int]]:
    for root in _FOLDERS:
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                try:
                    facts = path.stat()
                except OSError:
                    # A link that leads nowhere is no font.
                    continue
                yield str(path), facts.st_size, facts.st_mtime_ns
