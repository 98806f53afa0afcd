"""The v2 layer config: parsing, resolution of times, and layer states per frame. Pure.

read_config     JSON to `LayerConfig`, with warnings; raises `InvalidConfig`
resolve         `LayerConfig` and facts of sources to `ResolvedTimeline`
state_at        a `ResolvedLayer` at an instant: `LayerState`
write_config    `LayerConfig` to its normal JSON; `config_digest` of it
"""

from framekiln.composition.layers.audio import AudioSegment, LayerAudio
from framekiln.composition.layers.boxes import Rect, place_box
from framekiln.composition.layers.colours import Colour
from framekiln.composition.layers.config_json import (
    ParsedConfig,
    ReadOptions,
    config_digest,
    read_config,
    write_config,
)
from framekiln.composition.layers.findings import ConfigFinding, InvalidConfig
from framekiln.composition.layers.limits import ConfigLimits
from framekiln.composition.layers.resolved import Dissolve, ResolvedLayer, ResolvedTimeline
from framekiln.composition.layers.resolver import resolve
from framekiln.composition.layers.sources import PixelSize, SourceFacts, UnusableSource
from framekiln.composition.layers.state import LayerState, state_at, text_wrap_px
from framekiln.composition.layers.state_cache import LayerStateCache
from framekiln.composition.layers.values import LayerConfig

__all__ = [
    "AudioSegment",
    "Colour",
    "ConfigFinding",
    "ConfigLimits",
    "Dissolve",
    "InvalidConfig",
    "LayerAudio",
    "LayerConfig",
    "LayerState",
    "LayerStateCache",
    "ParsedConfig",
    "PixelSize",
    "ReadOptions",
    "Rect",
    "ResolvedLayer",
    "ResolvedTimeline",
    "SourceFacts",
    "UnusableSource",
    "config_digest",
    "place_box",
    "read_config",
    "resolve",
    "state_at",
    "text_wrap_px",
    "write_config",
]
