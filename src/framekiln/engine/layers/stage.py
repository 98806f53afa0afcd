"""Layers on stage: the same face as a page's `Stage`, without a page.

Any frame can be shown at any time, so a stage of layers never has to be opened again.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.page import Size
from framekiln.composition.layers import InvalidConfig, ResolvedTimeline, resolve
from framekiln.composition.layers.values import LayerConfig
from framekiln.compositor.emitting import emit, planes_in
from framekiln.compositor.picture import rgba_of
from framekiln.compositor.rect import Rect
from framekiln.compositor.scene import Scene
from framekiln.engine.assets import Assets
from framekiln.engine.digests import FilmDigests, sound_digest
from framekiln.engine.errors import FilmTookTooLong
from framekiln.engine.heard import HeardPiece, MediaWindow, PageSound
from framekiln.engine.layers.coding import (
    layout_for,
    mastering_of,
    video_settings,
)
from framekiln.engine.layers.composing import Composer
from framekiln.engine.layers.digests import SliceDigests
from framekiln.engine.layers.painters import Palette, draw_ahead, measured
from framekiln.engine.layers.passing import Passing
from framekiln.engine.layers.raster import RasterRoom
from framekiln.engine.layers.sourcing import Gathered, gather
from framekiln.engine.layers.text_markup import font_faces
from framekiln.engine.layers.tinting import colour_of
from framekiln.engine.missing_media import AssetMissing, AssetUnavailable
from framekiln.engine.order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.shot import Shot
from framekiln.engine.slices import COPYING, Slice
from framekiln.engine.watched_assets import WatchedAssets
from framekiln.media.mixing.choices import SoundCoding
from framekiln.media.writing.encode import FilmEncoder, VideoSettings

GRABBING: Final = "layers"
FrameShown = Callable[[int], None]


@dataclass
class LayerStage:
    """Made by `open_layers`; owned by one thread."""

    film_plan: ResolvedTimeline
    shot: Shot
    browser: Browser
    limits: FilmLimits
    palette: Palette
    composer: Composer
    watched: WatchedAssets
    fallback_reason: str | None = None
    next_frame: int = field(default=0, init=False)
    """Always 0: no frame needs those before it."""
    _captured_frames: int = field(default=0, init=False)
    _grabbing: str = field(default=GRABBING, init=False)
    _deadline: float = field(init=False)
    _first_warnings: tuple[str, ...] = field(init=False)
    passing: Passing = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.whole_s
        self.passing = Passing(self.film_plan, self.palette.gathered, self._settings)
        self._first_warnings = self.warnings()
        # What was fetched so far was drawn already, and counts as its pixels.
        self.watched.forget()

    def digests(self, slices: Sequence[Slice]) -> FilmDigests:
        """Return what slices, and the sound, are made of."""
        config, gathered = self.film_plan.config, self.palette.gathered
        heard = {piece.source: gathered.digest(piece.source) for piece in self.palette.heard}
        mixing = repr((config.audio, config.extension))
        sound = sound_digest(self.palette.heard, self.shot.timeline, heard, settings=mixing)
        encoding = (config.extension, config.output, self._settings)
        digests = SliceDigests(
            film=self.film_plan,
            palette=self.palette,
            assets=self.watched,
            encoding=repr(encoding),
            sound=sound,
            browser=self.browser.version if self.browser else "",
        )
        return FilmDigests(tuple(digests.of(each) for each in slices), sound, heard)

    @property
    def is_foreseen(self) -> bool:
        """Whether all that was filmed so far is what the digests say."""
        known = {font.src for font in self.film_plan.config.fonts}
        known |= {piece.source for piece in self.palette.heard}
        return not self.watched.asked_beside(known) and self.warnings() == self._first_warnings

    @property
    def _settings(self) -> VideoSettings:
        return video_settings(self.shot.size, self.shot.timeline.fps, self.film_plan.config)

    def film(self, slice_: Slice, path: Path, shown: FrameShown) -> None:
        """Make one slice: by copying where it is a stretch of a source, untouched."""
        self._grabbing = GRABBING
        if self.passing.copy(slice_, path):
            self._grabbing = COPYING
            shown(slice_.end_frame - 1)
            return
        settings = self._settings
        sides = (settings.width_px, settings.height_px)
        background = colour_of(self.film_plan.config.background)
        scene = Scene(*sides, background=background, has_alpha=settings.has_alpha)
        with FilmEncoder(path, settings, layout_for(settings)) as encoder:
            for number in range(slice_.first_frame, slice_.end_frame):
                self._check_deadline(number)
                buffer = encoder.buffer()
                # What is opaque is drawn where the encoder takes it from.
                onto = None if settings.has_alpha else planes_in(buffer, *sides)
                has_changed = scene.show(self.composer.things(number), onto)
                if has_changed or number == slice_.first_frame:
                    if settings.has_alpha or not has_changed:
                        emit(scene.picture, buffer)
                    encoder.write(buffer)
                    self._captured_frames += 1
                else:
                    encoder.give_back(buffer)
                    encoder.repeat()
                shown(number)

    def still(self, moment: StillMoment) -> Pixels:
        """Return one frame as BGRA, with its transparency if that is wanted."""
        size = self.shot.size
        background = colour_of(self.film_plan.config.background)
        scene = Scene(
            size.width_px,
            size.height_px,
            background=background,
            has_alpha=moment.is_transparent,
        )
        number = Fraction(moment.at_ms, 1000) * self.shot.timeline.fps
        scene.show(self.composer.things(int(number)))
        return np.ascontiguousarray(rgba_of(scene.picture)[..., [2, 1, 0, 3]])

    def sounds(self) -> tuple[MediaWindow | HeardPiece, ...]:
        """Return what is heard: it is known from the start."""
        return self.shot.sounds

    def save_sounds(self, folder: Path) -> tuple[PageSound, ...]:
        """Layers have no sound but what is mixed."""
        return ()

    def take_captured(self) -> int:
        """Return how many frames were composed since the last call; the others were repeated."""
        captured, self._captured_frames = self._captured_frames, 0
        return captured

    def warnings(self) -> tuple[str, ...]:
        """Return what the film's owner should know."""
        found = (*self.palette.warnings, *self.palette.room.warnings)
        return (*self.shot.warnings, *dict.fromkeys(found))

    def record(self) -> dict[str, Any]:
        """Return how the frames were made."""
        return {
            "grabbing": self._grabbing,
            "fallback_reason": self.fallback_reason,
            "confinement": self.browser.confinement,
            "browser": self.browser.version,
        }

    def _check_deadline(self, number: int) -> None:
        if time.monotonic() > self._deadline:
            raise FilmTookTooLong(
                f"not finished after {self.limits.whole_s:g} s, at frame {number} of"
                f" {self.shot.timeline.frame_count}"
            )


