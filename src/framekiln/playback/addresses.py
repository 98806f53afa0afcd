"""Parses `url`: a file or a render of this service, or a URL on the web. Pure."""

import re
from typing import Final
from urllib.parse import urlsplit

from framekiln.kit.ids import FileId, RenderId, parse_uuid
from framekiln.playback.errors import SourceAddressInvalid

MAX_ADDRESS_CHARS: Final = 8192
_FILE_SCHEME: Final = "file-id:"
# Any host: behind a proxy the service does not know its own.
_FILE_PATH: Final = re.compile(r"/api/v1/files/([0-9a-fA-F-]{36})(?:/|$)")
_RENDER_PATH: Final = re.compile(r"/api/v1/renders/([0-9a-fA-F-]{36})[./]mp4$")


def file_id_in(url: str) -> FileId | None:
    """Return the file that a URL names; None if it names something else."""
    if url.startswith(_FILE_SCHEME):
        found = parse_uuid(url.removeprefix(_FILE_SCHEME))
        if found is None:
            raise SourceAddressInvalid(
                f"url: {_FILE_SCHEME} must be followed by a UUID", field="url"
            )
        return FileId(found)
    match = _FILE_PATH.match(_path_of(url))
    found = parse_uuid(match[1]) if match else None
    return FileId(found) if found else None


def render_id_in(url: str) -> RenderId | None:
    """Return the render that a URL names; None if it names something else."""
    match = _RENDER_PATH.match(_path_of(url))
    found = parse_uuid(match[1]) if match else None
    return RenderId(found) if found else None


def address_of(file_id: FileId) -> str:
    """Return the shortest URL of a file."""
    return f"{_FILE_SCHEME}{file_id}"


def check_web_address(url: str) -> None:
    """Refuse URLs that can never be fetched; the fetcher checks the rest."""
    if len(url) > MAX_ADDRESS_CHARS or not url.isprintable():
        raise SourceAddressInvalid(
            f"url: must have at most {MAX_ADDRESS_CHARS} printable characters", field="url"
        )
    if not url.lower().startswith(("https://", "http://")):
        raise SourceAddressInvalid(
            "url: must be an https address, a file of this service, or file-id:<id>", field="url"
        )


def _path_of(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""
