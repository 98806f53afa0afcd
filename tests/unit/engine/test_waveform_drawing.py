"""Waveforms of any size take memory for their pictures only."""

import tracemalloc

import numpy as np

from framekiln.composition.layers import Colour
from framekiln.composition.layers.styles import Waveform, WaveStyle
from framekiln.engine.layers.painters.waveform import draw_waveform

SIZE = (1024, 1024)
MAX_BYTES_PER_PIXEL = 24
"""Two pictures, and two masks at twice their width and height."""


def test_a_large_waveform_takes_no_more_than_its_pictures() -> None:
    """The colours of a whole picture were computed at once: 2 GB for 4096x4096."""
    red, grey = Colour(255, 0, 0, 128), Colour(128, 128, 128, 255)
    style = Waveform(style=WaveStyle.EQUALIZER, color=red, secondary=grey, background=grey)
    tracemalloc.start()
    try:
        picture = draw_waveform(style, np.zeros(2048, np.float32), SIZE)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes / (SIZE[0] * SIZE[1]) < MAX_BYTES_PER_PIXEL
    assert np.array_equal(np.unique(picture[..., 3]), [255])
