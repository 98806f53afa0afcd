"""Extracts the audio of a file for speech recognition into a raw file, in a confined child.

One channel, 16 kHz, 16 bits, little-endian. Sample n is at n / 16000 s of source time: late starts
and gaps are filled with silence, so any span can be read by its time alone.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Discard

from framekiln.media.audio.decoder import RATE_HZ, AudioChunk, Samples, decode_chunks
from framekiln.media.container import open_media, require_decoder, translate_ffmpeg_errors
from framekiln.media.errors import UnreadableMedia

SAMPLE_HZ: Final = 16_000
SAMPLE_BYTES: Final = 2
MAX_DURATION_S: Final = 24 * 3600

_BLOCK_SAMPLES: Final = RATE_HZ

Report = Callable[[dict[str, Any]], None]


def speech_samples_task(args: dict[str, Any], report: Report) -> dict[str, Any]:
    """Run `write_samples` for `run_confined`; returns `sample_count`."""
    count = write_samples(Path(args["source"]), args["stream_index"], Path(args["samples"]))
    report({"progress": 1.0})
    return {"sample_count": count}


def write_samples(source: Path, stream_index: int, out: Path) -> int:
    """Write the audio of one track and return the number of samples."""
    resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_HZ)
    count = 0
    with out.open("wb") as file:
        for block in _blocks(_without_gaps(_chunks_without_overlap(source, stream_index))):
            count += _write(file, resampler.resample(_frame(block)))
        count += _write(file, resampler.resample(None))
    return count


def _chunks_without_overlap(source: Path, stream_index: int) -> Iterator[AudioChunk]:
    """Yield the audio without overlap; refuse a track that is empty or far too long."""
    end = 0
    with open_media(source) as container, translate_ffmpeg_errors(source):
        for chunk in decode_chunks(container, _sound_stream(container, stream_index, source)):
            if chunk.end > MAX_DURATION_S * RATE_HZ:
                raise UnreadableMedia(
                    f"{source.name}: its sound is longer than {MAX_DURATION_S // 3600} hours"
                )
            part = chunk.cut(end, chunk.end)
            if part is not None:
                end = part.end
                yield part
    if end == 0:
        raise UnreadableMedia(f"{source.name}: its sound cannot be decoded")


def _sound_stream(container: InputContainer, index: int, source: Path) -> AudioStream:
    stream = container.streams[index] if index < len(container.streams) else None
    if not isinstance(stream, AudioStream):
        raise UnreadableMedia(f"{source.name}: track {index + 1} is not an audio track")
    require_decoder(stream, source)
    for other in container.streams:
        if other.index != index:
            other.discard = Discard.all
    return stream


def _without_gaps(chunks: Iterator[AudioChunk]) -> Iterator[Samples]:
    """Yield one channel from time zero on, with silence in the gaps."""
    end = 0
    for chunk in chunks:
        while end < chunk.first:
            silence = np.zeros(min(_BLOCK_SAMPLES, chunk.first - end), np.float32)
            yield silence
            end += len(silence)
        yield np.nan_to_num(chunk.samples.mean(axis=0, dtype=np.float32))
        end = chunk.end


def _blocks(pieces: Iterator[Samples]) -> Iterator[Samples]:
    """Yield the same samples in blocks of at least a second, as each has a fixed cost."""
    waiting: list[Samples] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(map(len, waiting)) >= _BLOCK_SAMPLES:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _frame(block: Samples) -> AudioFrame:
    frame = AudioFrame.from_ndarray(block[None], "fltp", "mono")
    frame.sample_rate = RATE_HZ
    return frame


def _write(file: BinaryIO, frames: Sequence[AudioFrame | None]) -> int:
    count = 0
    for frame in frames:
        if frame is not None:
            samples = frame.to_ndarray()[0].astype("<i2", copy=False)
            file.write(samples.tobytes())
            count += len(samples)
    return count
