"""Preset entrances and exits: their translation, scale and wipe of a layer."""

from dataclasses import dataclass, field
from fractions import Fraction

from framekiln.composition.layers.boxes import WHOLE, Rect
from framekiln.composition.layers.resolved import ResolvedLayer
from framekiln.composition.layers.transitions import Move, Preset, Side


@dataclass(frozen=True)
class PresetOffset:
    """The effect of presets on a layer. For `across` and `down`, -1 is fully out at left or top."""

    across: float = 0.0
    down: float = 0.0
    scale: float = 1.0
    reveal: Rect = field(default=WHOLE)


def preset_offset_at(layer: ResolvedLayer, time_s: Fraction) -> PresetOffset:
    """Return the effect of a layer's presets at an instant; several are combined."""
    presets = [each for each in layer.layer.transitions if isinstance(each, Preset)]
    shift = PresetOffset()
    if not presets:
        return shift
    wanted = sum((_longest(presets, is_in=way) for way in (True, False)), Fraction(0))
    fits = min(Fraction(1), layer.length_s / wanted)
    for preset in presets:
        gone_s = time_s - layer.start_s if preset.is_in else layer.end_s - time_s
        there = preset.easing(float(gone_s / (preset.duration_s * fits)))
        shift = _added(shift, preset, there)
    return shift


def _longest(presets: list[Preset], *, is_in: bool) -> Fraction:
    return max((each.duration_s for each in presets if each.is_in is is_in), default=Fraction(0))


def _added(shift: PresetOffset, preset: Preset, there: float) -> PresetOffset:
    out = 1 - there
    if preset.move is Move.ZOOM:
        return PresetOffset(shift.across, shift.down, shift.scale * max(0.0, there), shift.reveal)
    if preset.move is Move.WIPE:
        return PresetOffset(shift.across, shift.down, shift.scale, _revealed(preset.side, there))
    away = -out if preset.side in (Side.LEFT, Side.TOP) else out
    if preset.side in (Side.LEFT, Side.RIGHT):
        return PresetOffset(shift.across + away, shift.down, shift.scale, shift.reveal)
    return PresetOffset(shift.across, shift.down + away, shift.scale, shift.reveal)


def _revealed(side: Side, there: float) -> Rect:
    shown = min(1.0, max(0.0, there))
    if side is Side.LEFT:
        return Rect(0.0, 0.0, shown, 1.0)
    if side is Side.RIGHT:
        return Rect(1 - shown, 0.0, shown, 1.0)
    if side is Side.TOP:
        return Rect(0.0, 0.0, 1.0, shown)
    return Rect(0.0, 1 - shown, 1.0, shown)
