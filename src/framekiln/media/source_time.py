"""Where time zero of a source lies.

Containers with a timeline of their own (MP4, MKV, WebM) count from zero, and a track may start
later. A bare MP3 or AAC stream has no timeline: its first audible sample is time zero, although
FFmpeg counts the encoder's delay as time.
"""

from fractions import Fraction
from typing import Final

from av.stream import Stream

_NO_TIMELINE: Final = {"mp3", "aac"}


def timeline_shift(stream: Stream) -> int:
    """Return the time stamp, in the stream's ticks, that is source time zero."""
    if stream.container.format.name in _NO_TIMELINE:
        return stream.start_time or 0
    return 0


def start_ms(stream: Stream) -> Fraction:
    """Return the source time at which a track starts."""
    ticks = (stream.start_time or 0) - timeline_shift(stream)
    return ticks * Fraction(stream.time_base or 0) * 1000
