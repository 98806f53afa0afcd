"""A dissolve of two pictures: A * (1 - t) + B * t, computed apart from the background.

If they were drawn over each other with fading opacity, a quarter of the background would show
through half-way.
"""

import numpy as np

from framekiln.compositor.canvas import Canvas
from framekiln.compositor.picture import Picture, crop_picture
from framekiln.compositor.placement import PlacedPicture
from framekiln.compositor.rect import PixelRect
from framekiln.pixels.blend import premultiply, weighted_sum


def dissolve_pictures(
    one: PlacedPicture, other: PlacedPicture, *, shares: tuple[float, float], within: PixelRect
) -> PlacedPicture:
    """Return the mix of both pictures; `shares` are their weights."""
    if _are_alike(one, other) and abs(sum(shares) - 1) < 1e-6:
        return _mixed(one, other, shares, within)
    box = one.rect.union(other.rect).intersection(within)
    canvas = Canvas(max(2, box.width_px), max(2, box.height_px), has_alpha=True)
    for placed, share in zip((one, other), shares, strict=True):
        layer = Canvas(canvas.rect.width_px, canvas.rect.height_px, has_alpha=True)
        layer.draw(placed.picture, at=(placed.left - box.left, placed.top - box.top))
        canvas.add(layer.picture, share=share)
    return PlacedPicture(canvas.picture, box.left, box.top)


def lower_part(
    lower: PlacedPicture, upper: PlacedPicture, *, shares: tuple[float, float]
) -> PlacedPicture:
    """Return the lower picture of a dissolve whose upper one is drawn later, over other layers.

    `shares` are the weights of both. Where the upper one, drawn with its own, hides part of the
    lower one, that part need not fade: the sum stays the weighted sum of both.
    """
    hides_all = not upper.picture.has_alpha and upper.rect.intersection(lower.rect) == lower.rect
    if hides_all and abs(sum(shares) - 1) < 1e-6:
        return lower
    picture = lower.picture.with_alpha()
    canvas = Canvas(picture.width_px, picture.height_px, has_alpha=True)
    canvas.draw(upper.picture, at=(upper.left - lower.left, upper.top - lower.top))
    cover = canvas.picture
    assert cover.alpha is not None
    assert cover.chroma_alpha is not None
    visible = np.maximum(1 - shares[1] * np.arange(256) / 255, 1e-9)
    kept = np.rint(255 * np.minimum(1, shares[0] / visible)).astype(np.uint8)
    whole, half = kept[cover.alpha], kept[cover.chroma_alpha]
    factors = (whole, half, half, whole, half)
    planes = tuple(
        premultiply(plane, factor) for plane, factor in zip(picture.planes, factors, strict=True)
    )
    return PlacedPicture(Picture.of_planes(planes), lower.left, lower.top)


def _are_alike(one: PlacedPicture, other: PlacedPicture) -> bool:
    are_opaque = not one.picture.has_alpha and not other.picture.has_alpha
    return are_opaque and one.rect == other.rect


def _mixed(
    one: PlacedPicture, other: PlacedPicture, shares: tuple[float, float], within: PixelRect
) -> PlacedPicture:
    seen = one.rect.intersection(within)
    pictures = [
        crop_picture(each.picture, seen.moved(-each.left, -each.top)) for each in (one, other)
    ]
    planes = tuple(
        weighted_sum(a, shares[0], b, shares[1])
        for a, b in zip(pictures[0].planes, pictures[1].planes, strict=True)
    )
    return PlacedPicture(Picture.of_planes(planes), seen.left, seen.top)
