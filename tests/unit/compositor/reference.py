"""The plain way: everything in RGBA with fractions of one, to hold the fast way against."""

import numpy as np
import numpy.typing as npt

from framekiln.compositor.picture import Picture

Pixels = npt.NDArray[np.float64]


def rgba(height: int, width: int, seed: int, *, opaque: bool = False) -> npt.NDArray[np.uint8]:
    """Smooth colours, so that halved chroma says the same as whole chroma."""
    random = np.random.default_rng(seed)
    small = random.integers(0, 256, (3, 3, 4)).astype(np.float64)
    ys, xs = np.linspace(0, 2, height), np.linspace(0, 2, width)
    across = np.stack([_ramp(small[row], xs) for row in range(3)])
    pixels = np.stack([_ramp(across[:, column], ys) for column in range(width)], axis=1)
    if opaque:
        pixels[..., 3] = 255
    return np.rint(pixels).astype(np.uint8)


def over(top: npt.NDArray[np.uint8], bottom: Pixels, opacity: float = 1.0) -> Pixels:
    """Lay straight RGBA over opaque RGB of 0 to 255."""
    alpha = top[..., 3:].astype(np.float64) / 255 * opacity
    return top[..., :3] * alpha + bottom * (1 - alpha)


def rgb_of(picture: Picture) -> Pixels:
    """Return opaque planes as RGB of 0 to 255."""
    y = (picture.y.astype(np.float64) - 16) / 219
    u, v = (
        np.kron(p.astype(np.float64) - 128, np.ones((2, 2))) / 224 for p in (picture.u, picture.v)
    )
    red, blue = y + 1.5748 * v, y + 1.8556 * u
    green = (y - 0.2126 * red - 0.0722 * blue) / 0.7152
    return np.clip(np.stack([red, green, blue], axis=-1) * 255, 0, 255)


def _ramp(values: Pixels, at: Pixels) -> Pixels:
    places = np.arange(len(values))
    return np.stack([np.interp(at, places, values[:, c]) for c in range(values.shape[1])], axis=-1)
