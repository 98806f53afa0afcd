"""The log-mel spectrogram, the input of the recognizer: a hundred frames per second. Pure."""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.speech.model import SAMPLE_HZ, Samples

WINDOW_S: Final = 30
WINDOW_SAMPLES: Final = WINDOW_S * SAMPLE_HZ
FRAMES: Final = WINDOW_S * 100

_FFT_SAMPLES: Final = 400
_HOP_SAMPLES: Final = 160
# Slaney's scale: linear up to 1 kHz, logarithmic above.
_HZ_PER_MEL: Final = 200 / 3
_EDGE_HZ: Final = 1000.0
_EDGE_MEL: Final = _EDGE_HZ / _HZ_PER_MEL
_LOG_STEP: Final = np.log(6.4) / 27

Floats = NDArray[np.float32]


def log_mel(samples: Samples, *, bands: int) -> Floats:
    """Return `bands` x 3000 features of at most 30 s; shorter input is padded with silence."""
    window = np.zeros(WINDOW_SAMPLES, np.float32)
    window[: len(samples)] = samples[:WINDOW_SAMPLES]
    padded = np.pad(window, _FFT_SAMPLES // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FFT_SAMPLES)[::_HOP_SAMPLES]
    spectrum = np.fft.rfft(frames[:FRAMES] * _hann(), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    loudness = np.log10(np.maximum(mel_filters(bands) @ power.T, 1e-10))
    loudness = np.maximum(loudness, loudness.max() - 8)
    return np.asarray((loudness + 4) / 4, np.float32)


@cache
def mel_filters(bands: int) -> Floats:
    """Return one triangular filter over the 201 frequencies for each band, all of equal area."""
    frequencies_hz = np.linspace(0, SAMPLE_HZ / 2, _FFT_SAMPLES // 2 + 1)
    edges_hz = _hz(np.linspace(0, _mel(SAMPLE_HZ / 2), bands + 2))
    widths_hz = np.diff(edges_hz)
    distances = edges_hz[:, None] - frequencies_hz[None, :]
    rising = -distances[:-2] / widths_hz[:-1, None]
    falling = distances[2:] / widths_hz[1:, None]
    heights = 2 / (edges_hz[2:] - edges_hz[:-2])
    return np.asarray(np.maximum(0, np.minimum(rising, falling)) * heights[:, None], np.float32)


@cache
def _hann() -> Floats:
    return np.asarray(np.hanning(_FFT_SAMPLES + 1)[:-1], np.float32)


def _mel(hz: float) -> float:
    if hz < _EDGE_HZ:
        return hz / _HZ_PER_MEL
    return float(_EDGE_MEL + np.log(hz / _EDGE_HZ) / _LOG_STEP)


def _hz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    logarithmic = _EDGE_HZ * np.exp(_LOG_STEP * (mels - _EDGE_MEL))
    return np.where(mels >= _EDGE_MEL, logarithmic, mels * _HZ_PER_MEL)
