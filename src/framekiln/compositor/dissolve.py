"""A dissolve of two pictures: A * (1 - t) + B * t, computed apart from the background.

If they were drawn over each other with fading opacity, a quarter of the background would show
through half-way.
"""

from framekiln.compositor.canvas import Canvas
from framekiln.compositor.picture import Picture, crop_picture
from framekiln.compositor.placement import PlacedPicture
from framekiln.compositor.rect import PixelRect
from framekiln.pixels.blend import weighted_sum


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
