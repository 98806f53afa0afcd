"""Decoded audio between jobs: raw samples in a blob, read in spans."""

from pathlib import Path
from typing import Final

import numpy as np

from framekiln.media.audio.speech_samples import SAMPLE_BYTES, SAMPLE_HZ
from framekiln.speech.model import Samples
from framekiln.speech.transcriber import SpeechSlice
from framekiln.storage.blob_store import BlobStore

_PER_MS: Final = SAMPLE_HZ // 1000
_FULL_SCALE: Final = np.float32(32_768)


def duration_ms(sample_count: int) -> int:
    """Return the duration of this many samples, in whole milliseconds."""
    return sample_count // _PER_MS


def read_local(path: Path, start_ms: int, end_ms: int) -> Samples:
    """Return a span of audio from a file."""
    count, offset = (end_ms - start_ms) * _PER_MS, start_ms * _PER_MS * SAMPLE_BYTES
    return _as_floats(np.fromfile(path, "<i2", count=count, offset=offset))


async def read_slice(blobs: BlobStore, key: str, part: SpeechSlice) -> Samples:
    """Return the audio of a slice with its margins."""
    start, end = (ms * _PER_MS * SAMPLE_BYTES for ms in (part.first_ms, part.end_ms + part.tail_ms))
    read = bytearray()
    async for chunk in blobs.stream(key, start=start, end=end):
        read += chunk
    return _as_floats(np.frombuffer(read, "<i2"))


def _as_floats(samples: "np.ndarray[tuple[int], np.dtype[np.int16]]") -> Samples:
    return samples.astype(np.float32) / _FULL_SCALE
