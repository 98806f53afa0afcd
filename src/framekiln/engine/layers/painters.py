"""Which painter a layer needs, and what Chromium must draw before the first frame."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from framekiln.capture.browser import Browser
from framekiln.capture.page import Size
from framekiln.composition.layers import PixelSize, ResolvedLayer, ResolvedTimeline, text_room_px
from framekiln.composition.layers.styles import ShapeKind
from framekiln.composition.layers.values import (
    AudioLayer,
    GroupLayer,
    HtmlLayer,
    HtmlPage,
    ImageLayer,
    LottieLayer,
    SequenceLayer,
    ShapeLayer,
    SubtitlesLayer,
    TextLayer,
    VideoLayer,
    Visual,
    WaveformLayer,
)
from framekiln.compositor.rect import Rect
from framekiln.engine.assets import Assets
from framekiln.engine.heard import HeardPiece
from framekiln.engine.layers.composing import GroupPainter
from framekiln.engine.layers.drawn_layer import DrawnLayer
from framekiln.engine.layers.errors import failed
from framekiln.engine.layers.geometry import largest_scale, largest_side_px, looks
from framekiln.engine.layers.page_markup import html_document, lottie_document, only
from framekiln.engine.layers.painter import Look, Painter
from framekiln.engine.layers.raster import Drawn, Piece, RasterRoom, TooLargeToDraw
from framekiln.engine.layers.sources.captions import CaptionPainter
from framekiln.engine.layers.sources.image import ImagePainter, still_raster
from framekiln.engine.layers.sources.page import PageOrder, PagePainter
from framekiln.engine.layers.sources.shape import ShapePainter
from framekiln.engine.layers.sources.still import StillPainter, placeholder
from framekiln.engine.layers.sources.video import VideoPainter
from framekiln.engine.layers.sources.waveform import WaveformPainter
from framekiln.engine.layers.sourcing import Gathered
from framekiln.engine.layers.text_markup import (
    path_markup,
    picture_markup,
    text_markup,
)
from framekiln.engine.order import FilmLimits
from framekiln.engine.sound import mix_to_wav
from framekiln.kit.media_kind import MediaKind
from framekiln.media.captions import read_captions
from framekiln.media.hearing.source_samples import SourceSamples
from framekiln.media.source_probe import read_lottie
from framekiln.timeline import Timeline


@dataclass
class Palette:
    """Everything that painters are made of, for one film."""

    gathered: Gathered
    browser: Browser
    assets: Assets
    limits: FilmLimits
    canvas: Rect
    room: RasterRoom
    folder: Path
    """For files that last as long as the stage."""
    head: str
    """Styles that every page needs: the config's fonts."""
    heard: tuple[HeardPiece, ...]
    timeline: Timeline
    raw: bool = True
    drawn: dict[str, Drawn] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def draw_layer(self, layer: ResolvedLayer) -> DrawnLayer | None:
        """Return whoever draws a layer; None for those that are only heard."""
        painter = self._painter(layer)
        if painter is None:
            return None
        return DrawnLayer(layer, painter, canvas=self.canvas, warn=self.warnings.append)

    def _painter(self, layer: ResolvedLayer) -> Painter | None:
        value = layer.layer
        if isinstance(value, AudioLayer):
            return None
        if layer.is_placeholder:
            return StillPainter(placeholder())
        if isinstance(value, GroupLayer | SequenceLayer):
            return GroupPainter(layer, self.canvas, self.draw_layer)
        if layer.id in self.drawn:
            return StillPainter(_look(self.drawn[layer.id], layer))
        if isinstance(value, ShapeLayer):
            return ShapePainter(layer)
        return self._of_page(layer) or self._of_sound(layer) or self._of_file(layer)

    def _of_page(self, layer: ResolvedLayer) -> Painter | None:
        value = layer.layer
        if isinstance(value, HtmlLayer):
            make_order = partial(self._html_order, layer, value.html)
        elif isinstance(value, LottieLayer):
            make_order = partial(self._lottie_order, layer, value)
        else:
            return None
        return PagePainter(
            make_order,
            self.browser,
            self.assets,
            self.limits,
            warn=lambda warning: self.warnings.append(f"{value.path}: {warning}"),
            raw=self.raw,
        )

    def _html_order(self, layer: ResolvedLayer, html: HtmlPage) -> PageOrder:
        fetched = None
        if html.url is not None:
            fetched = self.assets.fetch(html.url).path.read_text("utf-8", "replace")
        state = next(looks(layer))
        return PageOrder(
            document=html_document(html, fetched, head=self.head),
            size=Size(max(1, round(state.width)), max(1, round(state.height))),
            fps=layer.fps,
            is_transparent=html.has_transparent_background,
            prepare="" if html.selector is None else only(html.selector),
        )

    def _lottie_order(self, layer: ResolvedLayer, value: LottieLayer) -> PageOrder:
        if value.animation is not None:
            animation = value.animation.thaw()
        else:
            assert layer.source is not None
            animation = read_lottie(self.gathered.path(layer.source))
        return PageOrder(
            document=lottie_document(animation),
            size=Size(*largest_side_px(layer)),
            fps=layer.fps,
            is_transparent=True,
            seek=lambda at_s: f"framekilnSeek({float(at_s * 1000)})",
        )

    def _of_sound(self, layer: ResolvedLayer) -> Painter | None:
        if isinstance(layer.layer, SubtitlesLayer) and layer.source is not None:
            captions = read_captions(self.gathered.path(layer.source).read_bytes())
            return CaptionPainter(layer, captions, self.room)
        if not isinstance(layer.layer, WaveformLayer):
            return None
        if layer.source is None:
            return WaveformPainter(layer, lambda: SourceSamples(self.mixed()), is_mix=True)
        path = self.gathered.path(layer.source)
        return WaveformPainter(layer, lambda: SourceSamples(path), is_mix=False)

    def mixed(self) -> Path:
        """Return the sound of the whole film, mixed when it is first asked for."""
        path = self.folder / "mixed.wav"
        if not path.exists():
            mix_to_wav(self.heard, self.timeline, self.assets, path)
        return path

    def _of_file(self, layer: ResolvedLayer) -> Painter | None:
        if not isinstance(layer.layer, VideoLayer | ImageLayer) or layer.source is None:
            return None
        path = self.gathered.path(layer.source)
        is_picture = self.gathered.probed[layer.source].kind is MediaKind.IMAGE
        return ImagePainter(layer, path) if is_picture else VideoPainter(layer, path)


