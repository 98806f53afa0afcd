"""Clips that `clips` does not make: other codecs, several tracks, late starts, open GOPs.

Frames are frame codes, as in `clips`. Most clips are assembled from separate tracks, by copying
packets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from av.video.stream import VideoStream

from tests.support.frame_codes import draw_frame_code
from tests.support.realtime import ordinary_afterwards

OPEN_GROUPS = "keyint=12:min-keyint=12:scenecut=0:open-gop=1:bframes=2:b-adapt=0"


@dataclass(frozen=True)
class ClipCoding:
    """An encoder and its settings."""

    encoder: str
    pix_fmt: str = "yuv420p"
    group: int = 12
    options: tuple[tuple[str, str], ...] = ()


OPEN_H264 = ClipCoding("libx264", options=(("preset", "ultrafast"), ("x264-params", OPEN_GROUPS)))
QUICK = (("preset", "ultrafast"),)
TEN_BIT = ClipCoding("libx264", "yuv420p10le", options=QUICK)
CHROMA_444 = ClipCoding("libx264", "yuv444p", options=QUICK)
INTERLACED = ClipCoding("libx264", options=(*QUICK, ("x264-params", "interlaced=1")))
HEVC = ClipCoding("libx265", options=(*QUICK, ("x265-params", "log-level=none:pools=1")))
PRORES = ClipCoding("prores_ks", "yuv422p10le")
MJPEG = ClipCoding("mjpeg", "yuvj420p")
MPEG4 = ClipCoding("mpeg4", options=(("qscale", "3"),))
_ALWAYS_B_FRAMES = (*QUICK, ("bf", "3"), ("x264-params", "b-adapt=0"))
VP8 = ClipCoding("libvpx", options=(("deadline", "realtime"), ("cpu-used", "8"), ("crf", "10")))


def make_pictures(
    path: Path,
    coding: ClipCoding,
    *,
    count: int = 48,
    fps: int = 24,
    size_px: tuple[int, int] = (160, 120),
    rotation_degrees: int = 0,
    is_mirrored: bool = False,
) -> Path:
    """Write frame codes 0 to `count` with an encoder; the file extension selects the container."""
    width, height = size_px
    # One for all frames: to prepare a conversion takes longer than to convert.
    converter = VideoReformatter()
    with ordinary_afterwards(), av.open(path, "w") as container:
        stream = container.add_stream(coding.encoder, rate=fps, options=dict(coding.options))
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, coding.pix_fmt
        stream.gop_size, stream.thread_count = coding.group, 1
        stream.colorspace, stream.color_range = Colorspace.ITU709, ColorRange.MPEG
        if coding.pix_fmt.startswith("yuvj"):
            stream.color_range = ColorRange.JPEG
        if rotation_degrees or is_mirrored:
            stream.set_display_rotation(rotation_degrees, hflip=is_mirrored)
        for n in range(count):
            frame = converter.reformat(
                av.VideoFrame.from_ndarray(draw_frame_code(n, width, height)),
                format=coding.pix_fmt,
                dst_colorspace=Colorspace.ITU709,
                dst_color_range=stream.color_range,
            )
            frame.pts, frame.time_base = n, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@dataclass(frozen=True)
class ClipPart:
    """A track taken from another file, moved in time."""

    path: Path
    index: int = 0
    later_s: Fraction = Fraction(0)
    language: str | None = None


def mux_parts(path: Path, parts: Sequence[ClipPart]) -> Path:
    """Write a file with these tracks in this order; packets are copied unchanged."""
    with av.open(path, "w") as written:
        streams = []
        sources = [av.open(part.path) for part in parts]
        for part, source in zip(parts, sources, strict=True):
            stream = written.add_stream_from_template(source.streams[part.index], opaque=True)
            if part.language:
                stream.metadata["language"] = part.language
            streams.append(stream)
        for part, source, stream in zip(parts, sources, streams, strict=True):
            for packet in source.demux(source.streams[part.index]):
                if packet.dts is None:
                    continue
                later = round(part.later_s / packet.time_base)
                packet.pts, packet.dts = (packet.pts or 0) + later, packet.dts + later
                packet.stream = stream
                written.mux(packet)
        for source in sources:
            source.close()
    return path


def make_paced(path: Path, starts_ms: Sequence[int], *, last_ms: int, edits: bool = True) -> Path:
    """Write H.264 with B-frames whose frames are shown at these times; the last for `last_ms`."""
    ends = dict(zip(starts_ms, [*starts_ms[1:], starts_ms[-1] + last_ms], strict=True))
    options = {} if edits else {"use_editlist": "0"}
    with av.open(path, "w", options=options if path.suffix == ".mp4" else {}) as container:
        stream = container.add_stream("libx264", rate=30, options=dict(_ALWAYS_B_FRAMES))
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        stream.thread_count = 1
        stream.codec_context.time_base = stream.time_base = Fraction(1, 1000)
        for number, start in enumerate([*starts_ms, None]):
            frame = None
            if start is not None:
                picture = av.VideoFrame.from_ndarray(draw_frame_code(number, 160, 120))
                frame = picture.reformat(format="yuv420p")
                frame.pts, frame.time_base = start, Fraction(1, 1000)
            for packet in stream.encode(frame):
                assert packet.pts is not None
                packet.duration = ends[packet.pts] - packet.pts
                container.mux_one(packet)
    return path
