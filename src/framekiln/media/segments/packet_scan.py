"""Reads all packets of a track once, without decoding: presentation times and segment bounds.

Also decides whether browsers can play the packets unchanged. Of a remote source only the tables are
fetched, if it has any: then a packet is a time and a size.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from framekiln.kit.ranged_path import RangedPath, RangedReader
from framekiln.media.container import (
    is_mp4,
    open_media,
    timeline_shift,
    translate_ffmpeg_errors,
    video_stream,
)
from framekiln.media.decode.frame_properties import HDR_CURVES
from framekiln.media.errors import UnreadableMedia
from framekiln.media.keyframes import is_clean_start
from framekiln.media.last_frame import LastFrame
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.tracks.track_plan import MAX_GROUP_S

_HEADER: Final = 8
_LONG_HEADER: Final = 16
# FFmpeg's parsers need the content of other codecs.
_KNOWN_BY_TABLES: Final = {"aac", "h264", "hevc", "mjpeg", "prores"}
_MAX_DELAY_S: Final = 1
_PLAYABLE_PROFILES: Final = {66, 77, 100}
_PLAYABLE_PIXELS: Final = {"yuv420p", "yuvj420p"}
_AAC_FRAME: Final = 1024
# The encoder delay before the first sample; anything longer is a film that starts midway.
_MAX_PRIMING: Final = 4 * _AAC_FRAME
_AAC_LC: Final = 2
_STAMP_ERROR_S: Final = Fraction(3, 2000)
# Size of a packet's entry in a fragment's tables, plus its share of the fragment's header.
_OVERHEAD_BYTES: Final = 24


@dataclass(frozen=True)
class VideoScan:
    """The frames of a track, in presentation order; times are ticks of 1 / timescale.

    The first frame is shown from zero, even if it starts later.
    """

    timescale: int
    shown: list[int]
    first_start: int
    """When the first frame starts in the source."""
    end: int
    keyframes: list[int]
    """When groups begin, if packets can be copied; otherwise empty."""
    group_bytes: list[int]
    delay: int
    """The longest time by which copied frames are decoded before they are shown."""
    parameter_sets: bytes


@dataclass(frozen=True)
class AudioScan:
    """The audio of a track; `packets` are the ticks of AAC frames if they can be copied."""

    end_s: Fraction
    timescale: int
    packets: list[int]
    packet_bytes: list[int]
    config: bytes
    channels: int
    language: str | None
    """As the file states it."""
    grid: "PacketGrid | None"
    """Only if timestamps are coarser than samples."""


@dataclass(frozen=True)
class PacketGrid:
    """Packets of equal duration without gaps: each plays at an exact time, despite its timestamp.

    With millisecond timestamps, audio would otherwise jump wherever two parts are joined.
    """

    first_s: Fraction
    packet_s: Fraction

    def exactly(self, stamp_s: Fraction) -> Fraction:
        """Return the exact packet boundary for a timestamp; one off the grid stays unchanged."""
        number = round((stamp_s - self.first_s) / self.packet_s)
        instant = self.first_s + number * self.packet_s
        return instant if abs(instant - stamp_s) <= _STAMP_ERROR_S else stamp_s


@dataclass(frozen=True)
class _ScannedPacket:
    """The properties of a packet that are kept."""

    pts: int
    duration: int
    size: int
    is_key: bool


def scan_video(path: Path, facts: ProbedSource) -> VideoScan:
    """Read the video track."""
    reader = path.reader() if isinstance(path, RangedPath) else None
    with open_media(path, reader) as container, translate_ffmpeg_errors(path):
        stream = video_stream(container)
        assert stream is not None, "the probe has found a picture"
        parameter_sets = bytes(stream.codec_context.extradata or b"")
        may_copy = _is_playable(stream, parameter_sets) and _is_shown_as_stored(stream, facts)
        seen: list[_ScannedPacket] = []
        last = LastFrame()
        for packet in _packets(container, stream, reader):
            last.add(packet)
            if packet.pts is None:
                may_copy = may_copy and packet.size == 0
                continue
            is_here = reader is None or not reader.is_local_only or _is_here(packet, reader)
            if may_copy and not _is_copyable(packet, is_here=is_here):
                may_copy = False
            seen.append(_remember(packet))
        ticks = Fraction(stream.time_base or 0)
        last_ticks = last.measure(path, stream)
    # Frames before time zero are not shown.
    shown = sorted({each.pts for each in seen if each.pts >= 0})
    if not shown:
        raise UnreadableMedia(f"{path.name}: its video track has no frame after time zero")
    scale = ticks.numerator
    # Some containers do not state the duration of the last frame.
    end = shown[-1] + (last_ticks or (shown[-1] - shown[-2] if len(shown) > 1 else 1))
    groups = _closed_groups(seen, ticks) if may_copy and len(shown) == len(seen) else []
    delay = max((_delay(group) for group in groups), default=0)
    if delay * ticks > _MAX_DELAY_S:
        groups = []
    return VideoScan(
        timescale=ticks.denominator,
        shown=[0, *(pts * scale for pts in shown[1:])],
        first_start=shown[0] * scale,
        end=end * scale,
        keyframes=[0, *(group[0].pts * scale for group in groups[1:])] if groups else [],
        group_bytes=[sum(each.size for each in group) for group in groups],
        delay=delay * scale,
        parameter_sets=parameter_sets,
    )


def scan_audio(path: Path) -> AudioScan:
    """Read the first audio track."""
    reader = path.reader() if isinstance(path, RangedPath) else None
    with open_media(path, reader) as container, translate_ffmpeg_errors(path):
        stream = container.streams.audio[0]
        shift = timeline_shift(stream)
        config = bytes(stream.codec_context.extradata or b"")
        may_copy = _is_plain_aac(stream, config)
        seen: list[_ScannedPacket] = []
        for packet in _packets(container, stream, reader):
            if packet.pts is None:
                continue
            # Samples to skip must be before time zero, because players would not know about others.
            may_copy = may_copy and (packet.pts < 0 or not packet.has_sidedata("skip_samples"))
            seen.append(_remember(packet))
        ticks = Fraction(stream.time_base or 0)
        channels, rate_hz, language = stream.channels, stream.rate, stream.language
        is_coarse = ticks * rate_hz > 1
        grid = _grid(path, [each.pts * ticks for each in seen]) if is_coarse else None
    if not seen:
        raise UnreadableMedia(f"{path.name}: its audio track is empty")
    end = max(each.pts + each.duration for each in seen)
    is_even = may_copy and ticks == Fraction(1, rate_hz) and _follows_evenly(seen)
    return AudioScan(
        end_s=(end - shift) * ticks,
        timescale=rate_hz,
        packets=[each.pts for each in seen if each.pts >= 0] if is_even else [],
        packet_bytes=[each.size for each in seen if each.pts >= 0] if is_even else [],
        config=config,
        channels=channels,
        language=language,
        grid=grid,
    )


def _packets(
    container: InputContainer, stream: VideoStream | AudioStream, reader: RangedReader | None
) -> Iterator["Packet[Any]"]:
    """Yield all packets of a track, without their content if the tables are sufficient."""
    if reader is None or not _has_tables(container, stream, reader):
        yield from container.demux(stream)
        return
    keyframes = {entry.pos for entry in stream.index_entries if entry.is_keyframe}
    reader.is_local_only = True
    for packet in container.demux(stream):
        # FFmpeg derives this flag from the content of the packet.
        packet.is_keyframe = packet.pos in keyframes
        yield packet


def _has_tables(
    container: InputContainer, stream: VideoStream | AudioStream, reader: RangedReader
) -> bool:
    """Return whether one table has the times and sizes of all packets: an MP4 without fragments."""
    name = stream.codec_context.codec.canonical_name
    is_plain = name in _KNOWN_BY_TABLES or name.startswith("pcm_")
    if not is_mp4(stream) or not is_plain:
        return False
    place = reader.tell()
    types = set(_outer_boxes(reader))
    reader.seek(place)
    return b"moov" in types and b"moof" not in types


def _outer_boxes(reader: RangedReader) -> Iterator[bytes]:
    """Yield the types of the top-level boxes, up to the first fragment."""
    at = 0
    while True:
        reader.seek(at)
        head = reader.read(_LONG_HEADER)
        if len(head) < _HEADER:
            return
        size, kind = int.from_bytes(head[:4]), head[4:8]
        if size == 1:
            size = int.from_bytes(head[8:16])
        yield kind
        if kind == b"moof" or size < _HEADER:
            return
        at += size


def _is_here(packet: "Packet[Any]", reader: RangedReader) -> bool:
    """Return whether the packet's bytes were fetched from the source and are not filler."""
    return packet.pos is not None and reader.has(packet.pos, packet.pos + packet.size)


