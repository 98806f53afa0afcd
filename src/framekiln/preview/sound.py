"""The mixed sound of a version as a WAV file, made as the film's own."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from framekiln.capture.browser import open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.engine.audio_clips import AudioClips, PageAudio
from framekiln.engine.audio_mix import mix_audio
from framekiln.engine.film import open_renderer
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_plan import FilmPlan
from framekiln.kit.cancellation import check_cancelled
from framekiln.media.audio.mix_settings import AudioCoding, AudioSettings
from framekiln.preview.model import OpenedFilm
from framekiln.timeline import Timeline

MAX_SOUND_S: Final = 1200
"""A browser holds the decoded sound in memory: 20 minutes take half a gigabyte."""


def make_sound(
    order: FilmOrder,
    film: OpenedFilm,
    folder: Path,
    *,
    limits: FilmLimits,
    browser_limits: BrowserLimits | None = None,
) -> Path:
    """Write the sound of the film into `folder`, as far as previews play it."""
    timeline = film.plan.timeline
    frames = min(timeline.frame_count, int(MAX_SOUND_S * timeline.fps))
    heard = Timeline(timeline.fps, frames)
    if film.is_declarative and not film.plan.has_page_audio:
        return _mixed(order, film.plan, film.audio_clips, heard, folder=folder)
    # What scripts play is known when the last frame was shown.
    with (
        open_browser(limits=browser_limits) as browser,
        open_renderer(order, browser, limits) as renderer,
    ):
        for number in range(timeline.frame_count):
            check_cancelled()
            renderer.render_frame(number)
        page_sounds = renderer.save_page_audio(folder)
        clips = renderer.audio_clips()
    return _mixed(order, film.plan, clips, heard, folder=folder, page_sounds=page_sounds)


def _mixed(
    order: FilmOrder,
    plan: FilmPlan,
    clips: AudioClips,
    heard: Timeline,
    *,
    folder: Path,
    page_sounds: tuple[PageAudio, ...] = (),
) -> Path:
    path = folder / "sound.wav"
    mix_audio(
        clips,
        heard,
        order.assets,
        path,
        page_sounds=page_sounds,
        mastering=plan.mastering,
        settings=replace(AudioSettings(), coding=AudioCoding.WAV),
    )
    return path
