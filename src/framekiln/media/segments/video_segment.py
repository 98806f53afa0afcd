"""One video segment: re-encoded at a size, or copied packets.

All segments of a rendition are encoded with the same settings, so one header serves them all,
whichever process makes them and in any order. No frame refers beyond its segment.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
import numpy as np
from av.codec.context import Flags
from av.container import InputContainer
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from framekiln.kit.ranged_path import RangedPath
from framekiln.media.container import open_media, translate_ffmpeg_errors, video_stream
from framekiln.media.decode.frame_converter import FrameConverter
from framekiln.media.decode.frame_properties import Orientation, orientation_of
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.errors import SlicesDiffer, UnreadableMedia
from framekiln.media.keyframes import is_clean_start
from framekiln.media.segments.cmaf import CmafSample, as_avcc, as_length_prefixed
from framekiln.media.segments.renditions import SCRUB, Rendition, RenditionSize

_BT709: Final = 1
_LIMITED_RANGE: Final = 1
# The bytes depend on it, so it must not follow the number of cores.
_ENCODER_THREADS: Final = 2
_KEYFRAME_EVERY_S: Final = 2
_SCRUB_KEYFRAME_EVERY: Final = 10
# Two cores keep up with larger frames only at a faster preset.
_MAX_SLOW_PIXELS: Final = 1280 * 720
_USUAL_FPS: Final = Fraction(30)
_STEPS_BACK_S: Final = (0, 1, 12)


def open_video_encoder(
    rendition_id: str, size: RenditionSize, *, timescale: int, fps: Fraction, bits_per_s: int
) -> VideoCodecContext:
    """Return an open encoder with its parameter sets."""
    context = av.CodecContext.create("libx264", "w")
    assert isinstance(context, VideoCodecContext)
    rate = fps or _USUAL_FPS
    is_scrub = rendition_id == SCRUB
    context.width, context.height, context.pix_fmt = size.width_px, size.height_px, "yuv420p"
    context.time_base, context.framerate = Fraction(1, timescale), rate
    context.thread_count = _ENCODER_THREADS
    context.color_primaries = context.color_trc = context.colorspace = _BT709
    context.color_range = _LIMITED_RANGE
    context.gop_size = (
        _SCRUB_KEYFRAME_EVERY if is_scrub else max(1, round(rate * _KEYFRAME_EVERY_S))
    )
    context.flags |= int(Flags.global_header | Flags.closed_gop)
    is_large = size.width_px * size.height_px > _MAX_SLOW_PIXELS
    context.options = {
        "preset": "superfast" if is_large else "veryfast",
        "profile": "high",
        # Frames are decoded in presentation order, so players need not handle a delay.
        "bf": "0",
        "crf": "28" if is_scrub else "24" if is_large else "22",
        "maxrate": str(bits_per_s),
        "bufsize": str(bits_per_s),
    }
    context.open()
    return context


def encode_video_segment(path: Path, rendition: Rendition, number: int) -> list[CmafSample]:
    """Return the encoded frames of a segment, in decode order."""
    assert rendition.size is not None
    context = open_video_encoder(
        rendition.id,
        rendition.size,
        timescale=rendition.timescale,
        fps=rendition.fps or _USUAL_FPS,
        bits_per_s=rendition.mean_bits_per_s,
    )
    if as_avcc(bytes(context.extradata or b"")) not in rendition.init:
        raise SlicesDiffer(
            f"segment {number} of {rendition.id} would need another init segment than was sent:"
            " the encoder has changed"
        )
    samples: list[CmafSample] = []
    for frame in _frames_between(path, rendition, number):
        samples += (_sample(packet) for packet in context.encode(frame))
    samples += (_sample(packet) for packet in context.encode(None))
    return samples


def copy_video_segment(path: Path, rendition: Rendition, number: int) -> list[CmafSample]:
    """Return the source's own packets of a segment."""
    start, end = rendition.bounds[number - 1 : number + 1]
    with open_media(path) as container, translate_ffmpeg_errors(path):
        stream = video_stream(container)
        assert stream is not None
        scale = Fraction(stream.time_base or 0).numerator
        samples: list[CmafSample] = []
        for packet in _packets_from(container, stream, start // scale):
            assert packet.pts is not None
            if packet.is_keyframe and packet.pts * scale >= end:
                break
            if not samples and isinstance(path, RangedPath):
                _check_start(packet, path)
            # The very first frame is shown from zero, even if it starts later.
            at = packet.pts * scale if samples else start
            samples.append(CmafSample(bytes(packet), at, packet.is_keyframe))
    return samples


def _check_start(packet: "Packet[VideoStream]", path: RangedPath) -> None:
    """Refuse a keyframe that needs earlier frames: it is checked here for the first time."""
    parameter_sets = packet.stream.codec_context.extradata or b""
    if not is_clean_start("h264", parameter_sets, bytes(packet)):
        raise UnreadableMedia(
            f"{path.name}: playback cannot start at its keyframes; upload it and name it by file-id"
        )


def _packets_from(
    container: InputContainer, stream: VideoStream, start: int
) -> Iterator["Packet[VideoStream]"]:
    """Yield packets from the keyframe shown at `start`; for zero, from the first."""
    if start == 0:
        yield from (packet for packet in container.demux(stream) if packet.pts is not None)
        return
    per_s = round(1 / Fraction(stream.time_base or 1))
    for step_s in _STEPS_BACK_S:
        container.seek(max(0, start - step_s * per_s), stream=stream)
        packets = (packet for packet in container.demux(stream) if packet.pts is not None)
        first = next(packets, None)
        if first is not None and (first.pts or 0) <= start:
            break
    while first is not None and first.pts != start:
        first = next(packets, None)
    if first is None:
        raise UnreadableMedia("the source no longer has a keyframe at this time")
    yield first
    yield from packets


def _frames_between(path: Path, rendition: Rendition, number: int) -> Iterator[VideoFrame]:
    """Yield the frames of a segment, scaled, rotated and timestamped; the first at its very start.

    If a frame cannot be decoded, the previous one stays, so segments never have a gap.
    """
    start, end = rendition.bounds[number - 1 : number + 1]
    assert rendition.size is not None
    converter = _Converter(rendition.size)
    with VideoDecoder(path) as decoder:
        scale = decoder.tick_s.numerator
        decoder.seek(start // scale)
        held: VideoFrame | None = None
        last = -1
        while (frame := decoder.read()) is not None and (frame.pts or 0) * scale < end:
            at = (frame.pts or 0) * scale
            if at < start:
                held = frame
                continue
            if last < 0 and (held is None or at == start):
                at = start
            elif last < 0 and held is not None:
                yield converter.convert(held, start, rendition.timescale)
            if at > last:
                yield converter.convert(frame, at, rendition.timescale)
                last = at
        if last < 0:
            if held is None:
                raise UnreadableMedia(f"{path.name}: no frame can be decoded at this time")
            yield converter.convert(held, start, rendition.timescale)


class _Converter:
    """Prepares decoded frames for the encoder."""

    def __init__(self, size: RenditionSize) -> None:
        self._size = size
        self._conversion: FrameConverter | None = None
        self._orientation: Orientation | None = None

    def convert(self, frame: VideoFrame, at: int, timescale: int) -> VideoFrame:
        if self._orientation is None:
            # All frames of a track have the same orientation.
            self._orientation = orientation_of(frame)
        turned = _turned(self._sized(frame, self._orientation), self._orientation)
        turned.pts, turned.time_base = at, Fraction(1, timescale)
        # The source's keyframes must not become ours.
        turned.pict_type = PictureType.NONE
        return turned

    def _sized(self, frame: VideoFrame, orientation: Orientation) -> VideoFrame:
        if self._conversion is None:
            width, height = self._size.width_px, self._size.height_px
            stored = (height, width) if orientation.is_transposed else (width, height)
            self._conversion = FrameConverter(*stored)
        return self._conversion.to_opaque(frame)


def _turned(frame: VideoFrame, orientation: Orientation) -> VideoFrame:
    if orientation == Orientation():
        return frame
    planes = []
    for plane in frame.planes:
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
        planes.append(np.ascontiguousarray(orientation.apply(rows[:, : plane.width])))
    height, width = planes[0].shape
    stacked = np.concatenate([plane.ravel() for plane in planes]).reshape(height * 3 // 2, width)
    return VideoFrame.from_ndarray(stacked, format="yuv420p")


def _sample(packet: "Packet[VideoStream]") -> CmafSample:
    assert packet.pts is not None
    return CmafSample(as_length_prefixed(bytes(packet)), packet.pts, packet.is_keyframe)
