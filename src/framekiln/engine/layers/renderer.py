"""Renders layers, with the same interface as `PageRenderer`.

Frames are independent, so a renderer never has to be reopened.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.page import FrameSize
from framekiln.capture.page_session import ConsoleEntry
from framekiln.composition.layers import (
    ConfigFinding,
    InvalidConfig,
    ResolvedTimeline,
    resolve,
)
from framekiln.composition.layers.values import LayerConfig, MixSettings
from framekiln.compositor.frame_planes import buffer_planes, write_planes
from framekiln.compositor.picture import rgba_of
from framekiln.compositor.rect import PixelRect
from framekiln.compositor.scene import Scene, SceneItem
from framekiln.engine.assets import Assets, TrackedAssets
from framekiln.engine.audio_clips import AudioClips, LayerAudioClip, PageAudio
from framekiln.engine.confinement import missing_confinement
from framekiln.engine.errors import FilmTookTooLong
from framekiln.engine.film_order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.film_plan import (
    COPIED_SLICE,
    PRESET_SETTINGS,
    CaptureRecord,
    FilmDigests,
    FilmPlan,
    FilmSlice,
)
from framekiln.engine.layers.digests import SliceDigests, sound_digest
from framekiln.engine.layers.fetched_sources import FetchedSources, fetch_sources
from framekiln.engine.layers.html_raster import HtmlRasterizer
from framekiln.engine.layers.layer_effects import yuv_colour
from framekiln.engine.layers.layer_stack import LayerStack
from framekiln.engine.layers.layer_tracks import layer_tracks
from framekiln.engine.layers.painter_context import (
    PainterContext,
    draw_static_layers,
    measured_sizes,
)
from framekiln.engine.layers.stream_copy import SliceCopier
from framekiln.engine.layers.text_markup import font_faces
from framekiln.engine.missing_media import AssetMissing, AssetUnavailable
from framekiln.engine.tracks import TimelineTrack
from framekiln.media.audio.mix_settings import AudioSettings, Mastering
from framekiln.media.encode.codecs import VideoCoding
from framekiln.media.encode.film_encoder import FilmEncoder, PixelLayout, VideoSettings
from framekiln.media.film_containers import film_container
from framekiln.media.source_session import SourceSession


def video_settings(size: FrameSize, fps: Fraction, config: LayerConfig) -> VideoSettings:
    """Return the encoder settings; if the format has alpha, the background decides its use."""
    output, effort = config.output, PRESET_SETTINGS[config.preset].video
    coding = film_container(config.extension).video
    return VideoSettings(
        size.width_px,
        size.height_px,
        fps,
        preset=effort.preset,
        crf=effort.crf if output.crf is None else output.crf,
        bits_per_s=output.video_bitrate,
        coding=coding,
        has_alpha=coding is not VideoCoding.H264 and config.background.alpha < 255,
    )


def audio_settings(config: LayerConfig) -> AudioSettings:
    """Return the settings of the encoder of the sound."""
    return PRESET_SETTINGS[config.preset].audio(film_container(config.extension).audio)


def buffer_layout(settings: VideoSettings) -> PixelLayout:
    """Return the buffer layout that the encoder needs."""
    return PixelLayout.YUVA420P if settings.has_alpha else PixelLayout.YUV420P


def mastering_of(audio: MixSettings) -> Mastering:
    """Return the mastering settings of the mix."""
    return Mastering(
        target_lufs=audio.target_lufs if audio.normalize else None,
        has_limiter=audio.limiter,
        is_true_peak=True,
    )


GRABBING: Final = "layers"
OnFrame = Callable[[int], None]


@dataclass
class LayerRenderer:
    """Made by `open_layer_renderer`; owned by one thread."""

    resolved: ResolvedTimeline
    plan: FilmPlan
    browser: Browser
    limits: FilmLimits
    context: PainterContext
    layer_stack: LayerStack
    tracked_assets: TrackedAssets
    fallback_reason: str | None = None
    next_frame: int = field(default=0, init=False)
    """Always 0: no frame needs those before it."""
    is_declarative: bool = field(default=True, init=False)
    _captured_frames: int = field(default=0, init=False)
    _grabbing: str = field(default=GRABBING, init=False)
    has_copied: bool = field(default=False, init=False)
    """Whether a slice so far has packets of a source in it."""
    _deadline: float = field(init=False)
    _scene: Scene | None = field(default=None, init=False)
    _first_warnings: tuple[str, ...] = field(init=False)
    slice_copier: SliceCopier = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.whole_s
        self.slice_copier = SliceCopier(
            self.resolved, self.context.sources, self._video_settings, self.context.session
        )
        self._first_warnings = self.warnings()
        # Files fetched so far are drawn already; their pixels are in the digests.
        self.tracked_assets.reset()

    def digests(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return the digests of slices, and of the audio."""
        config, fetched = self.resolved.config, self.context.sources
        source_digests = {
            piece.source: fetched.digest(piece.source) for piece in self.context.audio_clips
        }
        mixing = repr((config.audio, config.extension, self.plan.sound_settings))
        sound = sound_digest(
            self.context.audio_clips, self.plan.timeline, source_digests, settings=mixing
        )
        encoding = (config.extension, config.output, self._video_settings)
        digests = SliceDigests(
            film=self.resolved,
            context=self.context,
            assets=self.tracked_assets,
            encoding=repr(encoding),
            sound=sound,
            browser=self.browser.version if self.browser else "",
        )
        return FilmDigests(tuple(digests.of(each) for each in slices), sound, source_digests)

    @property
    def is_cacheable(self) -> bool:
        """Whether the digests cover every input of what was rendered so far."""
        known = {font.src for font in self.resolved.config.fonts}
        known |= {piece.source for piece in self.context.audio_clips}
        return (
            not self.tracked_assets.fetched_other_than(known)
            and self.warnings() == self._first_warnings
        )

    @property
    def _video_settings(self) -> VideoSettings:
        return video_settings(self.plan.size, self.plan.timeline.fps, self.resolved.config)

    def render_slice(self, slice_: FilmSlice, path: Path, shown: OnFrame) -> None:
        """Write one slice; packets of an unchanged source are copied."""
        self._grabbing = GRABBING
        if self.slice_copier.copy(slice_, path):
            self._grabbing = COPIED_SLICE
            self.has_copied = True
            shown(slice_.end_frame - 1)
            return
        settings = self._video_settings
        sides = (settings.width_px, settings.height_px)
        background = yuv_colour(self.resolved.config.background)
        scene = Scene(*sides, background=background, has_alpha=settings.has_alpha)
        with FilmEncoder(path, settings, buffer_layout(settings)) as encoder:
            for number in range(slice_.first_frame, slice_.end_frame):
                self._check_deadline(number)
                buffer = encoder.buffer()
                # Opaque frames are drawn directly into the encoder buffer.
                onto = None if settings.has_alpha else buffer_planes(buffer, *sides)
                has_changed = scene.show(self.scene_items(number), onto)
                if has_changed or number == slice_.first_frame:
                    if settings.has_alpha or not has_changed:
                        write_planes(scene.picture, buffer)
                    encoder.write(buffer)
                    self._captured_frames += 1
                else:
                    encoder.release_buffer(buffer)
                    encoder.repeat()
                shown(number)

    def render_still(self, moment: StillMoment) -> Pixels:
        """Return the picture at the config's time as BGRA, with alpha if requested."""
        size = self.plan.size
        background = yuv_colour(self.resolved.config.background)
        scene = Scene(
            size.width_px,
            size.height_px,
            background=background,
            has_alpha=moment.is_transparent,
        )
        scene.show(self.layer_stack.scene_items(self._still_s()))
        return np.ascontiguousarray(rgba_of(scene.picture)[..., [2, 1, 0, 3]])

    def render_frame(self, number: int, *, is_exact: bool = True) -> Pixels:
        """Return one frame of the film as BGRA, on its background."""
        if self._scene is None:
            size, background = self.plan.size, yuv_colour(self.resolved.config.background)
            has_alpha = self._video_settings.has_alpha
            self._scene = Scene(
                size.width_px, size.height_px, background=background, has_alpha=has_alpha
            )
        self._scene.show(self.scene_items(number))
        return np.ascontiguousarray(rgba_of(self._scene.picture)[..., [2, 1, 0, 3]])

    def scene_items(self, number: int) -> list[SceneItem]:
        """Return the scene items of a frame."""
        return self.layer_stack.scene_items(number / self.plan.timeline.fps)

    def _still_s(self) -> Fraction:
        """Return the time of the config; in a film, that of the frame which is shown then."""
        config, timeline = self.resolved.config, self.plan.timeline
        if config.extension.is_still:
            return config.time_s
        if config.time_s > self.resolved.duration_s:
            message = f"the film ends before, at {float(self.resolved.duration_s):g} s"
            raise InvalidConfig([ConfigFinding("time", "out_of_range", message)])
        # The end of the film is that of its last frame.
        return min(timeline.number_at(config.time_s), timeline.frame_count - 1) / timeline.fps

    def tracks(self) -> tuple[TimelineTrack, ...]:
        """Return the layers, groups before what is in them."""
        return layer_tracks(self.resolved)

    def console(self) -> tuple[ConsoleEntry, ...]:
        """Return nothing: scripts of layers are not shown to their owner."""
        return ()

    def audio_clips(self) -> AudioClips:
        """Return the audio clips; they are known from the start."""
        return self.plan.audio_clips

    def save_page_audio(self, folder: Path) -> tuple[PageAudio, ...]:
        """Does nothing: layers have no audio besides the mix."""
        return ()

    def warnings(self) -> tuple[str, ...]:
        """Return warnings for the film's owner."""
        found = (*self.context.warnings, *self.context.rasterizer.warnings)
        return (*self.plan.warnings, *dict.fromkeys(found))

    def take_record(self) -> CaptureRecord:
        """Return how the frames since the last call were made."""
        captured, self._captured_frames = self._captured_frames, 0
        return CaptureRecord(
            grabbing=self._grabbing,
            fallback_reason=self.fallback_reason,
            confinement=self.browser.confinement,
            browser=self.browser.version,
            captured_frames=captured,
            warnings=self.warnings(),
            missing_confinement=missing_confinement(),
        )

    def _check_deadline(self, number: int) -> None:
        if time.monotonic() > self._deadline:
            raise FilmTookTooLong(
                f"not finished after {self.limits.whole_s:g} s, at frame {number} of"
                f" {self.plan.timeline.frame_count}"
            )


