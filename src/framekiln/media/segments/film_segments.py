"""Our own films as CMAF segments, one per slice, without re-encoding.

A slice that waits to be joined and the same frames in the finished film give the same segment, so a
viewer who watches during the render notices no change when it completes. The api does this in its
own process, so FFmpeg is not used: `FilmFile` reads sample tables, and samples are only copied.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Final

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.film_file import FilmFile
from framekiln.media.segments.cmaf import (
    CmafAudio,
    CmafSample,
    CmafVideo,
    aac_codec,
    avc_codec,
    init_segment,
    media_segment,
)

AAC_FRAME: Final = 1024


@dataclass(frozen=True)
class TrackHeader:
    """The header of a track; `delay` is how many frames are decoded ahead of presentation."""

    init: bytes
    codecs: str
    timescale: int
    width_px: int = 0
    height_px: int = 0
    delay: int = 0


@dataclass(frozen=True)
class FilmSegment:
    """One segment and its duration in ticks of its track."""

    data: bytes
    ticks: int


def video_header(path: Path, fps: Fraction) -> TrackHeader:
    """Return the header for all segments of a film, from the film or any slice of it."""
    with FilmFile(path) as film:
        video = film.video()
    size, delay = (video.width_px, video.height_px), video.delay
    picture = CmafVideo(*size, video.avcc, is_bt709=True)
    init = init_segment(picture, timescale=fps.numerator, skipped=delay * fps.denominator)
    return TrackHeader(init, avc_codec(video.avcc), fps.numerator, *size, delay)


def video_segments(
    path: Path,
    header: TrackHeader,
    frame_counts: Sequence[int],
    *,
    fps: Fraction,
    first_number: int = 0,
) -> Iterator[FilmSegment]:
    """Yield the segments of a file: of a film from its start, or of a single slice.

    `frame_counts` are those of all slices of the film; `first_number` is the first slice in this
    file.
    """
    start = sum(frame_counts[:first_number])
    base = start
    with FilmFile(path) as film:
        frames = _frames(film, fps)
        for number in range(first_number, len(frame_counts)):
            count = frame_counts[number]
            samples = [
                CmafSample(data, (base + shown) * fps.denominator, is_key)
                for shown, data, is_key in islice(frames, count)
            ]
            if not samples:
                return
            end = start + count
            data = media_segment(
                samples,
                start=start * fps.denominator,
                end=end * fps.denominator,
                number=number + 1,
                delay=header.delay * fps.denominator,
            )
            yield FilmSegment(data, count * fps.denominator)
            start = end


def audio_header(path: Path) -> TrackHeader:
    """Return the header of a film's audio."""
    with FilmFile(path) as film:
        audio = film.audio()
    sound = CmafAudio(audio.channels, audio.rate_hz, audio.config)
    init = init_segment(sound, timescale=sound.rate_hz)
    return TrackHeader(init, aac_codec(audio.config), sound.rate_hz)


def audio_segments(path: Path, bounds: Sequence[int]) -> Iterator[FilmSegment]:
    """Yield the audio between bounds, which are whole AAC frames; the last takes the rest."""
    with FilmFile(path) as film:
        samples = [
            CmafSample(sample.data, sample.shown, is_sync=True)
            for sample in film.samples("audio")
            # Samples before zero only prime the decoder, and players differ in skipping them.
            if sample.shown >= 0
        ]
    ends = [*bounds[1:-1], samples[-1].shown + AAC_FRAME]
    for number, (start, end) in enumerate(zip(bounds, ends, strict=False)):
        inside = [sample for sample in samples if start <= sample.shown < end]
        if inside:
            data = media_segment(inside, start=start, end=end, number=number + 1)
            yield FilmSegment(data, end - start)


def audio_bounds(frame_counts: Sequence[int], *, fps: Fraction, rate_hz: int) -> list[int]:
    """Return the audio bounds that follow the slices, each rounded up to an AAC frame."""
    bounds, frames = [0], 0
    for count in frame_counts:
        frames += count
        samples = Fraction(frames * rate_hz) / fps
        bounds.append(-(-samples // AAC_FRAME) * AAC_FRAME)
    return bounds


def _frames(film: FilmFile, fps: Fraction) -> Iterator[tuple[int, bytes, bool]]:
    """Yield each frame with its number in presentation order, in decode order."""
    # Times are in ticks, and a frame lasts this many of them.
    ticks = film.timescale("video") / fps
    for sample in film.samples("video"):
        number = sample.shown / ticks
        if number.denominator != 1:
            raise UnreadableMedia("the frames of the film are not at a constant rate")
        yield int(number), sample.data, sample.is_sync
