"""What the service says of files and renders, as values; `told` has all of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class RemoteFile:
    """A file on the service."""

    id: str
    filename: str
    type: str
    status: str
    byte_size: int | None
    md5: str | None
    next_byte: int
    expires_at: str | None
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            id=told["id"],
            filename=told["filename"],
            type=told["type"],
            status=told["status"],
            byte_size=told["byte_size"],
            md5=told["md5"],
            next_byte=told["next_byte"],
            expires_at=told.get("expires_at"),
            told=told,
        )


@dataclass(frozen=True)
class RemoteRender:
    """A render on the service."""

    id: str
    status: str
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(id=told["id"], status=told["status"], told=told)


@dataclass(frozen=True)
class RemoteTranscription:
    """A transcription on the service."""

    id: str
    status: str | None
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(id=told["id"], status=told.get("status"), told=told)
