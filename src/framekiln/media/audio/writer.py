"""Writes audio to a separate file, which is joined with the video later.

The encoder delay is written as well (an edit list in MP4, the codec delay in WebM), so the first
sample plays at exactly zero. The same audio gives the same bytes.
"""

from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from numpy.typing import NDArray

from framekiln.media.audio.decoder import RATE_HZ
from framekiln.media.audio.mix_settings import STANDARD_AUDIO, AudioCoding, AudioSettings


class AudioWriter:
    """Appends blocks of 2 x samples; the file is complete when the `with` block ends."""

    def __init__(self, path: Path, settings: AudioSettings = STANDARD_AUDIO) -> None:
        coding = settings.coding
        options = {"fflags": "+bitexact"}
        if coding is not AudioCoding.OPUS:
            # In samples, so that the duration is not rounded to a millisecond.
            options["movie_timescale"] = str(RATE_HZ)
        self._coding = coding
        self._container = av.open(str(path), "w", format=coding.container, options=options)
        stream = self._container.add_stream(coding.codec, rate=RATE_HZ, layout="stereo")
        assert isinstance(stream, AudioStream)
        stream.codec_context.format = coding.samples
        if coding is not AudioCoding.PCM:
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
