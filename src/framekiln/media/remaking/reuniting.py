"""Puts track files back into one film, packet by packet, every time as it was."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from heapq import merge
from pathlib import Path
from typing import Any

from av.container import InputContainer
from av.packet import Packet
from av.stream import Stream

from framekiln.media.opening import open_media, unreadable_as_ours
from framekiln.media.splitting.track_output import clock_hz, open_video_track


@dataclass(frozen=True)
class _Track:
    container: InputContainer
    source: Stream
    target: Stream

    def packets(self) -> "Iterator[tuple[float, int, Packet[Any]]]":
        """Yield packets with what they are ordered by; nothing but that order is inexact."""
        for packet in self.container.demux(self.source):
            if packet.size:
                at = packet.dts if packet.dts is not None else packet.pts or 0
                packet.stream = self.target
                yield float(at * packet.time_base), self.target.index, packet


def reunite(tracks: Sequence[Path], out: Path) -> None:
    """Write one file with the first track of each of the given ones."""
    with ExitStack() as stack:
        sources = [stack.enter_context(open_media(path)) for path in tracks]
        streams = [container.streams[0] for container in sources]
        # The clock is that of pictures: sound always counts its own samples.
        first = min(streams, key=lambda stream: stream.type != "video")
        hz = clock_hz(first.time_base or Fraction(1, 1000))
        output = stack.enter_context(open_video_track(out, hz, fragment_s=2))
        joined = [
            _Track(container, stream, output.add_stream_from_template(stream))
            for container, stream in zip(sources, streams, strict=True)
        ]
        stack.enter_context(unreadable_as_ours(tracks[0]))
        in_order = merge(*(track.packets() for track in joined), key=lambda each: each[:2])
        for _, _, packet in in_order:
            output.mux(packet)
