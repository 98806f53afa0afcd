"""From the pixels of a layer's box to the pixels of the canvas: one 3x3 matrix.

Content is scaled and rotated, then tilted, about the origin, like CSS `rotateX() rotateY()
rotateZ() scale()` with a transform-origin. Angles are clockwise.
"""

import math
from dataclasses import dataclass

Matrix = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
"""Rows; applied to (x, y, 1), then divided by the third."""


@dataclass(frozen=True)
class Transform:
    """Everything except for the box itself."""

    x: float
    y: float
    origin_x: float
    origin_y: float
    scale: float = 1.0
    angle: float = 0.0
    angle_x: float = 0.0
    angle_y: float = 0.0
    perspective_px: float = 0.0


def transform_matrix(turn: Transform) -> Matrix:
    """Return T(x,y) T(o) P Rx Ry Rz S T(-o) for points of the box's plane."""
    spin, tilt_x, tilt_y = (
        math.radians(degrees % 360) for degrees in (turn.angle, turn.angle_x, turn.angle_y)
    )
    sz, cz = math.sin(spin) * turn.scale, math.cos(spin) * turn.scale
    sx, cx = math.sin(tilt_x), math.cos(tilt_x)
    sy, cy = math.sin(tilt_y), math.cos(tilt_y)
    # The images of the plane's two axes: columns of Rx Ry Rz S. The third coordinate is zero.
    across = (cy * cz, cx * sz + sx * sy * cz, sx * sz - cx * sy * cz)
    down = (-cy * sz, cx * cz - sx * sy * sz, sx * cz + cx * sy * sz)
    depth = 0.0 if turn.perspective_px <= 0 else -1 / turn.perspective_px
    left, top = turn.x + turn.origin_x, turn.y + turn.origin_y
    columns = [
        (
            direction[0] + left * depth * direction[2],
            direction[1] + top * depth * direction[2],
            depth * direction[2],
        )
        for direction in (across, down)
    ]
    (a, d, g), (b, e, h) = columns
    ox, oy = turn.origin_x, turn.origin_y
    return (
        (a, b, left - a * ox - b * oy),
        (d, e, top - d * ox - e * oy),
        (g, h, 1 - g * ox - h * oy),
    )


def map_point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Return the position of a point of the box on the canvas."""
    across, down, by = (row[0] * x + row[1] * y + row[2] for row in matrix)
    # On the horizon a point is infinitely far away.
    return (across / by, down / by) if by > 1e-12 else (math.inf, math.inf)
