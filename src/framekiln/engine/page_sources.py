"""Sources of a page's elements: their facts, and their pictures by time.

The facts come from the same probe as those of layers.
"""

from pathlib import Path
from typing import Final

from framekiln.kit.media_kind import MediaKind
from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.source_session import SourceSession

_REMEDIES: Final = {
    MediaKind.CAPTION: "it has captions: show them with ef-captions",
    MediaKind.LOTTIE: "it is a Lottie animation: have a script in the page play it",
}


def probe_played(session: SourceSession, path: Path, *, name: str) -> ProbedSource:
    """Return the facts of a source that an element plays; raise if it cannot be played."""
    found = session.probe(path, name=name)
    if found.kind in _REMEDIES:
        raise UnreadableMedia(_REMEDIES[found.kind])
    if found.codec == "svg":
        raise UnreadableMedia("it is an SVG drawing: show it with ef-image")
    return found
