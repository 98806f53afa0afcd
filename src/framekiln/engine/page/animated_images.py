"""Animated images of a page: detection, and decoding of their frames."""

import base64
import binascii
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from framekiln.capture.network import Content
from framekiln.kit.errors import FramekilnError, InvalidInput
from framekiln.media.frame_slots import Pixels
from framekiln.media.sniff import HEAD_BYTES, may_be_animated
from framekiln.media.source_session import SessionImage, SourceSession

_DATA: Final = "data:"
# Images beyond this number are animated by the browser.
_MAX_IMAGES: Final = 200
_MAX_STILLS: Final = 2_000


class AnimatedImages:
    """The images of one page; owned by its thread, and must be closed."""

    def __init__(self, session: SourceSession) -> None:
        self._session = session
        self._folder = TemporaryDirectory(prefix="framekiln-pictures-")
        self._sources: list[SessionImage] = []
        self._moving: dict[str, dict[str, Any]] = {}
        self._still: set[str] = set()

    def close(self) -> None:
        """Remove the files; the images are closed with the session."""
        self._folder.cleanup()

    @property
    def has_any(self) -> bool:
        """Whether one of the images is animated."""
        return bool(self._moving or self._sources)

    def add(self, url: str, body: bytes | Content) -> None:
        """Add an image that the page was served."""
        if url in self._moving or url in self._still:
            return
        head = _part(body, HEAD_BYTES)
        moving = self._open(_part(body, None)) if may_be_animated(head) else None
        if moving is not None:
            self._moving[url] = moving
        elif len(self._still) < _MAX_STILLS:
            self._still.add(url)

    def describe(self, written: str | None) -> dict[str, Any]:
        """Return the facts of all images, by address; `written` is the data URL of one more."""
        return {
            "moving": self._moving,
            "still": sorted(self._still),
            "written": None if written is None else self._open(_decode(written)),
        }

    def rgba(self, number: int, frame: int) -> Pixels:
        """Return one frame of an image."""
        if number >= len(self._sources):
            raise InvalidInput(f"there is no picture {number}")
        return self._sources[number].rgba(frame)

    def _open(self, body: bytes) -> dict[str, Any] | None:
        """Open an animated image and return its facts; None for a still image."""
        if len(self._sources) >= _MAX_IMAGES:
            return None
        try:
            path = Path(self._folder.name) / str(len(self._sources))
            path.write_bytes(body)
            source = self._session.open_image(path, name="an animated image")
        except FramekilnError:
            # The browser reports better what is wrong with the image.
            return None
        if not source.ends_ms:
            source.close()
            return None
        self._sources.append(source)
        width, height = source.size
        return {
            "id": len(self._sources) - 1,
            "widthPx": width,
            "heightPx": height,
            "endsMs": [float(end_ms) for end_ms in source.ends_ms],
            "plays": source.plays,
        }


def _part(body: bytes | Content, most: int | None) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.read(0, body.size_bytes if most is None else min(most, body.size_bytes))


def _decode(address: str) -> bytes:
    head, _, body = address.partition(",")
    if not head.startswith(_DATA) or not head.endswith(";base64"):
        raise InvalidInput("only data addresses in base64 are read here")
    try:
        return base64.b64decode(body)
    except binascii.Error as error:
        raise InvalidInput(f"not base64: {error}") from error
