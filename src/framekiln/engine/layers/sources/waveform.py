"""Sound as a picture: what is heard around each instant, drawn in one of ten ways."""

from collections.abc import Callable
from fractions import Fraction

from framekiln.composition.layers import LayerState, PixelSize, ResolvedLayer
from framekiln.composition.layers.values import WaveformLayer
from framekiln.engine.layers.geometry import largest_side_px
from framekiln.engine.layers.painter import Look
from framekiln.engine.layers.wave_drawing import SAMPLES, draw_wave
from framekiln.media.hearing.source_samples import SourceSamples

OpenSamples = Callable[[], SourceSamples]


class WaveformPainter:
    """The sound of a file, or of the whole film: `is_mix` says that it is heard by film time."""

    def __init__(self, layer: ResolvedLayer, open_samples: OpenSamples, *, is_mix: bool) -> None:
        assert isinstance(layer.layer, WaveformLayer)
        self._style = layer.layer.waveform
        self._open_samples = open_samples
        self._is_mix = is_mix
        self._size = largest_side_px(layer)
        self._samples: SourceSamples | None = None
        self._time_s = Fraction(0)

    def content_at(self, time_s: Fraction) -> PixelSize | None:
        """It is as large as its box; this is where it hears the time of the film."""
        self._time_s = time_s
        return None

    def look(self, state: LayerState) -> Look:
        """Return the sound around the instant."""
        if self._samples is None:
            self._samples = self._open_samples()
        at_s = self._time_s if self._is_mix else state.source_s
        heard = self._samples.before(at_s * 1000 + _AHEAD_MS, SAMPLES)
        if not heard.any():
            return Look("silence", sheet=draw_wave(self._style, heard, self._size))
        return Look(("wave", at_s), sheet=draw_wave(self._style, heard, self._size))

    def close(self) -> None:
        """Free the decoder."""
        if self._samples is not None:
            self._samples.close()
        self._samples = None


# The instant stands in the middle of what is looked at.
_AHEAD_MS = Fraction(SAMPLES * 1000, 2 * 48_000)
