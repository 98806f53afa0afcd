"""Measures audio of media files: where beeps start, loudness, and audio/video offset."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

import av
import numpy as np
from numpy.typing import NDArray

from tests.support.clips import BEEP_HZ
from tests.support.looks import colour_at, iter_frames

Samples = NDArray[np.float32]

# Whole periods of the tone; half of it is how far an onset is blurred before it is located.
WINDOW_S = 0.004
FLOOR_LEVEL = 0.02
GAP_S = 0.02
# Containers with millisecond times misplace packets by up to one.
PLACEMENT_SLACK_S = 0.002
FLASH_LEVEL = 180


@dataclass(frozen=True)
class DecodedAudio:
    """Decoded audio, one row per channel; the first sample plays at `start_s`."""

    samples: Samples
    rate_hz: int
    start_s: Fraction

    @property
    def mono(self) -> Samples:
        """The mean of all channels."""
        mixed: Samples = self.samples.mean(axis=0, dtype=np.float32)
        return mixed


def decode_audio(path: Path) -> DecodedAudio:
    """Return the first audio track at its own rate; gaps between packets become silence."""
    with av.open(path) as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="fltp")
        start_s: Fraction | None = None
        parts: list[Samples] = []
        length = 0
        for decoded in container.decode(stream):
            at_s = (decoded.pts or 0) * Fraction(decoded.time_base or 0)
            start_s = at_s if start_s is None else start_s
            gap = round((at_s - start_s) * stream.rate) - length
            if gap > PLACEMENT_SLACK_S * stream.rate:
                parts.append(np.zeros((stream.channels, gap), np.float32))
                length += gap
            for frame in resampler.resample(decoded):
                parts.append(frame.to_ndarray().astype(np.float32))
                length += frame.samples
        samples = np.concatenate(parts, axis=1) if parts else np.zeros((stream.channels, 0))
        return DecodedAudio(samples.astype(np.float32), stream.rate, start_s or Fraction(0))


def find_beeps(samples: Samples, rate_hz: int) -> list[float]:
    """Return the start of each 1 kHz beep, in seconds from the first sample."""
    window = max(1, round(WINDOW_S * rate_hz))
    envelope = _tone_level(samples, rate_hz, window)
    if len(envelope) == 0:
        return []
    power = _running_mean(samples.astype(np.float64) ** 2, window)
    threshold = max(FLOOR_LEVEL, 0.2 * float(envelope.max()))
    beeps = []
    for start, end in _active_ranges(envelope > threshold, round(GAP_S * rate_hz)):
        peak = start + int(envelope[start:end].argmax())
        level = float(np.median(envelope[start:end]))
        # A tone has nearly all of the power; clicks, speech and noise do not.
        if level**2 / 2 < 0.5 * float(power[peak]) or end - start < 2 * window:
            continue
        # The centred window is half filled exactly where the beep starts.
        onset = start + int((envelope[start:end] >= level / 2).argmax())
        beeps.append(onset / rate_hz)
    return beeps


def beep_times(path: Path) -> list[float]:
    """Return the start of each beep of a file, in seconds on its presentation timeline."""
    sound = decode_audio(path)
    return [float(sound.start_s) + at_s for at_s in find_beeps(sound.mono, sound.rate_hz)]


def flash_times(path: Path) -> list[float]:
    """Return the start of each run of white frames, measured outside of the frame code."""
    times = []
    was_white = False
    for frame in iter_frames(path):
        height, width = frame.rgb.shape[:2]
        is_white = min(colour_at(frame.rgb, width // 8, height // 8)) >= FLASH_LEVEL
        if is_white and not was_white:
            times.append(float(frame.pts))
        was_white = is_white
    return times


def rms(samples: Samples) -> float:
    """Return the root mean square of all samples; 0 for none."""
    if samples.size == 0:
        return 0.0
    return float(np.sqrt(np.mean(samples.astype(np.float64) ** 2)))


def av_offset_ms(path: Path) -> float:
    """Return the delay of beeps relative to their flashes, the median over a clip.

    They come once a second, so a beep half a second away belongs to another flash.
    """
    flashes, beeps = flash_times(path), beep_times(path)
    offsets = [b - f for f in flashes for b in beeps if abs(b - f) < 0.5]
    if not offsets:
        message = f"{path.name}: no pair in {len(flashes)} flashes and {len(beeps)} beeps"
        raise ValueError(message)
    return 1000 * median(offsets)


def _tone_level(samples: Samples, rate_hz: int, window: int) -> NDArray[np.float64]:
    """Return the level of the 1 kHz band around each sample."""
    phase = np.exp(-2j * np.pi * BEEP_HZ * np.arange(len(samples)) / rate_hz)
    shifted = samples.astype(np.float64) * phase
    real, imaginary = _running_mean(shifted.real, window), _running_mean(shifted.imag, window)
    return 2 * np.hypot(real, imaginary)


def _running_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return means over a centred window; outside of the signal is silence."""
    before = window // 2
    padded = np.pad(values, (before + 1, window - before - 1))
    sums = np.cumsum(padded)
    return (sums[window:] - sums[:-window]) / window


def _active_ranges(active: NDArray[np.bool_], gap: int) -> list[tuple[int, int]]:
    """Return start and end of each run of True, bridging gaps shorter than `gap`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    stretches: list[tuple[int, int]] = []
    for start, end in edges.reshape(-1, 2).tolist():
        if stretches and start - stretches[-1][1] < gap:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return stretches
