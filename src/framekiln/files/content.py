"""Finds the type of uploaded bytes from the content, never from the name or the declared type.

Only the first bytes are read here; a confined child reads the rest.
"""

from pathlib import Path
from typing import Final

from framekiln.files.errors import WrongContent
from framekiln.files.model import MAX_BYTES, FileFacts, FileType
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.media_kind import MediaKind
from framekiln.media.errors import UnreadableCaptions
from framekiln.media.sniff import HEAD_BYTES, sniff
from framekiln.media.task_names import CAPTION_CHECK_TASK, IMAGE_FACTS_TASK

# Sound is a video without a video track.
_KINDS: Final[dict[FileType, tuple[MediaKind, ...]]] = {
    FileType.VIDEO: (MediaKind.VIDEO, MediaKind.AUDIO),
    FileType.IMAGE: (MediaKind.IMAGE,),
    FileType.CAPTION: (MediaKind.CAPTION,),
}
_EXAMPLES: Final[dict[FileType, str]] = {
    FileType.VIDEO: "MP4, MOV, WebM, MKV, AVI, Ogg or sound",
    FileType.IMAGE: "JPEG, PNG, WebP, GIF or SVG",
    FileType.CAPTION: "WebVTT, SubRip or JSON",
}
_CHECKS: Final[dict[FileType, str]] = {
    FileType.IMAGE: IMAGE_FACTS_TASK,
    FileType.CAPTION: CAPTION_CHECK_TASK,
}
_LIMITS: Final = ResourceLimits(
    cpu_s=30, memory_bytes=1 << 30, file_bytes=MAX_BYTES[FileType.IMAGE], wall_s=60
)


def check_type(file_type: FileType, path: Path) -> str:
    """Return the media type of a file's content, or raise `WrongContent`."""
    with path.open("rb") as file:
        found = sniff(file.read(HEAD_BYTES))
    if found.kind not in _KINDS[file_type] or found.mime_type is None:
        raise WrongContent(
            f"the content is {found.mime_type or 'of an unknown type'}; a file of type"
            f" {file_type} must be {_EXAMPLES[file_type]}",
            media_type=found.mime_type,
        )
    return found.mime_type


async def inspect_content(file_type: FileType, path: Path) -> FileFacts:
    """Return the facts of an image or caption, or raise when it is invalid.

    `path` must be alone in its folder, which the confined child gets.
    """
    media_type = check_type(file_type, path)
    try:
        result = await run_confined(
            _CHECKS[file_type],
            {"source": path.name},
            limits=_LIMITS,
            folder=path.parent,
        )
    except UnreadableCaptions as error:
        raise WrongContent(error.message) from error
    return FileFacts(media_type, result.get("width_px"), result.get("height_px"))
