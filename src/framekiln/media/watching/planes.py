"""The planes of a decoded picture as arrays that lie where the picture lies."""

from typing import TypeVar

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from framekiln.pixels.conversion import Planes

Pixels = NDArray[np.uint8]
Number = TypeVar("Number", bound=np.generic)


def plane_of(frame: VideoFrame, number: int, kind: type[Number]) -> NDArray[Number]:
    """Return one plane of numbers as rows x columns, without copying it."""
    plane = frame.planes[number]
    row_bytes = plane.line_size
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, row_bytes)
    numbers: NDArray[Number] = rows.view(kind)[:, : plane.width]
    return numbers


def planes_of(frame: VideoFrame) -> Planes:
    """Return luma and chroma of 8 bits, without copying them."""
    luma, blue, red = (plane_of(frame, number, np.uint8) for number in range(3))
    return Planes(luma, blue, red)
