"""Bundles that bring a runtime of their own are driven through the bridge it looks for."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.errors import (
    BrowserTimeout,
    PageBlocked,
    PageNeverSettled,
    PageOutOfStep,
    PageThrew,
)
from framekiln.capture.grabber import GrabMethod
from framekiln.capture.page import FrameSize
from framekiln.engine.assets import LocalAsset
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.renderer import open_page_renderer
from tests.e2e.conftest import FilmHarness, RenderedFilm
from tests.support.external_runtime import html, write_bundle
from tests.support.frame_codes import Picture, read_frame_code
from tests.support.looks import colour_at, decode_frames
from tests.support.raw_pixels import require_raw_pixels
from tests.support.sounds import decode_audio, find_beeps
from tests.support.timeouts import FILM_LIMITS, increasing_limits

WIDTH, HEIGHT = 320, 180
WHITE = (255, 255, 255)


def order_of(folder: Path, **own: Any) -> FilmOrder:
    """Ten frames in a second; the bundle draws their numbers."""
    return FilmOrder(
        html(),
        width_px=WIDTH,
        height_px=HEIGHT,
        fps=Fraction(10),
        duration_ms=1000,
        site=write_bundle(folder / "bundle", **own),
    )


def film(
    browser: Browser, order: FilmOrder, path: Path, limits: FilmLimits = FILM_LIMITS
) -> RenderedFilm:
    return RenderedFilm(make_film(order, browser, path, limits=limits), path)


def codes(pictures: list[Picture]) -> list[int | None]:
    return [read_frame_code(picture) for picture in pictures]


WAITS = ("sync", "microtask", "timer", "frames", "fetch")


# Whoever drives the page, it waits in the same way.
@pytest.mark.parametrize(
    ("driven_by", "waits"),
    [*(("bridge", each) for each in WAITS), ("calls", "sync"), ("calls", "frames")],
)
def test_every_frame_is_the_requested_one(
    browser: Browser, tmp_path: Path, driven_by: str, waits: str
) -> None:
    order = order_of(tmp_path, drivenBy=driven_by, waits=waits)
    rendered = film(browser, order, tmp_path / "film.mp4")
    assert codes(rendered.pictures) == list(range(10))
    assert rendered.film.plan.size == FrameSize(WIDTH, HEIGHT)
    # The strip is below the film.
    assert all((picture[-4:] >= 250).all() for picture in rendered.pictures)
    require_raw_pixels(browser, rendered.film.record.fallback_reason)
    assert rendered.film.record.grabbing is GrabMethod.RAW


def test_screenshots_show_the_same_frames(browser: Browser, tmp_path: Path) -> None:
    order = order_of(tmp_path)
    raw = film(browser, order, tmp_path / "raw.mp4")
    shots = replace(order, grabbing=GrabMethod.SCREENSHOT)
    assert (
        film(browser, shots, tmp_path / "shots.mp4").film.record.grabbing is GrabMethod.SCREENSHOT
    )
    assert (tmp_path / "shots.mp4").read_bytes() == raw.path.read_bytes()


@pytest.mark.parametrize("fps", [Fraction(30000, 1001), Fraction(25)], ids=str)
def test_the_runtime_gets_rate_and_window(browser: Browser, tmp_path: Path, fps: Fraction) -> None:
    order = replace(order_of(tmp_path), fps=fps)
    rendered = film(browser, order, tmp_path / "film.mp4")
    # The bundle's codes count tenths of a second, whatever the film's rate.
    expected = [round(float(n * 10 / fps)) for n in range(len(rendered.pictures))]
    assert codes(rendered.pictures) == expected


def test_a_page_without_a_strip_is_filmed(browser: Browser, tmp_path: Path) -> None:
    order = order_of(tmp_path, paintsStrip=False)
    assert codes(film(browser, order, tmp_path / "film.mp4").pictures) == list(range(10))


@pytest.mark.parametrize("grabbing", GrabMethod)
def test_a_page_that_shows_another_frame_fails(
    browser: Browser, tmp_path: Path, grabbing: GrabMethod
) -> None:
    order = replace(order_of(tmp_path, lateFrom=6), grabbing=grabbing)
    with pytest.raises(PageOutOfStep, match="frame 6 was ready, but shows frame 5"):
        film(browser, order, tmp_path / "film.mp4")


@pytest.mark.parametrize("driven_by", ["bridge", "calls"])
def test_the_sound_of_the_runtime_is_that_of_the_film(
    browser: Browser, tmp_path: Path, driven_by: str
) -> None:
    order = replace(order_of(tmp_path, drivenBy=driven_by), duration_ms=2500)
    rendered = film(browser, order, tmp_path / "film.mp4")
    sound = decode_audio(rendered.path)
    assert find_beeps(sound.mono, sound.rate_hz) == pytest.approx([0, 1, 2], abs=0.005)
    inside_a_beep = sound.mono[49_000:52_000]
    assert float(np.sqrt(np.mean(inside_a_beep**2))) == pytest.approx(0.5 / 2**0.5, rel=0.03)
    assert sound.mono.size == pytest.approx(2.5 * sound.rate_hz, abs=1024)


@pytest.mark.parametrize("driven_by", ["bridge", "calls"])
def test_a_slice_can_start_at_any_frame(browser: Browser, tmp_path: Path, driven_by: str) -> None:
    order = order_of(tmp_path, drivenBy=driven_by)
    whole, path = tmp_path / "whole.mp4", tmp_path / "slice.mp4"
    with open_page_renderer(order, browser, FILM_LIMITS) as stage:
        stage.render_slice(FilmSlice(0, 0, 10), whole, lambda _number: None)
    with open_page_renderer(order, browser, FILM_LIMITS) as stage:
        stage.render_slice(FilmSlice(1, 4, 3), path, lambda _number: None)
        assert stage.save_page_audio(tmp_path) == ()
        assert codes([frame.rgb for frame in decode_frames(path)]) == [4, 5, 6]
        stage.render_slice(FilmSlice(2, 8, 2), path, lambda _number: None)
        assert codes([frame.rgb for frame in decode_frames(path)]) == [8, 9]
        (sound,) = stage.save_page_audio(tmp_path)
    assert codes([frame.rgb for frame in decode_frames(whole)]) == list(range(10))
    assert decode_audio(sound.path).mono.size == 48_000


def test_a_still_shows_its_instant(browser: Browser, tmp_path: Path) -> None:
    moment = StillMoment(at_ms=700, is_transparent=False)
    order = replace(order_of(tmp_path), still=moment, duration_ms=None)
    with open_page_renderer(order, browser, FILM_LIMITS) as stage:
        picture = stage.render_still(moment)
    assert picture.shape == (HEIGHT, WIDTH, 4)
    assert read_frame_code(picture[..., 2::-1]) == 7
    assert colour_at(picture, WIDTH // 2, HEIGHT - 1, radius=0) == WHITE


INFO = {"width": 320, "height": 180, "fps": 10, "durationMs": 500}


@pytest.mark.parametrize(
    ("info", "size", "frames"),
    [(INFO, FrameSize(320, 180), 5), (None, FrameSize(1280, 720), 30)],
    ids=["as it says of itself", "as its root is"],
)
def test_missing_options_come_from_the_page(
    browser: Browser, tmp_path: Path, info: dict[str, int] | None, size: FrameSize, frames: int
) -> None:
    order = order_of(tmp_path, info=info)
    bare = FilmOrder(order.html, site=order.site)
    rendered = film(browser, bare, tmp_path / "film.mp4")
    assert (rendered.film.plan.size, rendered.film.plan.timeline.frame_count) == (size, frames)
    assert codes(rendered.pictures)[-1] == (4 if info else 10)


FAILURES = {
    "while initializing": ({"failsAt": "initialize"}, "reported: no such font"),
    "in a frame": ({"failsAt": 3}, "reported: the clip ended early"),
    "thrown": ({"failsAt": "throw 3"}, "Error: cannot draw 3"),
    "called": (
        {"failsAt": 3, "drivenBy": "calls"},
        r"beginFrame\(3\) failed: the clip ended early",
    ),
}


@pytest.mark.parametrize(("own", "words"), FAILURES.values(), ids=FAILURES)
def test_failures_are_named(
    browser: Browser, tmp_path: Path, own: dict[str, Any], words: str
) -> None:
    with pytest.raises(PageThrew, match=words):
        film(browser, order_of(tmp_path, **own), tmp_path / "film.mp4")


NEVER_THERE = {
    "one frame": (
        {"failsAt": "silent 3"},
        r"drawing frame 3, .* within \d+ s: frameReady\(3\) was not called",
    ),
    "not initialized": (
        {"waits": "never"},
        r"waiting for: own runtime: FRAMEGEN_BRIDGE.initialized\(\)",
    ),
    "not registered": ({"registers": False}, "waiting for: own runtime: window.EF_REGISTERED"),
    "with no way to drive it": (
        {"drivenBy": "nobody"},
        "own runtime: FRAMEGEN_BRIDGE.onInitialize, or EF_FRAMEGEN",
    ),
}


@pytest.mark.parametrize(("own", "words"), NEVER_THERE.values(), ids=NEVER_THERE)
def test_waiting_for_the_runtime_is_limited(
    browser: Browser, tmp_path: Path, own: dict[str, Any], words: str
) -> None:
    order = order_of(tmp_path, **own)
    for attempt in increasing_limits(PageBlocked, BrowserTimeout, AssertionError):
        with attempt as limit_s:
            limits = replace(FILM_LIMITS, settle_s=limit_s, frame_s=limit_s)
            with pytest.raises(PageNeverSettled, match=words):
                film(browser, order, tmp_path / "film.mp4", limits)


class OnePicture:
    """Knows one address."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fetch(self, url: str) -> LocalAsset:
        assert url == "https://elsewhere.example/a b.png"
        return LocalAsset(self._path, "image/png")


def test_requests_to_the_service_are_answered_by_path(browser: Browser, tmp_path: Path) -> None:
    picture = tmp_path / "picture"
    picture.write_text("a picture")
    order = order_of(tmp_path, image="https://elsewhere.example/a b.png")
    rendered = film(browser, replace(order, assets=OnePicture(picture)), tmp_path / "film.mp4")
    assert codes(rendered.pictures) == list(range(10))
    # The others are for a service; each was asked for at two hosts.
    assert len(rendered.film.record.warnings) == 4
    assert all("this film is made without one" in each for each in rendered.film.record.warnings)


def test_inline_html_uses_our_elements(harness: FilmHarness) -> None:
    script = "window.EF_FRAMEGEN = { initialize() { throw 1 }, beginFrame() { throw 2 } }"
    rendered = harness.film(
        '<ef-timegroup mode="fixed" duration="1s" style="display:block;width:100%;height:100%;'
        f'background:#0f0"></ef-timegroup><script>{script}</script>',
        duration_ms=None,
    )
    assert len(rendered.pictures) == 10
    assert colour_at(rendered.pictures[5], 100, 100) == (0, 255, 1)
