"""Opens media containers: known formats only; references to other files or URLs are not followed.

A playlist named .mp4 is refused before any of its lines is followed. All FFmpeg errors about a file
become `UnreadableMedia` here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.container import InputContainer
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from framekiln.kit.ranged_path import RangedPath, RangedReader
from framekiln.media.errors import UnreadableMedia
from framekiln.media.gif_delays import with_browser_delays

LARGEST_SIDE_PX: Final = 8192
MOST_STREAMS: Final = 32

_FORMATS: Final = "mov,mp4,m4a,matroska,webm,avi,ogg,mp3,wav,flac,aac,gif"
_OPTIONS: Final = {
    "format_whitelist": _FORMATS,
    "protocol_whitelist": "file",
    "max_pixels": str(LARGEST_SIDE_PX**2),
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
        reason = "another kind of file" if is_foreign else error.strerror or "unknown error"
        raise UnreadableMedia(
            f"{path.name}: not readable as video or sound ({reason}); supported formats are"
            " MP4, MOV, M4A, MKV, WebM, AVI, Ogg, MP3, WAV, FLAC, AAC and GIF"
        ) from error


def video_stream(container: InputContainer) -> VideoStream | None:
    """Return the first video track that is not cover art."""
    tracks = (s for s in container.streams.video if not s.disposition & Disposition.attached_pic)
    return next(tracks, None)


def has_alpha_track(stream: VideoStream) -> bool:
    """Return whether a VP8 or VP9 track has an alpha channel; the tag's case varies."""
    return any(
        name.lower() == "alpha_mode" and value == "1" for name, value in stream.metadata.items()
    )


def require_decoder(stream: Stream, path: Path) -> None:
    """Refuse a track whose codec is unknown."""
    if stream.codec_context is None:
        raise UnreadableMedia(
            f"{path.name}: its {stream.type} track is in a codec that cannot be decoded"
        )


def _check_limits(container: InputContainer, path: Path) -> None:
    count = len(container.streams)
    if count > MOST_STREAMS:
        raise UnreadableMedia(f"{path.name}: has {count} tracks; at most {MOST_STREAMS} are read")
    for stream in container.streams.video:
        require_decoder(stream, path)
        if max(stream.width, stream.height) > LARGEST_SIDE_PX:
            raise UnreadableMedia(
                f"{path.name}: frames of {stream.width}x{stream.height};"
                f" at most {LARGEST_SIDE_PX} pixels a side are supported"
            )


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
