"""Muxes track files into one MP4 without re-encoding; packets keep their timestamps.

Nothing is decoded. For programs that need a single file instead of its tracks.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any, Final

import av
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Stream

from framekiln.media.container import open_media, translate_ffmpeg_errors
from framekiln.media.tracks.track_copy import clock_hz, open_video_track

_FASTEST_CLOCK_HZ: Final = (1 << 31) - 1
_ROUND_HZ: Final = 1_000_000

_Timed = tuple[Fraction, "Packet[Any]"]


def mux_mp4(tracks: Sequence[Path], out: Path) -> None:
    """Write the first stream of each file to `out`, in the order given."""
    with ExitStack() as stack:
        stack.enter_context(translate_ffmpeg_errors(tracks[0]))
        sources = [stack.enter_context(open_media(path)) for path in tracks]
        target = stack.enter_context(
            av.open(f"file:{out}", "w", format="mp4", options=_options(sources))
        )
        flows = [_packets(source, target) for source in sources]
        for _, packet in heapq.merge(*flows, key=lambda timed: timed[0]):
            target.mux_one(packet)


def _packets(source: InputContainer, target: OutputContainer) -> Iterator[_Timed]:
    stream = source.streams[0]
    # All streams must exist before the first packet is written.
    copy = target.add_stream_from_template(stream, opaque=True)
    copy.time_base = stream.time_base

    def packets() -> Iterator[_Timed]:
        for packet in source.demux(stream):
            if packet.dts is None or not packet.size:
                continue
            packet.stream = copy
            yield packet.dts * packet.time_base, packet

    return packets()


def _options(sources: Sequence[InputContainer]) -> dict[str, str]:
    # Edit lists use the movie's clock: it must represent the start of every track exactly.
    clocks_hz = [Fraction(source.streams[0].time_base or 1).denominator for source in sources]
    exact_hz = lcm(*clocks_hz)
    pictures_hz = [
        hz for hz, source in zip(clocks_hz, sources, strict=True) if source.streams.video
    ]
    timescale = {"video_track_timescale": str(pictures_hz[0])} if pictures_hz else {}
    return {
        "fflags": "+bitexact",
        "movflags": "+faststart",
        "avoid_negative_ts": "disabled",
        "movie_timescale": str(exact_hz if exact_hz <= _FASTEST_CLOCK_HZ else _ROUND_HZ),
        **timescale,
    }


@dataclass(frozen=True)
class _MuxedTrack:
    container: InputContainer
    source: Stream
    target: Stream

    def packets(self) -> "Iterator[tuple[float, int, Packet[Any]]]":
        """Yield packets with their sort keys; only the sort keys are inexact."""
        for packet in self.container.demux(self.source):
            if packet.size:
                at = packet.dts if packet.dts is not None else packet.pts or 0
                packet.stream = self.target
                yield float(at * packet.time_base), self.target.index, packet


def mux_tracks_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Mux the files `tracks` into `out`, for `run_confined`."""
    mux_fragmented_mp4([Path(track) for track in args["tracks"]], Path(args["out"]))
    return {}


def mux_fragmented_mp4(tracks: Sequence[Path], out: Path) -> None:
    """Write one file with the first track of each input file."""
    with ExitStack() as stack:
        sources = [stack.enter_context(open_media(path)) for path in tracks]
        streams = [container.streams[0] for container in sources]
        # The clock is that of the video: audio always counts its own samples.
        first = min(streams, key=lambda stream: stream.type != "video")
        hz = clock_hz(first.time_base or Fraction(1, 1000))
        output = stack.enter_context(open_video_track(out, hz, fragment_s=2))
        joined = [
            _MuxedTrack(container, stream, output.add_stream_from_template(stream))
            for container, stream in zip(sources, streams, strict=True)
        ]
        stack.enter_context(translate_ffmpeg_errors(tracks[0]))
        in_order = heapq.merge(*(track.packets() for track in joined), key=lambda each: each[:2])
        for _, _, packet in in_order:
            output.mux(packet)
