"""Blob keys: the two kinds of them, and what is valid in a folder and in any bucket.

A key is `part/part/part`. A key is never also the folder of another key: buckets would allow
it, folders cannot.
"""

import re
from typing import Final, NewType
from uuid import uuid4

from framekiln.storage.errors import BlobKeyInvalid

TrackedKey = NewType("TrackedKey", str)
"""A key that leads to the deletion of its blob, whatever happens to the process that stores it.

Either the ids of its owner determine it: whoever does the work again replaces the blob, and the
deletion of the owner deletes all under its folder. Or it was registered (`NewBlobs.register`).
"""
NewKey = NewType("NewKey", str)
"""A key with a UUID of its own, which a row names after the blob is stored (`NewBlobs`)."""

_PART: Final = re.compile(r"[A-Za-z0-9._=+@,-]+")
_PART_LIMIT: Final = 200
"""File systems allow 255 bytes, and a write in progress adds its own suffix."""
_KEY_LIMIT: Final = 1000
"""S3 allows 1024 bytes, and the store's own prefix is added."""


def new_key(folder: str, name: str) -> NewKey:
    """Return a key in a folder that differs each time: `name.mp4` becomes `name-<UUID>.mp4`."""
    stem, dot, ending = name.partition(".")
    return NewKey(f"{folder}/{stem}-{uuid4()}{dot}{ending}")


def check_key(key: str) -> str:
    """Return `key` if it is valid."""
    if len(key) > _KEY_LIMIT:
        raise BlobKeyInvalid(
            f"Blob key has {len(key)} characters; at most {_KEY_LIMIT} are allowed."
        )
    for part in key.split("/"):
        fault = _problem_in(part)
        if fault:
            raise BlobKeyInvalid(f"Blob key {key!r}: {fault}.", key=key)
    return key


def check_prefix(prefix: str) -> str:
    """Return `prefix` without its trailing slash, if it is valid."""
    return check_key(prefix.removesuffix("/"))


def _problem_in(part: str) -> str | None:
    if not part:
        return "it has an empty part (a leading, closing or doubled slash)"
    if part in {".", ".."}:
        return f"the part {part!r} would lead elsewhere"
    if len(part) > _PART_LIMIT:
        return f"a part has {len(part)} characters, at most {_PART_LIMIT} are allowed"
    if not _PART.fullmatch(part):
        return f"the part {part!r} has a character other than letters, digits and ._=+@,-"
    return None
