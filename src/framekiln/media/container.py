"""Opens media containers: known formats only; references to other files or URLs are not followed.

A playlist named .mp4 is refused before any of its lines is followed. All FFmpeg errors about a file
become `UnreadableMedia` here.

FFmpeg's hundreds of other containers and codecs are refused: each demuxer and decoder is code that
reads bytes of strangers. Some, such as playlists, also open other files. What is not listed here is
refused before any of that code runs. `docs/api/media-formats.md` has the same lists.

GIFs get the timing of browsers: a frame of 10 ms lasts 100 ms (see `frame_times`). Only the data
that FFmpeg reads is changed, never the file.
"""

import io
import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from framekiln.kit.ranged_path import RangedPath, RangedReader
from framekiln.media.errors import UnreadableMedia
from framekiln.media.images.frame_times import TooManyFrames, short_delay_offsets
from framekiln.media.sniff import HEAD_BYTES, sniff

_PCM_FORMS: Final = ("s16", "s24", "s32", "u16", "u24", "u32", "f32", "f64")

CONTAINERS: Final = {
    "MP4": "mp4",
    "MOV": "mov",
    "M4A": "m4a",
    "MKV": "matroska",
    "WebM": "webm",
    "AVI": "avi",
    "Ogg": "ogg",
    "MP3": "mp3",
    "WAV": "wav",
    "FLAC": "flac",
    "AAC": "aac",
    "GIF": "gif",
}
"""Names for people, and FFmpeg's names of their demuxers."""

VIDEO_CODECS: Final = {
    "H.264": ("h264",),
    "HEVC": ("hevc",),
    "AV1": ("libdav1d", "av1"),
    "VP8": ("vp8", "libvpx"),
    "VP9": ("vp9", "libvpx-vp9"),
    "MPEG-1": ("mpeg1video",),
    "MPEG-2": ("mpeg2video",),
    "MPEG-4 Part 2": ("mpeg4",),
    "H.263": ("h263",),
    "Theora": ("theora",),
    "ProRes": ("prores",),
    "DNxHD": ("dnxhd",),
    "DV": ("dvvideo",),
    "QuickTime Animation": ("qtrle",),
    "FFV1": ("ffv1",),
    "Motion JPEG": ("mjpeg",),
    "PNG": ("png",),
    "GIF": ("gif",),
}
"""Names for people, and FFmpeg's names of their decoders."""

AUDIO_CODECS: Final = {
    "AAC": ("aac",),
    "MP3": ("mp3float", "mp3"),
    "MP2": ("mp2float", "mp2"),
    "Opus": ("opus", "libopus"),
    "Vorbis": ("vorbis",),
    "FLAC": ("flac",),
    "ALAC": ("alac",),
    "AC-3": ("ac3",),
    "E-AC-3": ("eac3",),
    "AMR": ("amrnb", "amrwb", "libopencore_amrnb", "libopencore_amrwb"),
    "PCM": (
        *(f"pcm_{form}{order}" for form in _PCM_FORMS for order in ("le", "be")),
        *("pcm_s8", "pcm_u8", "pcm_alaw", "pcm_mulaw"),
    ),
}
"""The same for audio."""

DECODERS: Final = frozenset(
    name for codecs in (VIDEO_CODECS, AUDIO_CODECS) for names in codecs.values() for name in names
)


_MAGIC: Final = (b"GIF87a", b"GIF89a")
_USUAL_DELAY: Final = b"\x0a\x00"


def with_browser_delays(path: Path) -> "io.BytesIO | mmap.mmap | None":
    """Return the GIF data to read; None for a GIF without such frames and for other files."""
    # FFmpeg reports what is wrong with any other path; and opening a pipe could block forever.
    if not isinstance(path, RangedPath) and not (path.is_file() and os.access(path, os.R_OK)):
        return None
    with path.open("rb") as file:
        if file.read(6) not in _MAGIC:
            return None
        try:
            delays = short_delay_offsets(path)
        except TooManyFrames:
            return None
        if not delays:
            return None
        if isinstance(path, RangedPath):
            data = bytearray(path.read_bytes())
            _rewrite(data, delays)
            return io.BytesIO(data)
        # Uses memory only for the changed pages, not for the whole file.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    _rewrite(mapped, delays)
    return mapped


def _rewrite(data: bytearray | mmap.mmap, delays: list[int]) -> None:
    for at in delays:
        data[at : at + 2] = _USUAL_DELAY


MAX_SIDE_PX: Final = 8192
MAX_STREAMS: Final = 32

MAX_CHANNELS: Final = 64
RATES_HZ: Final = range(1_000, 768_001)

_OPTIONS: Final = {
    "format_whitelist": ",".join(CONTAINERS.values()),
    # For the decoders that FFmpeg opens to find out about the tracks; ours are checked below.
    "codec_whitelist": ",".join(sorted(DECODERS)),
    "protocol_whitelist": "file",
    "max_pixels": str(MAX_SIDE_PX**2),
}


def open_media(path: Path, reader: RangedReader | None = None) -> InputContainer:
    """Return the opened file; the caller closes it. Pass `reader` for a remote file."""
    if reader is None and isinstance(path, RangedPath):
        reader = path.reader()
    with translate_ffmpeg_errors(path):
        # With an explicit scheme, a file name cannot be mistaken for another protocol.
        source = with_browser_delays(path) or reader or f"file:{path}"
        container = av.open(source, "r", options=dict(_OPTIONS), metadata_errors="replace")
    try:
        _check_limits(container, path)
    except UnreadableMedia:
        container.close()
        raise
    return container


