"""A file: what a caller registered, where it stands, what its content turned out to be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Literal
from uuid import UUID

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId

OWN_CONTENT: Final = 0
"""Stands for the file itself where a track is named."""
SCRUB_TRACK: Final = -1
"""A small track, to move through a video quickly."""

TrackType = Literal["audio", "video"]


class FileType(StrEnum):
    """What a file is for; sound comes as a video without pictures."""

    VIDEO = "video"
    IMAGE = "image"
    CAPTION = "caption"


class FileStatus(StrEnum):
    """Where a file stands (spec 3.2)."""

    CREATED = "created"
    UPLOADING = "uploading"
    RECEIVING = "receiving"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self in (FileStatus.READY, FileStatus.FAILED)

    @property
    def takes_content(self) -> bool:
        """Whether its bytes may still be uploaded."""
        return self in (FileStatus.CREATED, FileStatus.UPLOADING)

    @property
    def can_await_tracks(self) -> bool:
        """Whether nothing else is made of it, so that an index may wait for tracks."""
        return self.takes_content or self is FileStatus.FAILED

    @property
    def is_all_sent(self) -> bool:
        """Whether nothing is left to be sent, be it as bytes, as tracks or as fragments."""
        return not self.takes_content and self is not FileStatus.RECEIVING


_S = FileStatus
# The one table of allowed changes. An index makes any file ready that has the tracks for it.
CHANGES: dict[FileStatus, frozenset[FileStatus]] = {
    _S.CREATED: frozenset({_S.UPLOADING, _S.RECEIVING, _S.PROCESSING, _S.READY, _S.FAILED}),
    _S.UPLOADING: frozenset({_S.PROCESSING, _S.READY, _S.FAILED}),
    _S.RECEIVING: frozenset({_S.PROCESSING, _S.READY, _S.FAILED}),
    _S.PROCESSING: frozenset({_S.READY, _S.FAILED}),
    _S.READY: frozenset({_S.READY}),
    _S.FAILED: frozenset({_S.READY}),
}

MAX_BYTES: Final[dict[FileType, int]] = {
    FileType.VIDEO: 1 << 30,
    FileType.IMAGE: 16 << 20,
    FileType.CAPTION: 2 << 20,
}
MAX_TRACK_BYTES: Final = 1 << 30
MAX_INDEX_BYTES: Final = 50 << 20
MAX_TRACKS: Final = 64


def states_before(after: FileStatus) -> list[str]:
    """Return the states from which `after` may be entered, for the guard of an update."""
    return [str(state) for state, changes in CHANGES.items() if after in changes]


@dataclass(frozen=True)
class NewFile:
    """A file about to be registered; without a size only its tracks will come."""

    filename: str
    type: FileType
    byte_size: int | None
    md5: str | None = None
    mime_type: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class File:
    """One file, as stored."""

    id: FileId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    filename: str
    type: FileType
    status: FileStatus
    byte_size: int | None
    md5: str | None
    mime_type: str | None
    """As the caller said; never trusted."""
    media_type: str | None
    """What the content is, once it was looked at."""
    next_byte: int
    has_source: bool
    """Whether the original is kept, and not only tracks."""
    width_px: int | None
    height_px: int | None
    duration_ms: int | None
    failure: Failure | None
    created_at: datetime
    completed_at: datetime | None
    failed_at: datetime | None
    expires_at: datetime | None
    content_removed_at: datetime | None

    def has_expired(self, now: datetime) -> bool:
        """Whether its content may not be given out any more."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True)
class NewTrack:
    """A track about to be uploaded or just made. `probe_info` is what ffprobe says of it."""

    track_id: int
    type: TrackType
    codec_name: str
    duration_ms: int
    byte_size: int
    probe_info: dict[str, Any]


@dataclass(frozen=True)
class Track:
    """One track of a file: a fragmented MP4 of its own."""

    file_id: FileId
    track_id: int
    type: TrackType
    codec_name: str
    duration_ms: int
    byte_size: int
    next_byte: int
    is_complete: bool
    probe_info: dict[str, Any]


