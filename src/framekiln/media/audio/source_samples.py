"""Samples of a source by number, for waveforms and for scripts that process audio.

Optimized for one call per frame in order of time: audio is decoded once, in blocks, and the last
few blocks are cached.
"""

from collections import OrderedDict
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.kit.closeable import Closeable
from framekiln.media.audio.decoder import (
    CHANNELS,
    AudioChunk,
    ReadAudio,
    Samples,
    read_audio,
    sample_at,
)

_PIECE_SAMPLES: Final = 10 * 48_000
_PIECES_KEPT: Final = 3
_ENDLESS: Final = 1 << 62


class SourceSamples(Closeable):
    """The audio of one file at 48 kHz. Owned by one thread; close it, or use `with`."""

    def __init__(self, path: Path, read: ReadAudio = read_audio) -> None:
        self._path = path
        self._read = read
        self._kept: OrderedDict[int, Samples] = OrderedDict()
        self._source = _nothing()
        self._next_piece = -1
        self._left_over: AudioChunk | None = None

    def close(self) -> None:
        """Free the decoder and the cached blocks."""
        self._source.close()
        self._next_piece = -1
        self._kept.clear()

    def before(self, ms: Fraction, count: int) -> Samples:
        """Return the `count` samples that end at source time `ms`, as one channel."""
        both = self.between(sample_at(ms) - count, sample_at(ms))
        mono: Samples = both.sum(axis=0) / CHANNELS
        return mono

    def between(self, first: int, end: int) -> Samples:
        """Return samples by their numbers in source time; silence outside the source."""
        samples = np.zeros((CHANNELS, end - first), np.float32)
        for number in range(max(0, first) // _PIECE_SAMPLES, -(-end // _PIECE_SAMPLES)):
            start = number * _PIECE_SAMPLES
            left, right = max(first, start), min(end, start + _PIECE_SAMPLES)
            piece = self._piece(number)
            samples[:, left - first : right - first] = piece[:, left - start : right - start]
        return samples

    def _piece(self, number: int) -> Samples:
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        piece = self._decode(number)
        self._kept[number] = piece
        if len(self._kept) > _PIECES_KEPT:
            self._kept.popitem(last=False)
        return piece

    def _decode(self, number: int) -> Samples:
        start = number * _PIECE_SAMPLES
        if number != self._next_piece:
            self._source.close()
            self._source = self._read(self._path, start, _ENDLESS)
            self._left_over = None
        self._next_piece = number + 1
        piece = np.zeros((CHANNELS, _PIECE_SAMPLES), np.float32)
        for chunk in self._chunks_until(start + _PIECE_SAMPLES):
            part = chunk.cut(start, start + _PIECE_SAMPLES)
            if part is not None:
                at = part.first - start
                piece[:, at : at + part.samples.shape[1]] = part.samples
        return piece

    def _chunks_until(self, end: int) -> Iterator[AudioChunk]:
        """Yield the chunks of the source up to `end`; keep the rest for the next call."""
        chunk = self._left_over or next(self._source, None)
        while chunk is not None:
            yield chunk
            if chunk.end > end:
                break
            chunk = next(self._source, None)
        self._left_over = chunk


def _nothing() -> Generator[AudioChunk, None, None]:
    yield from ()
