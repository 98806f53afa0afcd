"""The version of the engine: equal versions make equal bytes from equal orders.

Computed from the code itself, so that nobody can forget to increase it.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from framekiln.media.container import library_versions

_PACKAGES: Final = ("capture", "composition", "compositor", "engine", "media", "pixels")
_MODULES: Final = ("timeline.py", "kit/lottie.py", "kit/media_kind.py")
_ENDINGS: Final = (".py", ".js", ".c")
_LIBRARIES: Final = ("numpy", "opencv-python-headless", "pillow")


@cache
def engine_version() -> str:
    """Return a digest of the code that makes pictures and sound, and of its libraries."""
    sums = hashlib.sha256()
    root = files("framekiln")
    for name in (*_PACKAGES, *_MODULES):
        _add(sums, root.joinpath(name), name)
    sums.update(library_versions().encode())
    for library in _LIBRARIES:
        sums.update(f"{library} {version(library)}\n".encode())
    return sums.hexdigest()


def _add(sums: "hashlib._Hash", item: Traversable, name: str) -> None:
    if item.is_dir():
        for inner in sorted(item.iterdir(), key=lambda each: each.name):
            _add(sums, inner, f"{name}/{inner.name}")
    elif name.endswith(_ENDINGS):
        data = item.read_bytes()
        sums.update(f"{name} {len(data)}\n".encode())
        sums.update(data)
