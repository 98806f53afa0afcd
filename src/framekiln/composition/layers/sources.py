"""Facts about sources, from probes of the fetched files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from framekiln.composition.layers.findings import ConfigFinding, ConfigFindings
from framekiln.composition.layers.frozen_json import FrozenJson
from framekiln.composition.layers.numbers import seconds_on_grid
from framekiln.composition.layers.values import (
    AudioLayer,
    GroupLayer,
    ImageLayer,
    Layer,
    LottieLayer,
    OnError,
    SequenceLayer,
    SubtitlesLayer,
    VideoLayer,
    WaveformLayer,
)
from framekiln.kit.lottie import lottie_facts
from framekiln.kit.media_kind import MediaKind


@dataclass(frozen=True)
class PixelSize:
    """Width and height, not necessarily whole numbers."""

    width: float
    height: float


@dataclass(frozen=True)
class SourceFacts:
    """A usable source. Its size is as displayed: rotated, with square pixels."""

    kind: MediaKind
    size: PixelSize | None = None
    """None if it has no video."""
    duration_s: Fraction | None = None
    """None for stills and texts, and if it is unknown."""
    has_sound: bool = False


@dataclass(frozen=True)
class UnusableSource:
    """An unusable source; `code` is `asset_unreachable` or `asset_unsupported`."""

    code: str
    message: str


SourceFactsByUrl = Mapping[str, SourceFacts | UnusableSource]
"""By URL."""


@dataclass(frozen=True)
class LayerSource:
    """The source of a layer; without `address` none is needed, or it is a placeholder."""

    address: str | None
    facts: SourceFacts | None = None
    is_placeholder: bool = False

    @property
    def size(self) -> PixelSize | None:
        """The size of the source, if it has one."""
        return self.facts.size if self.facts else None

    @property
    def duration_s(self) -> Fraction | None:
        """The duration of the source, if it has one."""
        return self.facts.duration_s if self.facts else None

    @property
    def has_sound(self) -> bool:
        """Whether it has audio."""
        return self.facts is not None and self.facts.has_sound


_NO_SOURCE = LayerSource(None)


def find_source(
    layer: Layer, media: SourceFactsByUrl, findings: ConfigFindings
) -> LayerSource | None:
    """Return the source of a layer, or None if the layer is to be left out.

    An unusable source is an issue, unless the layer defines what to do.
    """
    if isinstance(layer, LottieLayer) and layer.animation is not None:
        return LayerSource(None, _inline_facts(layer.animation))
    addresses = addresses_of(layer)
    if not addresses:
        return _NO_SOURCE
    problem = UnusableSource("asset_unreachable", "was not fetched")
    for address in addresses:
        facts = media.get(address, problem)
        found = facts if isinstance(facts, UnusableSource) else _kind_mismatch(layer, facts)
        if found is None and isinstance(facts, SourceFacts):
            return LayerSource(address, facts)
        problem = found or problem
    if layer.on_error is OnError.FAIL:
        findings.add_issue(
            ConfigFinding(f"{layer.path}.file", problem.code, f"{layer.prefix}{problem.message}")
        )
        return None
    findings.add_warning(
        ConfigFinding(
            f"{layer.path}.file",
            problem.code,
            f"{layer.prefix}{problem.message}; {_REMEDY[layer.on_error]}",
        )
    )
    if layer.on_error is OnError.SKIP or isinstance(layer, AudioLayer):
        return None
    return LayerSource(None, is_placeholder=True)


def _inline_facts(animation: FrozenJson) -> SourceFacts:
    facts = lottie_facts(animation.thaw())
    size = PixelSize(facts.width_px, facts.height_px)
    return SourceFacts(MediaKind.LOTTIE, size, seconds_on_grid(facts.duration_s))


_REMEDY = {
    OnError.SKIP: "the layer is left out",
    OnError.PLACEHOLDER: "a placeholder is shown",
}


def every_layer(layers: Iterable[Layer]) -> Iterator[Layer]:
    """Yield layers and all their descendants, groups before their children."""
    for layer in layers:
        yield layer
        if isinstance(layer, GroupLayer | SequenceLayer):
            yield from every_layer(layer.layers)


def addresses_of(layer: Layer) -> list[str]:
    """Return the URLs that a layer would fetch: its file, then its fallback."""
    if not isinstance(
        layer, VideoLayer | AudioLayer | ImageLayer | LottieLayer | WaveformLayer | SubtitlesLayer
    ):
        return []
    if isinstance(layer, LottieLayer) and layer.animation is not None:
        return []
    if layer.file is None:
        return []
    return [layer.file] if layer.fallback_file is None else [layer.file, layer.fallback_file]


def _kind_mismatch(layer: Layer, facts: SourceFacts) -> UnusableSource | None:
    """Return why a layer cannot use this source, or None."""
    kinds = next(kinds for type_, kinds in _KINDS.items() if isinstance(layer, type_))
    if facts.kind not in kinds:
        return UnusableSource("asset_unsupported", _MISFITS[facts.kind])
    is_seen = isinstance(layer, VideoLayer | ImageLayer | LottieLayer)
    if is_seen and (facts.size is None or min(facts.size.width, facts.size.height) <= 0):
        return UnusableSource("asset_unsupported", "the source has no picture")
    if isinstance(layer, AudioLayer | WaveformLayer) and not facts.has_sound:
        return UnusableSource("asset_unsupported", "the source has no sound")
    return None


_PICTURES = (MediaKind.VIDEO, MediaKind.IMAGE)
_KINDS: Mapping[type[Layer], tuple[MediaKind, ...]] = {
    VideoLayer: _PICTURES,
    ImageLayer: _PICTURES,
    LottieLayer: (MediaKind.LOTTIE,),
    AudioLayer: (MediaKind.VIDEO, MediaKind.AUDIO),
    WaveformLayer: (MediaKind.VIDEO, MediaKind.AUDIO),
    SubtitlesLayer: (MediaKind.CAPTION,),
}
_MISFITS = {
    MediaKind.VIDEO: "the source is a video: use a video layer",
    MediaKind.AUDIO: "the source has no picture, only sound: use an audio layer",
    MediaKind.IMAGE: "the source is a picture without sound: use an image layer",
    MediaKind.CAPTION: "the source has captions: use a subtitles layer",
    MediaKind.LOTTIE: "the source is a Lottie animation: use a lottie layer",
}
