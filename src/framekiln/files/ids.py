"""File and track ids in URLs; an invalid one is answered like an unknown one. Pure."""

import re

from framekiln.files.errors import FileNotFound, TrackNotFound
from framekiln.kit.ids import FileId, parse_uuid


def parse_file_id(text: str) -> FileId:
    """Parse a file id from a URL, or raise `FileNotFound`."""
    found = parse_uuid(text)
    if found is None:
        raise FileNotFound(f"there is no file {text[:100]!r}: ids are UUIDs")
    return FileId(found)


def parse_track_id(text: str) -> int:
    """Parse a track number from a URL; -1 is the scrub track."""
    if not re.fullmatch(r"-1|[1-9][0-9]{0,4}", text):
        raise TrackNotFound(f"there is no track {text[:100]!r}: tracks have numbers, from 1")
    return int(text)
