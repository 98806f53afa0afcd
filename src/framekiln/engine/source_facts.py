"""Facts of sources for a timeline: the same for a plan and for its film."""

from framekiln.composition.layers import PixelSize, SourceFacts, UnusableSource
from framekiln.composition.layers.numbers import seconds_on_grid
from framekiln.kit.errors import FramekilnError
from framekiln.media.probe.probed_source import ProbedSource

UNREACHABLE = "asset_unreachable"
UNSUPPORTED = "asset_unsupported"


def timeline_facts(found: ProbedSource | UnusableSource) -> SourceFacts | UnusableSource:
    """Return the facts of a source that a timeline needs, with times on the timeline's grid."""
    if isinstance(found, UnusableSource):
        return found
    size = None
    if found.width_px is not None and found.height_px is not None:
        size = PixelSize(found.width_px, found.height_px)
    duration_s = None if found.duration_s is None else seconds_on_grid(found.duration_s)
    return SourceFacts(found.kind, size, duration_s, has_sound=found.has_sound)


def unreachable(address: str, reason: str) -> UnusableSource:
    """Return the entry for a source that could not be fetched."""
    return UnusableSource(UNREACHABLE, f"{address[:200]} could not be fetched: {reason}")


def unsupported(address: str, error: FramekilnError) -> UnusableSource:
    """Return the entry for a source that was fetched and cannot be used."""
    return UnusableSource(UNSUPPORTED, f"{address[:200]} cannot be used: {error.message}")
