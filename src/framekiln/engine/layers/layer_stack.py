"""The stack of layers of a film or group, as scene items for each instant."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from framekiln.composition.layers import LayerState, PixelSize, ResolvedLayer, state_at
from framekiln.composition.layers.boxes import WHOLE
from framekiln.composition.layers.boxes import Rect as Area
from framekiln.composition.layers.values import FilterLayer
from framekiln.compositor.dissolve import dissolve_pictures, lower_part
from framekiln.compositor.picture import YuvColour, crop_picture
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import FilterItem, PictureItem, Scene, SceneItem
from framekiln.engine.layers.drawn_layer import DrawnLayer, LayerFrame
from framekiln.engine.layers.geometry import whole_area
from framekiln.engine.layers.layer_effects import picture_filter
from framekiln.engine.layers.painter import SourceImage

OpenLayer = Callable[[ResolvedLayer], "DrawnLayer | None"]
"""Opens a layer for drawing; None for layers that are not visible."""


class LayerStack:
    """The layers of the film, or of one group, bottom first."""

    def __init__(self, layers: Sequence[ResolvedLayer], canvas: PixelRect, draw: OpenLayer) -> None:
        self._canvas = canvas
        self._members: list[DrawnLayer | _FilterMember] = []
        for layer in layers:
            if isinstance(layer.layer, FilterLayer):
                self._members.append(_FilterMember(layer, canvas))
            elif (drawn := draw(layer)) is not None:
                self._members.append(drawn)

    def scene_items(self, time_s: Fraction) -> list[SceneItem]:
        """Return the scene items of an instant, in the time of the film."""
        found: list[tuple[str, LayerFrame | FilterItem]] = []
        for member in self._members:
            each = member.show(time_s)
            if each is not None:
                found.append((member.layer.id, each))
        return self._laid(found)

    def close(self) -> None:
        """Release all resources."""
        for member in self._members:
            member.close()

    def _laid(self, found: list[tuple[str, LayerFrame | FilterItem]]) -> list[SceneItem]:
        frames = {
            name: (place, each)
            for place, (name, each) in enumerate(found)
            if isinstance(each, LayerFrame)
        }
        things: list[SceneItem] = []
        for place, (_, each) in enumerate(found):
            if isinstance(each, FilterItem):
                things.append(each)
                continue
            dissolve = each.state.dissolve
            if dissolve is None:
                things.append(each.item)
                continue
            partner_place, partner = frames.get(dissolve.partner_id, (place, None))
            if partner is None or partner_place < place - 1:
                # The other layer is not visible, or drawn apart, below the layers between.
                things.append(_faded(each, dissolve.weight))
            elif partner_place > place + 1:
                things.append(_lower_part(each, partner))
            elif partner_place < place:
                things.append(self._mixed(partner, each))
        return things

    def _mixed(self, one: LayerFrame, other: LayerFrame) -> PictureItem:
        """Return the dissolve of two layers, at the position of the upper one."""
        weights = _weights(one, other)
        shares = (weights[0] * one.item.opacity, weights[-1] * other.item.opacity)
        placed = dissolve_pictures(
            one.item.placed, other.item.placed, shares=shares, within=self._canvas
        )
        return PictureItem(("dissolve", one.item.key, other.item.key, shares), placed)


def _faded(each: LayerFrame, weight: float) -> PictureItem:
    return PictureItem((each.item.key, weight), each.item.placed, each.item.opacity * weight)


def _lower_part(lower: LayerFrame, upper: LayerFrame) -> PictureItem:
    """Return the lower layer of a dissolve with others between the two."""
    weights = _weights(lower, upper)
    shares = (weights[0], weights[-1] * upper.item.opacity)
    placed = lower_part(lower.item.placed, upper.item.placed, shares=shares)
    key = ("lower part", lower.item.key, upper.item.key, shares)
    return PictureItem(key, placed, lower.item.opacity)


def _weights(one: LayerFrame, other: LayerFrame) -> list[float]:
    return [each.state.dissolve.weight for each in (one, other) if each.state.dissolve]


class _FilterMember:
    """A layer that changes everything below it."""

    def __init__(self, layer: ResolvedLayer, canvas: PixelRect) -> None:
        self.layer = layer
        self._canvas = canvas

    def show(self, time_s: Fraction) -> FilterItem | None:
        state = state_at(self.layer, time_s)
        if not state.is_visible or state.opacity <= 0:
            return None
        (each,) = state.filters
        adjustment = picture_filter(each).scaled_by(state.opacity)
        return FilterItem((self.layer.id, adjustment), adjustment, self._canvas)

    def close(self) -> None:
        """Has no resources."""


class GroupPainter:
    """Draws layers on their own canvas, which is then one picture."""

    def __init__(self, layer: ResolvedLayer, canvas: PixelRect, draw: OpenLayer) -> None:
        self._inside = LayerStack(layer.children, canvas, draw)
        self._canvas = canvas
        self._scene: Scene | None = None
        self._version = 0
        self._time_s = Fraction(0)

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """Has no own size; stores the time for `image`."""
        self._time_s = time_s
        return None

    def image(self, state: LayerState) -> SourceImage | None:
        """Return its layers at the stored time, cropped to the part with content."""
        if self._scene is None:
            nothing = YuvColour(0, 0, 0, alpha=0)
            self._scene = Scene(
                self._canvas.width_px, self._canvas.height_px, background=nothing, has_alpha=True
            )
        self._version += self._scene.show(self._inside.scene_items(self._time_s))
        covered = self._scene.covered
        if covered.is_empty:
            return None
        key = ("group", self._version)
        if state.crop != WHOLE:
            return SourceImage(key, picture=self._scene.picture)
        whole = whole_area(state)
        x, y = whole.width / self._canvas.width_px, whole.height / self._canvas.height_px
        area = Area(
            whole.left + covered.left * x,
            whole.top + covered.top * y,
            covered.width_px * x,
            covered.height_px * y,
        )
        return SourceImage(key, picture=crop_picture(self._scene.picture, covered), area=area)

    def close(self) -> None:
        """Release the resources of its layers."""
        self._inside.close()
        self._scene = None
