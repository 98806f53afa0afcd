"""A layer config as values: the result of `read_config`. All defaults are filled in.

Times are exact seconds. `path` is the path of a layer in the config, such as `layers.2`.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Final
from uuid import UUID, uuid5

from framekiln.composition.layers.colours import BLACK, Colour
from framekiln.composition.layers.filters import Filter
from framekiln.composition.layers.frozen_json import FrozenJson
from framekiln.composition.layers.geometry import Position, Size
from framekiln.composition.layers.styles import (
    FontStyle,
    Shape,
    SubtitleStyle,
    TextStyle,
    Waveform,
)
from framekiln.composition.layers.transitions import Transition
from framekiln.composition.render_preset import RenderPreset


class LayerType(StrEnum):
    """The layer types."""

    VIDEO = "video"
    AUDIO = "audio"
    IMAGE = "image"
    TEXT = "text"
    HTML = "html"
    LOTTIE = "lottie"
    WAVEFORM = "waveform"
    SUBTITLES = "subtitles"
    FILTER = "filter"
    GROUP = "group"
    SEQUENCE = "sequence"
    SHAPE = "shape"


class OnError(StrEnum):
    """What to do when the source of a layer cannot be used."""

    FAIL = "fail"
    SKIP = "skip"
    PLACEHOLDER = "placeholder"


class Anchor(StrEnum):
    """The reference point of a start relative to another layer."""

    AFTER = "after"
    WITH = "with"


@dataclass(frozen=True)
class Start:
    """The start of a layer: `at_s`, relative to zero or to another layer's end or start."""

    at_s: Fraction = Fraction(0)
    anchor: Anchor | None = None
    layer_id: str | None = None


@dataclass(frozen=True)
class Trim:
    """The used part of a source: up to `end_s`, a time of the source, not a duration."""

    start_s: Fraction = Fraction(0)
    end_s: Fraction | None = None


@dataclass(frozen=True)
class Duck:
    """Lower a layer's audio by `amount` (1 is silence) while any of the others is audible."""

    under: tuple[str, ...]
    amount: float = 0.7


@dataclass(frozen=True)
class LayerSound:
    """The `audio` of a layer."""

    volume: float = 1.0
    duck: Duck | None = None


@dataclass(frozen=True)
class Loop:
    """The number of plays of a source; `plays` None is until the end of the composition."""

    plays: int | None = 1


@dataclass(frozen=True)
class ChromaKey:
    """A colour that becomes transparent; both numbers are 0 to 1."""

    color: Colour
    similarity: float = 0.3
    blend: float = 0.1


_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WITHOUT_ID: Final = UUID("6f1d6f0e-5e0b-5b62-9a39-4b7bb3a4b2f5")


def default_layer_id(path: str) -> str:
    """Return the id of a layer that was sent without one: always the same for the same config."""
    return str(uuid5(_WITHOUT_ID, path))


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Fields of every layer."""

    path: str
    id: str
    name: str | None = None
    is_visible: bool = True
    start: Start = Start()
    trim: Trim = Trim()
    transitions: tuple[Transition, ...] = ()
    opacity: float = 1.0
    on_error: OnError = OnError.FAIL

    @property
    def label(self) -> str:
        """What messages with the layer's path call it."""
        return f"layer {self.id}" if self.has_readable_id else "the layer"

    @property
    def full_label(self) -> str:
        """What is shown without the layer's path calls it: its id, or its type and its path."""
        kind = type(self).__name__.removesuffix("Layer").lower()
        return f"layer {self.id}" if self.has_readable_id else f"{kind} {self.path}"

    @property
    def prefix(self) -> str:
        """The start of messages that have the layer's path, too."""
        return f"layer {self.id}: " if self.has_readable_id else ""

    @property
    def has_readable_id(self) -> bool:
        """Whether its author knows the id; nobody knows a UUID, of us or of a program."""
        return not _UUID.fullmatch(self.id)


@dataclass(frozen=True, kw_only=True)
class VisualLayer(Layer):
    """A layer with a box."""

    position: Position = field(default=Position())
    size: Size = field(default=Size())
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VideoLayer(VisualLayer):
    """A video with its audio."""

    file: str
    fallback_file: str | None = None
    sound: LayerSound = LayerSound()
    speed: Fraction = Fraction(1)
    loop: Loop = Loop()
    freeze: bool = False
    """Hold the last frame after the end."""
    chroma_key: ChromaKey | None = None


