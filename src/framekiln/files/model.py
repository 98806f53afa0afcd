"""A file: its registration, its status and the facts of its content."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Literal
from uuid import UUID

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId
from framekiln.kit.language_tag import language_tag
from framekiln.storage.keys import NewKey, TrackedKey, new_key

OWN_CONTENT: Final = 0
"""The track id that means the file itself."""
SCRUB_TRACK: Final = -1
"""A small track for scrubbing."""

TrackType = Literal["audio", "video"]


class FileType(StrEnum):
    """The type of a file; sound is a video without a video track."""

    VIDEO = "video"
    IMAGE = "image"
    CAPTION = "caption"


class FileStatus(StrEnum):
    """The status of a file (spec 3.2)."""

    CREATED = "created"
    UPLOADING = "uploading"
    RECEIVING = "receiving"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether the status is final."""
        return self in (FileStatus.READY, FileStatus.FAILED)

    @property
    def takes_content(self) -> bool:
        """Whether its bytes may still be uploaded."""
        return self in (FileStatus.CREATED, FileStatus.UPLOADING)

    @property
    def can_await_tracks(self) -> bool:
        """Whether no processing has started, so that an index may wait for tracks."""
        return self.takes_content or self is FileStatus.FAILED

    @property
    def is_all_sent(self) -> bool:
        """Whether everything is uploaded: bytes, tracks or fragments."""
        return not self.takes_content and self is not FileStatus.RECEIVING


_S = FileStatus
# The allowed status changes. An index makes any file ready that has all its tracks.
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
    """Return the states from which `after` is allowed, for the condition of an update."""
    return [str(state) for state, changes in CHANGES.items() if after in changes]


@dataclass(frozen=True)
class FileFilter:
    """Which files to list; None means any. `search` is text in the file name."""

    status: FileStatus | None = None
    type: FileType | None = None
    search: str | None = None


class OlderType(StrEnum):
    """What older URLs register a file as; its creation has a webhook topic of its own."""

    UNPROCESSED = "unprocessed_file"
    IMAGE = "image_file"
    ISOBMFF = "isobmff_file"


@dataclass(frozen=True)
class NewFile:
    """A file to register; without a size only its tracks are uploaded."""

    filename: str
    type: FileType
    byte_size: int | None
    md5: str | None = None
    mime_type: str | None = None
    expires_at: datetime | None = None
    older_type: OlderType | None = None


@dataclass(frozen=True)
class File:
    """A stored file."""

    id: FileId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    filename: str
    type: FileType
    status: FileStatus
    byte_size: int | None
    md5: str | None
    mime_type: str | None
    """As declared by the caller; never trusted."""
    media_type: str | None
    """The type of the content, once it was checked."""
    next_byte: int
    has_source: bool
    """Whether the original is stored, and not only tracks."""
    width_px: int | None
    height_px: int | None
    duration_ms: int | None
    failure: Failure | None
    created_at: datetime
    completed_at: datetime | None
    failed_at: datetime | None
    expires_at: datetime | None
    content_removed_at: datetime | None
    uploaded_index_key: str | None

    @property
    def index_key(self) -> str:
        """The key of the fragment index."""
        return self.uploaded_index_key or index_key(self.organization_id, self.id)

    def has_expired(self, now: datetime) -> bool:
        """Whether the file has expired, so that its content must not be served."""
        return self.expires_at is not None and self.expires_at <= now


# As ffprobe writes times; callers may store any JSON as what it said.
_SECONDS: Final = re.compile(r"\d{1,5}(\.\d{1,9})?")


@dataclass(frozen=True)
class NewTrack:
    """A track to upload or just made. `probe_info` has the output of ffprobe."""

    track_id: int
    type: TrackType
    codec_name: str
    duration_ms: int
    byte_size: int
    probe_info: dict[str, Any]


@dataclass(frozen=True)
class Track:
    """One track of a file: a separate fragmented MP4."""

    file_id: FileId
    track_id: int
    type: TrackType
    codec_name: str
    duration_ms: int
    byte_size: int
    next_byte: int
    is_complete: bool
    probe_info: dict[str, Any]

    @property
    def end_ms(self) -> int | None:
        """When it ends in the file; None if its duration is not known."""
        if not self.duration_ms:
            return None
        stated = _SECONDS.fullmatch(str(self.probe_info.get("start_time")))
        return self.duration_ms + (round(float(stated[0]) * 1000) if stated else 0)

    @property
    def language(self) -> str | None:
        """The tag (BCP 47) of its language; callers may store any JSON as what ffprobe said."""
        tags = self.probe_info.get("tags")
        return language_tag(tags.get("language")) if isinstance(tags, dict) else None


