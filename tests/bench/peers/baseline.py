"""What no tool can do without: encoding the very same frames, and decoding the footage."""

import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter

from framekiln.capture.browser import open_browser
from framekiln.cli.compositions import read_composition
from framekiln.engine.assets import NoAssets
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.site import SiteAssets
from framekiln.media.audio.mix import AudioClip, mix
from framekiln.media.encode.film_encoder import VideoSettings
from tests.bench.cpu import process_cpu_s
from tests.bench.exact_frames import decoded, encode, exact_frames
from tests.bench.peers.cases import FPS
from tests.bench.peers.films import Film
from tests.bench.peers.process import Usage


def frames_of(film: Film, page: Path, scratch: Path) -> list[VideoFrame]:
    """Return the frames of a page's folder."""
    found = read_composition(page, scratch=scratch)
    assert found.site is not None
    order = FilmOrder(
        found.html,
        film.width,
        film.height,
        Fraction(FPS),
        round(film.seconds * 1000),
        site=found.site,
        assets=SiteAssets(found.site, NoAssets()),
    )
    with open_browser() as browser:
        return exact_frames(order, browser, scratch)


def encode_frames(frames: list[VideoFrame], film: Film, sound: Path | None, out: Path) -> Usage:
    """Encode as many frames as the film has, and its sound."""
    pictures = _encoded(frames[: film.frames], film, out)
    if sound is None:
        return pictures
    cpu_s, wall_s = process_cpu_s(), time.monotonic()
    clip = AudioClip(sound, Fraction(0), Fraction(film.frames * 1000, FPS))
    mix([clip], clip.end_ms, out)
    return Usage(
        pictures.cpu_s + process_cpu_s() - cpu_s,
        pictures.wall_s + time.monotonic() - wall_s,
        peak_mib=0.0,
    )


def transcode(clip: Path, film: Film, out: Path) -> Usage:
    """Decode, scale (bicubic, as `ffmpeg` and we do) and encode the footage, and nothing else."""
    return _encoded(_scaled(clip, film), film, out)


def _scaled(clip: Path, film: Film) -> Iterator[VideoFrame]:
    reformatter = VideoReformatter()
    for number, frame in enumerate(decoded(clip)):
        if number == film.frames:
            return
        yield reformatter.reformat(
            frame, film.width, film.height, interpolation=Interpolation.BICUBIC
        )


def _encoded(frames: Iterable[VideoFrame], film: Film, out: Path) -> Usage:
    settings = VideoSettings(film.width, film.height, Fraction(FPS))
    return Usage(*encode(frames, settings, out), peak_mib=0.0)
