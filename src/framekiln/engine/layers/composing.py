"""The layers of a film as a list of things for each frame: filters, groups, dissolves."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol

from framekiln.composition.layers import LayerState, PixelSize, ResolvedLayer, state_at
from framekiln.composition.layers.boxes import WHOLE
from framekiln.composition.layers.boxes import Rect as Area
from framekiln.composition.layers.values import FilterLayer
from framekiln.compositor.dissolving import dissolved
from framekiln.compositor.picture import Colour, cut
from framekiln.compositor.rect import Rect
from framekiln.compositor.scene import Laid, Scene, Thing, Tinted
from framekiln.engine.layers.drawn_layer import DrawnLayer, Shown
from framekiln.engine.layers.geometry import whole_area
from framekiln.engine.layers.painter import Look
from framekiln.engine.layers.tinting import adjustment_of

Draw = Callable[[ResolvedLayer], "DrawnLayer | None"]
"""Makes whoever draws a layer; None for those that are not seen."""


class _Member(Protocol):
    layer: ResolvedLayer

    def leave(self, number: int) -> None: ...

    def close(self) -> None: ...


class Composer:
    """The layers of the film, or of one group, bottom first."""

    def __init__(self, layers: Sequence[ResolvedLayer], canvas: Rect, draw: Draw) -> None:
        self._canvas = canvas
        self._members: list[DrawnLayer | _Filter] = []
        for layer in layers:
            if isinstance(layer.layer, FilterLayer):
                self._members.append(_Filter(layer, canvas))
            elif (drawn := draw(layer)) is not None:
                self._members.append(drawn)

    def things(self, number: int) -> list[Thing]:
        """Return what a frame is made of."""
        shown: dict[str, Shown] = {}
        found: list[tuple[str, Shown | Tinted]] = []
        for member in self._members:
            layer = member.layer
            each = member.show(Fraction(number) / layer.fps, number)
            member.leave(number + 1)
            if each is None:
                continue
            found.append((layer.id, each))
            if isinstance(each, Shown):
                shown[layer.id] = each
        return self._laid(found, shown)

    def close(self) -> None:
        """Free everything that is open."""
        for member in self._members:
            member.close()

    def _laid(
        self, found: list[tuple[str, Shown | Tinted]], shown: dict[str, Shown]
    ) -> list[Thing]:
        things: list[Thing] = []
        seen: set[str] = set()
        for name, each in found:
            seen.add(name)
            if isinstance(each, Tinted):
                things.append(each)
                continue
            dissolve = each.state.dissolve
            partner = shown.get(dissolve.partner_id) if dissolve else None
            if dissolve is None:
                things.append(each.laid)
            elif partner is None:
                # The other one is not seen: what is left of this one fades by itself.
                opacity = each.laid.opacity * dissolve.weight
                things.append(Laid((each.laid.key, dissolve.weight), each.laid.placed, opacity))
            elif dissolve.partner_id in seen:
                things.append(self._mixed(partner, each))
        return things

    def _mixed(self, one: Shown, other: Shown) -> Laid:
        """Return two layers that become each other, in the place of the upper one."""
        weights = [each.state.dissolve.weight for each in (one, other) if each.state.dissolve]
        shares = (weights[0] * one.laid.opacity, weights[-1] * other.laid.opacity)
        placed = dissolved(one.laid.placed, other.laid.placed, shares=shares, within=self._canvas)
        return Laid(("dissolve", one.laid.key, other.laid.key, shares), placed)


class _Filter:
    """A layer that changes what is below it."""

    def __init__(self, layer: ResolvedLayer, canvas: Rect) -> None:
        self.layer = layer
        self._canvas = canvas

    def show(self, time_s: Fraction, number: int) -> Tinted | None:
        if not self.layer.first_frame <= number < self.layer.end_frame:
            return None
        state = state_at(self.layer, time_s)
        if not state.is_visible or state.opacity <= 0:
            return None
        (each,) = state.filters
        adjustment = adjustment_of(each).by(state.opacity)
        return Tinted((self.layer.id, adjustment), adjustment, self._canvas)

    def leave(self, number: int) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


class GroupPainter:
    """Layers on a canvas of their own, which is then one picture."""

    def __init__(self, layer: ResolvedLayer, canvas: Rect, draw: Draw) -> None:
        self._layer = layer
        self._inside = Composer(layer.children, canvas, draw)
        self._canvas = canvas
        self._scene: Scene | None = None
        self._version = 0
        self._time_s = Fraction(0)

    def content_at(self, time_s: Fraction) -> PixelSize | None:
        """Its box is the film's; but this is where it hears the time."""
        self._time_s = time_s
        return None

    def look(self, state: LayerState) -> Look | None:
        """Return its layers as they are now, and only the part where there are any."""
        if self._scene is None:
            nothing = Colour(0, 0, 0, alpha=0)
            self._scene = Scene(
                self._canvas.width_px, self._canvas.height_px, background=nothing, has_alpha=True
            )
        number = round(self._time_s * self._layer.fps)
        self._version += self._scene.show(self._inside.things(number))
        covered = self._scene.covered
        if covered.is_empty:
            return None
        key = ("group", self._version)
        if state.crop != WHOLE:
            return Look(key, picture=self._scene.picture)
        whole = whole_area(state)
        x, y = whole.width / self._canvas.width_px, whole.height / self._canvas.height_px
        area = Area(
            whole.left + covered.left * x,
            whole.top + covered.top * y,
            covered.width_px * x,
            covered.height_px * y,
        )
        return Look(key, picture=cut(self._scene.picture, covered), area=area)

    def close(self) -> None:
        """Free what is inside."""
        self._inside.close()
        self._scene = None
