"""Bundles with a runtime of their own play the media files that lie in them."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from shutil import copy

import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.assets import NoAssets
from framekiln.engine.errors import FilmTookTooLong
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.site import SiteAssets
from framekiln.kit.errors import CompositionFailed
from framekiln.playback.page_player import PlayerWithoutService
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.layer_media import glass
from tests.support.looks import colour_at, decode_frames
from tests.support.player_bundles import one_source_page, one_source_site
from tests.support.sounds import decode_audio, find_beeps
from tests.support.timeouts import FILM_LIMITS

CLIP = Clip(fps=Fraction(10), duration_s=Fraction(4), keyframe_every=10)
FOREIGN = Clip(
    fps=Fraction(10), duration_s=Fraction(2), video_codec="libvpx-vp9", audio_codec="libopus"
)

pytestmark = pytest.mark.spec("4.3")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", CLIP)


@pytest.fixture(scope="module")
def foreign_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clips") / "clip.webm", FOREIGN)


def order_of(
    folder: Path, page: str, make: Callable[[Path], object], *, duration_ms: int
) -> FilmOrder:
    site = one_source_site(folder / "bundle", page)
    make(site.folder)
    return FilmOrder(
        page,
        width_px=320,
        height_px=240,
        fps=Fraction(10),
        duration_ms=duration_ms,
        site=site,
        assets=SiteAssets(site, NoAssets()),
        service=PlayerWithoutService(folder),
    )


def codes_in(path: Path) -> list[int | None]:
    return [read_frame_code(frame.rgb) for frame in decode_frames(path)]


@pytest.mark.parametrize(
    ("src", "by"),
    [("./clip.mp4", "address"), ("http://127.0.0.1/clip.mp4", "address"), ("/clip.mp4", "index")],
)
def test_a_clip_of_the_bundle_is_shown_and_heard(
    browser: Browser, tmp_path: Path, clip: Path, src: str, by: str
) -> None:
    page = one_source_page(src, by=by, from_ms=2000, length_ms=1500)
    order = order_of(
        tmp_path, page, lambda folder: copy(clip, folder / "clip.mp4"), duration_ms=1500
    )
    film = make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    assert codes_in(tmp_path / "film.mp4") == list(range(20, 35))
    sound = decode_audio(tmp_path / "film.mp4")
    assert find_beeps(sound.mono, sound.rate_hz) == pytest.approx([0, 1], abs=0.005)
    assert film.record.warnings == ()


@pytest.mark.parametrize(("from_ms", "beeps_s"), [(0, [0]), (900, [0.1])])
def test_a_clip_that_browsers_do_not_play_is_encoded(
    browser: Browser, tmp_path: Path, foreign_clip: Path, *, from_ms: int, beeps_s: list[float]
) -> None:
    page = one_source_page("clip.webm", from_ms=from_ms, length_ms=1000)
    order = order_of(
        tmp_path, page, lambda folder: copy(foreign_clip, folder / "clip.webm"), duration_ms=1000
    )
    make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    first = from_ms // 100
    assert codes_in(tmp_path / "film.mp4") == list(range(first, first + 10))
    sound = decode_audio(tmp_path / "film.mp4")
    assert find_beeps(sound.mono, sound.rate_hz) == pytest.approx(beeps_s, abs=0.005)


def test_a_transparent_clip_is_shown_on_black_with_a_warning(
    browser: Browser, tmp_path: Path
) -> None:
    page = one_source_page("./glass.webm", length_ms=500)
    order = order_of(tmp_path, page, lambda folder: glass(folder / "glass.webm"), duration_ms=500)
    film = make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    (warning,) = film.record.warnings
    assert warning.startswith("http://127.0.0.1/glass.webm is transparent")
    picture = decode_frames(tmp_path / "film.mp4")[3].rgb
    assert colour_at(picture, 16, 32) == pytest.approx((0, 0, 255), abs=16)
    assert colour_at(picture, 48, 32) == pytest.approx((0, 0, 128), abs=16)


MISSING = {
    "not there": (lambda _folder: None, "the bundle has no file /clip.mp4"),
    "not a video": (
        lambda folder: (folder / "clip.mp4").write_bytes(b"not a video at all" * 99),
        "it is plain text",
    ),
}


@pytest.mark.parametrize("by", ["address", "index"])
@pytest.mark.parametrize(("make", "reason"), MISSING.values(), ids=MISSING)
def test_a_missing_source_fails_the_film(
    browser: Browser, tmp_path: Path, make: Callable[[Path], object], reason: str, by: str
) -> None:
    """Once, the film was complete, and black."""
    page = one_source_page("./clip.mp4", by=by, length_ms=1000)
    order = order_of(tmp_path, page, make, duration_ms=1000)
    with pytest.raises(CompositionFailed, match=rf"^\./clip\.mp4 cannot be played: .*{reason}"):
        make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)


def test_requests_after_the_time_limit_of_the_film_are_refused(
    browser: Browser, tmp_path: Path
) -> None:
    """Time in which a page waits for us is not its own, so there is another end to it."""
    page = one_source_page("./clip.mp4", length_ms=1000)
    order = order_of(tmp_path, page, lambda _folder: None, duration_ms=1000)
    with pytest.raises(FilmTookTooLong, match=r"not finished after 0 s; the page then asked for"):
        make_film(order, browser, tmp_path / "film.mp4", limits=replace(FILM_LIMITS, whole_s=0))
