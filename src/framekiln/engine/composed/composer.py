"""Composes frames of a page from the drawings of its layers."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import floor, sqrt
from typing import Final

from framekiln.capture.page import FrameSize
from framekiln.compositor.picture import YuvColour, crop_picture
from framekiln.compositor.placement import (
    UPRIGHT,
    Matrix,
    PlacedPicture,
    place,
    scale_matrix,
    translation_matrix,
)
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import PictureItem, Scene, SceneItem
from framekiln.engine.composed.clips import LayerCut, cut_of, is_cut_between_pixels
from framekiln.engine.composed.drawing_page import DrawingPage
from framekiln.engine.composed.drawings import Drawing, Drawings, scale_for, sharp_scale_for
from framekiln.engine.composed.footage_frames import FootageFrames, FootagePicture
from framekiln.engine.composed.page_layers import (
    MotionStates,
    MoverState,
    PageLayer,
    joined_matrix,
)
from framekiln.engine.composed.redraws import RedrawnLayer, Redraws

_NOTHING: Final = YuvColour(0, 0, 0, alpha=0)
_SAME: Final = 1e-3
# Glyphs of one text lie at different quarters of a pixel: half of a quarter decides for many.
_PHASES: Final = 8
# Edges shown in a larger part of the size that they are drawn in are softer.
_SHARP: Final = 0.7
_MIN_OPACITY: Final = 1 / 512


@dataclass(frozen=True)
class _ShownLayer:
    layer: PageLayer
    matrix: Matrix
    scale: float
    phase: float
    """The fraction of a pixel to the right at which it is drawn."""

    @property
    def resamples_edges(self) -> bool:
        """Whether it has text or edges that are softer than if Chromium drew them for the frame."""
        layer = self.layer
        if layer.footage is not None:
            return False
        if not _is_translation(self.matrix):
            is_soft = _enlargement(self.matrix)[0] > _SHARP * self.scale
            return layer.is_redrawn or (_is_drawn_larger(layer, self.matrix) and is_soft)
        return (layer.has_glyphs or layer.is_redrawn) and not (
            _is_drawn_there(layer, self.matrix) or _is_whole(self.matrix)
        )


def page_scene(size: FrameSize) -> Scene:
    """Return the scene that shows the items of frames."""
    # Where a page paints nothing, Chromium's window is white.
    white = YuvColour.of_rgb(255, 255, 255)
    return Scene(size.width_px, size.height_px, background=white)


class FrameComposer:
    """Returns the scene items of any frame for which states are known."""

    def __init__(self, page: DrawingPage) -> None:
        self._page = page
        self._layers = page.layers.layers
        self._canvas = PixelRect(0, 0, page.size.width_px, page.size.height_px)
        self._drawings = Drawings(page)
        self._redraws = Redraws(page)
        self.footage = FootageFrames(page)
        self._around_footage = frozenset(
            mover for layer in page.layers.footage for mover in layer.chain
        )
        self._states: MotionStates | None = None
        self._frames: dict[int, tuple[Sequence[MoverState], list[_ShownLayer]]] = {}
        self._wanted: dict[tuple[int, float, float], _ShownLayer] = {}
        self.resamples_edges = False
        """Whether frames show text or edges in another size or angle than they are drawn in."""
        self._frame = 0
        # Of the frame before, and of this one.
        self._placed: dict[int, tuple[Hashable, PlacedPicture | None]] = {}
        self._groups: dict[int, _Group] = {}
        self._used: set[int] = set()
        self._grouped: set[int] = set()

    def read(self, first_frame: int, count: int) -> MotionStates:
        """Read the states of frames: what has to be drawn is known then."""
        self._states = self._page.states(first_frame, count)
        self._redraws.forget()
        self._placed.clear()
        self._groups.clear()
        self._frames.clear()
        self._wanted = {}
        self.resamples_edges = False
        for frame in range(first_frame, first_frame + count):
            movers = self._states.of(frame)
            all_shown = self._shown(movers)
            self._frames[frame] = (movers, all_shown)
            for shown in all_shown:
                self._wanted[shown.layer.number, shown.scale, shown.phase] = shown
                self.resamples_edges |= shown.resamples_edges or is_cut_between_pixels(
                    shown.layer, movers, self._around_footage
                )
        return self._states

    def draw(self) -> None:
        """Draw what the frames show whose states were read last."""
        self._drawings.prepare(
            [
                (each.layer, each.scale, each.phase)
                for each in self._wanted.values()
                if each.layer.footage is None and not each.layer.is_redrawn
            ]
        )
        for layer in self._page.layers.footage:
            scales = [scale for number, scale, _ in self._wanted if number == layer.number]
            if scales:
                self.footage.prepare(layer, max(scales))

    def items(self, frame: int) -> list[SceneItem]:
        """Return the scene items of a prepared frame."""
        assert self._states is not None, "prepare comes first"
        self._frame = frame
        movers, shown = self._frames[frame]
        self._redraws.prepare(
            frame,
            [
                RedrawnLayer(each.layer, each.scale, self._states.content(frame, each.layer))
                for each in shown
                if each.layer.is_redrawn
            ],
        )
        self._used, self._grouped = set(), set()
        items = self._stack(shown, movers, depth=0, opacity=1.0)
        self._placed = {at: each for at, each in self._placed.items() if at in self._used}
        self._groups = {at: each for at, each in self._groups.items() if at in self._grouped}
        return items

    def _shown(self, movers: Sequence[MoverState]) -> list[_ShownLayer]:
        shown = []
        for layer in self._layers:
            states = [movers[number] for number in layer.chain]
            if states and not states[-1].is_visible:
                continue
            if any(state.opacity < _MIN_OPACITY for state in states):
                continue
            matrix = joined_matrix(states)
            enlarged, is_flat = _enlargement(matrix)
            if not is_flat:
                phase = _phase(matrix, layer)
                is_larger = _is_drawn_larger(layer, matrix)
                scale = sharp_scale_for(enlarged) if is_larger else scale_for(enlarged)
                shown.append(_ShownLayer(layer, matrix, scale, phase))
        return shown

    def _stack(
        self,
        shown: Sequence[_ShownLayer],
        movers: Sequence[MoverState],
        *,
        depth: int,
        opacity: float,
    ) -> list[SceneItem]:
        """Return the items of layers that have the first `depth` movers in common."""
        items: list[SceneItem] = []

        def next_mover(each: _ShownLayer) -> int:
            return each.layer.chain[depth] if len(each.layer.chain) > depth else -1

        for mover, run in groupby(shown, next_mover):
            inside = list(run)
            if mover < 0:
                items += [item for each in inside if (item := self._item(each, movers, opacity))]
                continue
            own = movers[mover].opacity
            if own >= 1 or len(inside) == 1:
                items += self._stack(inside, movers, depth=depth + 1, opacity=opacity * own)
                continue
            parts = self._stack(inside, movers, depth=depth + 1, opacity=1.0)
            items += self._faded(mover, parts, opacity * own)
        return items

    def _faded(self, mover: int, parts: list[SceneItem], opacity: float) -> list[SceneItem]:
        """Return items that fade as one, as a group if they overlap."""
        rects = [part.rect for part in parts]
        if not any(
            one.overlaps(other) for at, one in enumerate(rects) for other in rects[at + 1 :]
        ):
            return [
                replace(part, key=(part.key, opacity), opacity=part.opacity * opacity)
                for part in parts
                if isinstance(part, PictureItem)
            ]
        self._grouped.add(mover)
        if mover not in self._groups:
            self._groups[mover] = _Group(self._canvas)
        return self._groups[mover].items(mover, parts, opacity)

    def _item(
        self, shown: _ShownLayer, movers: Sequence[MoverState], opacity: float
    ) -> PictureItem | None:
        layer, number = shown.layer, shown.layer.number
        self._used.add(number)
        footage, drawing = None, None
        assert self._states is not None
        content: Hashable = (shown.scale, shown.phase)
        baselines = (layer.baseline, layer.moved_baseline)
        if layer.footage is not None:
            footage = self.footage.picture(layer, self._states.source_ms(self._frame, layer))
            content = footage.key
        elif layer.is_redrawn:
            drawing = self._redraws.get(layer)
            what = self._states.content(self._frame, layer)
            content = (shown.scale, what.number)
            baselines = (what.baseline, what.moved_baseline)
        else:
            drawing = self._drawings.get(layer, shown.scale, shown.phase)
        if footage is None and drawing is None:
            return None
        cut = cut_of(layer, movers, self._around_footage)
        key = (content, tuple(shown.matrix[:2].ravel().tolist()), cut)
        if number not in self._placed or self._placed[number][0] != key:
            if footage is not None:
                placed = self._place_footage(footage, shown.matrix, cut)
            else:
                assert drawing is not None
                matrix = _snapped(shown.matrix, *baselines, drawing.scale)
                if _is_drawn_there(layer, matrix):
                    matrix = _on_columns(matrix, shown.phase)
                placed = self._place(drawing, matrix, _is_drawn_larger(layer, matrix))
            self._placed[number] = (key, placed if cut is None or not placed else cut.apply(placed))
        placed = self._placed[number][1]
        return None if placed is None else PictureItem((number, key, opacity), placed, opacity)

    def _place(
        self, drawing: Drawing, matrix: Matrix, has_fine_edges: bool
    ) -> PlacedPicture | None:
        placed = _moved(drawing, matrix)
        if placed is not None:
            return placed
        shrink = scale_matrix(1 / drawing.scale, 1 / drawing.scale)
        whole = matrix @ shrink @ translation_matrix(drawing.left, drawing.top)
        return place(drawing.picture(), whole, within=self._canvas, has_fine_edges=has_fine_edges)

    def _place_footage(
        self, footage: FootagePicture, matrix: Matrix, cut: LayerCut | None
    ) -> PlacedPicture | None:
        seen = self._canvas
        if cut is not None:
            edges = (cut.rect.left, cut.rect.top, cut.rect.right, cut.rect.bottom)
            seen = seen.intersection(PixelRect.around(*edges))
        return place(footage.picture, matrix @ footage.matrix, within=seen)


class _Group:
    """Layers that fade as one, drawn on their own canvas."""

    def __init__(self, canvas: PixelRect) -> None:
        self._scene = Scene(canvas.width_px, canvas.height_px, background=_NOTHING, has_alpha=True)
        self._version = 0

    def items(self, mover: int, parts: list[SceneItem], opacity: float) -> list[SceneItem]:
        self._version += self._scene.show(parts)
        covered = self._scene.covered
        if covered.is_empty:
            return []
        placed = PlacedPicture(
            crop_picture(self._scene.picture, covered), covered.left, covered.top
        )
        key = ("group", mover, self._version, opacity)
        return [PictureItem(key, placed, opacity, is_page_group=True)]


def _enlargement(matrix: Matrix) -> tuple[float, bool]:
    """Return the largest scale in any direction, and whether nothing is left in another."""
    (a, c, _), (b, d, _), _ = matrix.tolist()
    squares, area = a * a + b * b + c * c + d * d, abs(a * d - b * c)
    return sqrt((squares + sqrt(max(0.0, squares**2 - 4 * area**2))) / 2), area < 1e-9


def _snapped(
    matrix: Matrix, baseline: float | None, moved_baseline: float | None, scale: float
) -> Matrix:
    """Return the matrix that puts a text on a whole row of pixels, as Chromium does if upright."""
    (wide, slant, x), (lean, high, y), _ = matrix.tolist()
    if baseline is None or moved_baseline is None or abs(slant) + abs(lean) > _SAME:
        return matrix
    drawn = floor(baseline * scale + 0.5) / scale
    is_moved = max(abs(wide - 1), abs(high - 1), abs(x), abs(y)) > _SAME
    snapped = matrix.copy()
    at = moved_baseline if is_moved else baseline
    snapped[1, 2] = floor(at * high + y + 0.5) - drawn * high
    return snapped


def _is_translation(matrix: Matrix) -> bool:
    (a, c, _), (b, d, _), _ = matrix.tolist()
    return bool(max(abs(a - 1), abs(d - 1), abs(b), abs(c)) * 1000 < _SAME)


def _is_whole(matrix: Matrix) -> bool:
    (_, _, x), (_, _, y), _ = matrix.tolist()
    return bool(max(abs(x - round(x)), abs(y - round(y))) < _SAME)


def _is_drawn_there(layer: PageLayer, matrix: Matrix) -> bool:
    """Whether a layer is drawn for its place between two columns.

    Text alone is always on whole rows; with a box around it, its place between rows must be that of
    the drawing.
    """
    if layer.is_redrawn or not layer.has_glyphs or not _is_translation(matrix):
        return False
    y = float(matrix[1, 2])
    return layer.baseline is not None or abs(y - round(y)) < _SAME


def _is_drawn_larger(layer: PageLayer, matrix: Matrix) -> bool:
    """Whether a layer is drawn larger than it is shown, so that its edges stay sharp.

    Chromium draws what grows anew for each size. What it turns, it draws once, and samples it.
    """
    (wide, slant, _), (lean, high, _), _ = matrix.tolist()
    is_upright = abs(slant) + abs(lean) < UPRIGHT and wide > 0 and high > 0
    is_drawn_once = layer.footage is None and not layer.is_redrawn
    return is_drawn_once and layer.has_edges and is_upright and not _is_translation(matrix)


def _phase(matrix: Matrix, layer: PageLayer) -> float:
    """Return the fraction of a pixel by which a layer with text is drawn further right.

    Chromium draws glyphs at quarters of a pixel; a blend of two columns would not be as sharp.
    """
    if not _is_drawn_there(layer, matrix):
        return 0.0
    return floor(float(matrix[0, 2]) * _PHASES + 0.5) % _PHASES / _PHASES


def _on_columns(matrix: Matrix, phase: float) -> Matrix:
    """Return the matrix that moves a layer, drawn with that phase, by whole columns."""
    columns = matrix.copy()
    columns[0, 2] = floor(float(matrix[0, 2]) * _PHASES + 0.5) / _PHASES - phase
    return columns


def _moved(drawing: Drawing, matrix: Matrix) -> PlacedPicture | None:
    """Return a drawing that is moved by whole pixels only, exactly; None for any other."""
    (a, c, x), (b, d, y), _ = matrix.tolist()
    whole_x, whole_y = round(x), round(y)
    far = max(abs(a - 1), abs(d - 1), abs(b), abs(c)) * 1000 + abs(x - whole_x) + abs(y - whole_y)
    if drawing.scale != 1 or far > _SAME:
        return None
    left, top = drawing.left + whole_x, drawing.top + whole_y
    picture = drawing.picture(left % 2, top % 2)
    return PlacedPicture(picture, left - left % 2, top - top % 2)
