"""Opens the painter of each layer, and draws static layers in Chromium before the first frame."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from framekiln.capture.browser import Browser
from framekiln.capture.page import FrameSize
from framekiln.composition.layers import PixelSize, ResolvedLayer, ResolvedTimeline, text_wrap_px
from framekiln.composition.layers.styles import ShapeKind
from framekiln.composition.layers.values import (
    AudioLayer,
    GroupLayer,
    HtmlLayer,
    HtmlPage,
    ImageLayer,
    Layer,
    LottieLayer,
    OnError,
    SequenceLayer,
    ShapeLayer,
    SubtitlesLayer,
    TextLayer,
    VideoLayer,
    VisualLayer,
    WaveformLayer,
)
from framekiln.compositor.rect import PixelRect
from framekiln.engine.assets import Assets
from framekiln.engine.audio_clips import LayerAudioClip
from framekiln.engine.audio_mix import mix_audio_to_wav
from framekiln.engine.film_order import FilmLimits
from framekiln.engine.layers.drawn_layer import DrawnLayer
from framekiln.engine.layers.errors import layer_failure
from framekiln.engine.layers.fetched_sources import FetchedSources
from framekiln.engine.layers.geometry import (
    MAX_DRAWN_PX,
    largest_scale,
    largest_side_px,
    sampled_states,
)
from framekiln.engine.layers.html_raster import (
    HtmlRasterizer,
    HtmlSnippet,
    RasterImage,
    TooLargeToDraw,
)
from framekiln.engine.layers.layer_stack import GroupPainter
from framekiln.engine.layers.page_markup import html_document, isolate_script, lottie_document
from framekiln.engine.layers.page_text import page_text
from framekiln.engine.layers.painter import Painter, SourceImage, StillPainter, placeholder
from framekiln.engine.layers.painters.captions import CaptionPainter
from framekiln.engine.layers.painters.image import ImagePainter, raster_size
from framekiln.engine.layers.painters.page import LayerPage, PagePainter
from framekiln.engine.layers.painters.shape import ShapePainter
from framekiln.engine.layers.painters.video import VideoPainter
from framekiln.engine.layers.painters.waveform import WaveformPainter
from framekiln.engine.layers.text_markup import (
    path_markup,
    picture_markup,
    text_markup,
)
from framekiln.engine.missing_media import AssetMissing, AssetUnavailable
from framekiln.kit.errors import FramekilnError
from framekiln.kit.media_kind import MediaKind
from framekiln.kit.warning_text import WarningText, reworded
from framekiln.media.audio.source_samples import SourceSamples
from framekiln.media.captions import caption_bytes, read_captions
from framekiln.media.lottie_file import read_lottie
from framekiln.media.session_audio import SessionAudio
from framekiln.media.source_session import SourceSession
from framekiln.timeline import Timeline

_MAX_PAGE_PX: Final = 8192 * 8192


@dataclass
class PainterContext:
    """Resources that the painters of one film share."""

    sources: FetchedSources
    browser: Browser
    assets: Assets
    limits: FilmLimits
    canvas: PixelRect
    rasterizer: HtmlRasterizer
    folder: Path
    """For files with the lifetime of the renderer."""
    head_css: str
    """Styles that every page needs: the config's fonts."""
    audio_clips: tuple[LayerAudioClip, ...]
    timeline: Timeline
    session: SourceSession = field(default_factory=SourceSession)
    raw: bool = True
    drawings: dict[str, RasterImage] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def open_layer(self, layer: ResolvedLayer) -> DrawnLayer | None:
        """Return the drawing of a layer; None for audio layers."""
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
            return GroupPainter(layer, self.canvas, self.open_layer)
        if layer.id in self.drawings:
            return StillPainter(_image_of(self.drawings[layer.id], layer))
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
            warn=lambda warning: self.warnings.append(
                reworded(warning, f"{value.path}: {warning}")
            ),
            raw=self.raw,
        )

    def _html_order(self, layer: ResolvedLayer, html: HtmlPage) -> LayerPage:
        fetched = None if html.url is None else self._fetched_page(layer.layer, html.url)
        # A page is laid out once, at the largest size of its box, and drawn at the largest scale.
        boxes = [(state.width, state.height) for state in sampled_states(layer)]
        width, height = (max(1, round(max(sides))) for sides in zip(*boxes, strict=True))
        if width * height > _MAX_PAGE_PX:
            limit = f"at most {_MAX_PAGE_PX:,} are drawn: set size.width and size.height"
            raise TooLargeToDraw(f"its page has {width}x{height} pixels; {limit}")
        scale = max(1.0, min(largest_scale(layer), MAX_DRAWN_PX / max(width, height)))
        return LayerPage(
            document=html_document(html, fetched, head=self.head_css),
            size=FrameSize(round(width * scale), round(height * scale)),
            layout=FrameSize(width, height),
            fps=layer.fps,
            is_transparent=html.has_transparent_background,
            prepare="" if html.selector is None else isolate_script(html.selector),
        )

    def _fetched_page(self, layer: Layer, url: str) -> str:
        try:
            asset = self.assets.fetch(url)
        except FramekilnError as error:
            if not error.retryable:
                raise
            if layer.on_error is OnError.FAIL:
                message = f"{layer.path}: {layer.prefix}{error.message}"
                raise AssetUnavailable(message) from error
            # What is to be shown instead is shown now, as for files.
            raise AssetMissing(error.message) from error
        return page_text(asset, self.browser, self.limits)

    def _lottie_order(self, layer: ResolvedLayer, value: LottieLayer) -> LayerPage:
        if value.animation is not None:
            animation = value.animation.thaw()
        else:
            assert layer.source is not None
            animation = read_lottie(self.sources.path(layer.source))
        size = FrameSize(*largest_side_px(layer))
        return LayerPage(
            document=lottie_document(animation),
            size=size,
            layout=size,
            fps=layer.fps,
            is_transparent=True,
            seek=lambda at_s: f"framekilnSeek({float(at_s * 1000)})",
        )

    def _of_sound(self, layer: ResolvedLayer) -> Painter | None:
        if isinstance(layer.layer, SubtitlesLayer) and layer.source is not None:
            captions = read_captions(caption_bytes(self.sources.path(layer.source)))
            return CaptionPainter(layer, captions, self.rasterizer)
        if not isinstance(layer.layer, WaveformLayer):
            return None
        read = SessionAudio(self.session).read
        if layer.source is None:
            return WaveformPainter(
                layer, lambda: SourceSamples(self.mixed_audio(), read), is_mix=True
            )
        path = self.sources.path(layer.source)
        return WaveformPainter(layer, lambda: SourceSamples(path, read), is_mix=False)

    def mixed_audio(self) -> Path:
        """Return the audio of the whole film; it is mixed on first use."""
        path = self.folder / "mixed.wav"
        if not path.exists():
            mix_audio_to_wav(
                self.audio_clips, self.timeline, self.assets, path, session=self.session
            )
        return path

    def _of_file(self, layer: ResolvedLayer) -> Painter | None:
        if not isinstance(layer.layer, VideoLayer | ImageLayer) or layer.source is None:
            return None
        is_picture = self.sources.probed[layer.source].kind is MediaKind.IMAGE
        kind = ImagePainter if is_picture else VideoPainter
        return kind(layer, self.sources.path(layer.source), self.session)


