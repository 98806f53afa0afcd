"""Frames that repeat the one before, put into a film without the encoder (H.264).

x264 takes a third to a half of its time for a frame even if nothing changes in it. Most of these
frames are not given to it: one whose macroblocks are all skipped has the very pixels of its
reference, and consists of a few dozen bytes.

`FrameSchedule` decides which frames the encoder gets, `SkippedFrames` puts the others between its
packets. In the packets after them only the picture order count changes (POC, twice the number of
the picture since the last IDR picture).

Skipped frames lie between two references and are decoded after both, as B-frames are. Decoders
that are known to show only what comes before a picture they have decoded (OpenH264) lose frames
without references that lie elsewhere.

All of this is known of x264. If its packets are others, the film is made again, and from then on
the encoder gets all frames (`UnexpectedPacket`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final

from av.packet import Packet
from av.video.frame import PictureType
from av.video.stream import VideoStream

from framekiln.media.encode.h264_slices import (
    CodedPicture,
    StreamFormat,
    skipped_picture,
    with_poc,
)

_ENCODED_REPEATS: Final = 8
"""Repetitions that the encoder gets before any is left out: with these it refines the picture."""
# A frame before a reference is decoded after it at most so many frames later.
_REORDERED: Final = 4


class UnexpectedPacket(Exception):
    """Nothing can be skipped between the packets of this encoder; the film must be made again."""


class FrameType(Enum):
    """What the encoder makes of a frame."""

    ANY = PictureType.NONE
    REFERENCE = PictureType.P
    """No frame before it refers to one after it."""
    KEYFRAME = PictureType.I


@dataclass
class FrameSchedule:
    """Decides which frames of a film the encoder gets, and as what."""

    keyframe_every: int
    most_skipped: int
    """In a row; 0 if the encoder must get all."""
    places: list[int] = field(default_factory=list)
    """The number in the film of each frame that the encoder has got."""
    frame_count: int = 0
    _repeats: int = 0
    _has_skipped: bool = False

    @classmethod
    def of(cls, format_: StreamFormat | None, *, keyframe_every: int) -> "FrameSchedule":
        """Return the schedule of a stream; the encoder gets all frames if there is no format."""
        # Decoders complete a POC from the one before, so they must not be far apart.
        most_skipped = 0 if format_ is None else (1 << format_.poc_bits) // 4 - _REORDERED
        return cls(keyframe_every, max(0, most_skipped))

    def add(self, *, is_repeat: bool) -> list[tuple[int, FrameType]]:
        """Count one more frame of the film; return what the encoder gets now, by number."""
        number = self.frame_count
        self.frame_count += 1
        # The encoder counts only what it gets, so its keyframes would be too far apart.
        is_key = self._has_skipped and number % self.keyframe_every == 0
        self._repeats = self._repeats + 1 if is_repeat and not is_key else 0
        skipped = number - self.places[-1] - 1 if self.places else 0
        if self._repeats > _ENCODED_REPEATS and skipped < self.most_skipped:
            self._has_skipped = True
            return []
        before = [] if self._repeats else self._end_skipped(number - 1)
        self.places.append(number)
        # Nothing is decoded across skipped frames, so that their distance does not count.
        is_edge = self._repeats >= _ENCODED_REPEATS and self.most_skipped > 0
        other = FrameType.REFERENCE if is_edge else FrameType.ANY
        return [*before, (number, FrameType.KEYFRAME if is_key else other)]

    def end(self) -> list[tuple[int, FrameType]]:
        """Return what the encoder gets at the end of the film."""
        return self._end_skipped(self.frame_count - 1)

    def _end_skipped(self, number: int) -> list[tuple[int, FrameType]]:
        """Have the last of skipped frames encoded after all, as the reference after them."""
        if not self.places or number <= self.places[-1]:
            return []
        self.places.append(number)
        return [(number, FrameType.REFERENCE)]


@dataclass(frozen=True)
class _Reference:
    number: int
    """For the encoder."""
    frame_num: int


class SkippedFrames:
    """Puts the frames that the encoder did not get between its packets."""

    is_trusted: ClassVar[bool] = True
    """Whether all packets of this process were as expected so far; else, nothing is skipped."""

    def __init__(self, stream: VideoStream, format_: StreamFormat, schedule: FrameSchedule) -> None:
        self._stream = stream
        self._format = format_
        self._schedule = schedule
        self._encoded = 0
        self._written = 0
        self._delay = 0
        self._idr_number = 0
        # The last one that was decoded, and the one that is shown last.
        self._decoded = self._shown = _Reference(0, 0)

    def complete(self, packets: "Sequence[Packet[Any]]") -> "Iterator[Packet[Any]]":
        """Yield packets of the encoder, placed in the film, and what was skipped before them."""
        places = self._schedule.places
        for packet in packets:
            assert packet.pts is not None
            assert packet.dts is not None
            number, before = packet.pts, self._shown
            if self._encoded == 0:
                self._delay = number - packet.dts
            yield self._placed(self._counted(packet, number), places[number])
            if number and places[number] - places[number - 1] > 1:
                _require(
                    number == self._encoded == before.number + 1 == self._decoded.number,
                    "skipped frames would not lie between references",
                )
                yield from self._skipped(number, before)
            self._encoded += 1

    def _skipped(self, number: int, before: _Reference) -> "Iterator[Packet[Any]]":
        """Yield the frames between two references."""
        places = self._schedule.places
        for place in range(places[before.number] + 1, places[number]):
            data = skipped_picture(
                self._format,
                frame_num=(self._decoded.frame_num + 1) % (1 << self._format.frame_num_bits),
                poc=self._poc(place, places[self._idr_number]),
                reference_num=before.frame_num,
            )
            yield self._placed(Packet(data), place)

    def _counted(self, packet: "Packet[Any]", number: int) -> "Packet[Any]":
        """Return the packet with the POC of its place in the film."""
        coded = CodedPicture.read(bytes(packet), self._format)
        if coded.is_idr:
            self._idr_number = number
        if coded.is_reference:
            self._decoded = _Reference(number, coded.frame_num)
            if number >= self._shown.number:
                self._shown = self._decoded
        own = self._poc(number, self._idr_number)
        places = self._schedule.places
        poc = self._poc(places[number], places[self._idr_number])
        if poc == own:
            return packet
        _require(coded.poc == own, "pictures are not counted from the last IDR picture")
        changed = Packet(with_poc(bytes(packet), self._format, poc))
        changed.is_keyframe = packet.is_keyframe
        return changed

    def _poc(self, number: int, idr_number: int) -> int:
        return 2 * (number - idr_number) % (1 << self._format.poc_bits)

    def _placed(self, packet: "Packet[Any]", place: int) -> "Packet[Any]":
        packet.stream = self._stream
        packet.time_base = self._stream.codec_context.time_base
        packet.pts, packet.dts, packet.duration = place, self._written - self._delay, 1
        self._written += 1
        return packet


def _require(is_expected: bool, otherwise: str) -> None:
    if not is_expected:
        SkippedFrames.is_trusted = False
        raise UnexpectedPacket(f"the encoder gets all frames from now on: {otherwise}")
