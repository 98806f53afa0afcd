"""What the pixels of a slice depend on, and nothing else, as a digest.

Each layer that is seen in the slice counts with the bytes of its source, with its own looks, and
with its state in every frame; where it stands in the config, what it is called and what it does
in other slices do not count. What Chromium has drawn counts as its pixels. Where that cannot be
known beforehand (pages with scripts, pages from elsewhere), there is no digest.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from operator import attrgetter
from typing import Any, Final

from framekiln.composition.layers import LayerState, LayerStates, ResolvedLayer, ResolvedTimeline
from framekiln.composition.layers.values import (
    AudioLayer,
    FilterLayer,
    GroupLayer,
    HtmlLayer,
    HtmlPage,
    Layer,
    LottieLayer,
    SequenceLayer,
    ShapeLayer,
    SubtitlesLayer,
    TextLayer,
    WaveformLayer,
)
from framekiln.engine.layers.geometry import stands_still
from framekiln.engine.layers.painters import Palette
from framekiln.engine.slices import Slice
from framekiln.engine.version import engine_version
from framekiln.engine.watched_assets import WatchedAssets
from framekiln.kit.errors import FramekilnError
from framekiln.kit.media_kind import MediaKind

# Settled before any frame is shown, and counted as what came of it.
_PLAIN: Final = Layer(path="", id="")
_SETTLED: Final = ("path", "id", "name", "start", "trim", "on_error", "opacity")
_EMPTY: Final = ("file", "fallback_file", "sound", "speed", "loop", "freeze", "layers")
# What a state says apart from its source time and its partner.
_LOOKS: Final = tuple(
    each.name for each in fields(LayerState) if each.name not in ("source_s", "dissolve")
)
_look_of: Final = attrgetter(*_LOOKS)
_TIMELESS: Final = (TextLayer, ShapeLayer, FilterLayer, GroupLayer, SequenceLayer)
# Scripts may ask for real chance or count what was drawn before; so may pages inside of pages.
_ALIVE: Final = re.compile(
    r"<\s*(script|iframe|frame|object|embed|portal|link|base)\b|http-equiv|javascript:|\bon[a-z]+\s*=",
    re.IGNORECASE,
)
_EXPRESSION: Final = re.compile(r'"x"\s*:\s*"')


class _Unforeseeable(Exception):
    """Equal descriptions of this slice may look different."""


@dataclass(frozen=True)
class SliceDigests:
    """Tells slices of one film apart, and equal ones of any two films alike."""

    film: ResolvedTimeline
    palette: Palette
    assets: WatchedAssets
    encoding: str
    """All that the encoder is told."""
    sound: str | None
    browser: str

    def of(self, slice_: Slice) -> str | None:
        """Return the digest of a slice; None when equal ones may look different."""
        sums = hashlib.sha256()
        head = (engine_version(), self.encoding, slice_.frame_count, self.film.config.background)
        sums.update(repr(head).encode())
        try:
            for part in self._layers(self.film.layers, slice_):
                sums.update(part.encode())
        except _Unforeseeable:
            return None
        return f"sha256:{sums.hexdigest()}"

    def _layers(self, layers: Sequence[ResolvedLayer], slice_: Slice) -> Iterator[str]:
        """Yield the words for layers that lie on each other, bottom first."""
        seen = [
            (layer, states)
            for layer in layers
            if (states := list(seen_states(layer, slice_))) != []
        ]
        places = {layer.id: place for place, (layer, _) in enumerate(seen)}
        for layer, states in seen:
            yield f"\n{self._looks(layer, slice_)}"
            yield from _frames(layer, states, places, has_time=self._has_time(layer))
            if isinstance(layer.layer, GroupLayer | SequenceLayer):
                yield "\n("
                yield from self._layers(layer.children, slice_)
                yield ")"

    def _looks(self, layer: ResolvedLayer, slice_: Slice) -> str:
        """Return what a layer is, whatever the frame."""
        value = layer.layer
        facts: list[object] = [_own(value, is_still=stands_still(layer)), layer.canvas, layer.fps]
        if not stands_still(layer):
            # How large it is drawn depends on all of its life.
            facts += [layer.start_s, layer.end_s, layer.zero_s, sorted(layer.curves.items())]
        facts += [layer.natural, layer.is_placeholder, self._drawn(layer)]
        if layer.source is not None:
            facts.append(self.palette.gathered.digest(layer.source))
        return repr([*facts, *self._beside(layer, slice_)])

    def _beside(self, layer: ResolvedLayer, slice_: Slice) -> Sequence[object]:
        """Return what else decides about a layer that is drawn while the film is made."""
        value = layer.layer
        if isinstance(value, WaveformLayer) and layer.source is None:
            return (self.sound, slice_.first_frame)
        if isinstance(value, HtmlLayer):
            _require_lifeless(value.html)
        elif isinstance(value, LottieLayer):
            self._require_no_expressions(layer, value)
        elif not isinstance(value, SubtitlesLayer):
            return ()
        return (self.browser, self._around())

    def _around(self) -> list[tuple[str, str]]:
        """Return what pages may ask for without being of any other look."""
        try:
            fonts = [(font.src, self.assets.digest(font.src)) for font in self.film.config.fonts]
        except FramekilnError as error:
            raise _Unforeseeable from error
        heard = sorted({piece.source for piece in self.palette.heard})
        return [*fonts, *((source, self.palette.gathered.digest(source)) for source in heard)]

    def _drawn(self, layer: ResolvedLayer) -> object:
        drawn = self.palette.drawn.get(layer.id)
        if drawn is None:
            return None
        pixels = hashlib.sha256(drawn.sheet.tobytes()).hexdigest()
        return (drawn.size, drawn.area, drawn.sheet.shape, pixels)

    def _has_time(self, layer: ResolvedLayer) -> bool:
        """Tell whether it matters which instant of its source is shown."""
        if layer.is_placeholder or isinstance(layer.layer, _TIMELESS):
            return False
        found = self.palette.gathered.probed.get(layer.source or "")
        is_still = found is not None and found.kind is MediaKind.IMAGE and not found.duration_s
        return not is_still

    def _require_no_expressions(self, layer: ResolvedLayer, value: LottieLayer) -> None:
        if value.animation is not None:
            text = value.animation.text
        else:
            assert layer.source is not None
            text = self.palette.gathered.path(layer.source).read_text("utf-8", "replace")
        if _EXPRESSION.search(text):
            raise _Unforeseeable


def _require_lifeless(page: HtmlPage) -> None:
    texts = (page.body or "", page.styles or "", page.document or "")
    if page.url is not None or any(_ALIVE.search(text) for text in texts):
        raise _Unforeseeable


def _own(value: Layer, *, is_still: bool) -> Layer:
    """Return a layer without what was settled before, or shows in its states."""
    names = {each.name for each in fields(value)}
    settled: dict[str, Any] = {name: getattr(_PLAIN, name) for name in _SETTLED}
    settled |= {name: None for name in _EMPTY if name in names}
    if is_still:
        settled["transitions"] = ()
    return replace(value, **settled)


def seen_states(layer: ResolvedLayer, slice_: Slice) -> Iterator[tuple[int, LayerState]]:
    """Yield the frames of a slice in which a layer is seen; those before it count from zero."""
    if isinstance(layer.layer, AudioLayer):
        return
    states = LayerStates(layer)
    first = max(slice_.first_frame, layer.first_frame)
    for number in range(first, min(slice_.end_frame, layer.end_frame)):
        state = states.at(Fraction(number) / layer.fps)
        if state.is_visible and state.opacity > 0 and state.scale > 0:
            yield number - slice_.first_frame, state


def _frames(
    layer: ResolvedLayer,
    states: Sequence[tuple[int, LayerState]],
    places: dict[str, int],
    *,
    has_time: bool,
) -> Iterator[str]:
    """Yield what differs from frame to frame."""
    before: object = None
    for number, state in states:
        dissolve = state.dissolve
        mixed = dissolve and (places.get(dissolve.partner_id), dissolve.weight, dissolve.is_coming)
        look = (_look_of(state), mixed)
        yield f"\n{number} {state.source_s if has_time else ''}"
        if look != before:
            yield repr(look)
        before = look
