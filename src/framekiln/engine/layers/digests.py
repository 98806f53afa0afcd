"""Digests of everything that determines the pixels of a slice, and nothing else.

Each layer visible in the slice contributes the bytes of its source, its own style, and its state in
every frame. Its index in the config, its id and its states in other slices do not contribute.
Content drawn by Chromium contributes its pixels. If these are not known in advance (pages with
scripts, remote pages), there is no digest.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final

from framekiln.composition.layers import ResolvedLayer, ResolvedTimeline
from framekiln.composition.layers.values import (
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
from framekiln.engine.assets import TrackedAssets
from framekiln.engine.audio_clips import LayerAudioClip
from framekiln.engine.engine_version import engine_version
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.layers.frame_digests import FRAME_DIGESTS
from framekiln.engine.layers.geometry import is_static
from framekiln.engine.layers.painter_context import PainterContext
from framekiln.kit.canonical_json import sha256_digest
from framekiln.kit.errors import FramekilnError
from framekiln.kit.media_kind import MediaKind
from framekiln.timeline import Timeline

# Resolved before any frame is drawn; the digest contains the results instead.
_PLAIN: Final = Layer(path="", id="")
_RESOLVED_FIELDS: Final = ("path", "id", "name", "start", "trim", "on_error", "opacity")
_UNUSED_FIELDS: Final = ("file", "fallback_file", "sound", "speed", "loop", "freeze", "layers")
_TIMELESS: Final = (TextLayer, ShapeLayer, FilterLayer, GroupLayer, SequenceLayer)
# Scripts, also in iframes, may use real randomness or depend on earlier frames.
_DYNAMIC: Final = re.compile(
    r"<\s*(script|iframe|frame|object|embed|portal|link|base)\b|http-equiv|javascript:|\bon[a-z]+\s*=",
    re.IGNORECASE,
)
_EXPRESSION: Final = re.compile(r'"x"\s*:\s*"')


class _NotCacheable(Exception):
    """The inputs do not determine the pixels of this slice."""


@dataclass(frozen=True)
class SliceDigests:
    """Digests of the slices of one film; equal slices of different films have equal digests."""

    film: ResolvedTimeline
    context: PainterContext
    assets: TrackedAssets
    encoding: str
    """All settings of the encoder."""
    sound: str | None
    browser: str

    def of(self, slice_: FilmSlice) -> str | None:
        """Return the digest of a slice; None if equal inputs may give different pixels."""
        sums = hashlib.sha256()
        head = (engine_version(), self.encoding, slice_.frame_count, self.film.config.background)
        sums.update(repr(head).encode())
        try:
            for part in self._layers(self.film.layers, slice_):
                sums.update(part.encode())
        except _NotCacheable:
            return None
        return f"sha256:{sums.hexdigest()}"

    def _layers(self, layers: Sequence[ResolvedLayer], slice_: FilmSlice) -> Iterator[str]:
        """Yield the inputs of a stack of layers, bottom first."""
        seen = [
            (layer, frames)
            for layer in layers
            if (frames := FRAME_DIGESTS.of(layer, slice_, has_time=self._has_time(layer)))
        ]
        places = {layer.id: place for place, (layer, _) in enumerate(seen)}
        for layer, frames in seen:
            yield f"\n{self._layer_facts(layer, slice_)}\n{frames.digest}"
            # Where a partner of a dissolve is in the stack.
            yield repr([places.get(each) for each in frames.partners])
            if isinstance(layer.layer, GroupLayer | SequenceLayer):
                yield "\n("
                yield from self._layers(layer.children, slice_)
                yield ")"

    def _layer_facts(self, layer: ResolvedLayer, slice_: FilmSlice) -> str:
        """Return the inputs of a layer that do not depend on the frame."""
        value = layer.layer
        facts: list[object] = [
            _without_resolved_fields(value, is_still=is_static(layer)),
            layer.canvas,
            layer.fps,
        ]
        if not is_static(layer):
            # The size at which it is drawn depends on its whole duration.
            facts += [layer.start_s, layer.end_s, layer.zero_s, sorted(layer.curves.items())]
        facts += [layer.natural, layer.is_placeholder, self._drawn(layer)]
        if layer.source is not None:
            facts.append(self.context.sources.digest(layer.source))
        return repr([*facts, *self._page_inputs(layer, slice_)])

    def _page_inputs(self, layer: ResolvedLayer, slice_: FilmSlice) -> Sequence[object]:
        """Return the other inputs of a layer that is drawn during the render."""
        value = layer.layer
        if layer.is_placeholder:
            return ()
        if isinstance(value, WaveformLayer) and layer.source is None:
            return (self.sound, slice_.first_frame)
        if isinstance(value, HtmlLayer):
            _require_static_page(value.html)
        elif isinstance(value, LottieLayer):
            self._require_no_expressions(layer, value)
        elif not isinstance(value, SubtitlesLayer):
            return ()
        return (self.browser, self._shared_inputs())

    def _shared_inputs(self) -> list[tuple[str, str]]:
        """Return the digests of fonts and audio sources, which any page may request."""
        try:
            fonts = [(font.src, self.assets.digest(font.src)) for font in self.film.config.fonts]
        except FramekilnError as error:
            raise _NotCacheable from error
        sources_with_sound = sorted({piece.source for piece in self.context.audio_clips})
        return [
            *fonts,
            *((source, self.context.sources.digest(source)) for source in sources_with_sound),
        ]

    def _drawn(self, layer: ResolvedLayer) -> object:
        drawn = self.context.drawings.get(layer.id)
        if drawn is None:
            return None
        return (drawn.size, drawn.area, drawn.sheet.shape, drawn.digest)

    def _has_time(self, layer: ResolvedLayer) -> bool:
        """Whether the source time affects what is visible."""
        if layer.is_placeholder or isinstance(layer.layer, _TIMELESS):
            return False
        found = self.context.sources.probed.get(layer.source or "")
        is_still = found is not None and found.kind is MediaKind.IMAGE and not found.duration_s
        return not is_still

    def _require_no_expressions(self, layer: ResolvedLayer, value: LottieLayer) -> None:
        if value.animation is not None:
            text = value.animation.text
        else:
            assert layer.source is not None
            text = self.context.sources.path(layer.source).read_text("utf-8", "replace")
        if _EXPRESSION.search(text):
            raise _NotCacheable


def _require_static_page(page: HtmlPage) -> None:
    texts = (page.body or "", page.styles or "", page.document or "")
    if page.url is not None or any(_DYNAMIC.search(text) for text in texts):
        raise _NotCacheable


def _without_resolved_fields(value: Layer, *, is_still: bool) -> Layer:
    """Return a layer without fields that were resolved before, or that its states contain."""
    names = {each.name for each in fields(value)}
    settled: dict[str, Any] = {name: getattr(_PLAIN, name) for name in _RESOLVED_FIELDS}
    settled |= {name: None for name in _UNUSED_FIELDS if name in names}
    if is_still:
        settled["transitions"] = ()
    return replace(value, **settled)


def sound_digest(
    clips: Sequence[LayerAudioClip],
    timeline: Timeline,
    sources: Mapping[str, str],
    *,
    settings: str,
) -> str:
    """Return the digest of a mix; `settings` covers all other inputs of the mixer."""
    return sha256_digest(
        {
            "engine": engine_version(),
            "pieces": [[_clip_facts(clip), sources[clip.source]] for clip in clips],
            "settings": settings,
            "length_s": str(Fraction(timeline.frame_count) / timeline.fps),
        }
    )


def _clip_facts(clip: LayerAudioClip) -> dict[str, object]:
    # The layer's id and the URL of the source do not change the audio.
    facts = clip.as_json()
    return {name: facts[name] for name in facts if name not in ("layer_id", "source")}