def _remember(packet: "Packet[Any]") -> _ScannedPacket:
    assert packet.pts is not None
    size = packet.size + _OVERHEAD_BYTES
    return _ScannedPacket(packet.pts, packet.duration or 0, size, packet.is_keyframe)


def _is_playable(stream: VideoStream, parameter_sets: bytes) -> bool:
    """Return whether browsers play such a track: H.264, 8 bits, 4:2:0."""
    context = stream.codec_context
    return (
        context.codec.canonical_name == "h264"
        and parameter_sets[:1] == b"\1"
        and parameter_sets[1] in _PLAYABLE_PROFILES
        and context.pix_fmt in _PLAYABLE_PIXELS
    )


def _is_shown_as_stored(stream: VideoStream, facts: ProbedSource) -> bool:
    """Return whether frames are neither rotated, mirrored, stretched, interlaced nor HDR."""
    is_same = (stream.width, stream.height) == (facts.width_px, facts.height_px)
    is_plain = not facts.is_interlaced and stream.codec_context.color_trc not in HDR_CURVES
    return is_same and is_plain and facts.is_upright


def _is_copyable(packet: "Packet[Any]", *, is_here: bool) -> bool:
    if packet.is_discard or packet.is_corrupt or packet.has_sidedata("new_extradata"):
        return False
    # A segment may begin only with a frame after which no earlier frame is needed. If it has not
    # been fetched yet, it is checked when its segment is made.
    parameter_sets = packet.stream.codec_context.extradata or b""
    is_checked = packet.is_keyframe and is_here
    return not is_checked or is_clean_start("h264", parameter_sets, bytes(packet))


