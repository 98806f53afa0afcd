"""Maps BT.2020 frames, HDR or not, to BT.709 for standard displays.

Light is mapped according to BT.2390: everything darker than reference white keeps its brightness,
and highlights are compressed up to the peak. Hues stay: all three colours are scaled alike, and
colours outside BT.709 lose saturation. Pure arithmetic on arrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]
Colour = tuple[Numbers, Numbers, Numbers]
"""Red, green and blue."""

WHITE_NITS: Final = 203.0
"""Reference white in HDR (BT.2408), which becomes the brightest level in SDR."""
HLG_PEAK_NITS: Final = 1000
_PQ_TOP_NITS: Final = 10_000.0
# SMPTE ST 2084.
_M1: Final = 2610 / 16384
_M2: Final = 2523 / 4096 * 128
_C1: Final = 3424 / 4096
_C2: Final = 2413 / 4096 * 32
_C3: Final = 2392 / 4096 * 32
# ARIB STD-B67.
_A: Final = 0.17883277
_B: Final = 1 - 4 * _A
_C: Final = 0.5 - _A * log(4 * _A)
_HLG_SYSTEM_GAMMA: Final = 1.2
# BT.1886, the display curve of BT.709.
_SCREEN_GAMMA: Final = 2.4
_LUMA_2020: Final = (0.2627, 0.6780, 0.0593)
LUMA_709: Final = (0.2126, 0.7152, 0.0722)
_TO_709: Final = (
    (1.660491, -0.587641, -0.072850),
    (-0.124550, 1.132900, -0.008349),
    (-0.018151, -0.100579, 1.118730),
)
# How far colours outside BT.709 are mixed with grey. Fully mixed, red would become pink; not mixed
# at all, detail in them would be lost. The rest is clipped.
_LESS_SATURATED: Final = 0.5
_DARKEST: Final = 1e-6
_POINTS: Final = 4096


class TransferCurve(Enum):
    """The transfer curve of BT.2020 frames."""

    PQ = "pq"
    HLG = "hlg"
    SCREEN = "screen"
    """The curve of standard video: only the gamut is wide."""


@dataclass(frozen=True)
class Bt2020Transfer:
    """How to interpret the values of a BT.2020 frame."""

    curve: TransferCurve
    peak_nits: int = HLG_PEAK_NITS
    """The peak luminance; brighter values are clipped to it."""


class ToneMapping:
    """The mapping for one transfer. Powers are looked up in tables, because they are slow."""

    def __init__(self, transfer: Bt2020Transfer) -> None:
        self._curve = transfer.curve
        self._light = _table(_LIGHTS[transfer.curve])
        # Dark values need a finer grid: tables over light are evenly spaced by its root.
        self._system = _table(lambda root: root ** (2 * (_HLG_SYSTEM_GAMMA - 1)))
        self._peak = transfer.peak_nits / WHITE_NITS
        self._ratio = _table(lambda root: _ratio(root**2 * transfer.peak_nits, transfer.peak_nits))
        self._screen = _table(lambda root: root ** (2 / _SCREEN_GAMMA))

    def apply(self, signal: Colour) -> Colour:
        """Return R'G'B' of BT.709, 0 to 1, for R'G'B' of BT.2020."""
        light = _each(lambda colour: _look_up(self._light, colour), signal)
        if self._curve is TransferCurve.HLG:
            bright = _look_up(self._system, np.sqrt(_weighted(_LUMA_2020, light)))
            light = _each(lambda colour: colour * (bright * (HLG_PEAK_NITS / WHITE_NITS)), light)
        if self._curve is not TransferCurve.SCREEN:
            brightest = np.maximum(np.maximum(light[0], light[1]), light[2])
            ratio = _look_up(self._ratio, np.sqrt(brightest * (1 / self._peak)))
            light = _each(lambda colour: colour * ratio, light)
        return _each(lambda colour: _look_up(self._screen, np.sqrt(colour)), _into_709(light))


def _table(function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Numbers:
    return function(np.linspace(0, 1, _POINTS)).astype(np.float32)


def _look_up(table: Numbers, places: Numbers) -> Numbers:
    """Return table values at positions from 0 to 1; positions outside are clamped."""
    index = (places * (_POINTS - 1) + 0.5).astype(np.intp)
    return table.take(index, mode="clip")


def _pq_nits(signal: NDArray[np.float64]) -> NDArray[np.float64]:
    power = signal ** (1 / _M2)
    light = np.maximum(power - _C1, 0) / (_C2 - _C3 * power)
    nits: NDArray[np.float64] = light ** (1 / _M1) * _PQ_TOP_NITS
    return nits


def _pq_signal(nits: NDArray[np.float64]) -> NDArray[np.float64]:
    power = (nits / _PQ_TOP_NITS) ** _M1
    signal: NDArray[np.float64] = ((_C1 + _C2 * power) / (1 + _C3 * power)) ** _M2
    return signal


def _hlg_scene(signal: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(signal <= 0.5, signal**2 / 3, (np.exp((signal - _C) / _A) + _B) / 12)


# PQ codes the light of a display, relative to white here; HLG codes the scene, from 0 to 1.
_LIGHTS: Final[dict[TransferCurve, Callable[[NDArray[np.float64]], NDArray[np.float64]]]] = {
    TransferCurve.PQ: lambda signal: _pq_nits(signal) / WHITE_NITS,
    TransferCurve.HLG: _hlg_scene,
    TransferCurve.SCREEN: lambda signal: signal**_SCREEN_GAMMA,
}


def _ratio(nits: NDArray[np.float64], peak_nits: int) -> NDArray[np.float64]:
    """Return the factor that keeps light below white: BT.2390 without its black adjustment."""
    peak, white = _pq_signal(np.array([peak_nits, WHITE_NITS], float))
    level = np.minimum(_pq_signal(nits) / peak, 1)
    top = white / peak
    knee = max(1.5 * top - 0.5, 0.0)
    t = np.maximum(level - knee, 0) / (1 - knee)
    bent = (
        (2 * t**3 - 3 * t**2 + 1) * knee
        + (t**3 - 2 * t**2 + t) * (1 - knee)
        + (3 * t**2 - 2 * t**3) * top
    )
    return np.where(level < knee, 1, _pq_nits(bent * peak) / np.maximum(nits, _DARKEST))


def _into_709(light: Colour) -> Colour:
    """Convert the primaries; a colour outside the gamut is mixed with its own grey."""
    red, green, blue = colour = (
        _weighted(_TO_709[0], light),
        _weighted(_TO_709[1], light),
        _weighted(_TO_709[2], light),
    )
    lowest = np.minimum(np.minimum(red, green), blue)
    highest = np.maximum(np.maximum(red, green), blue)
    if lowest.min(initial=0) >= 0 and highest.max(initial=0) <= 1:
        return colour
    grey = np.clip(_weighted(LUMA_709, colour), 0, 1)
    under = grey / np.maximum(grey - lowest, _DARKEST)
    over = (1 - grey) / np.maximum(highest - grey, _DARKEST)
    share = np.minimum(np.minimum(under, over), 1) * _LESS_SATURATED + (1 - _LESS_SATURATED)
    return _each(lambda each: np.clip(grey + (each - grey) * share, 0, 1), colour)


def _each(change: Callable[[Numbers], Numbers], colour: Colour) -> Colour:
    red, green, blue = colour
    return change(red), change(green), change(blue)


def _weighted(weights: Sequence[float], colour: Colour) -> Numbers:
    total: Numbers = weights[0] * colour[0] + weights[1] * colour[1] + weights[2] * colour[2]
    return total
