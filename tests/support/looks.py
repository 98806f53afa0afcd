"""Measures images and video files: exact frame times, colours, similarity, file properties.

Decodes with FFmpeg's libraries but measures with its own arithmetic. Of the code under test it uses
only the conversion to RGB, which has its own tests for every colour.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log10
from pathlib import Path

import av
import cv2
import numpy as np
from av.container import InputContainer
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc, Interpolation
from numpy.typing import NDArray

from framekiln.pixels.colours import Colours, Matrix
from framekiln.pixels.conversion import Planes, yuv_to_rgba
from tests.support.frame_codes import Picture

# AVColorSpace.
MATRICES = {1: Matrix.BT709, 5: Matrix.BT601, 6: Matrix.BT601, 9: Matrix.BT2020}
EXACTLY = Interpolation.ACCURATE_RND | Interpolation.BITEXACT
STILL_CODECS = {"mjpeg", "webp", "png"}
LUMA = np.array([0.2126, 0.7152, 0.0722])
SSIM_TAPS = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5**2))
SSIM_TAPS /= SSIM_TAPS.sum()


@dataclass(frozen=True)
class DecodedFrame:
    """One stored frame (rotation not applied) and its presentation time."""

    pts: Fraction
    rgb: Picture


@dataclass(frozen=True)
class MeasuredVideo:
    """The first video track, measured from its packets where a header could be wrong."""

    codec: str
    profile: str | None
    pix_fmt: str | None
    width: int
    height: int
    #: Lower-case names, such as `bt709`; None when not tagged.
    primaries: str | None
    transfer: str | None
    matrix: str | None
    #: `limited` or `full`; None when not tagged.
    colour_range: str | None
    rotation_degrees: int
    fps: Fraction
    is_constant_rate: bool
    frame_count: int
    start_s: Fraction
    duration_s: Fraction


@dataclass(frozen=True)
class MeasuredAudio:
    """The first audio track."""

    codec: str
    profile: str | None
    rate_hz: int
    channels: int
    duration_s: Fraction


@dataclass(frozen=True)
class MeasuredFile:
    """The properties of a media file."""

    duration_s: Fraction
    video: MeasuredVideo | None
    audio: MeasuredAudio | None
    #: Whether `moov` comes before `mdat`; None when the file is not of the MP4 family.
    is_faststart: bool | None


def iter_frames(path: Path) -> Iterator[DecodedFrame]:
    """Yield every frame of a video or image file, in presentation order."""
    with av.open(path) as container:
        stream = container.streams.video[0]
        for frame in container.decode(stream):
            pts = (frame.pts or 0) * Fraction(frame.time_base or 0)
            yield DecodedFrame(pts=pts, rgb=_pixels(frame, 3, stream.codec.name))


def decode_frames(path: Path) -> list[DecodedFrame]:
    """Return every frame of a video or image file, in presentation order."""
    return list(iter_frames(path))


def pictures_at(path: Path, numbers: list[int]) -> list[Picture]:
    """Return some frames of a film by their numbers; all others are only decoded."""
    with av.open(path) as container:
        stream = container.streams.video[0]
        found = {
            number: _pixels(frame, 3, stream.codec.name)
            for number, frame in enumerate(container.decode(stream))
            if number in numbers
        }
    return [found[number] for number in numbers]


def packets_of(path: Path) -> list[bytes]:
    """Return the packets of a film, in decoding order."""
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


def decode_still(path: Path) -> Picture:
    """Return the first frame of a file as RGBA, to check its alpha."""
    with av.open(path) as container:
        stream = container.streams.video[0]
        return _pixels(next(container.decode(stream)), 4, stream.codec.name)


def colour_at(rgb: Picture, x: int, y: int, *, radius: int = 2) -> tuple[int, int, int]:
    """Return the mean colour of the square around a point, cropped at the image's edges."""
    rows = slice(max(0, y - radius), y + radius + 1)
    columns = slice(max(0, x - radius), x + radius + 1)
    red, green, blue = rgb[rows, columns, :3].reshape(-1, 3).mean(axis=0).round()
    return int(red), int(green), int(blue)


