"""One layer of a film, asked frame by frame for the thing it puts on the canvas."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

from framekiln.capture.errors import BrowserDied, PageCrashed
from framekiln.composition.layers import LayerState, LayerStates, ResolvedLayer, state_at
from framekiln.composition.layers.values import OnError
from framekiln.compositor.placing import Placed, place
from framekiln.compositor.rect import Rect
from framekiln.compositor.scene import Laid
from framekiln.engine.layers.dressing import Dressed, dress, dressing_key
from framekiln.engine.layers.errors import LayerFailed, failed
from framekiln.engine.layers.geometry import is_upright, stands_still
from framekiln.engine.layers.painter import Look, Painter
from framekiln.engine.layers.sources.still import StillPainter, placeholder
from framekiln.kit.errors import FramekilnError

Warn = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Shown:
    """A layer as it is seen in one frame."""

    state: LayerState
    laid: Laid


class DrawnLayer:
    """Keeps the last picture, dressed and in its place, until something about it changes."""

    def __init__(self, layer: ResolvedLayer, painter: Painter, *, canvas: Rect, warn: Warn) -> None:
        self.layer = layer
        self._painter: Painter | None = painter
        self._canvas = canvas
        self._warn = warn
        self._states = LayerStates(layer)
        self._stands = stands_still(layer)
        self._dressed: tuple[Hashable, Dressed] | None = None
        self._placed: tuple[Hashable, Placed | None] | None = None

    def show(self, time_s: Fraction, number: int) -> Shown | None:
        """Return what is seen in a frame; None for nothing."""
        if self._painter is None or not self.layer.first_frame <= number < self.layer.end_frame:
            return None
        state = self._state(self._painter, time_s)
        if not state.is_visible or state.opacity <= 0 or state.scale <= 0:
            return None
        look = self._look(state)
        return None if look is None else self._shown(look, state)

    def leave(self, number: int) -> None:
        """Free what is open, if the layer is over."""
        if self._painter is not None and number >= self.layer.end_frame:
            self.close()

    def close(self) -> None:
        """Free decoders and pictures."""
        if self._painter is not None:
            self._painter.close()
        self._dressed = self._placed = None

    def _state(self, painter: Painter, time_s: Fraction) -> LayerState:
        content = painter.content_at(time_s)
        if content is None:
            return self._states.at(time_s)
        return state_at(self.layer, time_s, content=content)

    def _look(self, state: LayerState) -> Look | None:
        assert self._painter is not None
        try:
            return self._painter.look(state)
        except (LayerFailed, BrowserDied, PageCrashed):
            # What a fresh browser may cure is no fault of the layer.
            raise
        except FramekilnError as error:
            value = self.layer.layer
            if error.retryable or value.on_error is OnError.FAIL:
                raise failed(value, error) if not error.retryable else error from error
            self._warn(f"{value.path}: layer {value.id}: {error.message}")
            self._painter.close()
            is_replaced = value.on_error is OnError.PLACEHOLDER
            self._painter = StillPainter(placeholder()) if is_replaced else None
            return placeholder() if is_replaced else None

    def _shown(self, look: Look, state: LayerState) -> Shown | None:
        stands = self._stands and is_upright(state)
        worn = (look.key, dressing_key(state, stands=stands))
        if self._dressed is None or self._dressed[0] != worn:
            self._dressed = (worn, dress(look, state, self.layer.layer, stands=stands))
        key = (self.layer.id, worn, state.matrix)
        if self._placed is None or self._placed[0] != key:
            dressed = self._dressed[1]
            placed = place(dressed.picture, dressed.matrix(state), within=self._canvas)
            self._placed = (key, placed)
        found = self._placed[1]
        if found is None:
            return None
        return Shown(state, Laid((key, state.opacity), found, state.opacity))
