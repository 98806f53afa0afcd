"""The sound of a film: every audible window of the plan, placed exactly and mixed once."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from framekiln.engine.assets import Assets
from framekiln.engine.shot import MediaWindow
from framekiln.media.mix import SoundClip, mix
from framekiln.media.probe import probe
from framekiln.timeline import Timeline


def mix_sounds(
    windows: Iterable[MediaWindow],
    timeline: Timeline,
    assets: Assets,
    path: Path,
    *,
    page_sound: Path | None = None,
) -> None:
    """Mix the windows into one AAC track of the film's length; silence where there is none.

    `page_sound` is what the page itself has mixed, if it does that.
    """
    film_ms = Fraction(timeline.frame_count * 1000) / timeline.fps
    clips = [] if page_sound is None else [SoundClip(page_sound, Fraction(0), film_ms)]
    for window in windows:
        source = assets.fetch(window.source).path
        if probe(source).audio is None:
            continue
        clips.append(
            SoundClip(
                path=source,
                start_ms=Fraction(window.start_ms),
                end_ms=Fraction(window.end_ms),
                source_in_ms=Fraction(window.source_in_ms),
                gain=window.gain,
            )
        )
    mix(clips, duration_ms=timeline.duration_ms, out=path)
