"""A streamed upload: its tracks, the received fragments, and the digest of its bytes."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from framekiln.files.model import File, TrackType, file_prefix
from framekiln.files.streams.errors import InvalidTracks
from framekiln.kit.ids import FileId, OrganizationId

MAX_TRACKS: Final = 8
MAX_INIT_BYTES: Final = 1 << 20
MAX_FRAGMENT_BYTES: Final = 64 << 20
MAX_FRAGMENTS: Final = 20_000
"""Of one track: eleven hours of two-second fragments."""
ABANDONED_AFTER: Final = timedelta(hours=24)
CODEC_NAMES: Final = {
    "avc1": "h264",
    "avc3": "h264",
    "vp09": "vp9",
    "av01": "av1",
    "mp4a": "aac",
    "opus": "opus",
}
"""Codec names by the prefixes of the codecs that can be streamed (RFC 6381)."""


@dataclass(frozen=True)
class NewStreamTrack:
    """A track of a new stream."""

    track_id: int
    type: TrackType


@dataclass(frozen=True)
class NewStream:
    """A streamed upload to start; raises `InvalidTracks`."""

    filename: str
    tracks: Sequence[NewStreamTrack]
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.tracks) <= MAX_TRACKS:
            raise InvalidTracks(
                f"a stream must have 1 to {MAX_TRACKS} tracks, not {len(self.tracks)}",
                field="tracks",
            )
        if len({track.track_id for track in self.tracks}) < len(self.tracks):
            raise InvalidTracks("two tracks have the same track_id", field="tracks")
        if sum(track.type == "video" for track in self.tracks) > 1:
            raise InvalidTracks("a stream can have only one video track", field="tracks")


@dataclass(frozen=True)
class StreamTrack:
    """One track of a stream, and its progress. Without an init segment it has received nothing."""

    file_id: FileId
    track_id: int
    type: TrackType
    init: bytes | None
    codec: str | None
    timescale: int | None
    fragment_count: int
    byte_size: int
    sha256: bytes | None
    """Digest of everything received: see `chained_digest`."""
    end_dts: int | None
    end_ms: int | None

    @property
    def codec_name(self) -> str | None:
        """Its codec, by the name that tracks of a ready file have."""
        return CODEC_NAMES[self.codec[:4]] if self.codec else None

    @property
    def next_number(self) -> int:
        """The number of the next expected fragment."""
        return self.fragment_count


@dataclass(frozen=True)
class Stream:
    """A file that is or was uploaded as a stream."""

    file: File
    tracks: list[StreamTrack]

    @property
    def available_ms(self) -> int:
        """The time up to which all tracks are received."""
        return min(track.end_ms or 0 for track in self.tracks)


@dataclass(frozen=True)
class StreamedFragment:
    """A received fragment. Ticks are decoding times of its track; `_ms` are presentation times."""

    track_id: int
    number: int
    sha256: bytes
    first_byte: int
    """Its offset in the track file."""
    byte_size: int
    dts: int
    duration: int
    start_ms: int
    end_ms: int
    blob_key: str


def chained_digest(so_far: bytes | None, sha256: bytes) -> bytes:
    """Return the digest after one more body: first that of the init segment, then of both digests.

    Two sides with the same chained digest have the same bytes, and can continue without them.
    """
    return sha256 if so_far is None else hashlib.sha256(so_far + sha256).digest()


def stream_prefix(organization_id: OrganizationId, file_id: FileId) -> str:
    """Return the prefix of fragments until the track files are made."""
    return f"{file_prefix(organization_id, file_id)}/stream"