def draw_ahead(film: ResolvedTimeline, palette: Palette) -> None:
    """Have Chromium draw what it alone can, all at once; a film without such has no page."""
    layers = [layer for layer in film.every_layer() if layer.first_frame < layer.end_frame]
    if film.config.extension.is_still:
        layers = film.every_layer()
    wanted = [
        (layer, piece)
        for number, layer in enumerate(layers)
        if (piece := _piece(layer, f"n{number}", palette)) is not None
    ]
    for (layer, _), drawn in zip(wanted, _draw(wanted, palette.room), strict=True):
        palette.drawn[layer.id] = drawn
        if drawn.overflows:
            palette.warnings.append(
                f"{layer.layer.path}: the text of layer {layer.id} is larger than its box"
            )


def measured(palette: Palette) -> Mapping[str, PixelSize]:
    """Return the sizes of what was drawn, for `resolve`."""
    return {name: drawn.size for name, drawn in palette.drawn.items()}


def _draw(wanted: list[tuple[ResolvedLayer, Piece]], room: RasterRoom) -> Iterable[Drawn]:
    try:
        return room.draw([piece for _, piece in wanted])
    except TooLargeToDraw as error:
        raise failed(wanted[error.number][0].layer, error) from error


def _piece(layer: ResolvedLayer, name: str, palette: Palette) -> Piece | None:
    value = layer.layer
    if layer.is_placeholder or not isinstance(value, Visual):
        return None
    if isinstance(value, TextLayer):
        markup, rules = text_markup(
            value.text,
            name,
            width_px=value.size.width_px,
            room_px=text_room_px(layer),
            height_px=value.size.height_px,
        )
        return Piece(markup, rules, largest_scale(layer), uses_tailwind=bool(value.text.tailwind))
    if isinstance(value, ShapeLayer) and value.shape.kind is ShapeKind.PATH:
        state = next(looks(layer))
        markup, rules = path_markup(value.shape, name, PixelSize(state.width, state.height))
        return Piece(markup, rules, largest_scale(layer))
    if isinstance(value, ImageLayer | VideoLayer) and layer.source is not None:
        return _svg_piece(layer, name, palette)
    return None


def _svg_piece(layer: ResolvedLayer, name: str, palette: Palette) -> Piece | None:
    assert layer.source is not None
    path = palette.gathered.path(layer.source)
    if palette.gathered.probed[layer.source].codec != "svg":
        return None
    width, height = still_raster(layer)
    markup, rules = picture_markup(path.read_bytes(), name, PixelSize(width, height))
    return Piece(markup, rules, is_picture=True)


def _look(drawn: Drawn, layer: ResolvedLayer) -> Look:
    # A picture fills what the state says; a text brings its own area.
    if isinstance(layer.layer, ImageLayer | VideoLayer):
        return Look("drawn", sheet=drawn.sheet)
    return Look("drawn", sheet=drawn.sheet, area=drawn.area)
