"""Identifiers: a type per noun, so that they are never confused."""

from typing import Final, NewType
from uuid import UUID, uuid4

OrganizationId = NewType("OrganizationId", UUID)
ApiKeyId = NewType("ApiKeyId", UUID)
RenderId = NewType("RenderId", UUID)
FileId = NewType("FileId", UUID)
TranscriptionId = NewType("TranscriptionId", UUID)
UserId = NewType("UserId", UUID)

FILE_ID_SCHEME: Final = "file-id:"
"""What the address of an uploaded file begins with, where sources are named."""


def new_uuid() -> UUID:
    """Return a new random identifier."""
    return uuid4()


def parse_uuid(text: str) -> UUID | None:
    """Return the identifier in `text`, or None if it is invalid."""
    try:
        return UUID(text)
    except ValueError:
        return None