def _closed_groups(seen: list[_ScannedPacket], tick_s: Fraction) -> list[list[_ScannedPacket]]:
    """Return the packets grouped by keyframe, or nothing if groups overlap or are too long."""
    groups: list[list[_ScannedPacket]] = []
    for each in seen:
        if each.is_key:
            groups.append([])
        if not groups:
            return []
        groups[-1].append(each)
    firsts = [min(each.pts for each in group) for group in groups]
    lasts = [max(each.pts for each in group) for group in groups]
    are_closed = all(first == group[0].pts for first, group in zip(firsts, groups, strict=True))
    are_apart = all(last < first for last, first in zip(lasts, firsts[1:], strict=False))
    lengths = [after - before for before, after in pairwise([*firsts, lasts[-1]])]
    are_short = all(length * tick_s <= MAX_GROUP_S for length in lengths)
    return groups if are_closed and are_apart and are_short else []


def _delay(group: list[_ScannedPacket]) -> int:
    """Return the longest delay between presentation and decode order."""
    shown = [each.pts for each in group]
    return max(at - pts for at, pts in zip(sorted(shown), shown, strict=True))


def _is_plain_aac(stream: AudioStream, config: bytes) -> bool:
    context = stream.codec_context
    return (
        is_mp4(stream)
        and context.codec.canonical_name == "aac"
        and context.profile == "LC"
        and len(config) >= 2
        and config[0] >> 3 == _AAC_LC
        and stream.channels <= 2
    )


def _grid(path: Path, stamps_s: list[Fraction]) -> PacketGrid | None:
    """Return the grid of the packets, as seen by a decoder that starts with the first."""
    frames = list(islice(_first_frames(path), 3))
    if len(frames) < 3:
        return None
    number, first = frames[0]
    packet_samples, rate_hz = frames[-1][1].samples, first.sample_rate
    packet_s = Fraction(packet_samples, rate_hz)
    assert first.pts is not None
    assert first.time_base is not None
    # The beginning of the first packet may be cut off as encoder delay.
    begun_s = first.pts * first.time_base - Fraction(packet_samples - first.samples, rate_hz)
    grid = PacketGrid(begun_s - number * packet_s, packet_s)
    expected = (grid.first_s + place * packet_s for place in range(len(stamps_s)))
    errors = (abs(stamp - at) for stamp, at in zip(stamps_s, expected, strict=True))
    return grid if max(errors) <= _STAMP_ERROR_S else None


def _first_frames(path: Path) -> Iterator[tuple[int, AudioFrame]]:
    """Yield the decoded frames of the first packets, with the packet number."""
    with open_media(path) as container:
        for number, packet in enumerate(container.demux(container.streams.audio[0])):
            for frame in packet.decode():
                if frame.pts is not None:
                    yield number, frame


def _follows_evenly(seen: list[_ScannedPacket]) -> bool:
    """Return whether packets follow each other evenly and one begins at time zero."""
    first = seen[0].pts
    if not -_MAX_PRIMING <= first <= 0 or first % _AAC_FRAME != 0:
        return False
    return all(after.pts - before.pts == _AAC_FRAME for before, after in pairwise(seen))
