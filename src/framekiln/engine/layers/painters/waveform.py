"""Waveforms: the audio around each instant, drawn in one of ten styles."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from framekiln.composition.layers import Colour, LayerState, PixelSize, ResolvedLayer
from framekiln.composition.layers.styles import Waveform, WaveStyle
from framekiln.composition.layers.values import WaveformLayer
from framekiln.compositor.picture import Plane, Rgba
from framekiln.engine.layers.geometry import largest_side_px
from framekiln.engine.layers.painter import SourceImage
from framekiln.media.audio.source_samples import SourceSamples

Levels = npt.NDArray[np.float64]
SizePx = tuple[int, int]

WAVEFORM_SAMPLES: Final = 2048
_BANDS: Final = 48
_POINTS: Final = 128
_LOWEST_DB: Final = -80.0
_HIGHEST_DB: Final = -18.0
_LOWEST_HZ: Final = 60.0
_HIGHEST_HZ: Final = 12_000.0
_RATE_HZ: Final = 48_000
_FINER: Final = 2
_BRICKS: Final = 16
_ROWS_AT_A_TIME: Final = 64


def draw_waveform(style: Waveform, samples: npt.NDArray[np.float32], size: SizePx) -> Rgba:
    """Return the audio as premultiplied RGBA."""
    fine = (size[0] * _FINER, size[1] * _FINER)
    mask, second = _DRAWERS[style.style](samples.astype(np.float64), fine)
    sheet = _filled(size, style.background)
    for cover, colour in ((second, style.secondary), (mask, style.color)):
        if cover is not None and not colour.is_transparent:
            small = cv2.resize(cover, size, interpolation=cv2.INTER_AREA)
            sheet = _over(sheet, np.asarray(small, np.uint8), colour)
    return sheet


def band_levels(samples: Levels, count: int = _BANDS) -> Levels:
    """Return the level of each frequency band, 0 to 1, low frequencies first."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) / (len(samples) / 4)
    edges = np.geomspace(_LOWEST_HZ, _HIGHEST_HZ, count + 1) * len(samples) / _RATE_HZ
    starts = np.floor(edges[:-1]).astype(int)
    ends = np.maximum(starts + 1, np.ceil(edges[1:]).astype(int))
    loud = np.array([spectrum[a:b].max() for a, b in zip(starts, ends, strict=True)])
    db = 20 * np.log10(np.maximum(loud, 1e-9))
    levels: Levels = np.clip((db - _LOWEST_DB) / (_HIGHEST_DB - _LOWEST_DB), 0, 1)
    return levels


WaveformMasks = tuple[Plane, Plane | None]
DrawMasks = Callable[[Levels, SizePx], WaveformMasks]


def _canvas(size: SizePx) -> Plane:
    return np.zeros((size[1], size[0]), np.uint8)


def _boxes(count: int, width: int, gap: float) -> list[tuple[int, int]]:
    pitch = width / count
    return [
        (round(n * pitch + pitch * gap / 2), max(1, round(pitch * (1 - gap)))) for n in range(count)
    ]


def _bars(samples: Levels, size: SizePx) -> WaveformMasks:
    """Bars that grow from the bottom."""
    mask = _canvas(size)
    for (left, wide), level in zip(
        _boxes(_BANDS, size[0], 0.35), band_levels(samples), strict=True
    ):
        high = max(2, round(level * size[1]))
        mask[size[1] - high :, left : left + wide] = 255
    return mask, None


def _bars_vertical(samples: Levels, size: SizePx) -> WaveformMasks:
    """Horizontal bars that grow from the left."""
    mask, _ = _bars(samples, (size[1], size[0]))
    return np.ascontiguousarray(np.rot90(mask, -1)), None


