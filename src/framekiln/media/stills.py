"""Single pictures: decoding and encoding image files."""

import io

import av
import numpy as np
from numpy.typing import NDArray

from framekiln.kit.errors import FramekilnError


class UnreadableImage(FramekilnError):
    """The bytes are not a picture we can decode."""

    code = "unreadable_image"


def decode_bgra(data: bytes) -> NDArray[np.uint8]:
    """Return the picture as height x width x BGRA."""
    try:
        with av.open(io.BytesIO(data), "r") as container:
            picture = next(container.decode(video=0))
            return np.asarray(picture.to_ndarray(format="bgra"), np.uint8)
    except (av.FFmpegError, StopIteration) as error:
        raise UnreadableImage(f"not a readable picture: {error}") from error
