"""Mixes the audio clips of a film, sample by sample, into one track as long as the film.

A film without clips gets silence: every film has both tracks. It works block by block, so memory
does not grow with the duration; a source is open only while it plays.

The audio goes to a separate file, which is joined with the video later. The encoder delay is
written (an edit list in MP4, the codec delay in WebM), so the first sample plays at exactly zero.
The same audio gives the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from numpy.typing import NDArray

from framekiln.kit.cancellation import check_cancelled
from framekiln.media.audio.decoder import (
    CHANNELS,
    RATE_HZ,
    AudioChunk,
    ReadAudio,
    Samples,
    read_audio,
    sample_at,
)
from framekiln.media.audio.mastering import gain_for, master_blocks
from framekiln.media.audio.mix_settings import (
    NO_MASTERING,
    STANDARD_AUDIO,
    AudioCoding,
    AudioSettings,
    Mastering,
)
from framekiln.media.audio.speed import Course, read_resampled, read_time_stretched


class AudioWriter:
    """Appends blocks of 2 x samples; the file is complete when the `with` block ends."""

    def __init__(self, path: Path, settings: AudioSettings = STANDARD_AUDIO) -> None:
        coding = settings.coding
        options = {"fflags": "+bitexact"}
        if coding in (AudioCoding.AAC, AudioCoding.PCM):
            # In samples, so that the duration is not rounded to a millisecond.
            options["movie_timescale"] = str(RATE_HZ)
        self._coding = coding
        self._container = av.open(str(path), "w", format=coding.container, options=options)
        stream = self._container.add_stream(coding.codec, rate=RATE_HZ, layout="stereo")
        assert isinstance(stream, AudioStream)
        stream.codec_context.format = coding.samples
        if coding not in (AudioCoding.PCM, AudioCoding.WAV):
            stream.codec_context.bit_rate = settings.bits_per_s
        stream.codec_context.flags |= int(av.codec.context.Flags.bitexact)
        self._stream = stream
        self._resampler = av.AudioResampler(coding.samples, "stereo", RATE_HZ)
        self._rest = np.zeros((2, 0), np.float32)
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            if self._rest.shape[1]:
                self._encode(self._rest)
            self._container.mux(self._stream.encode(None))
        self._container.close()

    def write(self, block: NDArray[np.float32]) -> None:
        """Append any number of samples."""
        samples = np.concatenate([self._rest, block], axis=1)
        size = self._coding.frame_samples
        whole = samples.shape[1] - samples.shape[1] % size
        for start in range(0, whole, size):
            self._encode(samples[:, start : start + size])
        self._rest = samples[:, whole:]

    def _encode(self, samples: NDArray[np.float32]) -> None:
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", "stereo")
        frame.sample_rate, frame.time_base = RATE_HZ, Fraction(1, RATE_HZ)
        frame.pts = self._written
        self._written += samples.shape[1]
        for each in self._resampler.resample(frame):
            self._container.mux(self._stream.encode(each))


# About one second, in whole AAC frames.
_BLOCK_SAMPLES: Final = 48 * 1024


@dataclass(frozen=True)
class AudioClip:
    """A part of a source that plays from `start_ms` to `end_ms` of the film.

    The sample at source time t plays at `start_ms + (t - source_in_ms) / speed`. `gains` are
    factors at film times in milliseconds; between two of them, the factor is interpolated.
    """

    path: Path
    start_ms: Fraction
    end_ms: Fraction
    source_in_ms: Fraction = Fraction(0)
    gain: float = 1.0
    speed: Fraction = Fraction(1)
    gains: tuple[tuple[Fraction, float], ...] = ()
    keeps_pitch: bool = True
    """Whether a different speed keeps the pitch; otherwise the pitch changes with the speed."""
    places: tuple[tuple[Fraction, Fraction], ...] = ()
    """Times of the film and of the source: the start, each change of the speed, the end. Empty if
    the speed does not change.
    """

    @property
    def source_end_ms(self) -> Fraction:
        """The source time at `end_ms`, at the same speed."""
        return self.source_in_ms + (self.end_ms - self.start_ms) * self.speed


@dataclass(frozen=True)
class MixResult:
    """What was written."""

    sample_count: int
    peak: float
    """Highest level before limiting."""
    gain: float = 1.0
    """The factor applied to the sum to reach the requested loudness."""


def mix(
    clips: Sequence[AudioClip],
    duration_ms: Fraction | int,
    out: Path,
    *,
    mastering: Mastering = NO_MASTERING,
    settings: AudioSettings = STANDARD_AUDIO,
    read: ReadAudio = read_audio,
) -> MixResult:
    """Write the audio of a film of that duration to `out`, as a single track."""
    total = sample_at(duration_ms)
    gain = gain_for(lambda: mixed_blocks(clips, total, read), mastering)
    limiter = mastering.limiter()
    with AudioWriter(out, settings) as writer:
        for block in master_blocks(mixed_blocks(clips, total, read), limiter, gain):
            writer.write(block)
    return MixResult(sample_count=total, peak=limiter.peak if limiter else 0.0, gain=gain)


def mixed_blocks(
    clips: Sequence[AudioClip], total: int, read: ReadAudio = read_audio
) -> Iterator[Samples]:
    """Yield the sum of all clips, `total` samples in blocks, before limiting."""
    voices = (_Voice(clip, read) for clip in _joined(clips) if clip.gain)
    waiting = sorted(voices, key=lambda voice: voice.start)
    playing: list[_Voice] = []
    try:
        for first in range(0, total, _BLOCK_SAMPLES):
            check_cancelled()
            block = np.zeros((CHANNELS, min(_BLOCK_SAMPLES, total - first)), np.float32)
            while waiting and waiting[0].start < first + block.shape[1]:
                playing.append(waiting.pop(0))
            for voice in playing:
                voice.add_to(block, first)
            playing = [voice for voice in playing if not voice.is_over]
            yield block
    finally:
        for voice in playing:
            voice.close()


# Speeds are rounded, so that times of the source differ a little after minutes.
_SAME_MS: Final = 1


def _joined(clips: Iterable[AudioClip]) -> Iterator[AudioClip]:
    """Yield the clips; those that continue others at another speed become one with these.

    A script that changes the speed in each frame makes a clip for each. Stretched on their own,
    they would not fit together.
    """
    run: list[AudioClip] = []
    for clip in clips:
        if run and not _continues(run[-1], clip):
            yield _merged(run)
            run = []
        run.append(clip)
    if run:
        yield _merged(run)


def _continues(before: AudioClip, clip: AudioClip) -> bool:
    return (
        (before.path, before.end_ms) == (clip.path, clip.start_ms)
        and before.keeps_pitch
        and clip.keeps_pitch
        # At its own speed a source is exact, sample by sample.
        and 1 not in (before.speed, clip.speed)
        and abs(before.source_end_ms - clip.source_in_ms) < _SAME_MS
    )


def _merged(run: Sequence[AudioClip]) -> AudioClip:
    first, last = run[0], run[-1]
    if first is last:
        return first
    starts = ((clip.start_ms, clip.source_in_ms) for clip in run)
    return replace(
        first,
        end_ms=last.end_ms,
        gain=1.0,
        gains=tuple(point for clip in run for point in _gain_points(clip)),
        places=(*starts, (last.end_ms, last.source_end_ms)),
    )


def _gain_points(clip: AudioClip) -> Iterator[tuple[Fraction, float]]:
    """Yield the gain at both ends of a clip, and where it changes between them."""
    points = clip.gains or ((clip.start_ms, 1.0),)
    times, factors = [float(at_ms) for at_ms, _ in points], [factor for _, factor in points]
    inside = (at_ms for at_ms, _ in clip.gains if clip.start_ms < at_ms < clip.end_ms)
    for at_ms in (clip.start_ms, *inside, clip.end_ms):
        yield at_ms, clip.gain * float(np.interp(float(at_ms), times, factors))


class _Voice:
    """One playing clip."""

    def __init__(self, clip: AudioClip, read: ReadAudio) -> None:
        self.start, self._end = sample_at(clip.start_ms), sample_at(clip.end_ms)
        self._shift = sample_at(clip.start_ms - clip.source_in_ms)
        self._gain = np.float32(clip.gain)
        self._times = np.array([sample_at(at) for at, _ in clip.gains], np.float64)
        self._factors = np.array([factor for _, factor in clip.gains], np.float64)
        first, end = self.start - self._shift, self._end - self._shift
        if clip.speed == 1:
            self._source = read(clip.path, first, end)
        elif clip.keeps_pitch:
            self._source = read_time_stretched(clip.path, first, _course(clip), read=read)
        else:
            self._source = read_resampled(clip.path, first, end, speed=clip.speed, read=read)
        self._current: AudioChunk | None = None
        self.is_over = self.start >= self._end

    def add_to(self, block: Samples, first: int) -> None:
        """Add the samples that play during a block that starts at sample `first` of the film."""
        end = first + block.shape[1] - self._shift
        while not self.is_over:
            if self._current is None:
                self._current = next(self._source, None)
            if self._current is None:
                self.is_over = True
                return
            part = self._current.cut(first - self._shift, end)
            if part is not None:
                at = part.first + self._shift - first
                gain = self._gain_from(first + at, part.samples.shape[1])
                block[:, at : at + part.samples.shape[1]] += gain * part.samples
            if self._current.end > end:
                return
            self._current = None

    def _gain_from(self, first: int, count: int) -> np.float32 | Samples:
        if not len(self._times):
            return self._gain
        places = np.arange(first, first + count)
        return self._gain * np.interp(places, self._times, self._factors).astype(np.float32)

    def close(self) -> None:
        """Close the source; needed if the film is abandoned."""
        self._source.close()


def _course(clip: AudioClip) -> Course:
    """Return which sample of the source is heard when, both counted from the start."""
    start, source_in = sample_at(clip.start_ms), sample_at(clip.source_in_ms)
    ends = ((clip.start_ms, clip.source_in_ms), (clip.end_ms, clip.source_end_ms))
    places = clip.places or ends
    return [(sample_at(at_ms) - start, sample_at(ms) - source_in) for at_ms, ms in places]
