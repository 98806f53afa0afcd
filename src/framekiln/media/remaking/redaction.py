"""Makes a film anew, its pictures drawn on and its sound silenced in places.

Every picture and every sample is encoded again from what was drawn, so nothing else of the source
comes along: no other stream, no text, no packet, no picture that an edit list would hide. Pictures
stand upright and keep their times, and so does sound: both are as far apart as before. Interlaced
pictures stay so: mixing them with their neighbours would mix in what is hidden there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from framekiln.media.closing import Closing
from framekiln.media.errors import UnreadableMedia
from framekiln.media.hearing.sound import RATE_HZ, Stretch
from framekiln.media.mixing.silencing import Silencing, Span
from framekiln.media.opening import open_media
from framekiln.media.probe import VideoFacts, probe
from framekiln.media.remaking.one_mp4 import write_one_mp4
from framekiln.media.remaking.parts_done import PICTURES, SOUND, PartsDone, Tell
from framekiln.media.splitting.sound_tracks import Change, encode_sound
from framekiln.media.splitting.track_output import clock_hz, open_video_track
from framekiln.media.watching.conversion import Conversion
from framekiln.media.watching.upright import upright_frames
from framekiln.media.watching.video_decoder import VideoDecoder
from framekiln.media.writing.encode import VideoSettings, configure_pictures

Pixels = NDArray[np.uint8]

_USUAL_FPS: Final = Fraction(30)
_FASTEST_FPS: Final = 240


@dataclass(frozen=True, eq=False)
class Shown:
    """A picture as 4:2:0 planes, to be drawn on in place, and when it is on screen."""

    luma: Pixels
    blue: Pixels
    red: Pixels
    from_ms: Fraction
    until_ms: Fraction


Draw = Callable[[Shown], None]


@dataclass(frozen=True)
class Redacted:
    """What the new film is; without pictures it has neither sides nor a rate."""

    width_px: int
    height_px: int
    fps: Fraction
    duration_ms: int


def redact(
    source: Path, out: Path, *, draw: Draw, muted: Sequence[Span], tell: Tell = lambda _: None
) -> Redacted:
    """Write `source` to `out` as an MP4; its parts lie beside it meanwhile."""
    facts = probe(source)
    parts: list[Path] = []
    fps, size = Fraction(0), (0, 0)
    sounds = _sound_streams(source)
    weights = (PICTURES if facts.video else 0) + SOUND * len(sounds)
    done = PartsDone(tell, length_ms=facts.duration_ms, weights=weights)
    if facts.video is not None:
        fps, size = _rate(facts.video), (_even(facts.video.width_px), _even(facts.video.height_px))
        parts.append(out.with_name(f"{out.name}-pictures"))
        _write_pictures(source, parts[0], VideoSettings(*size, fps), _counted(draw, done))
        done.end_part(PICTURES)
    for index in sounds:
        parts.append(out.with_name(f"{out.name}-sound-{index}"))
        change = _heard(Silencing(muted), done)
        encode_sound(source, index, parts[-1], tick=lambda: None, change=change)
        done.end_part(SOUND)
    write_one_mp4(parts, out)
    for part in parts:
        part.unlink()
    return Redacted(*size, fps, round(probe(out).duration_ms))


def _counted(draw: Draw, done: PartsDone) -> Draw:
    def drawn(shown: Shown) -> None:
        draw(shown)
        done.reached(shown.until_ms, PICTURES)

    return drawn


def _heard(silencing: Silencing, done: PartsDone) -> Change:
    def silenced(stretch: Stretch) -> Stretch:
        done.reached(Fraction(stretch.end * 1000, RATE_HZ), SOUND)
        return silencing(stretch)

    return silenced


def _sound_streams(source: Path) -> list[int]:
    """Return the sound that can be decoded; other sound could not be silenced and is left out."""
    with open_media(source) as container:
        return [each.index for each in container.streams.audio if each.codec_context is not None]


def _write_pictures(source: Path, out: Path, settings: VideoSettings, draw: Draw) -> None:
    with VideoDecoder(source) as decoder:
        encoder: _Encoder | None = None
        try:
            frame_ticks = max(1, round(1 / settings.fps / decoder.tick_s))
            for timed in _timed(upright_frames(decoder), frame_ticks=frame_ticks):
                encoder = encoder or _Encoder(out, settings, decoder.tick_s)
                encoder.write(timed, draw)
            if encoder is None:
                raise UnreadableMedia(f"{source.name}: none of its pictures can be decoded")
            encoder.finish()
        finally:
            if encoder is not None:
                encoder.close()


@dataclass(frozen=True)
class _Timed:
    """A picture, and the ticks from which and until which it is on screen."""

    frame: VideoFrame
    start: int
    end: int


def _timed(frames: Iterator[VideoFrame], *, frame_ticks: int) -> Iterator[_Timed]:
    """Yield what is on screen at time zero or later; nobody gets to see the rest."""
    before = next(frames, None)
    while before is not None:
        frame = next(frames, None)
        start = before.pts or 0
        end = start + frame_ticks if frame is None else frame.pts or 0
        if end > 0:
            yield _Timed(before, max(0, start), end)
        before = frame


class _Encoder(Closing):
    """The new picture track. Pictures of the source are converted, copied, drawn on, encoded."""

    def __init__(self, out: Path, settings: VideoSettings, tick_s: Fraction) -> None:
        self._settings, self._tick_s = settings, tick_s
        self._conversion = Conversion(settings.width_px, settings.height_px)
        self._container = open_video_track(out, clock_hz(tick_s))
        stream = self._container.add_stream("libx264", rate=settings.fps)
        assert isinstance(stream, VideoStream)
        context = stream.codec_context
        configure_pictures(context, settings)
        context.time_base = stream.time_base = tick_s
        self._stream = stream

    def write(self, timed: _Timed, draw: Draw) -> None:
        """Encode one picture as it is drawn on."""
        # A copy: the decoder's own pictures are what it predicts the next ones from.
        pixels = np.array(self._conversion.to_opaque(timed.frame).to_ndarray(), np.uint8)
        height, width = self._settings.height_px, self._settings.width_px
        luma, chroma = pixels[:height], pixels[height:].reshape(2, height // 2, width // 2)
        tick_ms = self._tick_s * 1000
        draw(Shown(luma, chroma[0], chroma[1], timed.start * tick_ms, timed.end * tick_ms))
        # Copied: without a copy PyAV takes every height for a multiple of four.
        picture = VideoFrame.from_ndarray(pixels, format="yuv420p")
        picture.pts, picture.time_base = timed.start, self._tick_s
        self._mux(self._stream.encode(picture))

    def finish(self) -> None:
        """Encode what the encoder has kept back."""
        self._mux(self._stream.encode(None))

    def close(self) -> None:
        """Write the rest of the file."""
        self._container.close()

    def _mux(self, packets: "list[Packet[Any]]") -> None:
        for packet in packets:
            self._container.mux_one(packet)


def _rate(facts: VideoFacts) -> Fraction:
    return facts.fps if 1 <= facts.fps <= _FASTEST_FPS else _USUAL_FPS


def _even(side_px: int) -> int:
    return max(2, side_px - side_px % 2)
