"""Captions as sprites: each text is drawn once, in batches, shortly before it is needed."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Final

from framekiln.composition.layers import LayerState, PixelSize, ResolvedLayer, text_wrap_px
from framekiln.composition.layers.values import SubtitlesLayer
from framekiln.engine.layers.geometry import largest_scale
from framekiln.engine.layers.html_raster import HtmlRasterizer, HtmlSnippet, RasterImage
from framekiln.engine.layers.painter import SourceImage
from framekiln.engine.layers.text_markup import caption_markup
from framekiln.media.captions import CaptionSpans, CaptionTrack

_AT_ONCE: Final = 40
_MAX_KEPT: Final = 400


class CaptionPainter:
    """The captions of one subtitles layer."""

    def __init__(
        self, layer: ResolvedLayer, captions: CaptionTrack, rasterizer: HtmlRasterizer
    ) -> None:
        assert isinstance(layer.layer, SubtitlesLayer)
        self._layer = layer
        self._style = layer.layer.subtitles
        self._rasterizer = rasterizer
        self._scale = largest_scale(layer)
        self._spans = CaptionSpans(captions.segments)
        self._drawn: dict[str, RasterImage] = {}

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """Return the size of the current caption."""
        layer = self._layer
        source_s = layer.window.at(max(Fraction(0), time_s - layer.start_s), 1 / layer.fps)
        drawn = self._at(source_s)
        return None if drawn is None else drawn.size

    def image(self, state: LayerState) -> SourceImage | None:
        """Return the current caption."""
        drawn = self._at(state.source_s)
        if drawn is None:
            return None
        return SourceImage(
            ("caption", self._text(state.source_s)), sheet=drawn.sheet, area=drawn.area
        )

    def close(self) -> None:
        """Release the images."""
        self._drawn.clear()

    def _text(self, source_s: Fraction) -> str:
        return self._spans.text(self._spans.number_at(source_s * 1000))

    def _at(self, source_s: Fraction) -> RasterImage | None:
        text = self._text(source_s)
        if not text:
            return None
        if text not in self._drawn:
            self._draw_from(self._spans.number_at(source_s * 1000))
        return self._drawn[text]

    def _draw_from(self, number: int) -> None:
        if len(self._drawn) >= _MAX_KEPT:
            self._drawn.clear()
        wanted = list(islice(self._new_texts(number), _AT_ONCE))
        room_px = text_wrap_px(self._layer)
        pieces = []
        for each, text in enumerate(wanted):
            markup, rules = caption_markup(self._style, f"c{each}", text, room_px=room_px)
            pieces.append(HtmlSnippet(markup, rules, self._scale))
        self._drawn.update(zip(wanted, self._rasterizer.draw(pieces), strict=True))

    def _new_texts(self, number: int) -> Iterator[str]:
        seen = set(self._drawn)
        for text in self._spans.texts_from(number):
            if text not in seen:
                seen.add(text)
                yield text
