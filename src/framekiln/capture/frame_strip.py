"""The frame number as a colour, which some pages paint on the row below the image.

It proves that the image shows the requested frame, at the cost of reading one row. Not every page
paints it, so it is required only after it was right twice.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.capture.errors import PageOutOfStep

_PROOFS: Final = 2


def read_strip(row: NDArray[np.uint8]) -> int | None:
    """Return the number in a row of BGRA pixels; None if the row is not of one colour."""
    colours = row.reshape(-1, row.shape[-1])[:, :3]
    if (colours != colours[0]).any():
        return None
    blue, green, red = (int(part) for part in colours[0])
    return red << 16 | green << 8 | blue


class FrameStrip:
    """Checks the strip of one page, if it has one."""

    def __init__(self) -> None:
        self._proofs = 0

    def check(self, number: int, below: NDArray[np.uint8]) -> None:
        """Raise if the rows below the image of frame `number` belong to another frame."""
        if not below.size:
            return
        seen = read_strip(below[-1])
        if seen == number:
            # Frame 0 is black, and so are many pages without a strip.
            self._proofs += number > 0
        elif self._proofs >= _PROOFS:
            shown = "no frame's strip" if seen is None else f"frame {seen}"
            raise PageOutOfStep(
                f"the page said that frame {number} was ready, but shows {shown}",
            )
