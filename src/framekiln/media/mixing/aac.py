"""Writes sound as AAC-LC in an MP4 of its own, to be joined with pictures later.

The encoder's delay of 1024 samples is written as an edit list, so the first sample given plays at
exactly zero. The same sound gives the same bytes.
"""

from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from numpy.typing import NDArray

from framekiln.media.hearing.sound import RATE_HZ

_BITS_PER_S: Final = 192_000
_FRAME_SAMPLES: Final = 1024


class AacWriter:
    """Appends blocks of 2 x samples; `with` it, and the file is whole when the block ends."""

    def __init__(self, path: Path) -> None:
        # Counted in samples, so that the length is not rounded to a millisecond.
        options = {"fflags": "+bitexact", "movie_timescale": str(RATE_HZ)}
        self._container = av.open(str(path), "w", format="mp4", options=options)
        stream = self._container.add_stream("aac", rate=RATE_HZ, layout="stereo")
        assert isinstance(stream, AudioStream)
        stream.codec_context.bit_rate = _BITS_PER_S
        stream.codec_context.flags |= int(av.codec.context.Flags.bitexact)
        self._stream = stream
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
        """Append samples, any number of them."""
        samples = np.concatenate([self._rest, block], axis=1)
        whole = samples.shape[1] - samples.shape[1] % _FRAME_SAMPLES
        for start in range(0, whole, _FRAME_SAMPLES):
            self._encode(samples[:, start : start + _FRAME_SAMPLES])
        self._rest = samples[:, whole:]

    def _encode(self, samples: NDArray[np.float32]) -> None:
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", "stereo")
        frame.sample_rate, frame.time_base = RATE_HZ, Fraction(1, RATE_HZ)
        frame.pts = self._written
        self._written += samples.shape[1]
        self._container.mux(self._stream.encode(frame))
