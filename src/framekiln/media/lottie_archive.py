"""Reads `.lottie` archives (dotLottie 1 and 2): a ZIP file with an animation and its images.

Images become data URLs, so that the animation needs no other file. Like bundles, archives are
inflated in any process; all sizes are limited first.
"""

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from framekiln.media.errors import UnreadableMedia
from framekiln.media.sniff import HEAD_BYTES, sniff

ZIP_SIGNATURE: Final = b"PK"
MAX_UNPACKED_BYTES: Final = 16 << 20
# Of a list with millions of entries, zipfile would make millions of objects.
_MAX_LIST_BYTES: Final = 1 << 20
_MAX_MANIFEST_BYTES: Final = 1 << 16
_END: Final = struct.Struct("<4s4H2LH")
_END_SIGNATURE: Final = b"PK\x05\x06"
_END_64_SIGNATURE: Final = b"PK\x06\x07"
_END_64_BYTES: Final = 20
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises for damaged archives; RuntimeError also means a password.
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    RuntimeError,
    ValueError,
    EOFError,
    OSError,
    OverflowError,
)
_MANIFEST: Final = "manifest.json"
# The folders of version 2 and of version 1.
_ANIMATIONS: Final = ("a/", "animations/")
_IMAGES: Final = ("i/", "images/")


class LottieArchive:
    """An open archive; what is read counts towards `MAX_UNPACKED_BYTES`."""

    def __init__(self, packed: zipfile.ZipFile) -> None:
        self._packed = packed
        self._names = frozenset(packed.namelist())
        self._left_bytes = MAX_UNPACKED_BYTES

    def animation(self) -> bytes:
        """Return the JSON of the animation that the manifest names first, else of the first one."""
        named = (f"{folder}{self._first_id()}.json" for folder in _ANIMATIONS)
        files = (
            name
            for name in sorted(self._names)
            if name.startswith(_ANIMATIONS) and name.endswith(".json")
        )
        name = next((each for each in (*named, *files) if each in self._names), None)
        if name is None:
            raise UnreadableMedia(
                "it is a ZIP archive without an animation: a .lottie file has one in a/ or"
                " animations/"
            )
        return self._read(name)

    def embed_images(self, animation: dict[str, Any]) -> None:
        """Replace the names of images in the animation by their contents."""
        assets = animation.get("assets")
        for asset in assets if isinstance(assets, list) else ():
            if isinstance(asset, dict) and isinstance(asset.get("p"), str):
                self._embed(asset, asset["p"])

    def _embed(self, asset: dict[str, Any], name: str) -> None:
        if name.startswith("data:") or "://" in name:
            return
        paths = (f"{asset.get('u', '')}{name}".lstrip("/"), *(each + name for each in _IMAGES))
        path = next((each for each in paths if each in self._names), None)
        if path is None:
            raise UnreadableMedia(f"its image {name[:200]!r} is not in the .lottie archive")
        content = self._read(path)
        mime_type = sniff(content[:HEAD_BYTES]).mime_type or ""
        if mime_type.startswith("image/"):
            text = base64.b64encode(content).decode()
            asset.update(u="", p=f"data:{mime_type};base64,{text}", e=1)

    def _first_id(self) -> str:
        """Return the id of the animation to show, or "" if the manifest names none."""
        if _MANIFEST not in self._names:
            return ""
        text = self._read(_MANIFEST, most=_MAX_MANIFEST_BYTES)
        try:
            manifest = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableMedia(f"the manifest of the archive is not JSON: {error}") from error
        if not isinstance(manifest, Mapping):
            return ""
        listed, initial = manifest.get("animations"), manifest.get("initial")
        first = listed[0] if isinstance(listed, list) and listed else None
        ids = (
            manifest.get("activeAnimationId"),
            initial.get("animation") if isinstance(initial, Mapping) else None,
            first.get("id") if isinstance(first, Mapping) else None,
        )
        return next((each for each in ids if isinstance(each, str)), "")

    def _read(self, name: str, *, most: int = MAX_UNPACKED_BYTES) -> bytes:
        entry = self._packed.getinfo(name)
        if entry.compress_type not in _METHODS:
            raise UnreadableMedia(f"{name[:200]!r} in the archive is compressed in another way")
        most = min(most, self._left_bytes)
        with self._packed.open(entry) as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise UnreadableMedia(f"the archive unpacks to more than {MAX_UNPACKED_BYTES} bytes")
        self._left_bytes -= len(content)
        return content


@contextmanager
def open_lottie_archive(data: bytes) -> Iterator[LottieArchive]:
    """Open an archive; whatever is wrong with it raises `UnreadableMedia`."""
    _check_list(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            yield LottieArchive(packed)
    except _DAMAGE as error:
        raise UnreadableMedia(f"the ZIP archive cannot be read: {error}") from error


def _check_list(data: bytes) -> None:
    """Refuse an archive whose list of entries is missing or long."""
    at = data.rfind(_END_SIGNATURE)
    if at < 0 or at + _END.size > len(data):
        raise UnreadableMedia("the ZIP archive is truncated: it has no list of entries")
    list_bytes = _END.unpack_from(data, at)[5]
    has_64_bits = data[max(0, at - _END_64_BYTES) : at].startswith(_END_64_SIGNATURE)
    if list_bytes > _MAX_LIST_BYTES or has_64_bits:
        raise UnreadableMedia("the ZIP archive has too many entries for a .lottie file")
