"""One audio segment: re-encoded as AAC, or copied packets.

An AAC frame overlaps the one before it, and what an encoder does depends on what it heard. So the
encoder starts some frames early on a fixed grid of frames, and what it made of those is dropped:
frames on both sides of a joint, made apart, fit each other. The joint is inaudible.
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

# Enough for the encoder to have forgotten where it began; and it looks ahead.
_FRAMES_BEFORE: Final = 24
_FRAMES_AFTER: Final = 3
# Sound is counted from the source's zero; a seek in the source should not come at every frame.
_COPY_BACK_S: Final = 1


def open_audio_encoder() -> AudioCodecContext:
    """Return an encoder that is ready and knows its configuration."""
    context = av.CodecContext.create("aac", "w")
    assert isinstance(context, AudioCodecContext)
    context.sample_rate, context.layout, context.format = RATE_HZ, "stereo", "fltp"
    context.time_base = Fraction(1, RATE_HZ)
    context.bit_rate = BITS_PER_S
    context.flags |= int(Flags.global_header | Flags.bitexact)
    context.open()
    return context


def frame_instants(end_s: Fraction) -> list[int]:
    """Return where frames begin that hold sound up to `end_s`, in samples."""
    count = max(1, ceil(end_s * RATE_HZ / FRAME_SAMPLES))
    return [FRAME_SAMPLES * n for n in range(count)]


def encode_audio_segment(
    path: Path, rendition: Rendition, number: int, *, is_primed: bool = False
) -> list[CmafSample]:
    """Return the frames of a segment; `is_primed` adds what the very first one overlaps."""
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
    # The very first one holds nothing but the overlap of the one after it. Players differ in
    # whether they know that it is to be skipped: sound would come early or late.
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
    """Return the source's own packets of a segment; `is_primed` as for those encoded anew."""
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
    """Yield the sound in blocks of one frame each; where there is none, silence."""
    start, stop = first * FRAME_SAMPLES, end * FRAME_SAMPLES
    whole: Samples = np.zeros((CHANNELS, stop - start), np.float32)
    exactly = PacketGrid(*rendition.grid).exactly if rendition.grid else None
    for stretch in read_audio(path, start, stop, exactly=exactly):
        whole[:, stretch.first - start : stretch.end - start] = stretch.samples
    for place in range(0, stop - start, FRAME_SAMPLES):
        yield np.ascontiguousarray(whole[:, place : place + FRAME_SAMPLES])
