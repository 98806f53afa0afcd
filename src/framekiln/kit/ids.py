"""Identifiers: a type per noun, so that they are never confused."""

from typing import NewType
from uuid import UUID, uuid4

OrganizationId = NewType("OrganizationId", UUID)
ApiKeyId = NewType("ApiKeyId", UUID)
RenderId = NewType("RenderId", UUID)
FileId = NewType("FileId", UUID)
TranscriptionId = NewType("TranscriptionId", UUID)
UserId = NewType("UserId", UUID)


def new_uuid() -> UUID:
    """Return a fresh random identifier."""
    return uuid4()


def parse_uuid(text: str) -> UUID | None:
    """Return the identifier written in `text`, or None when it is not one."""
    try:
        return UUID(text)
    except ValueError:
        return None