def draw_static_layers(film: ResolvedTimeline, palette: PainterContext) -> None:
    """Rasterize texts, paths and SVG images in one Chromium page; opens none if there are none."""
    layers = [layer for layer in film.every_layer() if layer.first_frame < layer.end_frame]
    if film.config.extension.is_still:
        layers = film.every_layer()
    wanted = [
        (layer, piece)
        for number, layer in enumerate(layers)
        if (piece := _snippet(layer, f"n{number}", palette)) is not None
    ]
    for (layer, _), drawn in zip(wanted, _draw(wanted, palette.rasterizer), strict=True):
        palette.drawings[layer.id] = drawn
        if drawn.overflows:
            message = f"the text of {layer.layer.label} is larger than its box"
            palette.warnings.append(WarningText("text_overflows", f"{layer.layer.path}: {message}"))


def measured_sizes(palette: PainterContext) -> Mapping[str, PixelSize]:
    """Return the sizes of what was drawn, for `resolve`."""
    return {name: drawn.size for name, drawn in palette.drawings.items()}


def _draw(
    wanted: list[tuple[ResolvedLayer, HtmlSnippet]], rasterizer: HtmlRasterizer
) -> Iterable[RasterImage]:
    try:
        return rasterizer.draw([piece for _, piece in wanted])
    except TooLargeToDraw as error:
        raise layer_failure(wanted[error.number][0].layer, error) from error


def _snippet(layer: ResolvedLayer, name: str, palette: PainterContext) -> HtmlSnippet | None:
    value = layer.layer
    if layer.is_placeholder or not isinstance(value, VisualLayer):
        return None
    if isinstance(value, TextLayer):
        markup, rules = text_markup(
            value.text,
            name,
            width_px=value.size.width_px,
            room_px=text_wrap_px(layer),
            height_px=value.size.height_px,
        )
        return HtmlSnippet(
            markup, rules, largest_scale(layer), uses_tailwind=bool(value.text.tailwind)
        )
    if isinstance(value, ShapeLayer) and value.shape.kind is ShapeKind.PATH:
        state = next(sampled_states(layer))
        markup, rules = path_markup(value.shape, name, PixelSize(state.width, state.height))
        return HtmlSnippet(markup, rules, largest_scale(layer))
    if isinstance(value, ImageLayer | VideoLayer) and layer.source is not None:
        return _svg_snippet(layer, name, palette)
    return None


def _svg_snippet(layer: ResolvedLayer, name: str, palette: PainterContext) -> HtmlSnippet | None:
    assert layer.source is not None
    path = palette.sources.path(layer.source)
    if palette.sources.probed[layer.source].codec != "svg":
        return None
    width, height = raster_size(layer)
    markup, rules = picture_markup(path.read_bytes(), name, PixelSize(width, height))
    return HtmlSnippet(markup, rules, is_picture=True)


def _image_of(drawn: RasterImage, layer: ResolvedLayer) -> SourceImage:
    # An image fills the content area of the state; a text has its own area.
    if isinstance(layer.layer, ImageLayer | VideoLayer):
        return SourceImage("drawn", sheet=drawn.sheet)
    return SourceImage("drawn", sheet=drawn.sheet, area=drawn.area)
