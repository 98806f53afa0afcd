"""Ids in the addresses of files; what is none is answered like one that does not exist. Pure."""

import re

from framekiln.files.errors import FileNotFound, TrackNotFound
from framekiln.kit.ids import FileId, parse_uuid


def file_id_of(text: str) -> FileId:
    """Return the file's id in an address."""
    found = parse_uuid(text)
    if found is None:
        raise FileNotFound(f"there is no file {text[:100]!r}: ids are UUIDs")
    return FileId(found)


def track_id_of(text: str) -> int:
    """Return the number of a track in an address; -1 is the track for scrubbing."""
    if not re.fullmatch(r"-1|[1-9][0-9]{0,4}", text):
        raise TrackNotFound(f"there is no track {text[:100]!r}: tracks have numbers, from 1")
    return int(text)
