"""Writes a finished frame into an encoder buffer, one plane after the other.

Frames with alpha are unpremultiplied first, because video files store straight alpha.
"""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from framekiln.compositor.picture import BLACK, Picture, Plane
from framekiln.pixels.blend import unpremultiply


def write_planes(picture: Picture, buffer: Plane) -> None:
    """Write luma, both chroma planes, and alpha if the picture has it."""
    planes = (
        (picture.y, picture.u, picture.v) if picture.alpha is None else unpremultiplied(picture)
    )
    for place, plane in zip(_places(buffer, [p.shape for p in planes]), planes, strict=True):
        np.copyto(place, plane)


def buffer_planes(buffer: Plane, width_px: int, height_px: int) -> tuple[Plane, ...]:
    """Return views of the planes of an opaque frame in the buffer, to draw into directly."""
    half = (height_px // 2, width_px // 2)
    return tuple(_places(buffer, [(height_px, width_px), half, half]))


def _places(buffer: Plane, shapes: Sequence[tuple[int, ...]]) -> Iterator[Plane]:
    flat, start = buffer.reshape(-1), 0
    for shape in shapes:
        end = start + prod(shape)
        yield flat[start:end].reshape(shape)
        start = end
    assert start == flat.size, "the buffer is for another picture"


def unpremultiplied(picture: Picture) -> tuple[Plane, Plane, Plane, Plane]:
    """Return the planes with straight alpha; fully transparent pixels become black."""
    assert picture.alpha is not None
    assert picture.chroma_alpha is not None
    covers = (picture.alpha, picture.chroma_alpha, picture.chroma_alpha)
    planes = (picture.y, picture.u, picture.v)
    black = (BLACK.y, BLACK.u, BLACK.v)
    y, u, v = (
        unpremultiply(plane, cover, nothing=nothing)
        for plane, cover, nothing in zip(planes, covers, black, strict=True)
    )
    return y, u, v, picture.alpha