def _round_bars(samples: Levels, size: SizePx) -> WaveformMasks:
    """Bars with round ends, centred vertically."""
    mask = _canvas(size)
    for (left, wide), level in zip(_boxes(_BANDS, size[0], 0.4), band_levels(samples), strict=True):
        reach = max(0, round((level * size[1] - wide) / 2))
        middle, x = size[1] // 2, left + wide // 2
        ends = ((x, middle - reach), (x, middle + reach))
        cv2.line(mask, *ends, 255, thickness=wide)
        for end in ends:
            cv2.circle(mask, end, wide // 2, 255, thickness=-1)
    return mask, None


def _bricks(samples: Levels, size: SizePx) -> WaveformMasks:
    """Stacks of bricks from the bottom."""
    mask, _ = _bars(samples, size)
    mask[:: max(1, size[1] // _BRICKS)] = 0
    gap = max(1, size[1] // _BRICKS // 4)
    for line in range(gap):
        mask[line :: max(2, size[1] // _BRICKS)] = 0
    return mask, None


def _equalizer(samples: Levels, size: SizePx) -> WaveformMasks:
    """Stacks of bricks; bricks above the level have the second colour."""
    mask, _ = _bricks(samples, size)
    full, _ = _bricks(np.ones_like(samples) * 0, size)
    for left, wide in _boxes(_BANDS, size[0], 0.35):
        full[:, left : left + wide] = 255
    step = max(2, size[1] // _BRICKS)
    for line in range(max(1, step // 4)):
        full[line::step] = 0
    return mask, np.asarray(cv2.subtract(full, mask), np.uint8)


def _pixel(samples: Levels, size: SizePx) -> WaveformMasks:
    """Bars without gaps, in coarse steps."""
    mask = _canvas(size)
    steps = np.rint(band_levels(samples) * _BRICKS) / _BRICKS
    for (left, wide), level in zip(_boxes(_BANDS, size[0], 0.0), steps, strict=True):
        high = max(2, round(level * size[1]))
        mask[size[1] - high :, left : left + wide + 1] = 255
    return mask, None


def _line(samples: Levels, size: SizePx) -> WaveformMasks:
    """The waveform, with straight lines between points."""
    return _stroked(_wave_points(samples, size, _POINTS), size), None


def _curve(samples: Levels, size: SizePx) -> WaveformMasks:
    """The waveform as a smooth curve."""
    return _stroked(_wave_points(_softened(samples), size, size[0] // 2), size), None


def _wave(samples: Levels, size: SizePx) -> WaveformMasks:
    """Levels by frequency as a filled shape, mirrored about the middle."""
    return _mirrored(band_levels(samples), size), None


def _wave_smooth(samples: Levels, size: SizePx) -> WaveformMasks:
    """The same as a smooth curve."""
    levels = band_levels(samples)
    kernel = np.hanning(9) / np.hanning(9).sum()
    soft = np.convolve(np.pad(levels, 4, mode="edge"), kernel, mode="valid")
    fine = np.interp(np.linspace(0, len(soft) - 1, size[0] // 2), np.arange(len(soft)), soft)
    return _mirrored(fine, size), None


_DRAWERS: Final[dict[WaveStyle, DrawMasks]] = {
    WaveStyle.BARS: _bars,
    WaveStyle.BARS_VERTICAL: _bars_vertical,
    WaveStyle.BRICKS: _bricks,
    WaveStyle.CURVE: _curve,
    WaveStyle.EQUALIZER: _equalizer,
    WaveStyle.LINE: _line,
    WaveStyle.PIXEL: _pixel,
    WaveStyle.ROUND_BARS: _round_bars,
    WaveStyle.WAVE: _wave,
    WaveStyle.WAVE_SMOOTH: _wave_smooth,
}


def _wave_points(samples: Levels, size: SizePx, count: int) -> npt.NDArray[np.int32]:
    places = np.linspace(0, len(samples) - 1, max(2, count))
    values = np.interp(places, np.arange(len(samples)), np.clip(samples, -1, 1))
    xs = np.linspace(0, size[0] - 1, len(values))
    ys = size[1] / 2 - values * (size[1] / 2 - _thickness(size))
    points: npt.NDArray[np.int32] = np.rint(np.stack([xs, ys], axis=1)).astype(np.int32)
    return points


def _softened(samples: Levels) -> Levels:
    kernel = np.hanning(65) / np.hanning(65).sum()
    soft: Levels = np.convolve(samples, kernel, mode="same")
    return soft


def _thickness(size: SizePx) -> int:
    return max(2, min(size) // 40)


def _stroked(points: npt.NDArray[np.int32], size: SizePx) -> Plane:
    mask = _canvas(size)
    cv2.polylines(mask, [points], isClosed=False, color=255, thickness=_thickness(size))
    return mask


def _mirrored(levels: Levels, size: SizePx) -> Plane:
    mask = _canvas(size)
    xs = np.linspace(0, size[0] - 1, len(levels))
    reach = np.maximum(levels * size[1] / 2, 1)
    upper = np.stack([xs, size[1] / 2 - reach], axis=1)
    lower = np.stack([xs, size[1] / 2 + reach], axis=1)[::-1]
    cv2.fillPoly(mask, [np.rint(np.concatenate([upper, lower])).astype(np.int32)], 255)
    return mask


def _filled(size: SizePx, colour: Colour) -> Rgba:
    sheet: Rgba = np.zeros((size[1], size[0], 4), np.uint8)
    if not colour.is_transparent:
        sheet = _over(sheet, np.full((size[1], size[0]), 255, np.uint8), colour)
    return sheet


def _over(sheet: Rgba, mask: Plane, colour: Colour) -> Rgba:
    """Draw a colour through a mask over premultiplied pixels."""
    tone = np.array([colour.red, colour.green, colour.blue, 255], np.float32)
    laid = np.empty_like(sheet)
    # In parts: the numbers of a whole sheet would take gigabytes, and no processor's cache.
    for top in range(0, len(sheet), _ROWS_AT_A_TIME):
        rows = slice(top, top + _ROWS_AT_A_TIME)
        cover = mask[rows].astype(np.float32)[..., None] * (colour.alpha / 255 / 255)
        laid[rows] = np.rint(cover * tone + sheet[rows] * (1 - cover))
    return laid


OpenSamples = Callable[[], SourceSamples]


class WaveformPainter:
    """The audio of a file, or of the whole film: `is_mix` means that it follows film time."""

    def __init__(self, layer: ResolvedLayer, open_samples: OpenSamples, *, is_mix: bool) -> None:
        assert isinstance(layer.layer, WaveformLayer)
        self._style = layer.layer.waveform
        self._open_samples = open_samples
        self._is_mix = is_mix
        self._size = largest_side_px(layer)
        self._samples: SourceSamples | None = None
        self._time_s = Fraction(0)

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """Has no own size; stores the time for `image`."""
        self._time_s = time_s
        return None

    def image(self, state: LayerState) -> SourceImage:
        """Return the audio around the instant."""
        if self._samples is None:
            self._samples = self._open_samples()
        at_s = self._time_s if self._is_mix else state.source_s
        window = self._samples.before(at_s * 1000 + _AHEAD_MS, WAVEFORM_SAMPLES)
        if not window.any():
            return SourceImage("silence", sheet=draw_waveform(self._style, window, self._size))
        return SourceImage(("wave", at_s), sheet=draw_waveform(self._style, window, self._size))

    def close(self) -> None:
        """Release the decoder."""
        if self._samples is not None:
            self._samples.close()
        self._samples = None


# The instant is in the middle of the window.
_AHEAD_MS = Fraction(WAVEFORM_SAMPLES * 1000, 2 * 48_000)
