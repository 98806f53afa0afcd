"""Captions as sprites: each text is drawn once, in batches, shortly before it is needed."""

from bisect import bisect_right
from fractions import Fraction
from typing import Final

from framekiln.composition.layers import LayerState, PixelSize, ResolvedLayer, text_wrap_px
from framekiln.composition.layers.values import SubtitlesLayer
from framekiln.engine.layers.geometry import largest_scale
from framekiln.engine.layers.html_raster import HtmlRasterizer, HtmlSnippet, RasterImage
from framekiln.engine.layers.painter import SourceImage
from framekiln.engine.layers.text_markup import caption_markup
from framekiln.media.captions import CaptionTrack

_AT_ONCE: Final = 40


class CaptionPainter:
    """The captions of one subtitles layer."""

    def __init__(self, layer: ResolvedLayer, captions: CaptionTrack, room: HtmlRasterizer) -> None:
        assert isinstance(layer.layer, SubtitlesLayer)
        self._layer = layer
        self._style = layer.layer.subtitles
        self._rasterizer = room
        self._scale = largest_scale(layer)
        self._spans = _spans(captions)
        self._starts_ms = [start_ms for start_ms, _ in self._spans]
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
        number = self._number(source_s)
        return self._spans[number][1] if number >= 0 else ""

    def _number(self, source_s: Fraction) -> int:
        return bisect_right(self._starts_ms, source_s * 1000) - 1

    def _at(self, source_s: Fraction) -> RasterImage | None:
        text = self._text(source_s)
        if not text:
            return None
        if text not in self._drawn:
            self._draw_from(self._number(source_s))
        return self._drawn[text]

    def _draw_from(self, number: int) -> None:
        texts = dict.fromkeys(text for _, text in self._spans[number:] if text)
        wanted = [text for text in texts if text not in self._drawn][:_AT_ONCE]
        room_px = text_wrap_px(self._layer)
        pieces = []
        for each, text in enumerate(wanted):
            markup, rules = caption_markup(self._style, f"c{each}", text, room_px=room_px)
            pieces.append(HtmlSnippet(markup, rules, self._scale))
        self._drawn.update(zip(wanted, self._rasterizer.draw(pieces), strict=True))


def _spans(captions: CaptionTrack) -> list[tuple[int, str]]:
    """Return start times and texts; the text is empty where no caption is shown."""
    edges = sorted({ms for cue in captions.segments for ms in (cue.start_ms, cue.end_ms)})
    spans: list[tuple[int, str]] = []
    for start_ms in edges:
        on = [cue.text for cue in captions.segments if cue.start_ms <= start_ms < cue.end_ms]
        spans.append((start_ms, "\n".join(on)))
    return spans
