"""Transitions as values: fades, keyframes and preset entrances."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from framekiln.composition.layers.easing import LINEAR, Easing


class Property(StrEnum):
    """Properties that keyframes can change."""

    X = "x"
    Y = "y"
    SCALE = "scale"
    ANGLE = "angle"
    ANGLE_X = "angleX"
    ANGLE_Y = "angleY"
    OPACITY = "opacity"
    VOLUME = "volume"
    BLUR = "blur"
    WIDTH = "width"
    HEIGHT = "height"


class Side(StrEnum):
    """The side that an entrance comes from, or an exit goes to."""

    LEFT = "left"
    RIGHT = "right"
    TOP = "top"
    BOTTOM = "bottom"


class Move(StrEnum):
    """The type of an entrance or exit."""

    SLIDE = "slide"
    WIPE = "wipe"
    ZOOM = "zoom"


@dataclass(frozen=True)
class Fade:
    """A linear fade of alpha at the start or end of a layer, and of audio if `fades_sound`."""

    is_in: bool
    duration_s: Fraction
    fades_sound: bool = True
    is_crossfade: bool = False


@dataclass(frozen=True)
class Keyframe:
    """A value at an instant of the composition (in a group: of the group)."""

    property: Property
    time_s: Fraction
    value: float
    easing: Easing = LINEAR


@dataclass(frozen=True)
class Preset:
    """An entrance (`is_in`) or an exit."""

    move: Move
    is_in: bool
    duration_s: Fraction
    side: Side = Side.LEFT
    easing: Easing = LINEAR


Transition = Fade | Keyframe | Preset
