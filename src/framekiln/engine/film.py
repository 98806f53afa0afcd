"""One composition becomes one film or still, here and now, by the same stages that workers use.

Knows no organization, no database and no HTTP: `framekiln render` calls it.
"""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from framekiln.capture.browser import Browser
from framekiln.capture.grab import RawPixelsDiffer
from framekiln.engine.order import Film, FilmLimits, FilmOrder
from framekiln.engine.slices import Slice, cut
from framekiln.engine.sound import mix_sounds
from framekiln.engine.stages import AnyStage, open_stage_for
from framekiln.media.imaging.stills import StillFormat, encode_still
from framekiln.media.writing.assembling import assemble

Report = Callable[[int, int], None]
"""Called with frames done and frames in all. What it raises stops the film."""


def make_film(
    order: FilmOrder,
    browser: Browser,
    path: Path,
    *,
    limits: FilmLimits | None = None,
    report: Report | None = None,
) -> Film:
    """Render the order into `path`, with raw frames first and screenshots if those prove wrong."""
    with tempfile.TemporaryDirectory(prefix="framekiln-film-") as folder:
        work = _Work(order, browser, limits or FilmLimits(), Path(folder), report)
        try:
            return work.run(path, fallback_reason=None)
        except RawPixelsDiffer as reason:
            return work.run(path, fallback_reason=str(reason))


def make_still(
    order: FilmOrder,
    browser: Browser,
    path: Path,
    format_: StillFormat,
    *,
    limits: FilmLimits | None = None,
) -> Film:
    """Write the one picture that the order wants into `path`."""
    assert order.still is not None, "the order says when the picture is taken"
    with open_stage_for(order, browser, limits or FilmLimits()) as stage:
        path.write_bytes(encode_still(stage.still(order.still), format_))
        return _made(stage)


def _made(stage: AnyStage) -> Film:
    return Film(
        size=stage.shot.size,
        timeline=stage.shot.timeline,
        **stage.record(),
        captured_frames=stage.take_captured(),
        warnings=stage.warnings(),
    )


class _Work:
    def __init__(
        self,
        order: FilmOrder,
        browser: Browser,
        limits: FilmLimits,
        folder: Path,
        report: Report | None,
    ) -> None:
        self._order = order
        self._browser = browser
        self._limits = limits
        self._folder = folder
        self._report = report or (lambda _done, _count: None)

    def run(self, path: Path, *, fallback_reason: str | None) -> Film:
        with ExitStack() as stack:
            stage = stack.enter_context(
                open_stage_for(
                    self._order, self._browser, self._limits, fallback_reason=fallback_reason
                )
            )
            timeline = stage.shot.timeline
            slices = [self._film(stage, each) for each in cut(timeline)]
            page_sounds = stage.save_sounds(self._folder)
            sounds = stage.sounds()
            film = _made(stage)
        sound = self._folder / "sound.mp4"
        mix_sounds(
            sounds,
            timeline,
            self._order.assets,
            sound,
            page_sounds=page_sounds,
            mastering=stage.shot.mastering,
            coding=stage.shot.sound_coding,
        )
        layers = self._order.layers
        container = self._order.container if layers is None else layers.extension.value
        assemble(slices, sound, path, container=container, fps=timeline.fps)
        return film

    def _film(self, stage: AnyStage, slice_: Slice) -> Path:
        path = self._folder / f"{slice_.number}.mp4"
        count = stage.shot.timeline.frame_count
        stage.film(slice_, path, lambda number: self._report(number + 1, count))
        return path
