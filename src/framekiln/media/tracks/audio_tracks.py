"""Encodes one audio track of a file as AAC-LC, 48 kHz stereo, in a track file.

Each sample plays at its source time; gaps become silence.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.codec.context import Flags
from av.container import OutputContainer
from av.stream import Discard

from framekiln.media.audio.decoder import CHANNELS, RATE_HZ, AudioChunk, Samples, decode_chunks
from framekiln.media.container import open_media, require_decoder, translate_ffmpeg_errors
from framekiln.media.errors import UnreadableMedia
from framekiln.media.tracks.track_copy import open_audio_track

_BITS_PER_S: Final = 192_000
_FRAME_SAMPLES: Final = 1024
_SILENCE_SAMPLES: Final = RATE_HZ
_ENDLESS: Final = 1 << 62

ChunkFilter = Callable[[AudioChunk], AudioChunk]
"""Returns other audio of the same length at the same position."""


def encode_audio_track(
    path: Path,
    index: int,
    out: Path,
    *,
    tick: Callable[[], None],
    change: ChunkFilter | None = None,
) -> None:
    """Write the track with stream index `index` to `out`; `tick` is called for each block.

    The encoder receives only the output of `change`.
    """
    with open_media(path) as container, translate_ffmpeg_errors(path):
        stream = container.streams[index]
        assert isinstance(stream, AudioStream), "a sound track"
        require_decoder(stream, path)
        for other in container.streams:
            if other.index != index:
                other.discard = Discard.all
        decoded = _counted(decode_chunks(container, stream), tick)
        blocks = _without_gaps(map(change, decoded) if change else decoded)
        first = next(blocks, None)
        if first is None:
            raise UnreadableMedia(f"{path.name}: its audio track {index + 1} cannot be decoded")
        with open_audio_track(out, RATE_HZ) as output:
            encoder = _Encoder(output, first.first)
            encoder.write(first.samples)
            for block in blocks:
                encoder.write(block.samples)
            encoder.finish()


def _counted(chunks: Iterator[AudioChunk], tick: Callable[[], None]) -> Iterator[AudioChunk]:
    for chunk in chunks:
        tick()
        yield chunk


def _without_gaps(chunks: Iterator[AudioChunk]) -> Iterator[AudioChunk]:
    """Yield audio and the silence between it, from time zero or later, without overlap."""
    end: int | None = None
    for chunk in chunks:
        part = chunk.cut(max(0, end or 0), _ENDLESS)
        if part is None:
            continue
        while end is not None and end < part.first:
            silence = np.zeros((CHANNELS, min(_SILENCE_SAMPLES, part.first - end)), np.float32)
            yield AudioChunk(end, silence)
            end += silence.shape[1]
        yield part
        end = part.end


class _Encoder:
    """Encodes consecutive blocks of any length."""

    def __init__(self, output: OutputContainer, first: int) -> None:
        self._output, self._next = output, first
        stream = output.add_stream("aac", rate=RATE_HZ, layout="stereo")
        assert isinstance(stream, AudioStream)
        stream.codec_context.bit_rate = _BITS_PER_S
        stream.codec_context.flags |= int(Flags.bitexact)
        self._stream = stream
        self._rest: Samples = np.zeros((CHANNELS, 0), np.float32)

    def write(self, block: Samples) -> None:
        """Encode all complete frames."""
        samples = np.concatenate([self._rest, block], axis=1)
        whole = samples.shape[1] - samples.shape[1] % _FRAME_SAMPLES
        for start in range(0, whole, _FRAME_SAMPLES):
            self._encode(samples[:, start : start + _FRAME_SAMPLES])
        self._rest = samples[:, whole:]

    def finish(self) -> None:
        """Encode the remaining samples."""
        if self._rest.shape[1]:
            self._encode(self._rest)
        self._output.mux(self._stream.encode(None))

    def _encode(self, samples: Samples) -> None:
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", "stereo")
        frame.sample_rate, frame.time_base = RATE_HZ, Fraction(1, RATE_HZ)
        frame.pts = self._next
        self._next += samples.shape[1]
        self._output.mux(self._stream.encode(frame))