def complete_track_ids(tracks: Sequence[Track]) -> set[int]:
    """Return the numbers of those tracks whose bytes are all here."""
    return {track.track_id for track in tracks if track.is_complete}


def default_tracks(tracks: Sequence[Track]) -> list[Track]:
    """Return the tracks that are seen and heard: the first picture and the first sound."""
    usable = [track for track in tracks if track.is_complete and track.track_id > 0]
    seen = [track for track in usable if track.type == "video"][:1]
    return seen + [track for track in usable if track.type == "audio"][:1]


@dataclass(frozen=True)
class FileFacts:
    """What the content of a file turned out to be."""

    media_type: str
    width_px: int | None = None
    height_px: int | None = None
    duration_ms: int | None = None


@dataclass(frozen=True)
class WaitingIndex:
    """An index that came before some of its tracks: what it says, and needs of each of them."""

    facts: FileFacts
    needs: Mapping[int, int]
    """Bytes, by the number of the track."""


@dataclass(frozen=True)
class FileProgress:
    """How far the processing of a file is."""

    status: FileStatus
    permille: int
    failure: Failure | None

    @property
    def fraction(self) -> float:
        """From 0 to 1; 1 only when the file is ready."""
        return 1.0 if self.status is FileStatus.READY else min(990, self.permille) / 1000


def normalize_md5(md5: str) -> str:
    """Return a sum as it is compared: without dashes, in lower case."""
    return md5.replace("-", "").lower()


def progress_topic(file: FileId) -> str:
    """Return what followers of a file's progress listen for."""
    return f"file:{file}"


def file_prefix(organization: OrganizationId, file: FileId) -> str:
    """Return where everything of a file is kept."""
    return f"org/{organization}/files/{file}"


def source_key(organization: OrganizationId, file: FileId) -> str:
    """Return where the original bytes are kept."""
    return f"{file_prefix(organization, file)}/source"


def track_key(organization: OrganizationId, file: FileId, track_id: int) -> str:
    """Return where a track is kept."""
    return f"{file_prefix(organization, file)}/tracks/{track_id}.mp4"


def index_key(organization: OrganizationId, file: FileId) -> str:
    """Return where the fragment index is kept."""
    return f"{file_prefix(organization, file)}/index.json"


def thumbnails_key(organization: OrganizationId, file: FileId) -> str:
    """Return where the sheet of small pictures is kept; not every file has one."""
    return f"{file_prefix(organization, file)}/thumbnails.jpg"


def waveform_key(organization: OrganizationId, file: FileId) -> str:
    """Return where the outline of the sound is kept; not every file has one."""
    return f"{file_prefix(organization, file)}/waveform.json"


def parts_prefix(organization: OrganizationId, file: FileId, track_id: int) -> str:
    """Return where the parts of an upload wait until it is whole."""
    return f"{file_prefix(organization, file)}/parts/{track_id}"


@dataclass(frozen=True)
class IngestedAsset:
    """A downloaded source; valid, and not downloaded again, until it expires."""

    id: UUID
    organization_id: OrganizationId
    url: str
    blob_key: str
    content_type: str
    byte_size: int
    created_at: datetime
    expires_at: datetime


def ingested_asset_key(organization: OrganizationId, asset: UUID) -> str:
    """Return where the bytes of an ingested asset are kept."""
    return f"org/{organization}/assets/{asset}"


def sampled_frames_prefix(organization: OrganizationId, file: FileId) -> str:
    """Return where all pictures of a file are kept."""
    return f"{file_prefix(organization, file)}/frames"


def sampled_frame_key(organization: OrganizationId, file: FileId, at_ms: int) -> str:
    """Return where the picture of an instant is kept, if somebody has taken it."""
    return f"{sampled_frames_prefix(organization, file)}/{at_ms}.jpg"
