"""The frame of a video track that is shown last, and when it ends.

The sample tables of an MP4 state the time until the next frame is decoded. With B-frames at a
variable rate, that is not how long a frame is shown. Only the frame that is decoded last has a
duration of its own; if another one is shown last, its end is that of the track, which the headers
of the file state.
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from av.packet import Packet
from av.stream import Stream

from framekiln.media.container import is_mp4
from framekiln.media.isobmff.stated_end import StatedEnd, stated_end

_MAX_FRAME_S: Final = 24 * 3600


@dataclass
class LastFrame:
    """The last frame among the packets of a track, which are added in decode order."""

    pts: int | None = None
    duration: int = 0
    """As its packet states it; 0 if it does not."""
    is_decoded_last: bool = False
    _last_decoded_duration: int = 0

    def add(self, packet: "Packet[Any]") -> None:
        """Note a packet; those without content, or outside of the edit list, are never shown."""
        if packet.pts is None or not packet.size or packet.is_discard:
            return
        self._last_decoded_duration = packet.duration or 0
        self.is_decoded_last = self.pts is None or packet.pts > self.pts
        if self.is_decoded_last:
            self.pts, self.duration = packet.pts, packet.duration or 0

    def measure(self, path: Path, stream: Stream) -> int:
        """Return how long the frame is shown, in ticks of the stream; 0 if nothing states it."""
        if self.pts is None or self.is_decoded_last or not is_mp4(stream):
            return self.duration
        stated = stated_track_end(path, stream)
        if stated is None:
            # The same rule as for fragments: see `MovieFragment`.
            return self._last_decoded_duration or self.duration
        tick_s = Fraction(stream.time_base or 1)
        left_s = stated.end_s - self.pts * tick_s
        # Where both agree, the packet is the more exact one.
        is_as_packet = abs(left_s - self.duration * tick_s) <= stated.tick_s
        if is_as_packet or not 0 < left_s <= _MAX_FRAME_S:
            return self.duration
        return max(1, round(left_s / tick_s))


def stated_track_end(path: Path, stream: Stream) -> StatedEnd | None:
    """Return the end of a track of an MP4 as its headers state it."""
    start_s = (stream.start_time or 0) * Fraction(stream.time_base or 1)
    return stated_end(path, stream.id, start_s=start_s)
