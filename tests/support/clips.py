"""Makes flash-and-beep clips: a white frame and a beep at every full second.

Every frame contains its number as a frame code, so that the output of a pipeline can be checked
frame by frame. The number is the frame's position on the even grid of `fps`, also in a clip with a
variable rate, which skips positions: a frame's time is always its number / fps.
"""

import tempfile
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.reformatter import (
    ColorPrimaries,
    ColorRange,
    Colorspace,
    ColorTrc,
    Interpolation,
    VideoReformatter,
)
from av.video.stream import VideoStream
from numpy.typing import NDArray

from tests.support.frame_codes import Picture, draw_frame_code
from tests.support.looks import EXACTLY

BEEP_HZ = 1000
BEEP_S = Fraction(1, 10)
BEEP_LEVEL = 0.5
CHUNK_SAMPLES = 1024
STILL_ENCODERS = {
    ".png": ("png", "rgb24"),
    ".jpg": ("mjpeg", "yuvj444p"),
    ".jpeg": ("mjpeg", "yuvj444p"),
    ".webp": ("libwebp", "bgra"),
}


@dataclass(frozen=True)
class Clip:
    """The properties of a clip. The file extension selects the container."""

    fps: Fraction = Fraction(30)
    width: int = 320
    height: int = 240
    duration_s: Fraction = Fraction(2)
    #: FFmpeg's names; None omits the track.
    video_codec: str | None = "libx264"
    audio_codec: str | None = "aac"
    b_frames: int = 0
    keyframe_every: int = 30
    sample_rate_hz: int = 48_000
    channels: int = 2
    #: Counter-clockwise, written as metadata; the coded frames are upright.
    rotation_degrees: int = 0
    variable_rate: bool = False
    #: The delay of each beep relative to its flash; may be negative.
    beep_delay_ms: int = 0
    faststart: bool = True

    @property
    def frame_numbers(self) -> list[int]:
        """The numbers of the frames in the clip, in order."""
        numbers = range(ceil(self.duration_s * self.fps))
        if not self.variable_rate:
            return list(numbers)
        flashes = self.flash_numbers
        return [n for n in numbers if n in flashes or n == numbers[-1] or n % 7 not in (2, 4, 5)]

    @property
    def flash_numbers(self) -> set[int]:
        """The numbers of the white frames: the first frame at or after each full second."""
        return {ceil(second * self.fps) for second in range(ceil(self.duration_s))}


def make_clip(path: Path, clip: Clip | None = None) -> Path:
    """Write a clip and return its path."""
    path.write_bytes(clip_bytes(clip or Clip(), path.suffix))
    return path


@lru_cache(maxsize=64)
def clip_bytes(clip: Clip, suffix: str) -> bytes:
    """Return the file of a clip. Tests ask for the same ones again and again."""
    options = {"movflags": "+faststart"} if clip.faststart and suffix in (".mp4", ".mov") else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"clip{suffix}")
        _encode(clip, path, options)
        return path.read_bytes()


def _encode(clip: Clip, path: Path, options: dict[str, str]) -> None:
    with av.open(path, "w", options=options) as container:
        tracks: list[_PictureTrack | _SoundTrack] = []
        if clip.video_codec:
            tracks.append(_PictureTrack(container, clip))
        if clip.audio_codec:
            tracks.append(_SoundTrack(container, clip))
        # A second of one track, then a second of the other: interleaved for players.
        for second in range(ceil(clip.duration_s)):
            for track in tracks:
                track.write_until(second + 1)
        for track in tracks:
            track.finish()


def pad_pictures(clip: Path, out: Path, *, by_bytes: int) -> Path:
    """Rewrite an H.264 clip with larger frames, by filler data that decoders skip."""
    unit = b"\x0c" + b"\xff" * by_bytes + b"\x80"
    filler = len(unit).to_bytes(4) + unit
    with av.open(clip) as source, av.open(out, "w") as padded:
        pictures = source.streams.video[0]
        track = padded.add_stream_from_template(pictures)
        for packet in source.demux(pictures):
            if packet.pts is None:
                continue
            larger = av.Packet(bytes(packet) + filler)
            larger.pts, larger.dts, larger.duration = packet.pts, packet.dts, packet.duration
            larger.time_base, larger.is_keyframe = packet.time_base, packet.is_keyframe
            larger.stream = track
            padded.mux(larger)
    return out


def make_still(path: Path, n: int = 0, *, width: int = 320, height: int = 240) -> Path:
    """Write frame code `n` as one PNG, JPEG or WebP image, by the file extension."""
    return write_picture(path, draw_frame_code(n, width, height))


