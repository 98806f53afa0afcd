"""Request and response bodies of streamed uploads (spec 4.7)."""

import base64
import binascii
import re
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from framekiln.api.unknown_fields import RequestBody
from framekiln.api.v1.file_bodies import FileRecord
from framekiln.api.v1.names import FileName
from framekiln.api.v1.numbers import WHOLE
from framekiln.files.streams.errors import InvalidDigest
from framekiln.files.streams.model import (
    MAX_FRAGMENTS,
    MAX_TRACKS,
    NewStream,
    NewStreamTrack,
    Stream,
    StreamTrack,
)

# One member of the dictionary of RFC 9530; others have other algorithms.
_SHA256: Final = re.compile(r"(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/=]*):\s*(?=$|,)", re.IGNORECASE)
_SHA256_BYTES: Final = 32

TrackNumber = Annotated[int, Field(ge=1, le=10_000), WHOLE]


class CreateStreamTrack(RequestBody):
    """A track of a new stream."""

    track_id: TrackNumber
    type: Literal["audio", "video"]


class CreateStream(RequestBody):
    """The body of POST /api/v1/files/stream; the number of tracks is checked by the domain."""

    filename: FileName
    tracks: Annotated[
        list[CreateStreamTrack],
        Field(json_schema_extra={"minItems": 1, "maxItems": MAX_TRACKS}),
    ]
    expires_at: Annotated[
        Any, Field(json_schema_extra={"type": ["string", "null"], "format": "date-time"})
    ] = None

    def new_tracks(self) -> list[NewStreamTrack]:
        """Return the new tracks."""
        return [NewStreamTrack(each.track_id, each.type) for each in self.tracks]


class SealedTrack(RequestBody):
    """The number of fragments that the client sent for a track."""

    fragments: Annotated[int, Field(ge=0, le=MAX_FRAGMENTS), WHOLE]


class SealStream(RequestBody):
    """The body of POST /api/v1/files/:id/stream/seal: fragments by track."""

    tracks: dict[
        Annotated[str, Field(pattern=r"^[1-9][0-9]{0,4}$")],
        SealedTrack,
    ]

    def counts(self) -> dict[int, int]:
        """Return the number of fragments by track id."""
        return {int(track_id): each.fragments for track_id, each in self.tracks.items()}


class StreamTrackState(BaseModel):
    """The progress of a stream's track. `next` is the number of the next fragment."""

    track_id: int
    type: Literal["audio", "video"]
    codec: str | None
    timescale: int | None
    has_init: bool
    next: int
    end_ms: int
    byte_size: int
    sha256: str | None
    """Chained digest of everything received; null before the init segment."""

    @classmethod
    def of(cls, track: StreamTrack) -> "StreamTrackState":
        """Return the state of a track."""
        return cls(
            track_id=track.track_id,
            type=track.type,
            codec=track.codec,
            timescale=track.timescale,
            has_init=track.init is not None,
            next=track.next_number,
            end_ms=track.end_ms or 0,
            byte_size=track.byte_size,
            sha256=track.sha256.hex() if track.sha256 else None,
        )


class StreamTrackStored(StreamTrackState):
    """The response to an init segment or a fragment."""

    file_id: UUID

    @classmethod
    def of(cls, track: StreamTrack) -> "StreamTrackStored":
        """Return the state of its track."""
        return cls(**StreamTrackState.of(track).model_dump(), file_id=track.file_id)


class StreamState(FileRecord):
    """A streamed upload: the file, and the progress of its tracks."""

    available_ms: int
    tracks: list[StreamTrackState]

    @classmethod
    def describe(cls, stream: Stream) -> "StreamState":
        """Return the state of a stream."""
        return cls(
            **FileRecord.of(stream.file).model_dump(),
            available_ms=stream.available_ms,
            tracks=[StreamTrackState.of(track) for track in stream.tracks],
        )


def new_stream(body: CreateStream, *, expires_at: Any) -> NewStream:
    """Return the new stream, or raise when its tracks are invalid."""
    return NewStream(body.filename, body.new_tracks(), expires_at)


def sha256_of(content_digest: str | None) -> bytes:
    """Return the digest in a Content-Digest header (RFC 9530), or raise `InvalidDigest`."""
    found = _SHA256.search(content_digest or "")
    try:
        digest = base64.b64decode(found[1], validate=True) if found else b""
    except binascii.Error:
        digest = b""
    if len(digest) != _SHA256_BYTES:
        raise InvalidDigest(
            "the request needs a header `Content-Digest: sha-256=:<base64>:` with the SHA-256"
            " digest of its body",
            field="Content-Digest",
        )
    return digest
