"""A streamed upload: its tracks, the fragments that have come, and how its bytes are summed up."""

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
"""Of one track: eleven hours of two seconds each."""
ABANDONED_AFTER: Final = timedelta(hours=24)
CODEC_NAMES: Final = {
    "avc1": "h264",
    "avc3": "h264",
    "vp09": "vp9",
    "av01": "av1",
    "mp4a": "aac",
    "opus": "opus",
}
"""By the first letters of the codings that can be streamed (RFC 6381)."""


@dataclass(frozen=True)
class NewStreamTrack:
    """A track that is going to come."""

    track_id: int
    type: TrackType


@dataclass(frozen=True)
class NewStream:
    """A streamed upload about to begin; raises `InvalidTracks`."""

    filename: str
    tracks: Sequence[NewStreamTrack]
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.tracks) <= MAX_TRACKS:
            raise InvalidTracks(
                f"a stream has 1 to {MAX_TRACKS} tracks, not {len(self.tracks)}", field="tracks"
            )
        if len({track.track_id for track in self.tracks}) < len(self.tracks):
            raise InvalidTracks("two tracks have the same track_id", field="tracks")
        if sum(track.type == "video" for track in self.tracks) > 1:
            raise InvalidTracks("a stream has at most one video track", field="tracks")


@dataclass(frozen=True)
class StreamTrack:
    """One track of a stream, and how far it is. Without an init segment nothing has come yet."""

    file_id: FileId
    track_id: int
    type: TrackType
    init: bytes | None
    codec: str | None
    timescale: int | None
    fragment_count: int
    byte_size: int
    sha256: bytes | None
    """Chain over all that has come: see `chained`."""
    end_dts: int | None
    end_ms: int | None

    @property
    def codec_name(self) -> str | None:
        """Its coding by the name that a track has in a file that is ready."""
        return CODEC_NAMES[self.codec[:4]] if self.codec else None

    @property
    def next_number(self) -> int:
        """The number of the fragment that is expected."""
        return self.fragment_count


@dataclass(frozen=True)
class Stream:
    """A file that is or was uploaded as a stream."""

    file: File
    tracks: list[StreamTrack]

    @property
    def available_ms(self) -> int:
        """Up to this time, all tracks have come."""
        return min(track.end_ms or 0 for track in self.tracks)


@dataclass(frozen=True)
class StreamedFragment:
    """A fragment that has come. Ticks are those of its track, as decoded; `_ms` is as shown."""

    track_id: int
    number: int
    sha256: bytes
    first_byte: int
    """Its place in the track file."""
    byte_size: int
    dts: int
    duration: int
    start_ms: int
    end_ms: int
    blob_key: str


def chained_digest(so_far: bytes | None, sha256: bytes) -> bytes:
    """Return the sum after one more piece: of the init segment its own sum, then sums of sums.

    Two sides that have the same chain have the same bytes, and neither needs the bytes to go on.
    """
    return sha256 if so_far is None else hashlib.sha256(so_far + sha256).digest()


def stream_prefix(organization_id: OrganizationId, file_id: FileId) -> str:
    """Return where fragments wait until the track files are made."""
    return f"{file_prefix(organization_id, file_id)}/stream"
