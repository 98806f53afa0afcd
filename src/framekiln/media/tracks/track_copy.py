"""Copies the packets of one track into a track file, each at its source time.

Nothing is decoded. If a container counts milliseconds, audio times are restored to the sample.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from av.audio.stream import AudioStream
from av.bitstream import BitStreamFilterContext
from av.container import InputContainer
from av.packet import Packet
from av.stream import Discard, Stream
from av.video.stream import VideoStream

from framekiln.media.container import open_media, timeline_shift, translate_ffmpeg_errors
from framekiln.media.tracks.track_output import clock_hz, open_audio_track, open_video_track

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
            packets = _dated(packets)
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
