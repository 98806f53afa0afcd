"""A config with resolved times: the result of `resolve`, and the input of the compositor.

All times are exact seconds of the composition. Frame i is shown at i / fps; a layer is visible from
its first frame up to, not including, its end frame. A still has no frames: its layers are visible
from their very start up to, not including, their end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from framekiln.composition.layers.audio import LayerAudio
from framekiln.composition.layers.curves import Curve
from framekiln.composition.layers.fades import Fades
from framekiln.composition.layers.findings import ConfigFinding
from framekiln.composition.layers.source_window import SourceWindow
from framekiln.composition.layers.sources import PixelSize
from framekiln.composition.layers.transitions import Property
from framekiln.composition.layers.values import Dimensions, Layer, LayerConfig
from framekiln.timeline import Timeline


@dataclass(frozen=True)
class Dissolve:
    """A dissolve of two layers: from*(1-m) + to*m, computed apart from the background."""

    from_id: str
    to_id: str
    start_s: Fraction
    end_s: Fraction

    def mix_at(self, time_s: Fraction) -> float:
        """Return m: 0 at the start, 1 at the end."""
        share = (time_s - self.start_s) / (self.end_s - self.start_s)
        return float(min(max(share, Fraction(0)), Fraction(1)))

    def holds_at(self, time_s: Fraction) -> bool:
        """Whether the dissolve is active."""
        return self.start_s <= time_s < self.end_s


@dataclass(frozen=True, kw_only=True)
class ResolvedLayer:
    """One placed layer. `start_s` may be negative; the part before zero is not shown."""

    layer: Layer
    start_s: Fraction
    end_s: Fraction
    zero_s: Fraction
    """The zero of the container's time; keyframes are relative to it."""
    first_frame: int
    end_frame: int
    fps: Fraction
    is_in_still: bool
    canvas: PixelSize
    window: SourceWindow
    source: str | None = None
    """The URL in use: the file, or its fallback."""
    is_placeholder: bool = False
    natural: PixelSize | None = None
    """Of the source; of text only after measurement."""
    fades: Fades = field(default=Fades())
    curves: Mapping[Property, Curve] = field(default_factory=dict)
    dissolve_in: Dissolve | None = None
    dissolve_out: Dissolve | None = None
    children: tuple["ResolvedLayer", ...] = ()
    """Of a group: bottom first."""

    @property
    def id(self) -> str:
        """The layer's id."""
        return self.layer.id

    @property
    def length_s(self) -> Fraction:
        """Its duration."""
        return self.end_s - self.start_s

    @cached_property
    def frame_s(self) -> Fraction:
        """The duration of a frame."""
        return 1 / self.fps

    def is_on_at(self, time_s: Fraction) -> bool:
        """Whether it, or in a film one of its frames, is visible at an instant."""
        return self._appears_s <= time_s < self.vanishes_s

    @cached_property
    def _appears_s(self) -> Fraction:
        return self.start_s if self.is_in_still else self.first_frame / self.fps

    @cached_property
    def vanishes_s(self) -> Fraction:
        """When it is no longer visible."""
        return self.end_s if self.is_in_still else self.end_frame / self.fps


@dataclass(frozen=True, kw_only=True)
class ResolvedTimeline:
    """A whole film: canvas, frames, layers from bottom to top, dissolves, audio."""

    config: LayerConfig
    dimensions: Dimensions
    duration_s: Fraction
    timeline: Timeline
    layers: tuple[ResolvedLayer, ...]
    dissolves: tuple[Dissolve, ...] = ()
    sounds: tuple[LayerAudio, ...] = ()
    warnings: tuple[ConfigFinding, ...] = ()

    def every_layer(self) -> list[ResolvedLayer]:
        """Return the layers and all children, groups before their children."""
        found, waiting = list[ResolvedLayer](), list(reversed(self.layers))
        while waiting:
            layer = waiting.pop()
            found.append(layer)
            waiting += reversed(layer.children)
        return found
