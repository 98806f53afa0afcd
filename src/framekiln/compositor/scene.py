"""A frame as a stack of items, of which only the changed parts are redrawn.

Each item has a key that determines its look. Frames are compared by these keys: equal lists are
equal frames; otherwise only the rectangles of added, removed or changed items are redrawn.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce

from framekiln.compositor.canvas import Canvas
from framekiln.compositor.filters import EdgeFilter, PictureFilter, apply_filter
from framekiln.compositor.picture import BLACK, Picture, Plane, YuvColour
from framekiln.compositor.placement import PlacedPicture
from framekiln.compositor.rect import NOWHERE, PixelRect, merge


@dataclass(frozen=True, eq=False)
class PictureItem:
    """A picture and its position."""

    key: Hashable
    placed: PlacedPicture
    opacity: float = 1.0
    is_page_group: bool = False
    """Whether it fades as groups of pages do in Chromium."""

    @property
    def rect(self) -> PixelRect:
        """The area in which it is visible."""
        return self.placed.rect


@dataclass(frozen=True, eq=False)
class FilterItem:
    """Changes the colours of everything below it."""

    key: Hashable
    picture_filter: PictureFilter
    rect: PixelRect


SceneItem = PictureItem | FilterItem


class Scene:
    """Keeps the last frame."""

    def __init__(
        self,
        width_px: int,
        height_px: int,
        *,
        background: YuvColour = BLACK,
        has_alpha: bool = False,
    ) -> None:
        self._canvas = Canvas(width_px, height_px, has_alpha=has_alpha)
        self._background = background
        self._canvas.fill(background)
        self._shown: Sequence[SceneItem] = ()

    @property
    def picture(self) -> Picture:
        """The current frame; the next one overwrites it."""
        return self._canvas.picture

    @property
    def covered(self) -> PixelRect:
        """The part of a group's canvas that may have content."""
        rects = [thing.rect for thing in self._shown if isinstance(thing, PictureItem)]
        return reduce(PixelRect.union, rects, NOWHERE if not rects else rects[0]).intersection(
            self._canvas.rect
        )

    def show(self, things: Sequence[SceneItem], onto: tuple[Plane, ...] | None = None) -> bool:
        """Draw the frame of these items, bottom first; return whether it has changed.

        A changed frame is drawn into the planes `onto`, if given. The next frame is made from it,
        so these planes must not change until then.
        """
        differing = merge(rect.intersection(self._canvas.rect) for rect in self._differing(things))
        if differing and onto is not None:
            self._canvas.move_to(onto, is_kept=differing != [self._canvas.rect])
        for rect in differing:
            self._draw(things, rect)
        self._shown = tuple(things)
        return bool(differing)

    def _draw(self, things: Sequence[SceneItem], rect: PixelRect) -> None:
        first = _first_visible(things, rect)
        if first == 0:
            self._canvas.fill(self._background, rect)
        for thing in things[max(0, first - 1) :]:
            if not thing.rect.overlaps(rect):
                continue
            if isinstance(thing, PictureItem):
                at = (thing.placed.left, thing.placed.top)
                self._canvas.draw(
                    thing.placed.picture,
                    at=at,
                    opacity=thing.opacity,
                    clip=rect,
                    is_page_group=thing.is_page_group,
                )
            else:
                seen = rect.intersection(thing.rect)
                tinted = apply_filter(self._canvas.cut(seen), thing.picture_filter)
                self._canvas.replace(tinted, at=(seen.left, seen.top))

    def _differing(self, things: Sequence[SceneItem]) -> list[PixelRect]:
        before, now = _apart(self._shown, things)
        if (before or now) and any(_looks_around(thing) for thing in (*self._shown, *things)):
            return [self._canvas.rect]
        return [thing.rect for thing in (*before, *now)]


def _apart(
    before: Sequence[SceneItem], now: Sequence[SceneItem]
) -> tuple[Sequence[SceneItem], Sequence[SceneItem]]:
    """Return removed and added items: all that are not the same in the same place.

    If the number of items changed, equal items are matched from the bottom and from the top.
    """
    if len(before) == len(now):
        pairs = [pair for pair in zip(before, now, strict=True) if pair[0].key != pair[1].key]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    shorter = min(len(before), len(now))
    low = 0
    while low < shorter and before[low].key == now[low].key:
        low += 1
    high = 0
    while high < shorter - low and before[-1 - high].key == now[-1 - high].key:
        high += 1
    return before[low : len(before) - high], now[low : len(now) - high]


def _looks_around(thing: SceneItem) -> bool:
    """Whether a pixel of the item depends on its neighbours."""
    return isinstance(thing, FilterItem) and isinstance(thing.picture_filter, EdgeFilter)


def _first_visible(things: Sequence[SceneItem], rect: PixelRect) -> int:
    """Return one more than the index of the last item that hides all below it; 0 if none does."""
    for number in range(len(things), 0, -1):
        thing = things[number - 1]
        if (
            isinstance(thing, PictureItem)
            and thing.opacity >= 1
            and not thing.placed.picture.has_alpha
            and thing.rect.intersection(rect) == rect
        ):
            return number
    return 0