@contextmanager
def translate_ffmpeg_errors(path: Path) -> Iterator[None]:
    """Convert FFmpeg errors inside the block to `UnreadableMedia`."""
    try:
        yield
    except FileNotFoundError as error:
        raise UnreadableMedia(f"{path.name}: the file does not exist") from error
    except av.FFmpegError as error:
        # FFmpeg's error for a format that is not on the list.
        is_foreign = isinstance(error, av.ArgumentError)
        reason = _foreign_kind(path) if is_foreign else error.strerror or "unknown error"
        raise UnreadableMedia(
            f"{path.name}: not readable as video or sound ({reason}); supported formats are"
            f" {_listed(CONTAINERS)}"
        ) from error


def _foreign_kind(path: Path) -> str:
    with path.open("rb") as file:
        mime_type = sniff(file.read(HEAD_BYTES)).mime_type
    return "another kind of file" + (f": {mime_type}" if mime_type else "")


def video_stream(container: InputContainer) -> VideoStream | None:
    """Return the first video track that is not cover art."""
    return next((each for each in container.streams.video if not _is_cover(each)), None)


def _is_cover(stream: VideoStream) -> bool:
    return bool(stream.disposition & Disposition.attached_pic)


def has_alpha_track(stream: VideoStream) -> bool:
    """Return whether a VP8 or VP9 track has an alpha channel; the tag's case varies."""
    return any(
        name.lower() == "alpha_mode" and value == "1" for name, value in stream.metadata.items()
    )


def is_avi(stream: Stream) -> bool:
    """Return whether a stream is of an AVI, whose times are those of decoding.

    FFmpeg guesses when frames are shown; wrongly for MPEG-4 with two frames in a packet. A frame is
    shown when the decoder, given the packet of that time, returns it.
    """
    return stream.container.format.name == "avi"


def has_decode_times_only(stream: VideoStream) -> bool:
    """Return whether the decoder does not tell either when frames are shown: H.264 in AVI."""
    return is_avi(stream) and stream.codec_context.codec.canonical_name == "h264"


def require_decoder(stream: Stream, path: Path) -> None:
    """Refuse a track whose codec is unknown or not on the list."""
    context = stream.codec_context
    if context is None:
        raise UnreadableMedia(
            f"{path.name}: its {stream.type} track is in a codec that cannot be decoded"
        )
    if context.codec.name not in DECODERS:
        allowed = VIDEO_CODECS if stream.type == "video" else AUDIO_CODECS
        raise UnreadableMedia(
            f"{path.name}: its {stream.type} track is in the codec {context.codec.canonical_name};"
            f" supported are {_listed(allowed)}"
        )


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}"


def _check_limits(container: InputContainer, path: Path) -> None:
    count = len(container.streams)
    if count > MAX_STREAMS:
        raise UnreadableMedia(f"{path.name}: has {count} tracks; at most {MAX_STREAMS} are read")
    for video in container.streams.video:
        _check_video(video, path)
    for audio in container.streams.audio:
        # A track with an unknown codec has no context; it is refused when it is needed.
        if audio.codec_context is not None:
            _check_audio(audio, path)


def _check_video(stream: VideoStream, path: Path) -> None:
    # Cover art is never decoded.
    if not _is_cover(stream):
        require_decoder(stream, path)
    if max(stream.width, stream.height) > MAX_SIDE_PX:
        raise UnreadableMedia(
            f"{path.name}: frames of {stream.width}x{stream.height};"
            f" at most {MAX_SIDE_PX} pixels a side are supported"
        )


def _check_audio(stream: AudioStream, path: Path) -> None:
    require_decoder(stream, path)
    if stream.channels > MAX_CHANNELS:
        raise UnreadableMedia(
            f"{path.name}: has {stream.channels} audio channels;"
            f" at most {MAX_CHANNELS} are supported"
        )
    # Some formats state the rate only in their first packet.
    if stream.rate and stream.rate not in RATES_HZ:
        raise UnreadableMedia(
            f"{path.name}: audio at {stream.rate} Hz; supported are"
            f" {RATES_HZ.start:,} to {RATES_HZ[-1]:,} Hz"
        )


_MP4: Final = "mov,mp4,m4a,3gp,3g2,mj2"


def is_mp4(stream: Stream) -> bool:
    """Return whether a stream is of an MP4 or MOV, with or without fragments."""
    return stream.container.format.name == _MP4


_NO_TIMELINE: Final = {"mp3", "aac"}


def timeline_shift(stream: Stream) -> int:
    """Return the timestamp, in the stream's ticks, that is source time zero."""
    if stream.container.format.name in _NO_TIMELINE:
        return stream.start_time or 0
    return 0


def track_start_ms(stream: Stream) -> Fraction:
    """Return the source time at which a track starts."""
    ticks = (stream.start_time or 0) - timeline_shift(stream)
    return ticks * Fraction(stream.time_base or 0) * 1000


def library_versions() -> str:
    """Return the versions of PyAV and its libraries."""
    # Only workers that render need this, so callers that only plan do not pay for the import.
    import av  # noqa: PLC0415

    libraries = sorted(av.library_versions.items())
    return f"av {av.__version__} " + " ".join(
        f"{name} {'.'.join(map(str, version))}" for name, version in libraries
    )
