"""Stream copy: spans of a source whose packets go into a film unchanged.

This requires that the source is encoded exactly as our own slices, with the same parameter sets
byte for byte, so that copied and encoded slices can be joined into one stream. Every copy is
decoded and compared before it is used; the caller encodes instead if it is refused.
"""

import io
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from framekiln.kit.confined.slots import SlotMemory
from framekiln.media.container import open_media, translate_ffmpeg_errors, video_stream
from framekiln.media.decode.frame_properties import Orientation, orientation_of
from framekiln.media.decode.frame_source import FrameSource, latest_due_ticks
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.encode.film_encoder import FilmEncoder, PixelLayout, VideoSettings
from framekiln.media.errors import UnreadableMedia
from framekiln.media.frame_slots import FramePlanes
from framekiln.media.source_session import SourceSession

# NAL units of slices, SEI, delimiters and filler: no parameter sets, which could change what
# follows.
_PLAIN_UNITS: Final = frozenset({1, 5, 6, 9, 12})
_KEY_UNIT: Final = 5
_MAX_BYTES: Final = 256 << 20


class _Refused(Exception):
    """The source cannot be stream-copied; the caller encodes instead."""


@dataclass(frozen=True)
class CodedSource:
    """The packets of a source that is encoded as our films are."""

    path: Path
    settings: VideoSettings
    tick_s: Fraction
    delay: int
    stamps: tuple[int, ...]
    """Presentation times in ticks, in decode order."""
    shown: tuple[int, ...]
    """The same, in presentation order."""

    @classmethod
    def of(cls, path: Path, settings: VideoSettings, expected: bytes) -> "CodedSource | None":
        """Return a source that may be copied from; None if it is encoded differently.

        `expected` are the `parameter_sets` of our encoder.
        """
        try:
            with open_media(path) as container, translate_ffmpeg_errors(path):
                stream = video_stream(container)
                if stream is None or not _is_ours(stream, expected):
                    return None
                packets = [each for each in container.demux(stream) if each.size]
                stamps = tuple(_stamp(packet) for packet in packets)
                delay = stream.codec_context.reorder_depth
                tick_s = Fraction(stream.time_base or 0)
            _require_upright(path)
        except (_Refused, UnreadableMedia):
            return None
        return cls(path, settings, tick_s, delay, stamps, tuple(sorted(stamps)))

    def copy(self, times_s: Sequence[Fraction]) -> bytes | None:
        """Return an MP4 of the frames at these source times; None if that is impossible."""
        out = io.BytesIO()
        try:
            span = self._span(times_s)
            with translate_ffmpeg_errors(self.path):
                self._write(span, out)
            self._check(times_s, out)
        except (_Refused, UnreadableMedia):
            return None
        return out.getvalue()

    def _span(self, times_s: Sequence[Fraction]) -> range:
        """Return the range of exactly these frames, in decode order."""
        first = self._number_at(times_s[0])
        wanted = range(first, first + len(times_s))
        if any(
            self._number_at(at_s) != number for at_s, number in zip(times_s, wanted, strict=True)
        ):
            raise _Refused
        start = self.stamps.index(self.shown[first])
        span = range(start, start + len(times_s))
        # Frames outside the range must not be mixed with it in decode order.
        if set(self.stamps[start : span.stop]) != set(self.shown[first : wanted.stop]):
            raise _Refused
        return span

    def _number_at(self, at_s: Fraction) -> int:
        return bisect_right(self.shown, latest_due_ticks(at_s, self.tick_s)) - 1

    def _write(self, span: range, out: io.BytesIO) -> None:
        order = sorted(self.stamps[number] for number in span)
        places = {stamp: place for place, stamp in enumerate(order)}
        with (
            open_media(self.path) as source,
            av.open(out, "w", format="mp4", options={"fflags": "+bitexact"}) as film,
        ):
            stream = source.streams.video[0]
            coded = film.add_stream_from_template(stream, opaque=True)
            coded.time_base = 1 / self.settings.fps
            for number, packet in enumerate(self._packets(source, stream, span)):
                place = places[_stamp(packet)]
                if place < number - self.delay:
                    raise _Refused
                packet.stream = coded
                packet.time_base = 1 / self.settings.fps
                packet.pts, packet.dts, packet.duration = place, number - self.delay, 1
                film.mux_one(packet)

    def _packets(
        self, source: "av.container.InputContainer", stream: VideoStream, span: range
    ) -> Iterator["Packet[VideoStream]"]:
        source.seek(self.stamps[span.start], stream=stream)
        packets = (packet for packet in source.demux(stream) if packet.size)
        for packet in packets:
            if packet.pts == self.stamps[span.start]:
                break
        else:
            raise _Refused
        length_bytes = (bytes(stream.codec_context.extradata or b"")[4] & 3) + 1
        if _KEY_UNIT not in _units(bytes(packet), length_bytes):
            raise _Refused
        for number, each in zip(span, chain([packet], packets), strict=False):
            units = _units(bytes(each), length_bytes)
            if each.pts != self.stamps[number] or not _PLAIN_UNITS.issuperset(units):
                raise _Refused
            yield each

    def _check(self, times_s: Sequence[Fraction], out: io.BytesIO) -> None:
        """Decode the copy; its first, middle and last frame must match those of the source."""
        width, height = self.settings.width_px, self.settings.height_px
        compared = {0, len(times_s) // 2, len(times_s) - 1}
        count = 0
        with (
            FrameSource(self.path, width_px=width, height_px=height) as source,
            av.open(io.BytesIO(out.getbuffer()), "r", format="mp4") as copied,
        ):
            for frame in copied.decode(video=0):
                if frame.is_corrupt or Fraction(frame.pts or 0) * Fraction(
                    frame.time_base or 0
                ) != (count / self.settings.fps):
                    raise _Refused
                if count in compared and not _is_same(frame, source.yuv_at(times_s[count] * 1000)):
                    raise _Refused
                count += 1
        if count != len(times_s):
            raise _Refused


class ServedCopies:
    """Copies from a source, made in the child of a session."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None:
        size = {"width_px": args["width_px"], "height_px": args["height_px"]}
        settings = VideoSettings(**size, fps=Fraction(args["fps"]))
        self._source = CodedSource.of(path, settings, bytes.fromhex(args["parameter_sets"]))
        self.facts: dict[str, Any] = {"can_copy": self._source is not None}

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        """Return the slot with the MP4 of the frames at `times_s`, and its length."""
        assert memory is not None
        number, slot = memory.next_slot()
        times_s = [Fraction(at_s) for at_s in request["times_s"]]
        film = None if self._source is None else self._source.copy(times_s)
        if film is None or len(film) > len(slot):
            return {"slot": number, "bytes": 0}
        slot[: len(film)] = film
        return {"slot": number, "bytes": len(film)}

    def close(self) -> None:
        """Nothing is open."""


class SessionCopies:
    """Stream copies from one source, made in a confined child."""

    def __init__(self, session: SourceSession, path: Path, settings: VideoSettings) -> None:
        args = {
            "width_px": settings.width_px,
            "height_px": settings.height_px,
            "fps": str(settings.fps),
            "parameter_sets": parameter_sets(settings).hex(),
        }
        self._source = session.open(f"{__name__}:ServedCopies", path, args)
        self._can_copy = self._source.facts.get("can_copy") is True
        if self._can_copy:
            # Memory is taken only as far as it is written.
            self._source.share(slot_bytes=_MAX_BYTES, slots=1)

    def copy(self, times_s: Sequence[Fraction], out: Path) -> bool:
        """Write the frames at these source times, one each; return False if that is impossible."""
        if not self._can_copy:
            return False
        answer = self._source.ask({"times_s": [str(at_s) for at_s in times_s]})
        size = answer.get("bytes")
        if type(size) is not int or not 0 <= size <= _MAX_BYTES:
            self._source.refuse("a copy of another size")
        if size:
            out.write_bytes(self._source.slot(answer)[:size])
        return size > 0


@lru_cache(maxsize=16)
def parameter_sets(settings: VideoSettings) -> bytes:
    """Return the parameter sets of our encoder, as in a slice."""
    with tempfile.TemporaryDirectory(prefix="framekiln-coding-") as folder:
        path = Path(folder) / "one.mp4"
        with FilmEncoder(path, settings, PixelLayout.YUV420P) as encoder:
            pixels = encoder.buffer()
            pixels[...] = 128
            encoder.write(pixels)
        with av.open(f"file:{path}") as container:
            return bytes(container.streams.video[0].codec_context.extradata or b"")


def _is_ours(stream: VideoStream, expected: bytes) -> bool:
    context = stream.codec_context
    is_mp4 = "mp4" in stream.container.format.name
    own = bytes(context.extradata or b"")
    return is_mp4 and context.name == "h264" and len(own) > 4 and own == expected


def _stamp(packet: "Packet[VideoStream]") -> int:
    if packet.pts is None or packet.is_discard or packet.is_corrupt:
        raise _Refused
    return packet.pts


def _require_upright(path: Path) -> None:
    with VideoDecoder(path) as decoder:
        frame = decoder.read()
        if frame is None or decoder.is_deinterlacing or orientation_of(frame) != Orientation():
            raise _Refused


def _is_same(frame: VideoFrame, planes: FramePlanes) -> bool:
    height, width = planes.luma.shape
    decoded = frame.to_ndarray(format="yuv420p")
    chroma = decoded[height:].reshape(2, height // 2, width // 2)
    return (
        np.array_equal(decoded[:height], planes.luma)
        and np.array_equal(chroma[0], planes.blue)
        and np.array_equal(chroma[1], planes.red)
    )


def _units(data: bytes, length_bytes: int) -> Iterator[int]:
    """Yield the types of the NAL units in a packet."""
    place = 0
    while place + length_bytes < len(data):
        size = int.from_bytes(data[place : place + length_bytes], "big")
        yield data[place + length_bytes] & 31
        place += length_bytes + size
