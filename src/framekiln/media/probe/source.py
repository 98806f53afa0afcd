"""Probes a source by its content: kind, size, duration, rate, rotation, transparency, audio, codec.

The only module that does so. Plans and metadata run it in a confined child process, films and pages
on their local files. File names and content types are not trusted.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from framekiln.kit.lottie import lottie_facts
from framekiln.kit.media_kind import MediaKind
from framekiln.media.captions import caption_bytes, read_captions
from framekiln.media.errors import UnreadableCaptions, UnreadableMedia
from framekiln.media.images.image_facts import image_facts
from framekiln.media.lottie_file import read_lottie
from framekiln.media.probe.media_file import probe_media
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.probe.truncation import check_complete
from framekiln.media.sniff import HEAD_BYTES, sniff


def probe_source_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Probe `source`, for `run_confined`."""
    return probe_source(Path(args["source"])).to_json()


def probe_source(path: Path) -> ProbedSource:
    """Return the facts of a file, or raise why it cannot be used."""
    with path.open("rb") as file:
        found = sniff(file.read(HEAD_BYTES))
    mime_type = found.mime_type or ""
    if mime_type.startswith("image/"):
        return _image(path)
    if mime_type in _LOTTIE_TYPES:
        return _lottie(path)
    if found.kind is MediaKind.CAPTION:
        return _captions(path)
    if mime_type == "text/plain":
        return _probe_captions(path)
    if mime_type in _REMEDIES:
        raise UnreadableMedia(_REMEDIES[mime_type])
    return _media(path)


# A .lottie file is a ZIP archive.
_LOTTIE_TYPES: Final = ("application/json", "application/zip")
_REMEDIES: Final = {
    "text/html": "it is a web page; give the address of the media file itself",
}


def _lottie(path: Path) -> ProbedSource:
    facts = lottie_facts(read_lottie(path))
    return ProbedSource(
        kind=MediaKind.LOTTIE,
        size_bytes=path.stat().st_size,
        codec="lottie",
        width_px=facts.width_px,
        height_px=facts.height_px,
        has_alpha=True,
        duration_s=facts.duration_s,
        fps=facts.fps,
    )


def _captions(path: Path) -> ProbedSource:
    data = caption_bytes(path)
    read_captions(data)
    return ProbedSource(kind=MediaKind.CAPTION, size_bytes=len(data))


def _probe_captions(path: Path) -> ProbedSource:
    try:
        return _captions(path)
    except UnreadableCaptions as error:
        raise UnreadableMedia(f"it is plain text, but not captions: {error.message}") from error


def _image(path: Path) -> ProbedSource:
    facts = image_facts(path)
    duration_ms = facts.duration_ms
    return ProbedSource(
        kind=MediaKind.IMAGE,
        size_bytes=path.stat().st_size,
        codec=facts.mime_type.partition("/")[2].partition("+")[0],
        width_px=facts.width_px,
        height_px=facts.height_px,
        rotation_degrees=facts.rotation_degrees,
        has_alpha=facts.has_alpha,
        duration_s=duration_ms and duration_ms / 1000,
        fps=duration_ms and 1000 * len(facts.times.frame_ms) / duration_ms,
        frame_ms=facts.times.frame_ms,
        plays=facts.times.plays,
    )


def _media(path: Path) -> ProbedSource:
    check_complete(path)
    facts = probe_media(path)
    video, audio = facts.video, facts.audio
    return ProbedSource(
        kind=MediaKind.VIDEO if video else MediaKind.AUDIO,
        size_bytes=path.stat().st_size,
        codec=video.codec if video else None,
        width_px=video.width_px if video else None,
        height_px=video.height_px if video else None,
        rotation_degrees=video.rotation_degrees if video else 0,
        is_upright=video is None or video.is_upright,
        has_alpha=video is not None and video.has_alpha,
        is_interlaced=video is not None and video.is_interlaced,
        duration_s=facts.duration_ms / 1000,
        fps=video.fps or None if video else None,
        sound_codec=audio.codec if audio else None,
        rate_hz=audio.rate_hz if audio else None,
        channels=audio.channels if audio else None,
    )
