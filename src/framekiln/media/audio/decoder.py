"""Decodes the audio of a file to 48 kHz stereo, with each sample at its exact source time.

Encoder delay, late starts, edit lists and gaps are respected: gaps in the source's timeline are
skipped, never closed.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet
from numpy.typing import NDArray

from framekiln.kit.cancellation import check_cancelled
from framekiln.media.container import (
    open_media,
    require_decoder,
    timeline_shift,
    translate_ffmpeg_errors,
)
from framekiln.media.errors import UnreadableMedia
from framekiln.timeline import SOUND_RATE_HZ

Samples = NDArray[np.float32]
ExactTime = Callable[[Fraction], Fraction]
ReadAudio = Callable[[Path, int, int], Generator["AudioChunk", None, None]]
"""Reads a file as `read_audio` does: in this process, or in a confined child."""

RATE_HZ: Final = SOUND_RATE_HZ
CHANNELS: Final = 2

# The second one is whole: encoder delay is trimmed from the first.
_FIRST_FRAMES: Final = 2
# Other formats know packet positions only approximately. Their packets are read from the start, and
# those before the target are not decoded.
_SEEKS_EXACTLY: Final = {"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "wav", "flac"}
# A decoder needs earlier data: 80 ms for Opus, two frames for AAC, a bit reservoir for MP3.
_PREROLL_S: Final = Fraction(1, 2)
# Containers with millisecond timestamps misplace packets by up to 1 ms; a real gap is longer.
_JITTER_S: Final = Fraction(1, 100)
# How far rounded timestamps are off; in Matroska the delay of the encoder is rounded, too.
_STAMP_ERROR_S: Final = Fraction(2, 1000)
# All frames of a track have the same length, except in some files of FLAC.
_EVEN_CODECS: Final = {"aac", "ac3", "alac", "eac3", "flac", "mp2", "mp3", "opus"}
# 44,100 Hz and its fractions align with 48 kHz every 147 samples; no codec has a shorter frame.
_MAX_LEFT_OUT: Final = 147


def sample_at(ms: Fraction | int) -> int:
    """Return the number of the sample at an instant."""
    return round(Fraction(ms) * Fraction(RATE_HZ, 1000))


@dataclass(frozen=True)
class AudioChunk:
    """Audio without gaps; the first sample is number `first` of source time."""

    first: int
    samples: Samples

    @property
    def end(self) -> int:
        """The number after that of the last sample."""
        return self.first + int(self.samples.shape[1])

    def cut(self, start: int, end: int) -> "AudioChunk | None":
        """Return the part between two sample numbers, or None if it is empty."""
        left, right = max(start, self.first), min(end, self.end)
        if left >= right:
            return None
        return AudioChunk(left, self.samples[:, left - self.first : right - self.first])


def read_audio(
    path: Path,
    start: int,
    end: int,
    *,
    exactly: ExactTime | None = None,
) -> Generator[AudioChunk, None, None]:
    """Yield the audio between two sample numbers of source time, in order and without overlap.

    `exactly` may know more precisely than a rounded timestamp where a packet ends and the next
    begins.
    """
    with open_media(path) as container, translate_ffmpeg_errors(path):
        stream = next(iter(container.streams.audio), None)
        if stream is None:
            raise UnreadableMedia(f"{path.name}: has no audio track")
        require_decoder(stream, path)
        leap_s = Fraction(start, RATE_HZ) - _PREROLL_S
        done = start
        for chunk in decode_chunks(container, stream, exactly, leap_s=leap_s):
            audible = chunk.cut(done, end)
            if audible is not None:
                done = audible.end
                yield audible
            if chunk.first >= end:
                return


def decode_chunks(
    container: InputContainer,
    stream: AudioStream,
    exactly: ExactTime | None = None,
    *,
    leap_s: Fraction | None = None,
) -> Iterator[AudioChunk]:
    """Yield all audio from the container's start; after the first frames, only from `leap_s` on.

    Audio from there on is identical, sample by sample, to decoding everything.
    """
    run: _Run | None = None
    left_at: _Run | None = None
    zero = timeline_shift(stream)
    is_even = stream.codec_context.codec.canonical_name in _EVEN_CODECS
    for frame in _frames(container, stream, leap_s):
        at_s = _time_s(frame, zero)
        if run is not None and not run.continues_with(frame, at_s):
            yield from run.finish()
            left_at, run = (run, None) if leap_s is not None else (None, None)
            leap_s = None
        if run is None:
            # The end time is reliable: encoder delay is trimmed from the front of a frame.
            length_s = Fraction(frame.samples, frame.sample_rate)
            end_s = (at_s or 0) + length_s
            start_s = (exactly(end_s) if exactly else end_s) - length_s
            run = _Run(frame, start_s, is_even=is_even)
            if left_at is not None:
                run.continue_from(left_at)
        yield from run.feed(frame)
    if run is not None:
        yield from run.finish()


def _frames(
    container: InputContainer, stream: AudioStream, leap_s: Fraction | None = None
) -> Iterator[AudioFrame]:
    """Yield decoded frames; of those before `leap_s`, only the first ones."""
    target = -1
    if leap_s is not None:
        target = int(leap_s / Fraction(stream.time_base or 1)) + timeline_shift(stream)
    begun = 0
    has_left_out = False
    for packet in container.demux(stream):
        check_cancelled()
        if begun >= _FIRST_FRAMES and packet.pts is not None and packet.pts < target:
            if container.format.name in _SEEKS_EXACTLY:
                _seek(container, stream, target)
                target = -1
            has_left_out = True
            continue
        if has_left_out:
            stream.codec_context.flush_buffers()
            has_left_out = False
        for frame in _decoded(packet):
            begun += 1
            yield frame


def _seek(container: InputContainer, stream: AudioStream, target: int) -> None:
    try:
        container.seek(target, stream=stream)
    except av.FFmpegError:
        container.seek(0)


def _decoded(packet: "Packet[AudioStream]") -> list[AudioFrame]:
    try:
        return packet.decode()
    except av.InvalidDataError:
        # A broken packet becomes a short silence; it does not end the film.
        return []


def _time_s(frame: AudioFrame, zero: int) -> Fraction | None:
    """Return the source time of a frame whose timestamps count from `zero`."""
    if frame.pts is None or frame.time_base is None:
        return None
    return (frame.pts - zero) * frame.time_base


class _Run:
    """Consecutive frames without a gap, resampled as one."""

    def __init__(self, frame: AudioFrame, at_s: Fraction, *, is_even: bool) -> None:
        self._start_s, self._rate, self._layout = at_s, frame.sample_rate, frame.layout.name
        self._format = frame.format.name
        self._jitter = int(_JITTER_S * self._rate)
        # Then a count of frames says more about times than timestamps, which may be rounded.
        self._is_even = is_even
        self._first_samples = self._last_samples = frame.samples
        self._fed = self._left_out = 0
        self._first = self._next = round(at_s * RATE_HZ)
        # FFmpeg converts mono to stereo at -3 dB per channel; players copy it unchanged.
        self._is_mono = frame.layout.nb_channels == 1
        self._resampler = av.AudioResampler(
            format="fltp", layout="mono" if self._is_mono else "stereo", rate=RATE_HZ
        )

    def continue_from(self, earlier: "_Run") -> None:
        """Align samples to the positions they would have if an earlier run had continued.

        A resampler starts at an instant that is a sample of both rates, so some first samples are
        dropped.
        """
        place = earlier._place_of(self._start_s, self._first_samples)
        left_out = -place % (self._rate // gcd(self._rate, RATE_HZ))
        # For rates that rarely align, timestamps are accurate enough.
        if left_out > _MAX_LEFT_OUT or earlier._rate != self._rate:
            return
        self._left_out = left_out
        self._start_s = earlier._start_s + Fraction(place + left_out, self._rate)
        self._next = earlier._first + (place + left_out) * RATE_HZ // self._rate

    def _place_of(self, start_s: Fraction, samples: int) -> int:
        """Return how many samples after the start of this run a frame starts.

        Timestamps may be rounded, also to milliseconds in a file whose ticks are samples. If frames
        are equally long, their ends are counted.
        """
        place = round((start_s - self._start_s) * self._rate)
        if not self._is_even or samples != self._last_samples:
            return place
        after = place + samples - self._fed
        error = round(Fraction(after, self._last_samples)) * self._last_samples - after
        return place + error if abs(error) <= _STAMP_ERROR_S * self._rate else place

    def continues_with(self, frame: AudioFrame, at_s: Fraction | None) -> bool:
        """Return whether a frame continues this run."""
        kind = (frame.sample_rate, frame.layout.name, frame.format.name)
        if kind != (self._rate, self._layout, self._format):
            return False
        if at_s is None:
            return True
        # Whole samples are accurate enough, and much cheaper than fractions for every frame.
        place = round((at_s - self._start_s) * self._rate)
        return abs(place - self._fed) <= self._jitter

    def feed(self, frame: AudioFrame) -> Iterator[AudioChunk]:
        if self._left_out:
            frame, self._left_out = _without_first(frame, self._left_out), 0
        self._fed += frame.samples
        self._last_samples = frame.samples
        # Timestamps are no longer needed; the resampler must not stretch audio to match them.
        frame.pts = None
        return self._place(self._resampler.resample(frame))

    def finish(self) -> Iterator[AudioChunk]:
        return self._place(self._resampler.resample(None))

    def _place(self, frames: Sequence[AudioFrame | None]) -> Iterator[AudioChunk]:
        for frame in frames:
            # An unused resampler returns its own input when flushed.
            if frame is None:
                continue
            samples = frame.to_ndarray().astype(np.float32, copy=False)
            if self._is_mono:
                samples = np.repeat(samples, CHANNELS, axis=0)
            yield AudioChunk(self._next, samples)
            self._next += samples.shape[1]


def _without_first(frame: AudioFrame, count: int) -> AudioFrame:
    """Return a frame without its first `count` samples."""
    step = 1 if frame.format.is_planar else frame.layout.nb_channels
    kept: Any = np.ascontiguousarray(frame.to_ndarray()[:, count * step :])
    shorter = AudioFrame.from_ndarray(kept, format=frame.format.name, layout=frame.layout.name)
    shorter.sample_rate = frame.sample_rate
    return shorter
