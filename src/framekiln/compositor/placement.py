"""Transforms a picture by one 3x3 matrix: translation, scale, rotation, perspective.

A matrix maps continuous source coordinates (pixel n reaches from n to n + 1) to canvas coordinates.
The cheapest exact method is used: a translation by even pixels costs nothing, an upright scale to
even edges is a resize, and everything else is a warp with antialiased edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isfinite
from typing import Final, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from framekiln.compositor.picture import Picture, Plane
from framekiln.compositor.rect import PixelRect
from framekiln.pixels.warp import IndexMap, index_map, warp

Matrix: TypeAlias = npt.NDArray[np.float64]

_SAME: Final = 1e-4
"""In pixels. Positions closer than this are equal."""
_FLAT: Final = 1e-9
UPRIGHT: Final = 1e-9
"""A matrix with less than this beside its diagonal turns nothing."""


@dataclass(frozen=True, eq=False)
class PlacedPicture:
    """A picture in canvas pixels; its corner has even coordinates."""

    picture: Picture
    left: int
    top: int

    @cached_property
    def rect(self) -> PixelRect:
        """The part of the canvas that it covers."""
        return PixelRect(
            self.left,
            self.top,
            self.left + self.picture.width_px,
            self.top + self.picture.height_px,
        )


def translation_matrix(x: float, y: float) -> Matrix:
    """Return the matrix of a translation."""
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]], np.float64)


def scale_matrix(x: float, y: float) -> Matrix:
    """Return the matrix of a scale about the origin."""
    return np.diag([x, y, 1.0])


def place(
    picture: Picture, matrix: Matrix, *, within: PixelRect, has_fine_edges: bool = False
) -> PlacedPicture | None:
    """Return the picture transformed by the matrix; None if it is outside of the bounds.

    One with fine edges that is about twice as large as it is shown is not reduced before it is
    sampled: its edges stay as sharp as if they were drawn there.
    """
    box = _upright_box(picture, matrix)
    if box is not None:
        edges = [round(edge / 2) * 2 for edge in box]
        if max(abs(edge - near) for edge, near in zip(box, edges, strict=True)) < _SAME:
            return _resized(picture, PixelRect(*edges))
    corners = _corners(picture, matrix)
    if corners is None:
        return None
    across, down = zip(*corners, strict=True)
    around = PixelRect.around(min(across), min(down), max(across), max(down))
    target = around.intersection(within)
    if target.is_empty:
        return None
    return _warped(picture, matrix, target, pixels_each=2 if has_fine_edges else 1)


def _corners(picture: Picture, matrix: Matrix) -> list[tuple[float, float]] | None:
    """Return the transformed corners; None if any is behind the viewer or the area is empty."""
    rows = matrix.tolist()
    if abs(_determinant(rows)) < _FLAT:
        return None
    corners = []
    for x, y in product((0, picture.width_px), (0, picture.height_px)):
        across, down, depth = (row[0] * x + row[1] * y + row[2] for row in rows)
        if depth <= _FLAT:
            return None
        corners.append((across / depth, down / depth))
    return corners if all(isfinite(edge) for corner in corners for edge in corner) else None


def _determinant(rows: Sequence[Sequence[float]]) -> float:
    (a, c, x), (b, d, y), (e, f, depth) = rows
    return a * (d * depth - y * f) - c * (b * depth - y * e) + x * (b * f - d * e)


def _upright_box(picture: Picture, matrix: Matrix) -> tuple[float, float, float, float] | None:
    """Return the edges of a picture that is only translated and scaled; None for any other.

    Uses plain numbers, because this is the common case in every frame.
    """
    (wide, slant, left), (lean, high, top), (far_x, far_y, depth) = matrix.tolist()
    flat = abs(slant) + abs(lean) + abs(far_x) + abs(far_y)
    if flat >= UPRIGHT or wide <= 0 or high <= 0 or depth <= _FLAT or wide * high < _FLAT:
        return None
    box = (
        left / depth,
        top / depth,
        (left + wide * picture.width_px) / depth,
        (top + high * picture.height_px) / depth,
    )
    return box if all(isfinite(edge) for edge in box) else None


def _resized(picture: Picture, box: PixelRect) -> PlacedPicture | None:
    if box.is_empty:
        return None
    if (box.width_px, box.height_px) == (picture.width_px, picture.height_px):
        return PlacedPicture(picture, box.left, box.top)
    return PlacedPicture(resize(picture, box.width_px, box.height_px), box.left, box.top)


def resize(picture: Picture, width_px: int, height_px: int) -> Picture:
    """Return the picture at another even size."""
    sizes = [(width_px, height_px), *[(width_px // 2, height_px // 2)] * 2]
    sizes += [(width_px, height_px), (width_px // 2, height_px // 2)]
    return Picture.of_planes(
        tuple(
            _resize_plane(plane, size) for plane, size in zip(picture.planes, sizes, strict=False)
        )
    )


def _resize_plane(plane: Plane, size: tuple[int, int]) -> Plane:
    is_smaller = size[0] < plane.shape[1] or size[1] < plane.shape[0]
    # Area averaging is right for reduction; for enlargement it would repeat pixels. The plain
    # linear mode has processor-specific fast paths that round differently.
    how = cv2.INTER_AREA if is_smaller else cv2.INTER_LINEAR_EXACT
    return np.asarray(cv2.resize(plane, size, interpolation=how), np.uint8)


def _warped(
    picture: Picture, matrix: Matrix, target: PixelRect, *, pixels_each: int
) -> PlacedPicture:
    # A picture that covers the whole target has no visible edges, and needs no alpha.
    fills = not picture.has_alpha and _covers(picture, matrix, target)
    source, matrix = _shrunk(
        picture if fills else picture.with_alpha(), matrix, pixels_each=pixels_each
    )
    onto = translation_matrix(-target.left, -target.top) @ matrix
    size = (target.width_px, target.height_px)
    half = (target.width_px // 2, target.height_px // 2)
    is_bent = abs(matrix[2, 0]) + abs(matrix[2, 1]) >= _FLAT
    luma, chroma = _perspective_maps(onto) if is_bent else _affine_maps(onto)
    ways = ((luma, size), (chroma, half), (chroma, half), (luma, size), (chroma, half))
    planes = tuple(
        _warp_plane(plane, *way, extends=fills)
        for plane, way in zip(source.planes, ways, strict=False)
    )
    return PlacedPicture(Picture.of_planes(planes), target.left, target.top)


def _covers(picture: Picture, matrix: Matrix, target: PixelRect) -> bool:
    """Whether every corner of the target is inside the picture."""
    rows = np.linalg.inv(matrix).tolist()
    for x, y in product((target.left, target.right), (target.top, target.bottom)):
        across, down, depth = (row[0] * x + row[1] * y + row[2] for row in rows)
        if depth <= _FLAT:
            return False
        if not -_SAME <= across / depth <= picture.width_px + _SAME:
            return False
        if not -_SAME <= down / depth <= picture.height_px + _SAME:
            return False
    return True


def _shrunk(picture: Picture, matrix: Matrix, *, pixels_each: int) -> tuple[Picture, Matrix]:
    """Reduce a picture to near its final size first: a warp samples only 4 pixels.

    As many pixels as `pixels_each` are left for each pixel of a target's side.
    """
    shrink_x = pixels_each * float(np.hypot(matrix[0, 0], matrix[1, 0])) / float(matrix[2, 2])
    shrink_y = pixels_each * float(np.hypot(matrix[0, 1], matrix[1, 1])) / float(matrix[2, 2])
    if shrink_x > 0.7 and shrink_y > 0.7:
        return picture, matrix
    width = max(2, 2 * round(picture.width_px * min(1.0, shrink_x) / 2))
    height = max(2, 2 * round(picture.height_px * min(1.0, shrink_y) / 2))
    back = scale_matrix(picture.width_px / width, picture.height_px / height)
    return resize(picture, width, height), matrix @ back


def _perspective_maps(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Return the matrices between indexes of pixels, which refer to centres: luma and chroma."""
    halved = scale_matrix(0.5, 0.5) @ matrix @ scale_matrix(2, 2)
    to_index, from_index = translation_matrix(-0.5, -0.5), translation_matrix(0.5, 0.5)
    return to_index @ matrix @ from_index, to_index @ halved @ from_index


def _affine_maps(matrix: Matrix) -> tuple[IndexMap, IndexMap]:
    """Return the inverse between indexes of pixels, for luma and chroma, in plain arithmetic."""
    (a, c, x), (b, d, y), (_, _, depth) = matrix.tolist()
    a, c, x, b, d, y = (value / depth for value in (a, c, x, b, d, y))
    area = a * d - b * c
    x_of = (d / area, -c / area, (c * y - d * x) / area)
    y_of = (-b / area, a / area, (b * x - a * y) / area)
    return index_map(x_of, y_of), index_map(x_of, y_of, share=0.5)


def _warp_plane(
    plane: Plane, onto: Matrix | IndexMap, size: tuple[int, int], *, extends: bool
) -> Plane:
    if isinstance(onto, tuple):
        return warp(plane, onto, width_px=size[0], height_px=size[1], extends=extends)
    # Outside is transparent, so an edge between pixels covers its pixel in part.
    border = cv2.BORDER_REPLICATE if extends else cv2.BORDER_CONSTANT
    bent = cv2.warpPerspective(plane, onto, size, flags=cv2.INTER_LINEAR, borderMode=border)
    return np.asarray(bent, np.uint8)
