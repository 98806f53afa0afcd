"""Extracts a span of audio for speech recognition into a raw file, in a confined child process.

One channel, 16 kHz, 16 bits, little-endian. Sample n is n / 16000 s after the start of the span;
gaps are filled with silence.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import av
import numpy as np
from av.audio.frame import AudioFrame

from framekiln.media.audio.decoder import RATE_HZ, Samples, read_audio, sample_at
from framekiln.media.audio.speech_samples import SAMPLE_HZ

_BLOCK_SAMPLES: Final = RATE_HZ


def span_samples_task(
    args: dict[str, Any], report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Write `samples` from `source`, between `from_ms` and `until_ms`."""
    resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_HZ)
    start, end = sample_at(args["from_ms"]), sample_at(args["until_ms"])
    with Path(args["samples"]).open("wb") as file:
        for block in _without_gaps(Path(args["source"]), start, end):
            frame = AudioFrame.from_ndarray(block[None], "fltp", "mono")
            frame.sample_rate = RATE_HZ
            _write(file, resampler.resample(frame))
        _write(file, resampler.resample(None))
    return {}


def _without_gaps(source: Path, start: int, end: int) -> Iterator[Samples]:
    for chunk in read_audio(source, start, end):
        yield from _silence(chunk.first - start)
        yield np.nan_to_num(chunk.samples.mean(axis=0, dtype=np.float32))
        start = chunk.end
    yield from _silence(end - start)


def _silence(count: int) -> Iterator[Samples]:
    for first in range(0, count, _BLOCK_SAMPLES):
        yield np.zeros(min(_BLOCK_SAMPLES, count - first), np.float32)


def _write(file: BinaryIO, frames: Sequence[AudioFrame | None]) -> None:
    for frame in frames:
        if frame is not None:
            file.write(frame.to_ndarray()[0].astype("<i2", copy=False).tobytes())