@dataclass(frozen=True, kw_only=True)
class AudioLayer(Layer):
    """An audio file."""

    file: str
    fallback_file: str | None = None
    sound: LayerSound = LayerSound()
    speed: Fraction = Fraction(1)
    loop: Loop = Loop()


@dataclass(frozen=True, kw_only=True)
class ImageLayer(VisualLayer):
    """An image, still or animated."""

    file: str
    fallback_file: str | None = None
    chroma_key: ChromaKey | None = None


@dataclass(frozen=True, kw_only=True)
class TextLayer(VisualLayer):
    """A styled text."""

    text: TextStyle


@dataclass(frozen=True)
class HtmlPage:
    """The content of an html layer: `body` with `styles`, a complete `document`, or a `url`."""

    body: str | None = None
    styles: str | None = None
    document: str | None = None
    url: str | None = None
    selector: str | None = None
    with_tailwind: bool = False
    has_transparent_background: bool = False


@dataclass(frozen=True, kw_only=True)
class HtmlLayer(VisualLayer):
    """A page."""

    html: HtmlPage


@dataclass(frozen=True, kw_only=True)
class LottieLayer(VisualLayer):
    """A vector animation: its JSON, or a file of it. Holds its last frame."""

    animation: FrozenJson | None = None
    file: str | None = None
    fallback_file: str | None = None
    loop: Loop = Loop()


@dataclass(frozen=True, kw_only=True)
class WaveformLayer(VisualLayer):
    """The waveform of `file`, or of the whole mix. It is not audible."""

    file: str | None = None
    fallback_file: str | None = None
    waveform: Waveform = field(default=Waveform())


@dataclass(frozen=True, kw_only=True)
class SubtitlesLayer(VisualLayer):
    """Captions; `size` is always the default."""

    file: str
    fallback_file: str | None = None
    subtitles: SubtitleStyle = field(default=SubtitleStyle())


@dataclass(frozen=True, kw_only=True)
class FilterLayer(Layer):
    """Changes everything below it; only z of `position` has an effect."""

    filter: Filter
    position: Position = field(default=Position())


@dataclass(frozen=True, kw_only=True)
class GroupLayer(VisualLayer):
    """Layers composited on their own canvas, then placed as one image."""

    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SequenceLayer(Layer):
    """Layers one after another; crossfades overlap."""

    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShapeLayer(VisualLayer):
    """A drawn shape."""

    shape: Shape


class Extension(StrEnum):
    """The output format."""

    MP4 = "mp4"
    GIF = "gif"
    WEBM = "webm"
    MOV = "mov"
    JPG = "jpg"
    PNG = "png"
    WEBP = "webp"

    @property
    def is_still(self) -> bool:
        """Whether the output is one image."""
        return self in (Extension.JPG, Extension.PNG, Extension.WEBP)


@dataclass(frozen=True)
class Dimensions:
    """The canvas; both sides are even."""

    width_px: int
    height_px: int


@dataclass(frozen=True)
class Font:
    """A font to load before text is drawn."""

    family: str
    src: str
    weight: int | None = None
    style: FontStyle | None = None


@dataclass(frozen=True)
class MixSettings:
    """The `audio` of a config; `target_lufs` has an effect only with normalization."""

    normalize: bool = False
    target_lufs: float = -16.0
    limiter: bool = True


@dataclass(frozen=True)
class OutputSettings:
    """The `output` of a config."""

    crf: float | None = None
    video_bitrate: int | None = None
    """Bits per second."""


@dataclass(frozen=True, kw_only=True)
class LayerConfig:
    """A whole config. Without `dimensions` or `duration_s`, the layers decide."""

    background: Colour = BLACK
    dimensions: Dimensions | None = None
    duration_s: Fraction | None = None
    fps: Fraction = Fraction(30)
    preset: RenderPreset = RenderPreset.STANDARD
    extension: Extension = Extension.MP4
    time_s: Fraction = Fraction(0)
    """Of a still."""
    filename: str | None = None
    metadata: FrozenJson = field(default=FrozenJson())
    layers: tuple[Layer, ...] = ()
    should_watermark: bool = False
    fonts: tuple[Font, ...] = ()
    audio: MixSettings = MixSettings()
    output: OutputSettings = OutputSettings()
    callback: str | None = None
