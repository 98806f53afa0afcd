"""Copies the packets of one track into a track file, each at its source time.

Nothing is decoded. If a container counts milliseconds, audio times are restored to the sample.

A track file has one track, as fragmented MP4, with timestamps unchanged. Muxers tend to move each
track so that it begins at zero, each by a different amount. Here every packet keeps its time: an
edit list states what is decoded ahead or starts late. The same packets give the same bytes.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
from av.audio.stream import AudioStream
from av.bitstream import BitStreamFilterContext
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Discard, Stream
from av.video.stream import VideoStream

from framekiln.media.container import open_media, timeline_shift, translate_ffmpeg_errors
from framekiln.media.last_frame import LastFrame

# With finer clocks, a sample of one minute would not fit into its 32-bit duration.
_FINEST_HZ: Final = 50_000_000
_COARSEST_HZ: Final = 10_000
_ROUND_HZ: Final = 1_000_000

_USUAL_FPS: Final = Fraction(30)
_FASTEST_FPS: Final = 240

_ALWAYS: Final = {
    "fflags": "+bitexact",
    "avoid_negative_ts": "disabled",
    "write_tmcd": "0",
}
# delay_moov: the edit list can be written only when the first packet is known.
_MOVFLAGS: Final = "delay_moov+default_base_moof+skip_trailer"


def clock_hz(time_base: Fraction) -> int:
    """Return a clock for a track on which every multiple of `time_base` is a whole tick."""
    hz = time_base.denominator
    if hz > _FINEST_HZ:
        return _ROUND_HZ
    while hz < _COARSEST_HZ:
        hz *= 2
    return hz


def encoded_fps(fps: Fraction) -> Fraction:
    """Return the rate to encode at: that of the source, or 30 if it is not plausible."""
    return fps if 1 <= fps <= _FASTEST_FPS else _USUAL_FPS


def even_px(side_px: int) -> int:
    """Return the side for 4:2:0, whose chroma needs even sides."""
    return max(2, side_px - side_px % 2)


def open_video_track(out: Path, hz: int, *, fragment_s: int = 0) -> OutputContainer:
    """Open a file whose fragments begin at keyframes: each, or the first after `fragment_s`."""
    return _open(
        out,
        {
            "movflags": f"frag_keyframe+{_MOVFLAGS}",
            "min_frag_duration": str(fragment_s * 1_000_000),
            "video_track_timescale": str(hz),
            "movie_timescale": str(hz),
        },
    )


def open_audio_track(out: Path, rate_hz: int, *, fragment_s: int = 2) -> OutputContainer:
    """Open a file with fragments of about equal duration; its clock counts samples."""
    return _open(
        out,
        {
            "movflags": _MOVFLAGS,
            "frag_duration": str(fragment_s * 1_000_000),
            "movie_timescale": str(rate_hz),
        },
    )


def _open(out: Path, options: dict[str, str]) -> OutputContainer:
    return av.open(f"file:{out}", "w", format="mp4", options=_ALWAYS | options)


# Containers with millisecond timestamps misplace packets by up to 1 ms; a real gap is longer.
_JITTER_S: Final = Fraction(1, 500)

_Packets = Iterator["Packet[Any]"]


def copy_track(path: Path, index: int, out: Path, *, tick: Callable[[], None]) -> None:
    """Write the track with stream index `index` to `out`; `tick` is called for each packet."""
    with open_media(path) as container, translate_ffmpeg_errors(path):
        stream = container.streams[index]
        packets = _packets(container, stream)
        if isinstance(stream, AudioStream):
            packets = _to_the_sample(_without_headers(packets, stream), stream)
            output = open_audio_track(out, stream.rate)
        else:
            assert isinstance(stream, VideoStream), "only pictures and sound are copied"
            packets = _ended(_dated(packets), path, stream)
            output = open_video_track(out, clock_hz(Fraction(stream.time_base or 1)))
        with output:
            copy = output.add_stream_from_template(stream, opaque=True)
            for packet in packets:
                packet.stream = copy
                output.mux_one(packet)
                tick()


def _packets(container: InputContainer, stream: Stream) -> _Packets:
    for other in container.streams:
        if other.index != stream.index:
            other.discard = Discard.all
    for packet in container.demux(stream):
        if packet.size:
            yield packet


def _without_headers(packets: _Packets, stream: AudioStream) -> _Packets:
    """Strip the ADTS header from every packet of a raw AAC stream; MP4 states it once."""
    if stream.container.format.name != "aac":
        yield from packets
        return
    cleaner = BitStreamFilterContext("aac_adtstoasc", stream)
    for packet in packets:
        yield from cleaner.filter(packet)


def _dated(packets: _Packets) -> _Packets:
    """Set the decode times of the first packets if the container omits them."""
    undated: list[Packet[Any]] = []
    for packet in packets:
        if packet.dts is None:
            undated.append(packet)
            continue
        step = max(1, packet.duration or 0)
        for number, early in enumerate(undated):
            early.dts = packet.dts - (len(undated) - number) * step
            yield early
        undated.clear()
        yield packet
    # A film so short that no packet has a decode time: they are in presentation order.
    for early in undated:
        early.dts = early.pts
        yield early


def _ended(packets: _Packets, path: Path, stream: VideoStream) -> _Packets:
    """Give the packet that is decoded last the duration of the frame that is shown last.

    Fragments state durations between decode times; only this one is free, and `MovieFragment`
    reads the end of the track from it.
    """
    last = LastFrame()
    before: Packet[Any] | None = None
    for packet in packets:
        last.add(packet)
        if before is not None:
            yield before
        before = packet
    if before is not None:
        before.duration = last.measure(path, stream) or before.duration
        yield before


def _to_the_sample(packets: _Packets, stream: AudioStream) -> _Packets:
    """Convert times to samples; if timestamps are too coarse, continue from the previous packet."""
    sample_s = Fraction(1, stream.rate)
    is_exact = (sample_s / Fraction(stream.time_base or 1)).denominator == 1
    shift = timeline_shift(stream)
    expected: int | None = None
    for packet in packets:
        stamped_s = ((packet.pts or 0) - shift) * packet.time_base
        at = round(stamped_s / sample_s)
        duration = round((packet.duration or 0) * packet.time_base / sample_s)
        if not is_exact:
            duration = _frame_samples(stream) or duration
            if expected is not None and abs(stamped_s - expected * sample_s) <= _JITTER_S:
                at = expected
        expected = at + duration
        packet.time_base = sample_s
        packet.pts = packet.dts = at
        packet.duration = duration
        yield packet


def _frame_samples(stream: AudioStream) -> int:
    """Samples per packet; 0 if packets differ."""
    return stream.frame_size if stream.codec_context.codec.canonical_name == "aac" else 0
