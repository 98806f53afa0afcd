"""What is known about sources: told by whoever fetched and probed them."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from framekiln.composition.layers.findings import Finding, Findings
from framekiln.composition.layers.values import (
    AudioLayer,
    ImageLayer,
    Layer,
    LottieLayer,
    OnError,
    SubtitlesLayer,
    VideoLayer,
    WaveformLayer,
)


@dataclass(frozen=True)
class PixelSize:
    """Width and height, not necessarily whole."""

    width: float
    height: float


@dataclass(frozen=True)
class SourceFacts:
    """A source that can be used. Sides are as shown: turned, with square pixels."""

    size: PixelSize | None = None
    """None if it has no picture."""
    duration_s: Fraction | None = None
    """None for stills and texts, and where nobody knows."""
    has_sound: bool = False


@dataclass(frozen=True)
class Unusable:
    """A source that cannot be used; `code` is `asset_unreachable` or `asset_unsupported`."""

    code: str
    message: str


Media = Mapping[str, SourceFacts | Unusable]
"""By address."""


@dataclass(frozen=True)
class Source:
    """What a layer shows or plays; without `address` it needs none, or is a placeholder."""

    address: str | None
    facts: SourceFacts
    is_placeholder: bool = False


_SKIPPED = Source(None, SourceFacts())


def find_source(layer: Layer, media: Media, findings: Findings) -> Source | None:
    """Return the source of a layer, or None when the layer is to be left out.

    A source that cannot be used is an issue, unless the layer says what to do then.
    """
    addresses = addresses_of(layer)
    if not addresses:
        return _SKIPPED
    problem = Unusable("asset_unreachable", "was not fetched")
    for address in addresses:
        facts = media.get(address, problem)
        found = facts if isinstance(facts, Unusable) else _unfit(layer, facts)
        if found is None and isinstance(facts, SourceFacts):
            return Source(address, facts)
        problem = found or problem
    if layer.on_error is OnError.FAIL:
        findings.add_issue(
            Finding(f"{layer.path}.file", problem.code, f"layer {layer.id}: {problem.message}")
        )
        return None
    findings.add_warning(
        Finding(
            f"{layer.path}.file",
            problem.code,
            f"layer {layer.id}: {problem.message}; {_REMEDY[layer.on_error]}",
        )
    )
    if layer.on_error is OnError.SKIP or isinstance(layer, AudioLayer):
        return None
    return Source(None, SourceFacts(), is_placeholder=True)


_REMEDY = {
    OnError.SKIP: "the layer is left out",
    OnError.PLACEHOLDER: "a placeholder is shown",
}


def addresses_of(layer: Layer) -> list[str]:
    """Return what a layer would fetch: its file, then its fallback."""
    if not isinstance(
        layer, VideoLayer | AudioLayer | ImageLayer | LottieLayer | WaveformLayer | SubtitlesLayer
    ):
        return []
    if isinstance(layer, LottieLayer) and layer.animation is not None:
        return []
    if layer.file is None:
        return []
    return [layer.file] if layer.fallback_file is None else [layer.file, layer.fallback_file]


def _unfit(layer: Layer, facts: SourceFacts) -> Unusable | None:
    needs_picture = isinstance(layer, VideoLayer | ImageLayer | LottieLayer)
    if needs_picture and (facts.size is None or min(facts.size.width, facts.size.height) <= 0):
        return Unusable("asset_unsupported", "the source has no picture")
    if isinstance(layer, AudioLayer | WaveformLayer) and not facts.has_sound:
        return Unusable("asset_unsupported", "the source has no sound")
    return None
