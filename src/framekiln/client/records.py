"""What the service says of files and renders, as values."""

from dataclasses import dataclass

from framekiln.client.answer import Answer


@dataclass(frozen=True, kw_only=True)
class RemoteFile(Answer):
    """A file on the service."""

    id: str
    filename: str
    type: str
    status: str
    byte_size: int | None
    md5: str | None
    next_byte: int
    expires_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class RemoteRender(Answer):
    """A render on the service."""

    id: str
    status: str


@dataclass(frozen=True, kw_only=True)
class RemoteTranscription(Answer):
    """A transcription on the service."""

    id: str
    status: str | None = None