@contextmanager
def open_layer_renderer(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[LayerRenderer]:
    """Fetch all sources, resolve the film, and return a renderer for any of its frames."""
    config = order.layers
    assert config is not None
    tracked = TrackedAssets(order.assets)
    with (
        SourceSession() as session,
        tempfile.TemporaryDirectory(prefix="framekiln-layers-") as folder,
    ):
        fetched = fetch_sources(config, order.assets, session)
        film = resolve_film(config, fetched)
        context = _painter_context(film, fetched, tracked, browser, limits, Path(folder))
        context.session = session
        context.raw = fallback_reason is None
        draw_static_layers(film, context)
        film = resolve(config, fetched.media, measured=measured_sizes(context))
        composer = LayerStack(film.layers, context.canvas, context.open_layer)
        try:
            yield LayerRenderer(
                film,
                _film_plan(film),
                browser,
                limits,
                context,
                composer,
                tracked,
                fallback_reason,
            )
        finally:
            composer.close()


def _painter_context(
    film: ResolvedTimeline,
    fetched: FetchedSources,
    assets: Assets,
    browser: Browser,
    limits: FilmLimits,
    folder: Path,
) -> PainterContext:
    head = font_faces(film.config.fonts)
    return PainterContext(
        sources=fetched,
        browser=browser,
        assets=assets,
        limits=limits,
        canvas=PixelRect(0, 0, film.dimensions.width_px, film.dimensions.height_px),
        rasterizer=HtmlRasterizer(browser, assets, limits, head=head),
        folder=folder,
        head_css=head,
        audio_clips=layer_audio_clips(film),
        timeline=film.timeline,
    )


def resolve_film(config: LayerConfig, fetched: FetchedSources) -> ResolvedTimeline:
    """Return the resolved film, or raise an error that names the layer with a missing source."""
    try:
        return resolve(config, fetched.media)
    except InvalidConfig as error:
        codes = {issue.code for issue in error.issues}
        if not codes <= {"asset_unreachable", "asset_unsupported"}:
            raise
        kind = AssetUnavailable if fetched.retryable else AssetMissing
        raise kind(error.message, **error.details) from error


def layer_audio_clips(film: ResolvedTimeline) -> tuple[LayerAudioClip, ...]:
    """Return all audio clips for the mix."""
    return tuple(
        LayerAudioClip(
            layer_id=sound.layer_id,
            source=sound.source,
            start_ms=piece.start_s * 1000,
            end_ms=piece.end_s * 1000,
            source_in_ms=piece.source_in_s * 1000,
            speed=piece.speed,
            gains=tuple((at_s * 1000, gain) for at_s, gain in sound.gain_points()),
        )
        for sound in film.sounds
        for piece in sound.segments()
    )


def _film_plan(film: ResolvedTimeline) -> FilmPlan:
    findings = {f"{each.path}: {each.message}": each.as_json() for each in film.warnings}
    return FilmPlan(
        size=FrameSize(film.dimensions.width_px, film.dimensions.height_px),
        timeline=film.timeline,
        audio_clips=layer_audio_clips(film),
        warnings=tuple(findings),
        findings=findings,
        mastering=mastering_of(film.config.audio),
        sound_settings=audio_settings(film.config),
    )