def psnr(a: Picture, b: Picture) -> float:
    """Return the peak signal-to-noise ratio in dB; infinite for equal images."""
    _require_same_shape(a, b)
    mean_square = float(np.mean((a.astype(np.float64) - b.astype(np.float64)) ** 2))
    return inf if mean_square == 0 else 10 * log10(255**2 / mean_square)


def ssim(a: Picture, b: Picture) -> float:
    """Return the mean structural similarity of luma, 1 for equal images.

    Gaussian window of 11 taps, sigma 1.5, K 0.01 and 0.03, no padding.
    """
    _require_same_shape(a, b)
    if min(a.shape[:2]) < len(SSIM_TAPS):
        message = f"pictures of {a.shape[1]}x{a.shape[0]} are smaller than the 11 pixel window"
        raise ValueError(message)
    x, y = _luma(a), _luma(b)
    mean_x, mean_y = _blur(x), _blur(y)
    variance_x = _blur(x * x) - mean_x**2
    variance_y = _blur(y * y) - mean_y**2
    covariance = _blur(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    likeness = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    return float(
        (likeness / ((mean_x**2 + mean_y**2 + c1) * (variance_x + variance_y + c2))).mean()
    )


def measure_file(path: Path) -> MeasuredFile:
    """Return the properties of a file; reads all its packets but decodes only the first frame."""
    with av.open(path) as container:
        times = _packet_times(container)
        has_video = bool(container.streams.video)
        video = _video_facts(container, times, _first_picture(path)) if has_video else None
        audio = _audio_facts(container, times) if container.streams.audio else None
    ends_s = [track.duration_s for track in (video, audio) if track]
    return MeasuredFile(
        duration_s=max(ends_s, default=Fraction(0)),
        video=video,
        audio=audio,
        is_faststart=_moov_is_first(path),
    )


Times = dict[int, list[tuple[Fraction, Fraction]]]


def _packet_times(container: InputContainer) -> Times:
    """Return start and end of every packet that is shown, in time order, by stream."""
    times: Times = {stream.index: [] for stream in container.streams}
    for packet in container.demux():
        if packet.pts is None or packet.is_discard:
            continue
        start = packet.pts * packet.time_base
        times[packet.stream_index].append(
            (start, start + (packet.duration or 0) * packet.time_base)
        )
    for spans in times.values():
        spans.sort()
    return times


def _first_picture(path: Path) -> av.VideoFrame:
    # Opened again: a still image cannot be rewound after its packets were read.
    with av.open(path) as container:
        return next(container.decode(video=0))


def _video_facts(container: InputContainer, times: Times, first: av.VideoFrame) -> MeasuredVideo:
    stream = container.streams.video[0]
    spans = times[stream.index]
    starts = [start for start, _ in spans]
    fps = _mean_rate(starts, Fraction(stream.average_rate or 0))
    return MeasuredVideo(
        codec=stream.codec_context.codec.canonical_name,
        profile=stream.profile,
        pix_fmt=stream.pix_fmt,
        width=stream.width,
        height=stream.height,
        primaries=_tag(ColorPrimaries, first.color_primaries),
        transfer=_tag(ColorTrc, first.color_trc),
        matrix={1: "bt709", 5: "bt470bg", 6: "smpte170m", 9: "bt2020nc"}.get(first.colorspace),
        colour_range={1: "limited", 2: "full"}.get(first.color_range),
        rotation_degrees=first.rotation,
        fps=fps,
        is_constant_rate=_is_even(starts, fps, tick=Fraction(stream.time_base or 0)),
        frame_count=len(spans),
        start_s=starts[0],
        duration_s=max(end for _, end in spans) - starts[0],
    )


def _audio_facts(container: InputContainer, times: Times) -> MeasuredAudio:
    stream = container.streams.audio[0]
    spans = times[stream.index]
    # Encoder delay is before zero and is removed in playback.
    start_s = max(Fraction(0), spans[0][0])
    return MeasuredAudio(
        codec=stream.codec_context.codec.canonical_name,
        profile=stream.profile,
        rate_hz=stream.rate,
        channels=stream.channels,
        duration_s=max(end for _, end in spans) - start_s,
    )


def _mean_rate(starts: list[Fraction], declared: Fraction) -> Fraction:
    if len(starts) < 2:
        return declared
    return (len(starts) - 1) / (starts[-1] - starts[0])


def _is_even(starts: list[Fraction], fps: Fraction, *, tick: Fraction) -> bool:
    """Whether every frame is within one tick of the container's clock of a constant rate."""
    return all(abs(start - starts[0] - n / fps) <= tick for n, start in enumerate(starts) if n)


def _tag(names: type[ColorPrimaries] | type[ColorTrc], number: int) -> str | None:
    found = {member.value: member.name.lower() for member in names}.get(number)
    return None if found == "unspecified" else found


def _moov_is_first(path: Path) -> bool | None:
    kinds = list(_top_level_boxes(path))
    if "moov" not in kinds:
        return None
    return "mdat" not in kinds or kinds.index("moov") < kinds.index("mdat")


def _top_level_boxes(path: Path) -> Iterator[str]:
    end = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() + 8 <= end:
            start = file.tell()
            size, kind = struct.unpack(">I4s", file.read(8))
            if size == 1:
                size = struct.unpack(">Q", file.read(8))[0]
            yield kind.decode("latin-1")
            if size < 8:
                return
            file.seek(start + size)


def _pixels(frame: av.VideoFrame, channels: int, codec: str) -> Picture:
    if frame.format.is_rgb or frame.format.has_palette:
        layout = "rgba" if channels == 4 else "rgb24"
        return frame.reformat(format=layout).to_ndarray().astype(np.uint8, copy=False)
    return rgba_of(frame, _colours(frame, codec))[..., :channels]


def rgba_of(frame: av.VideoFrame, colours: Colours) -> Picture:
    """Return a frame of any format except RGB as RGBA, by its own colour tags."""
    halves = next((each for each in ("444", "422") if each in frame.format.name), "420")
    alpha = any(component.is_alpha for component in frame.format.components)
    levels = ColorRange.JPEG if colours.is_full_range else ColorRange.MPEG
    # Repacks other formats to 8-bit planes; the same matrix on both sides keeps colours.
    planar = frame.reformat(
        format=f"yuv{'a' if alpha else ''}{halves}p",
        src_colorspace=Colorspace.ITU709,
        dst_colorspace=Colorspace.ITU709,
        src_color_range=levels,
        dst_color_range=levels,
        interpolation=Interpolation.BICUBIC | EXACTLY,
    )
    planes = [
        np.frombuffer(memoryview(each), np.uint8).reshape(each.height, each.line_size)[
            :, : each.width
        ]
        for each in planar.planes
    ]
    made = np.empty((frame.height, frame.width, 4), np.uint8)
    yuv_to_rgba(Planes(*planes[:3]), colours, made, alpha=planes[3] if alpha else None)
    return made


def _colours(frame: av.VideoFrame, codec: str) -> Colours:
    # Untagged: image formats are BT.601 by definition, video by the convention of players.
    is_601 = codec in STILL_CODECS or frame.height < 720
    usual = Matrix.BT601 if is_601 else Matrix.BT709
    is_full = frame.color_range == ColorRange.JPEG or frame.format.name.startswith("yuvj")
    return Colours(MATRICES.get(frame.colorspace, usual), is_full)


def _require_same_shape(a: Picture, b: Picture) -> None:
    if a.shape != b.shape:
        message = f"pictures differ in shape: {a.shape} and {b.shape}"
        raise ValueError(message)


def _luma(picture: Picture) -> NDArray[np.float64]:
    values: NDArray[np.float64] = picture.astype(np.float64)
    return values if values.ndim == 2 else values[..., :3] @ LUMA


def _blur(values: NDArray[np.float64]) -> NDArray[np.float64]:
    blurred = np.asarray(cv2.sepFilter2D(values, -1, SSIM_TAPS, SSIM_TAPS), np.float64)
    # What is nearer to an edge depends on pixels that do not exist.
    margin = len(SSIM_TAPS) // 2
    return blurred[margin:-margin, margin:-margin]
