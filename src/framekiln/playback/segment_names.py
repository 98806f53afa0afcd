"""Parses the names of init segments and segments in URLs. Pure."""

from typing import Final

from framekiln.media.segments.renditions import Outline, Rendition
from framekiln.playback.errors import InitNotFound, PlaybackSegmentNotFound, RenditionNotFound
from framekiln.playback.model import SegmentName

SEGMENT_TYPE: Final = "video/iso.segment"
SELF_CONTAINED_TYPE: Final = "video/mp4"
# All of them are MP4; some clients require a certain extension.
EXTENSIONS: Final = ("m4s", "mp4", "webm")


def find_init(outline: Outline, rendition_id: str, extension: str) -> bytes:
    """Return the init segment of a rendition."""
    found = outline.find(rendition_id)
    if found is None or extension not in EXTENSIONS:
        offered = ", ".join(each.id for each in outline.renditions)
        raise InitNotFound(f"Init segment not found: the renditions of this source are {offered}")
    return found.init


def find_rendition(outline: Outline, rendition_id: str) -> Rendition:
    """Return a rendition by its id."""
    found = outline.find(rendition_id)
    if found is None:
        offered = ", ".join(each.id for each in outline.renditions)
        raise RenditionNotFound(f"Track not found: the renditions of this source are {offered}")
    return found


def check_segment(rendition: Rendition, name: SegmentName) -> None:
    """Refuse a segment that the rendition does not have."""
    if not 1 <= name.number <= rendition.segment_count:
        raise PlaybackSegmentNotFound(
            f"Media segment not found: {name.rendition_id} has segments 1 to"
            f" {rendition.segment_count}"
        )


def parse_segment_name(rendition_id: str, number: str, extension: str) -> SegmentName:
    """Return the requested segment; `Playback.segment` checks whether it exists."""
    if not (number.isascii() and number.isdigit()) or extension not in EXTENSIONS:
        raise PlaybackSegmentNotFound("Media segment not found: segments are numbered from 1")
    return SegmentName(rendition_id, int(number[:9]))


def is_self_contained(extension: str) -> bool:
    """Return whether segments with this extension include their init segment."""
    return extension == "mp4"
