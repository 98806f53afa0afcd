"""Reads all packets of a file once, without decoding, and checks that the file is complete.

It does not check how frames look. A truncated, damaged or encrypted file is refused here, with the
position.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Stream

from framekiln.media.container import open_media, translate_ffmpeg_errors
from framekiln.media.errors import UnreadableMedia
from framekiln.media.keyframes import is_clean_start
from framekiln.media.probe.truncation import check_complete

MAX_DURATION_S: Final = 24 * 3600
# In these, a stated duration is an estimate; in others it may be slightly off, but not this much.
_LENGTH_MAY_BE_A_GUESS: Final = {"aac", "mp3"}
_MISSING_S: Final = 1
_MISSING_PART: Final = Fraction(1, 50)
# This many frames may be decoded before the first one is shown.
_MAX_REORDER: Final = 16


@dataclass
class PacketTally:
    """Statistics of the packets of one track."""

    codec: str
    extradata: bytes
    tick_s: Fraction
    count: int = 0
    size_bytes: int = 0
    start: int | None = None
    end: int = 0
    longest_group: int = 0
    is_clean: bool = True
    """Whether decoding can start at every keyframe."""
    problem: str | None = None
    """Why the packets cannot be copied, if so."""
    _key_dts: int | None = None
    _last_dts: int | None = None
    _undated: int = field(default=0)

    def add(self, packet: "Packet[Any]") -> None:
        """Count a packet."""
        self.count += 1
        self.size_bytes += packet.size
        self._note_times(packet)
        if packet.has_sidedata("new_extradata") and self.count > 1:
            self.problem = "its coding parameters change on the way"
        if packet.is_keyframe:
            if self.is_clean and self.codec in ("h264", "vp9", "av1"):
                self.is_clean = is_clean_start(self.codec, self.extradata, bytes(packet))
            self._key_dts = self._last_dts
        elif self.count == 1:
            self.is_clean = False
        if self._key_dts is not None and self._last_dts is not None:
            self.longest_group = max(self.longest_group, self._last_dts - self._key_dts)

    @property
    def longest_group_s(self) -> Fraction:
        """The longest time between two keyframes."""
        return self.longest_group * self.tick_s

    @property
    def end_s(self) -> Fraction:
        """When the last packet ends."""
        return self.end * self.tick_s

    def _note_times(self, packet: "Packet[Any]") -> None:
        pts, dts = packet.pts, packet.dts
        if pts is None:
            self.problem = "some of its time stamps are missing"
            return
        self.start = pts if self.start is None else min(self.start, pts)
        self.end = max(self.end, pts + (packet.duration or 0))
        if dts is None:
            self._undated += 1
            if self._last_dts is not None or self._undated > _MAX_REORDER:
                self.problem = "some of its time stamps are missing"
            return
        if dts > pts or (self._last_dts is not None and dts <= self._last_dts):
            self.problem = "its time stamps are out of order"
        self._last_dts = dts


def tally_packets(path: Path, report: Callable[[Fraction], None]) -> dict[int, PacketTally]:
    """Return the tally of each track with packets, by index; `report` gets the fraction read."""
    check_complete(path)
    size_bytes = path.stat().st_size
    with open_media(path) as container, translate_ffmpeg_errors(path):
        reading = _ReadProgress(container)
        try:
            for packet in container.demux():
                if packet.size == 0:
                    continue
                reading.add(packet, path)
                report(min(Fraction(1), Fraction(reading.at_bytes, size_bytes)))
        except (av.InvalidDataError, av.EOFError) as error:
            raise UnreadableMedia(
                f"{path.name}: the file is truncated or damaged: reading stopped after byte"
                f" {reading.at_bytes} of {size_bytes}, at {_seconds(reading.end_s)}"
            ) from error
        _check_length(container, reading.end_s, path)
        return {index: tally for index, tally in reading.tallies.items() if tally.count}


class _ReadProgress:
    def __init__(self, container: InputContainer) -> None:
        self.tallies = {stream.index: _tally(stream) for stream in container.streams}
        self.at_bytes = 0

    @property
    def end_s(self) -> Fraction:
        return max((tally.end_s for tally in self.tallies.values()), default=Fraction(0))

    def add(self, packet: "Packet[Any]", path: Path) -> None:
        tally = self.tallies.get(packet.stream_index)
        if tally is None:
            return
        if packet.has_sidedata("encryption_info"):
            raise UnreadableMedia(
                f"{path.name}: the file is encrypted; upload it without protection"
            )
        self.at_bytes = max(self.at_bytes, (packet.pos or 0) + packet.size)
        tally.add(packet)
        if tally.end_s > MAX_DURATION_S:
            raise UnreadableMedia(
                f"{path.name}: the declared duration is over {MAX_DURATION_S // 3600} hours;"
                " split it into shorter files"
            )


def _tally(stream: Stream) -> PacketTally:
    context = stream.codec_context
    return PacketTally(
        codec="" if context is None else context.codec.canonical_name,
        extradata=b"" if context is None else bytes(context.extradata or b""),
        tick_s=Fraction(stream.time_base or 0),
    )


def _check_length(container: InputContainer, end_s: Fraction, path: Path) -> None:
    if not container.duration or container.format.name in _LENGTH_MAY_BE_A_GUESS:
        return
    stated_s = Fraction(container.duration, 1_000_000)
    if stated_s - end_s > max(Fraction(_MISSING_S), stated_s * _MISSING_PART):
        raise UnreadableMedia(
            f"{path.name}: the file is truncated: its declared duration is {_seconds(stated_s)},"
            f" but it ends at {_seconds(end_s)}"
        )


def _seconds(time_s: Fraction) -> str:
    return f"{float(time_s):.1f} s"
