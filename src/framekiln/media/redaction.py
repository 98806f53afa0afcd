"""Re-encodes a film with regions of its frames covered and spans of its audio muted.

Every frame and every sample is encoded again from the redacted data, so nothing else of the source
is kept: no other stream, no text, no packet, no frame that an edit list would hide. Frames are
upright. Frames and audio keep their times, so they stay in sync. Interlaced frames stay interlaced:
deinterlacing would mix in neighbouring frames and what is hidden there.

Spans of audio are silenced before it is encoded. AAC encodes overlapping blocks, so a little of the
audio before and after would be audible inside a span. Silence therefore extends beyond both ends,
so that each span decodes to exact zeros.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from av.packet import Packet
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from framekiln.kit.closeable import Closeable
from framekiln.media.audio.decoder import RATE_HZ, AudioChunk, sample_at
from framekiln.media.container import open_media
from framekiln.media.decode.frame_converter import FrameConverter
from framekiln.media.decode.frame_properties import planes_of
from framekiln.media.decode.rotation import upright_frames
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.encode.film_encoder import VideoSettings, configure_video
from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe.media_file import probe_media
from framekiln.media.remux.track_mux import mux_mp4
from framekiln.media.tracks.audio_tracks import ChunkFilter, encode_audio_track
from framekiln.media.tracks.progress import WorkProgress
from framekiln.media.tracks.track_copy import clock_hz, encoded_fps, even_px, open_video_track

SampleSpan = tuple[Fraction, Fraction]
"""Start and end, in milliseconds."""

EDGE_SAMPLES: Final = 2048
"""A sample affects the two frames of 1024 that cover it, and the encoding of their neighbours."""


class SpanMuter:
    """Replaces the audio within all spans with zeros."""

    def __init__(self, spans: Iterable[SampleSpan]) -> None:
        self._spans = _merged(
            (sample_at(start_ms) - EDGE_SAMPLES, sample_at(end_ms) + EDGE_SAMPLES)
            for start_ms, end_ms in spans
        )
        self._ends = [end for _, end in self._spans]

    def __call__(self, chunk: AudioChunk) -> AudioChunk:
        """Return the chunk, or a copy with the muted spans silenced."""
        samples = chunk.samples
        for start, end in self._spans[bisect_right(self._ends, chunk.first) :]:
            if start >= chunk.end:
                break
            if samples is chunk.samples:
                samples = samples.copy()
            samples[:, max(0, start - chunk.first) : end - chunk.first] = 0
        return AudioChunk(chunk.first, samples)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


VIDEO_COST: Final = 9
"""Video costs about this many times as much as one audio track."""
AUDIO_COST: Final = 1

OnRedactionProgress = Callable[[Fraction], None]
"""Receives the fraction of all work that is done, from 0 to 1."""


class RedactionProgress:
    """Measures the milliseconds done of all parts, weighted by their cost."""

    def __init__(
        self, on_progress: OnRedactionProgress, *, length_ms: Fraction, weights: int
    ) -> None:
        self._work = WorkProgress(on_progress)
        # There is no reading phase.
        self._work.read(Fraction(1), share=Fraction(0))
        self._length_ms = max(1, round(length_ms))
        self._work.plan(self._length_ms * weights)
        self._at_ms = 0

    def advance_to(self, at_ms: Fraction, weight: int) -> None:
        """Set the progress of the current part; an estimated duration may be wrong."""
        at = min(self._length_ms, int(at_ms))
        if at > self._at_ms:
            self._work.add((at - self._at_ms) * weight)
            self._at_ms = at

    def end_part(self, weight: int) -> None:
        """Finish a part, whatever its duration; the next one begins."""
        self.advance_to(Fraction(self._length_ms), weight)
        self._at_ms = 0


Pixels = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ShownFrame:
    """A frame as 4:2:0 planes, to be drawn on in place, and its display time."""

    luma: Pixels
    blue: Pixels
    red: Pixels
    from_ms: Fraction
    until_ms: Fraction


DrawOnFrame = Callable[[ShownFrame], None]


@dataclass(frozen=True)
class RedactedFilm:
    """The new film; without video it has neither a size nor a rate."""

    width_px: int
    height_px: int
    fps: Fraction
    duration_ms: int


def redact(
    source: Path,
    out: Path,
    *,
    draw: DrawOnFrame,
    muted: Sequence[SampleSpan],
    on_progress: OnRedactionProgress = lambda _: None,
) -> RedactedFilm:
    """Write `source` to `out` as an MP4; its parts are kept in the same folder meanwhile."""
    facts = probe_media(source)
    parts: list[Path] = []
    fps, size = Fraction(0), (0, 0)
    sounds = _sound_streams(source)
    weights = (VIDEO_COST if facts.video else 0) + AUDIO_COST * len(sounds)
    done = RedactionProgress(on_progress, length_ms=facts.duration_ms, weights=weights)
    if facts.video is not None:
        fps = encoded_fps(facts.video.fps)
        size = (even_px(facts.video.width_px), even_px(facts.video.height_px))
        parts.append(out.with_name(f"{out.name}-pictures"))
        _write_pictures(source, parts[0], VideoSettings(*size, fps), _counted(draw, done))
        done.end_part(VIDEO_COST)
    for index in sounds:
        parts.append(out.with_name(f"{out.name}-sound-{index}"))
        change = _tracked_muter(SpanMuter(muted), done)
        encode_audio_track(source, index, parts[-1], tick=lambda: None, change=change)
        done.end_part(AUDIO_COST)
    mux_mp4(parts, out)
    for part in parts:
        part.unlink()
    return RedactedFilm(*size, fps, round(probe_media(out).duration_ms))


def _counted(draw: DrawOnFrame, done: RedactionProgress) -> DrawOnFrame:
    def drawn(shown: ShownFrame) -> None:
        draw(shown)
        done.advance_to(shown.until_ms, VIDEO_COST)

    return drawn


def _tracked_muter(silencing: SpanMuter, done: RedactionProgress) -> ChunkFilter:
    def silenced(chunk: AudioChunk) -> AudioChunk:
        done.advance_to(Fraction(chunk.end * 1000, RATE_HZ), AUDIO_COST)
        return silencing(chunk)

    return silenced


def _sound_streams(source: Path) -> list[int]:
    """Return the audio streams that can be decoded; others could not be muted and are left out."""
    with open_media(source) as container:
        return [each.index for each in container.streams.audio if each.codec_context is not None]


def _write_pictures(source: Path, out: Path, settings: VideoSettings, draw: DrawOnFrame) -> None:
    with VideoDecoder(source) as decoder:
        encoder: _Encoder | None = None
        try:
            usual_ticks = max(1, round(1 / settings.fps / decoder.tick_s))
            for timed in _timed(upright_frames(decoder), usual_ticks=usual_ticks):
                encoder = encoder or _Encoder(out, settings, decoder.tick_s)
                encoder.write(timed, draw)
            if encoder is None:
                raise UnreadableMedia(f"{source.name}: none of its frames can be decoded")
            encoder.finish()
        finally:
            if encoder is not None:
                encoder.close()


@dataclass(frozen=True)
class _Timed:
    """A frame, and the ticks at which its display starts and ends."""

    frame: VideoFrame
    start: int
    end: int
    is_last: bool


def _timed(frames: Iterator[VideoFrame], *, usual_ticks: int) -> Iterator[_Timed]:
    """Yield the frames shown at time zero or later; the rest is never displayed.

    The last one ends after `usual_ticks` if the file does not say when.
    """
    before = next(frames, None)
    while before is not None:
        frame = next(frames, None)
        start = before.pts or 0
        end = start + (before.duration or usual_ticks) if frame is None else frame.pts or 0
        if end > 0:
            yield _Timed(before, max(0, start), end, is_last=frame is None)
        before = frame


class _Encoder(Closeable):
    """The new video track. Source frames are converted, copied, drawn on and encoded.

    The last becomes a keyframe, so that it is decoded last and its packet tells the track's end.
    """

    def __init__(self, out: Path, settings: VideoSettings, tick_s: Fraction) -> None:
        self._tick_s = tick_s
        self._conversion = FrameConverter(settings.width_px, settings.height_px)
        self._container = open_video_track(out, clock_hz(tick_s))
        stream = self._container.add_stream("libx264", rate=settings.fps)
        assert isinstance(stream, VideoStream)
        context = stream.codec_context
        configure_video(context, settings)
        context.time_base = stream.time_base = tick_s
        context.options = context.options | {"forced-idr": "1"}
        self._stream = stream
        self._last: _Timed | None = None
        # One for all frames: the encoder copies what it keeps.
        self._picture = VideoFrame(settings.width_px, settings.height_px, "yuv420p")
        self._planes = planes_of(self._picture)

    def write(self, timed: _Timed, draw: DrawOnFrame) -> None:
        """Draw on one frame and encode it."""
        drawn, decoded = self._planes, planes_of(self._conversion.to_opaque(timed.frame))
        # A copy: the decoder predicts later frames from its own.
        drawn.luma[:], drawn.blue[:], drawn.red[:] = decoded.luma, decoded.blue, decoded.red
        tick_ms = self._tick_s * 1000
        shown_ms = timed.start * tick_ms, timed.end * tick_ms
        draw(ShownFrame(drawn.luma, drawn.blue, drawn.red, *shown_ms))
        picture = self._picture
        picture.pts, picture.time_base = timed.start, self._tick_s
        picture.pict_type = PictureType.I if timed.is_last else PictureType.NONE
        self._last = timed
        self._mux(self._stream.encode(picture))

    def finish(self) -> None:
        """Flush the encoder."""
        self._mux(self._stream.encode(None))

    def close(self) -> None:
        """Write the rest of the file."""
        self._container.close()

    def _mux(self, packets: "list[Packet[Any]]") -> None:
        for packet in packets:
            if self._last is not None and self._last.is_last and packet.pts == self._last.start:
                packet.duration = self._last.end - self._last.start
            self._container.mux_one(packet)
