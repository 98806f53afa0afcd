"""One layer of a film, which returns its scene item for each frame."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

from framekiln.capture.errors import BrowserDied, PageCrashed
from framekiln.composition.layers import LayerState, LayerStateCache, ResolvedLayer, state_at
from framekiln.composition.layers.values import OnError
from framekiln.compositor.placement import PlacedPicture, place
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import PictureItem
from framekiln.engine.layers.errors import LayerFailed, layer_failure
from framekiln.engine.layers.geometry import is_in_place, is_static
from framekiln.engine.layers.layer_effects import LayerPicture, apply_effects, effects_key
from framekiln.engine.layers.painter import Painter, SourceImage, StillPainter, placeholder
from framekiln.kit.errors import FramekilnError
from framekiln.kit.warning_text import WarningText

Warn = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class LayerFrame:
    """A layer as it is visible in one frame."""

    state: LayerState
    item: PictureItem


class DrawnLayer:
    """Caches the last picture with its effects and placement until an input changes."""

    def __init__(
        self, layer: ResolvedLayer, painter: Painter, *, canvas: PixelRect, warn: Warn
    ) -> None:
        self.layer = layer
        self._painter: Painter | None = painter
        self._canvas = canvas
        self._warn = warn
        self._states = LayerStateCache(layer)
        self._is_static = is_static(layer)
        self._picture: tuple[Hashable, LayerPicture] | None = None
        self._placed: tuple[Hashable, PlacedPicture | None] | None = None

    def show(self, time_s: Fraction) -> LayerFrame | None:
        """Return the item of an instant; None if the layer is not visible."""
        if time_s >= self.layer.vanishes_s:
            self.close()
        if self._painter is None or not self.layer.is_on_at(time_s):
            return None
        state = self._state(self._painter, time_s)
        if not state.is_visible or state.opacity <= 0 or state.scale <= 0:
            return None
        image = self._source_image(state)
        return None if image is None else self._frame(image, state)

    def close(self) -> None:
        """Release decoders and pictures."""
        if self._painter is not None:
            self._painter.close()
        self._picture = self._placed = None

    def _state(self, painter: Painter, time_s: Fraction) -> LayerState:
        content = painter.content_size_at(time_s)
        if content is None:
            return self._states.at(time_s)
        return state_at(self.layer, time_s, content=content)

    def _source_image(self, state: LayerState) -> SourceImage | None:
        assert self._painter is not None
        try:
            return self._painter.image(state)
        except (LayerFailed, BrowserDied, PageCrashed):
            # Errors that a restart of the browser may fix are not the fault of the layer.
            raise
        except FramekilnError as error:
            value = self.layer.layer
            if error.retryable or value.on_error is OnError.FAIL:
                raise layer_failure(value, error) if not error.retryable else error from error
            message = f"{value.path}: {value.prefix}{error.message}"
            self._warn(WarningText("layer_failed", message))
            self._painter.close()
            is_replaced = value.on_error is OnError.PLACEHOLDER
            self._painter = StillPainter(placeholder()) if is_replaced else None
            return placeholder() if is_replaced else None

    def _frame(self, image: SourceImage, state: LayerState) -> LayerFrame | None:
        is_still = self._is_static and is_in_place(state)
        effects = (image.key, effects_key(state, is_static=is_still))
        if self._picture is None or self._picture[0] != effects:
            self._picture = (
                effects,
                apply_effects(image, state, self.layer.layer, is_static=is_still),
            )
        key = (self.layer.id, effects, state.matrix)
        if self._placed is None or self._placed[0] != key:
            layer_picture = self._picture[1]
            placed = place(layer_picture.picture, layer_picture.matrix(state), within=self._canvas)
            self._placed = (key, placed)
        found = self._placed[1]
        if found is None:
            return None
        return LayerFrame(state, PictureItem((key, state.opacity), found, state.opacity))