@contextmanager
def open_layers(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[LayerStage]:
    """Fetch all sources, settle the film, and be ready to show any frame of it."""
    config = order.layers
    assert config is not None
    gathered = gather(config, order.assets)
    film = settle(config, gathered)
    watched = WatchedAssets(order.assets)
    with tempfile.TemporaryDirectory(prefix="framekiln-layers-") as folder:
        palette = _palette(film, gathered, watched, browser, limits, Path(folder))
        palette.raw = fallback_reason is None
        draw_ahead(film, palette)
        film = resolve(config, gathered.media, measured=measured(palette))
        composer = Composer(film.layers, palette.canvas, palette.draw_layer)
        try:
            yield LayerStage(
                film, _shot(film), browser, limits, palette, composer, watched, fallback_reason
            )
        finally:
            composer.close()


def _palette(
    film: ResolvedTimeline,
    gathered: Gathered,
    assets: Assets,
    browser: Browser,
    limits: FilmLimits,
    folder: Path,
) -> Palette:
    head = font_faces(film.config.fonts)
    return Palette(
        gathered=gathered,
        browser=browser,
        assets=assets,
        limits=limits,
        canvas=Rect(0, 0, film.dimensions.width_px, film.dimensions.height_px),
        room=RasterRoom(browser, assets, limits, head=head),
        folder=folder,
        head=head,
        heard=heard_pieces(film),
        timeline=film.timeline,
    )


def settle(config: LayerConfig, gathered: Gathered) -> ResolvedTimeline:
    """Return the film, or say which layer's source is missing."""
    try:
        return resolve(config, gathered.media)
    except InvalidConfig as error:
        codes = {issue.code for issue in error.issues}
        if not codes <= {"asset_unreachable", "asset_unsupported"}:
            raise
        kind = AssetUnavailable if gathered.may_come else AssetMissing
        raise kind(error.message, **error.details) from error


def heard_pieces(film: ResolvedTimeline) -> tuple[HeardPiece, ...]:
    """Return all that is heard, for the mix."""
    return tuple(
        HeardPiece(
            layer_id=sound.layer_id,
            source=sound.source,
            start_ms=piece.start_s * 1000,
            end_ms=piece.end_s * 1000,
            source_in_ms=piece.source_in_s * 1000,
            speed=piece.speed,
            gains=tuple((at_s * 1000, gain) for at_s, gain in sound.gain_points()),
        )
        for sound in film.sounds
        for piece in sound.pieces()
    )


def _shot(film: ResolvedTimeline) -> Shot:
    return Shot(
        size=Size(film.dimensions.width_px, film.dimensions.height_px),
        timeline=film.timeline,
        sounds=heard_pieces(film),
        is_declarative=True,
        warnings=tuple(f"{each.path}: {each.message}" for each in film.warnings),
        mastering=mastering_of(film.config.audio),
        sound_coding=SoundCoding.of(film.config.extension),
    )