def write_picture(path: Path, pixels: Picture) -> Path:
    """Write RGB or RGBA pixels as a PNG, JPEG or WebP image; PNG and WebP are lossless."""
    encoder, pixel_format = STILL_ENCODERS[path.suffix]
    has_alpha = pixels.shape[2] == 4
    if encoder == "png" and has_alpha:
        pixel_format = "rgba"
    options = {"lossless": "1"} if encoder == "libwebp" else {"qscale": "2"}
    frame = av.VideoFrame.from_ndarray(pixels, format="rgba" if has_alpha else "rgb24")
    with av.open(path, "w", format="image2", options={"update": "1"}) as container:
        stream = container.add_stream(encoder, options=options if encoder != "png" else {})
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = frame.width, frame.height, pixel_format
        container.mux(
            stream.encode(
                frame.reformat(format=pixel_format, interpolation=Interpolation.BICUBIC | EXACTLY)
            )
        )
        container.mux(stream.encode(None))
    return path


def beep_track(clip: Clip) -> NDArray[np.float32]:
    """Return the clip's audio, one row per channel."""
    rate = clip.sample_rate_hz
    sound = np.zeros(round(clip.duration_s * rate), np.float32)
    time_s = np.arange(round(BEEP_S * rate)) / rate
    beep = (BEEP_LEVEL * np.sin(2 * np.pi * BEEP_HZ * time_s)).astype(np.float32)
    for n in clip.flash_numbers:
        start = round((n / clip.fps + Fraction(clip.beep_delay_ms, 1000)) * rate)
        audible = beep[max(0, -start) :][: max(0, len(sound) - max(0, start))]
        sound[max(0, start) : max(0, start) + len(audible)] = audible
    return np.tile(sound, (clip.channels, 1))


class _PictureTrack:
    """The video stream being written."""

    def __init__(self, container: OutputContainer, clip: Clip) -> None:
        self._container, self._clip = container, clip
        self._waiting = clip.frame_numbers
        # One for all frames: to prepare a conversion takes longer than to convert.
        self._converter = VideoReformatter()
        options = {"preset": "ultrafast", "crf": "16", "bf": str(clip.b_frames)}
        if clip.video_codec != "libx264":
            options = {"deadline": "realtime", "cpu-used": "8", "crf": "20", "b": "0"}
        stream = container.add_stream(clip.video_codec or "", rate=clip.fps, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = clip.width, clip.height, "yuv420p"
        stream.gop_size = clip.keyframe_every
        stream.colorspace, stream.color_range = Colorspace.ITU709, ColorRange.MPEG
        stream.color_primaries, stream.color_trc = ColorPrimaries.BT709, ColorTrc.BT709
        stream.thread_count = 1
        stream.codec_context.time_base = 1 / clip.fps
        if clip.rotation_degrees:
            stream.set_display_rotation(clip.rotation_degrees)
        self._stream = stream

    def write_until(self, time_s: int) -> None:
        while self._waiting and self._waiting[0] < time_s * self._clip.fps:
            self._write(self._waiting.pop(0))

    def finish(self) -> None:
        self._container.mux(self._stream.encode(None))

    def _write(self, n: int) -> None:
        clip = self._clip
        pixels = draw_frame_code(n, clip.width, clip.height, flash=n in clip.flash_numbers)
        frame = self._converter.reformat(
            av.VideoFrame.from_ndarray(pixels, format="rgb24"),
            format="yuv420p",
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            interpolation=Interpolation.BICUBIC | EXACTLY,
        )
        frame.pts, frame.time_base = n, 1 / clip.fps
        self._container.mux(self._stream.encode(frame))


class _SoundTrack:
    """The audio stream being written."""

    def __init__(self, container: OutputContainer, clip: Clip) -> None:
        self._container, self._rate = container, clip.sample_rate_hz
        self._layout = "mono" if clip.channels == 1 else "stereo"
        self._samples = beep_track(clip)
        self._position = 0
        stream = container.add_stream(clip.audio_codec or "", rate=self._rate, layout=self._layout)
        assert isinstance(stream, AudioStream)
        self._stream = stream

    def write_until(self, time_s: int) -> None:
        end = min(time_s * self._rate, self._samples.shape[1])
        while self._position < end:
            self._write(self._samples[:, self._position : self._position + CHUNK_SAMPLES])

    def finish(self) -> None:
        self._container.mux(self._stream.encode(None))

    def _write(self, chunk: NDArray[np.float32]) -> None:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(chunk), "fltp", self._layout)
        frame.sample_rate, frame.pts = self._rate, self._position
        frame.time_base = Fraction(1, self._rate)
        self._position += chunk.shape[1]
        self._container.mux(self._stream.encode(frame))
