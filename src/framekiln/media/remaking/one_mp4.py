"""Puts track files side by side into one ordinary MP4, packet by packet, each at its own time.

Nothing is decoded. For programs that want a file and not its tracks.
"""

import heapq
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any, Final

import av
from av.container import InputContainer, OutputContainer
from av.packet import Packet

from framekiln.media.opening import open_media, unreadable_as_ours

_FASTEST_CLOCK_HZ: Final = (1 << 31) - 1
_ROUND_HZ: Final = 1_000_000

_Timed = tuple[Fraction, "Packet[Any]"]


def write_one_mp4(tracks: Sequence[Path], out: Path) -> None:
    """Write the first stream of each file to `out`, in the order given."""
    with ExitStack() as stack:
        stack.enter_context(unreadable_as_ours(tracks[0]))
        sources = [stack.enter_context(open_media(path)) for path in tracks]
        target = stack.enter_context(
            av.open(f"file:{out}", "w", format="mp4", options=_options(sources))
        )
        flows = [_packets(source, target) for source in sources]
        for _, packet in heapq.merge(*flows, key=lambda timed: timed[0]):
            target.mux_one(packet)


def _packets(source: InputContainer, target: OutputContainer) -> Iterator[_Timed]:
    stream = source.streams[0]
    # All streams must be there before the first packet is written.
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
    # Edit lists count by the movie's clock: it must hit the start of every track.
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
