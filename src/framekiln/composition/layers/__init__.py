"""The layer config of v2: read from JSON, settled in time, asked frame by frame. Pure.

read_config     JSON to `LayerConfig`, with warnings; raises `InvalidConfig`
resolve         `LayerConfig` and facts of sources to `ResolvedTimeline`
state_at        a `ResolvedLayer` at an instant: `LayerState`
write_config    `LayerConfig` to its normal JSON; `config_digest` of it
"""

from framekiln.composition.layers.boxes import Rect, place_box
from framekiln.composition.layers.colours import Colour
from framekiln.composition.layers.findings import Finding, InvalidConfig
from framekiln.composition.layers.limits import Limits
from framekiln.composition.layers.reading import ReadConfig, ReadingOptions, read_config
from framekiln.composition.layers.resolved import Dissolve, ResolvedLayer, ResolvedTimeline
from framekiln.composition.layers.sounds import Sound, SoundPiece
from framekiln.composition.layers.sources import PixelSize, SourceFacts, Unusable
from framekiln.composition.layers.state import LayerState, state_at, text_room_px
from framekiln.composition.layers.states import LayerStates
from framekiln.composition.layers.timeline import resolve
from framekiln.composition.layers.values import LayerConfig
from framekiln.composition.layers.writing import config_digest, write_config

__all__ = [
    "Colour",
    "Dissolve",
    "Finding",
    "InvalidConfig",
    "LayerConfig",
    "LayerState",
    "LayerStates",
    "Limits",
    "PixelSize",
    "ReadConfig",
    "ReadingOptions",
    "Rect",
    "ResolvedLayer",
    "ResolvedTimeline",
    "Sound",
    "SoundPiece",
    "SourceFacts",
    "Unusable",
    "config_digest",
    "place_box",
    "read_config",
    "resolve",
    "state_at",
    "text_room_px",
    "write_config",
]
