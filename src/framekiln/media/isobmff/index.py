"""The fragment index: the position of each segment in a track file.

Players use it to fetch a few seconds of a file. The key is the track id as text; "-1" is the scrub
track. Fragments are grouped into segments of two seconds or more, each beginning with a keyframe.
`cts` is the presentation time of a segment with the edit list applied; `dts` is as in the fragment.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.fragments import MovieFragment
from framekiln.media.isobmff.track_file import TrackFile
from framekiln.media.isobmff.track_init import TrackInit, VideoParameters

SCRUB_TRACK_ID: Final = -1
SEGMENT_MS: Final = 2000

IndexEntry = dict[str, Any]
Index = dict[str, IndexEntry]


@dataclass(frozen=True)
class FragmentSpan:
    """The part of a fragment that an index needs."""

    offset: int
    size_bytes: int
    sample_count: int
    dts: int
    cts: int
    end_cts: int

    @classmethod
    def of(cls, fragment: MovieFragment) -> "FragmentSpan":
        """Return the span of a fragment, without its samples."""
        return cls(
            offset=fragment.offset,
            size_bytes=fragment.size_bytes,
            sample_count=len(fragment.samples),
            dts=fragment.dts,
            cts=fragment.cts,
            end_cts=fragment.end_cts,
        )


def index_of_tracks(paths: Mapping[int, Path]) -> Index:
    """Return the index of track files by track id; each file is read completely and verified."""
    return {str(track_id): index_entry(track_id, paths[track_id]) for track_id in sorted(paths)}


def index_entry(track_id: int, path: Path) -> IndexEntry:
    """Return the index entry of one track file."""
    try:
        with TrackFile(path) as file:
            init = file.read_init()
            return track_entry(track_id, init, map(FragmentSpan.of, file.fragments(init)))
    except UnreadableMedia as error:
        raise UnreadableMedia(f"track {track_id}: {error.message}") from error


def track_entry(track_id: int, init: TrackInit, spans: Iterable[FragmentSpan]) -> IndexEntry:
    """Return the index entry of a track with these consecutive fragments."""
    spans = list(spans)
    if not spans:
        raise UnreadableMedia("the MP4 has no fragments")
    # The edit list cuts off everything before time zero, so it is never played.
    start, end = max(0, spans[0].cts), max(spans, key=lambda span: span.cts).end_cts
    entry: IndexEntry = {
        "track": track_id,
        "type": init.type,
        "timescale": init.timescale,
        "duration": max(0, end - start),
        "codec": init.codec,
        "sample_count": sum(span.sample_count for span in spans),
        **_form(init),
    }
    offset_ms = round(Fraction(start * 1000, init.timescale))
    if offset_ms:
        entry["startTimeOffsetMs"] = offset_ms
    entry["initSegment"] = {"offset": 0, "size": init.size_bytes}
    entry["segments"] = list(_segments(spans, init.timescale, end))
    return entry


def read_init_bytes(path: Path, entry: IndexEntry) -> bytes:
    """Return the init segment of a track file."""
    return _read(path, entry["initSegment"])


def read_segment_bytes(path: Path, entry: IndexEntry, number: int) -> bytes:
    """Return segment `number`, from 0; it can be played after the init segment."""
    return _read(path, entry["segments"][number])


def _read(path: Path, place: Mapping[str, int]) -> bytes:
    with path.open("rb") as file:
        file.seek(place["offset"])
        return file.read(place["size"])


def _form(init: TrackInit) -> dict[str, int]:
    form = init.parameters
    if isinstance(form, VideoParameters):
        return {"width": form.width_px, "height": form.height_px}
    return {
        "channel_count": form.channel_count,
        "sample_rate": form.sample_rate_hz,
        "sample_size": form.sample_size_bits,
    }


def _segments(spans: list[FragmentSpan], timescale: int, end: int) -> Iterator[dict[str, int]]:
    groups = list(_groups(spans, timescale))
    starts = [max(0, min(span.cts for span in group)) for group in groups]
    for group, start, next_start in zip(groups, starts, [*starts[1:], end], strict=True):
        first, last = group[0], group[-1]
        yield {
            "cts": start,
            "dts": first.dts,
            "duration": max(0, next_start - start),
            "offset": first.offset,
            "size": last.offset + last.size_bytes - first.offset,
        }


def _groups(spans: list[FragmentSpan], timescale: int) -> Iterator[list[FragmentSpan]]:
    group: list[FragmentSpan] = []
    for span in spans:
        if group and (span.cts - max(0, group[0].cts)) * 1000 >= SEGMENT_MS * timescale:
            yield group
            group = []
        group.append(span)
    yield group