def complete_track_ids(tracks: Sequence[Track]) -> set[int]:
    """Return the numbers of the complete tracks."""
    return {track.track_id for track in tracks if track.is_complete}


def default_tracks(tracks: Sequence[Track]) -> list[Track]:
    """Return the tracks that are played: the first video and the first audio track."""
    usable = [track for track in tracks if track.is_complete and track.track_id > 0]
    seen = [track for track in usable if track.type == "video"][:1]
    return seen + [track for track in usable if track.type == "audio"][:1]


@dataclass(frozen=True)
class FileFacts:
    """The facts of a file's content."""

    media_type: str
    width_px: int | None = None
    height_px: int | None = None
    duration_ms: int | None = None


@dataclass(frozen=True)
class WaitingIndex:
    """An index that was uploaded before some of its tracks, and the bytes that each needs."""

    facts: FileFacts
    needs: Mapping[int, int]
    """Bytes by track number."""


@dataclass(frozen=True)
class FileProgress:
    """The progress of a file's processing."""

    status: FileStatus
    permille: int
    failure: Failure | None

    @property
    def fraction(self) -> float:
        """From 0 to 1; 1 only when the file is ready."""
        return 1.0 if self.status is FileStatus.READY else min(990, self.permille) / 1000


def normalize_md5(md5: str) -> str:
    """Return an MD5 in the form that is compared: without dashes, in lower case."""
    return md5.replace("-", "").lower()


def progress_topic(file: FileId) -> str:
    """Return the notification topic of a file's progress."""
    return f"file:{file}"


def file_prefix(organization: OrganizationId, file: FileId) -> str:
    """Return the prefix of all blobs of a file."""
    return f"org/{organization}/files/{file}"


def source_key(organization: OrganizationId, file: FileId) -> TrackedKey:
    """Return the key of the original."""
    return TrackedKey(f"{file_prefix(organization, file)}/source")


def track_key(organization: OrganizationId, file: FileId, track_id: int) -> TrackedKey:
    """Return the key of a track."""
    return TrackedKey(f"{file_prefix(organization, file)}/tracks/{track_id}.mp4")


def index_key(organization: OrganizationId, file: FileId) -> TrackedKey:
    """Return the key of a fragment index that was not uploaded."""
    return TrackedKey(f"{file_prefix(organization, file)}/index.json")


def uploaded_index_key(organization: OrganizationId, file: FileId) -> NewKey:
    """Return a new key for an uploaded fragment index."""
    return new_key(file_prefix(organization, file), "index.json")


def thumbnails_key(organization: OrganizationId, file: FileId) -> TrackedKey:
    """Return the key of the thumbnail sheet; not every file has one."""
    return TrackedKey(f"{file_prefix(organization, file)}/thumbnails.jpg")


def waveform_key(organization: OrganizationId, file: FileId) -> TrackedKey:
    """Return the key of the waveform; not every file has one."""
    return TrackedKey(f"{file_prefix(organization, file)}/waveform.json")


def parts_prefix(organization: OrganizationId, file: FileId, track_id: int) -> str:
    """Return the prefix of the parts of an incomplete upload."""
    return f"{file_prefix(organization, file)}/parts/{track_id}"


@dataclass(frozen=True)
class IngestedAsset:
    """A downloaded source, which is used until it expires."""

    id: UUID
    organization_id: OrganizationId
    url: str
    blob_key: str
    content_type: str
    byte_size: int
    created_at: datetime
    expires_at: datetime


def ingested_asset_key(organization: OrganizationId, asset: UUID) -> NewKey:
    """Return the key of an ingested asset."""
    return NewKey(f"org/{organization}/assets/{asset}")


def sampled_frames_prefix(organization: OrganizationId, file: FileId) -> str:
    """Return the prefix of all sampled frames of a file."""
    return f"{file_prefix(organization, file)}/frames"


def sampled_frame_key(organization: OrganizationId, file: FileId, at_ms: int) -> TrackedKey:
    """Return the key of the sampled frame at a time, if there is one."""
    return TrackedKey(f"{sampled_frames_prefix(organization, file)}/{at_ms}.jpg")


def frame_times_key(organization: OrganizationId, file: FileId) -> TrackedKey:
    """Return the key of the times of the source's frames, made when it was processed."""
    return TrackedKey(f"{file_prefix(organization, file)}/frame-times.json")


def later_frame_times_key(organization: OrganizationId, file: FileId, version: str) -> TrackedKey:
    """Return the key of the times of a file's frames, made later, for one version of it."""
    return TrackedKey(f"{file_prefix(organization, file)}/frame-times-{version}.json")
