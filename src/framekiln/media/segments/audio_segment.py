"""One audio segment: re-encoded as AAC, or copied packets.

An AAC frame overlaps the previous one, and an encoder's output depends on its earlier input. So the
encoder starts some frames early on a fixed grid of frames, and the output for those is dropped:
frames on both sides of a segment boundary fit each other although they were encoded separately. The
boundary is inaudible.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Final

import av
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.codec.context import Flags
from numpy.typing import NDArray

from framekiln.media.audio.decoder import CHANNELS, RATE_HZ, Samples, read_audio
from framekiln.media.container import open_media, translate_ffmpeg_errors
from framekiln.media.segments.cmaf import CmafSample
from framekiln.media.segments.packet_scan import PacketGrid
from framekiln.media.segments.renditions import Rendition

FRAME_SAMPLES: Final = 1024
BITS_PER_S: Final = 160_000

# Enough that the encoder's output no longer depends on where it started; it also looks ahead.
_FRAMES_BEFORE: Final = 24
_FRAMES_AFTER: Final = 3
# Seek this far before the segment, because a seek may be inexact.
_COPY_BACK_S: Final = 1


def open_audio_encoder() -> AudioCodecContext:
    """Return an open encoder with its configuration."""
    context = av.CodecContext.create("aac", "w")
    assert isinstance(context, AudioCodecContext)
    context.sample_rate, context.layout, context.format = RATE_HZ, "stereo", "fltp"
    context.time_base = Fraction(1, RATE_HZ)
    context.bit_rate = BITS_PER_S
    context.flags |= int(Flags.global_header | Flags.bitexact)
    context.open()
    return context


def frame_instants(end_s: Fraction) -> list[int]:
    """Return the starts of the frames that hold audio up to `end_s`, in samples."""
    count = max(1, ceil(end_s * RATE_HZ / FRAME_SAMPLES))
    return [FRAME_SAMPLES * n for n in range(count)]


def encode_audio_segment(
    path: Path, rendition: Rendition, number: int, *, is_primed: bool = False
) -> list[CmafSample]:
    """Return the frames of a segment; `is_primed` adds the frame before the first one."""
    first, end = (bound // FRAME_SAMPLES for bound in rendition.bounds[number - 1 : number + 1])
    begun = max(0, first - _FRAMES_BEFORE)
    context = open_audio_encoder()
    packets = []
    for place, block in enumerate(_blocks(path, rendition, begun, end + _FRAMES_AFTER)):
        frame = AudioFrame.from_ndarray(block, "fltp", "stereo")
        frame.sample_rate, frame.time_base = RATE_HZ, Fraction(1, RATE_HZ)
        frame.pts = place * FRAME_SAMPLES
        packets += context.encode(frame)
    packets += context.encode(None)
    # The priming frame holds only the overlap of the frame after it. Players differ in whether they
    # skip it: audio would be early or late.
    if is_primed and number == 1:
        first -= 1
    wanted = packets[1 + first - begun : 1 + end - begun]
    assert len(wanted) == end - first
    return [
        CmafSample(bytes(packet), (first + place) * FRAME_SAMPLES, is_sync=True)
        for place, packet in enumerate(wanted)
    ]


def copy_audio_segment(
    path: Path, rendition: Rendition, number: int, *, is_primed: bool = False
) -> list[CmafSample]:
    """Return the source's own packets of a segment; `is_primed` as in `encode_audio_segment`."""
    start, end = rendition.bounds[number - 1 : number + 1]
    if is_primed and number == 1:
        start -= FRAME_SAMPLES
    samples: list[CmafSample] = []
    with open_media(path) as container, translate_ffmpeg_errors(path):
        stream = container.streams.audio[0]
        back = start - _COPY_BACK_S * rendition.timescale
        if back > 0:
            container.seek(back, stream=stream)
        for packet in container.demux(stream):
            if packet.pts is None:
                continue
            if packet.pts >= end:
                break
            if packet.pts >= start:
                samples.append(CmafSample(bytes(packet), packet.pts, is_sync=True))
    return samples


def _blocks(
    path: Path, rendition: Rendition, first: int, end: int
) -> Iterator[NDArray[np.float32]]:
    """Yield the audio in blocks of one frame each, with silence in the gaps."""
    start, stop = first * FRAME_SAMPLES, end * FRAME_SAMPLES
    whole: Samples = np.zeros((CHANNELS, stop - start), np.float32)
    exactly = PacketGrid(*rendition.grid).exactly if rendition.grid else None
    for chunk in read_audio(path, start, stop, exactly=exactly):
        whole[:, chunk.first - start : chunk.end - start] = chunk.samples
    for place in range(0, stop - start, FRAME_SAMPLES):
        yield np.ascontiguousarray(whole[:, place : place + FRAME_SAMPLES])
