"""Sources of a page's elements: their facts, and their pictures by time.

The facts come from `probe_source`, as they do for layers.
"""

from pathlib import Path
from typing import Final

from framekiln.kit.media_kind import MediaKind
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.picture_frames import PictureFrames
from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.probe.source import probe_source

Pictures = FrameSource | PictureFrames

_REMEDIES: Final = {
    MediaKind.CAPTION: "it has captions: show them with ef-captions",
    MediaKind.LOTTIE: "it is a Lottie animation: have a script in the page play it",
}


def probe_played(path: Path) -> ProbedSource:
    """Return the facts of a source that an element plays; raise if it cannot be played."""
    found = probe_source(path)
    if found.kind in _REMEDIES:
        raise UnreadableMedia(_REMEDIES[found.kind])
    if found.codec == "svg":
        raise UnreadableMedia("it is an SVG drawing: show it with ef-image")
    return found


def open_pictures(found: ProbedSource, path: Path, *, width_px: int, height_px: int) -> Pictures:
    """Return the pictures of a source by time; the caller closes them."""
    kind = PictureFrames if found.kind is MediaKind.IMAGE else FrameSource
    return kind(path, width_px=width_px, height_px=height_px)
