"""Joins the slices of a film and its audio into one MP4 without re-encoding.

A slice is a plain MP4 whose first frame is at zero. Timestamps are not copied from it but counted
in frames over the whole film: no rounding, no gap and no drift, for any number of slices, also at
30000/1001 frames per second. The same input gives the same bytes.
"""

import heapq
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any, Final, Self

import av
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from framekiln.kit.cancellation import check_cancelled
from framekiln.media.audio.decoder import RATE_HZ
from framekiln.media.errors import SlicesDiffer

# These are our own files, so no other format is tried.
_OURS: Final = {"format_whitelist": "mov,mp4", "protocol_whitelist": "file"}
_FASTEST_CLOCK_HZ: Final = (1 << 31) - 1

TimedPacket = tuple[Fraction, "Packet[Any]"]
"""A packet and its decode time, which is the order of packets in the file."""


@dataclass(frozen=True)
class JoinedFilm:
    """The contents of the film."""

    frame_count: int
    fps: Fraction


def join_mp4(slices: Sequence[Path], sound: Path | None, out: Path) -> JoinedFilm:
    """Write the film to `out`: the video of all slices in order, and the audio."""
    if not slices:
        raise ValueError("a film needs at least one slice")
    with (
        _open(slices[0]) as first,
        nullcontext() if sound is None else _open(sound) as audio,
    ):
        track = _Track.of(first)
        with av.open(str(out), "w", format="mp4", options=_options(track)) as film:
            pictures = _Pictures(slices, track, film, first)
            flows = [iter(pictures)]
            if audio is not None:
                flows.append(audio_packets(audio, film))
            for _, packet in heapq.merge(*flows, key=lambda timed: timed[0]):
                film.mux_one(packet)
    return JoinedFilm(frame_count=pictures.frame_count, fps=1 / track.frame_s)


@dataclass(frozen=True)
class _Track:
    """Properties that all slices of a film share."""

    #: SPS and PPS. Those of the first slice serve all.
    parameter_sets: bytes
    frame_s: Fraction
    #: How many frames are decoded ahead of presentation. B-frames need it, once per film.
    delay: int

    @classmethod
    def of(cls, container: InputContainer) -> Self:
        """Read the properties from an open slice, then seek back to its start."""
        stream = container.streams.video[0]
        packet = next(container.demux(stream))
        container.seek(0)
        return cls(
            parameter_sets=bytes(stream.codec_context.extradata or b""),
            frame_s=(packet.duration or 0) * packet.time_base,
            delay=stream.codec_context.reorder_depth,
        )


class _Pictures:
    """The packets of all slices, counted continuously."""

    def __init__(
        self,
        slices: Sequence[Path],
        track: _Track,
        film: OutputContainer,
        first: InputContainer,
    ) -> None:
        self._slices, self._track, self._first = slices, track, first
        self._stream = film.add_stream_from_template(first.streams.video[0], opaque=True)
        # All presentation times are multiples of it, so the container's clock divides it exactly.
        self._stream.time_base = track.frame_s
        self.frame_count = 0

    def __iter__(self) -> Iterator[TimedPacket]:
        for number, path in enumerate(self._slices):
            # The first slice is already open, and its opener closes it.
            with nullcontext(self._first) if number == 0 else _open(path) as container:
                stream = container.streams.video[0]
                self._require_same(stream, path)
                yield from self._slice_packets(container, stream)

    def _slice_packets(
        self, container: InputContainer, stream: VideoStream
    ) -> Iterator[TimedPacket]:
        start = self.frame_count
        for packet in container.demux(stream):
            check_cancelled()
            if packet.pts is None:
                continue
            shown = packet.pts * packet.time_base / self._track.frame_s
            assert shown.denominator == 1, "a slice has a constant frame rate"
            packet.stream = self._stream
            packet.time_base = self._track.frame_s
            packet.pts = start + int(shown)
            packet.dts = self.frame_count - self._track.delay
            packet.duration = 1
            self.frame_count += 1
            yield packet.dts * self._track.frame_s, packet

    def _require_same(self, stream: VideoStream, path: Path) -> None:
        if bytes(stream.codec_context.extradata or b"") != self._track.parameter_sets:
            raise SlicesDiffer(
                f"{path.name} was encoded with other settings than {self._slices[0].name};"
                " encode all slices of a film with the same ones"
            )


def audio_packets(sound: InputContainer, film: OutputContainer) -> Iterator[TimedPacket]:
    """Add a track to the film and yield its packets with their decode times."""
    source = sound.streams.audio[0]
    stream = film.add_stream_from_template(source, opaque=True)

    def packets() -> Iterator[TimedPacket]:
        for packet in sound.demux(source):
            if packet.dts is None:
                continue
            packet.stream = stream
            yield packet.dts * packet.time_base, packet

    return packets()


def _open(path: Path) -> InputContainer:
    return av.open(f"file:{path}", "r", options=dict(_OURS))


def _options(track: _Track) -> dict[str, str]:
    # The movie's clock must represent the ends of both tracks exactly, or edit lists are rounded.
    exact_hz = lcm((1 / track.frame_s).numerator, RATE_HZ)
    clock_hz = exact_hz if exact_hz <= _FASTEST_CLOCK_HZ else RATE_HZ
    return {
        "fflags": "+bitexact",
        "movflags": "+faststart",
        "movie_timescale": str(clock_hz),
    }
