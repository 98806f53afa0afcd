"""A played source: its status, its renditions, and its errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NewType
from urllib.parse import unquote, urlsplit
from uuid import UUID

from framekiln.kit.ids import OrganizationId
from framekiln.media.segments.renditions import AUDIO, Outline
from framekiln.storage.keys import TrackedKey

SourceId = NewType("SourceId", UUID)


class SourceStatus(StrEnum):
    """The status of a source; it changes once, from the initial status to one of the others."""

    LOOKING = "looking"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True)
class SourceTracks:
    """Where the tracks of a source are stored: in one blob, or in one each."""

    pictures_key: str | None
    sound_key: str | None


NO_TRACKS: Final = SourceTracks(None, None)
"""Of a source on the web that was not downloaded yet."""


@dataclass(frozen=True)
class PlaybackSource:
    """A source for playback; a new one each time its bytes are fetched again."""

    id: SourceId
    organization_id: OrganizationId
    address: str
    status: SourceStatus
    tracks: SourceTracks
    outline: Outline | None
    failure: Mapping[str, Any] | None
    """An error in the format of `describe_error`."""
    created_at: datetime
    changed_at: datetime
    expires_at: datetime | None
    used_at: datetime

    @property
    def name(self) -> str:
        """What messages call it: the last part of its URL, or its id if it is our own."""
        if urlsplit(self.address).scheme not in ("http", "https"):
            return self.address.partition("@")[0]
        return unquote(urlsplit(self.address).path).rpartition("/")[2] or "the source"

    def key_of(self, rendition_id: str) -> str:
        """Return the key of the blob from which a rendition is made."""
        key = self.tracks.sound_key if rendition_id == AUDIO else self.tracks.pictures_key
        assert key is not None, "there is a rendition only if there is a track"
        return key


@dataclass(frozen=True)
class SegmentName:
    """The rendition and number of a segment; the first is number 1."""

    rendition_id: str
    number: int


@dataclass(frozen=True)
class MadeSegment:
    """A segment that is ready, or has failed."""

    number: int
    made_at: datetime
    failure: Mapping[str, Any] | None


def topic(source_id: SourceId) -> str:
    """Return the notification topic for changes of a source."""
    return f"playback:{source_id}"


def source_prefix(organization: OrganizationId, source: SourceId) -> str:
    """Return the key prefix of all blobs made from a source."""
    return f"org/{organization}/playback/{source}"


def segment_key(source: PlaybackSource, name: SegmentName) -> TrackedKey:
    """Return the blob key of a segment."""
    prefix = source_prefix(source.organization_id, source.id)
    return TrackedKey(f"{prefix}/{name.rendition_id}/{name.number}.m4s")
