"""The layout of a frame in a slot of shared memory, the same for both sides of a session."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class FramePlanes:
    """A frame as 4:2:0 planes in BT.709 limited range; `alpha`, if present, is full range."""

    luma: Pixels
    blue: Pixels
    red: Pixels
    alpha: Pixels | None


def rgba_bytes(size: tuple[int, int]) -> int:
    """Return the bytes of a frame as RGBA."""
    return 4 * size[0] * size[1]


def rgba_view(slot: memoryview, size: tuple[int, int]) -> Pixels:
    """Return a slot as height x width x RGBA."""
    width, height = size
    return np.frombuffer(slot, np.uint8, 4 * width * height).reshape(height, width, 4)


def planes_bytes(size: tuple[int, int]) -> int:
    """Return the bytes of a frame as 4:2:0 planes with alpha; both sides are even."""
    return 5 * size[0] * size[1] // 2


def plane_views(slot: memoryview, size: tuple[int, int]) -> FramePlanes:
    """Return a slot as planes: luma, blue, red and alpha."""
    width, height = size
    half = width // 2, height // 2
    planes, at = [], 0
    for columns, rows in (size, half, half, size):
        plane = np.frombuffer(slot, np.uint8, columns * rows, at).reshape(rows, columns)
        planes.append(plane)
        at += columns * rows
    return FramePlanes(*planes)
