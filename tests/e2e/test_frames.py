"""Every frame of a film is the page at exactly that frame's time, however the page is moved."""

import base64
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.grabber import GrabMethod
from framekiln.engine.film import make_still
from framekiln.engine.film_order import FilmOrder, StillMoment
from framekiln.media.images.stills import PngFormat
from tests.e2e.conftest import HEIGHT, WIDTH, FilmHarness, RenderedFilm
from tests.support.frame_codes import (
    PALETTE,
    PageDriver,
    Picture,
    cell_digits,
    cells_of,
    draw_frame_code,
    frame_code_page,
    read_frame_code,
)
from tests.support.looks import MeasuredVideo, colour_at, decode_still, measure_file, psnr
from tests.support.raw_pixels import require_raw_pixels
from tests.support.timeouts import FILM_LIMITS, TIMEOUT_S

RATES = (Fraction(30), Fraction(30000, 1001), Fraction(60))
RED_PIXEL = "R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="
FONTS = Path("/usr/share/fonts/truetype")


# The times of frames, on the grid of Chromium, repeat after three frames.
DURATION_S = Fraction(1, 2)
# All clocks of a page are one. At every rate are those by which a page may come too late or early:
# an animation, a timer for each frame and one for many.
AT_EVERY_RATE = (PageDriver.CSS, PageDriver.TIMEOUT, PageDriver.INTERVAL)
CODE_FILMS = [(driver, RATES[1]) for driver in PageDriver] + [
    (driver, fps) for driver in AT_EVERY_RATE for fps in (RATES[0], RATES[2])
]


def film_codes(
    harness: FilmHarness, driver: PageDriver, fps: Fraction, **order: object
) -> RenderedFilm:
    frame_count = int(DURATION_S * fps)
    html = frame_code_page(driver, fps, frame_count=frame_count)
    duration_ms = int(frame_count * 1000 / fps)
    return harness.film(html, fps=fps, duration_ms=duration_ms, **order)


class CodeFilms:
    """Films of frame code pages, each made once for all that is to be seen of it."""

    def __init__(self, harness: FilmHarness) -> None:
        self.browser = harness.browser
        self._film = cache(partial(film_codes, harness))

    def get(self, driver: PageDriver, fps: Fraction) -> RenderedFilm:
        """Return a film; its decoded frames are the caller's, and not kept."""
        made = self._film(driver, fps)
        return RenderedFilm(made.film, made.path)


@pytest.fixture(scope="module")
def films(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> CodeFilms:
    return CodeFilms(FilmHarness(browser, tmp_path_factory.mktemp("films")))


@pytest.fixture(scope="module")
def other_browser() -> Iterator[Browser]:
    with open_browser() as other:
        yield other


@pytest.mark.parametrize(("driver", "fps"), CODE_FILMS, ids=str)
def test_every_frame_appears_once_in_order_at_its_time(
    films: CodeFilms, driver: PageDriver, fps: Fraction
) -> None:
    rendered = films.get(driver, fps)
    expected = range(int(DURATION_S * fps))
    assert [read_frame_code(picture) for picture in rendered.pictures] == list(expected)
    assert [frame.pts for frame in rendered.frames] == [n / fps for n in expected]
    require_raw_pixels(films.browser, rendered.film.record.fallback_reason)
    assert rendered.film.record.grabbing is GrabMethod.RAW
    assert rendered.film.record.fallback_reason is None


@pytest.mark.parametrize("fps", RATES, ids=str)
def test_the_file_has_the_expected_streams(films: CodeFilms, fps: Fraction) -> None:
    rendered = films.get(PageDriver.CSS, fps)
    frame_count = int(DURATION_S * fps)
    found = measure_file(rendered.path)
    assert found.is_faststart
    assert found.audio is not None
    assert (found.audio.codec, found.audio.rate_hz, found.audio.channels) == ("aac", 48000, 2)
    assert found.video == MeasuredVideo(
        codec="h264",
        profile="High",
        pix_fmt="yuv420p",
        width=WIDTH,
        height=HEIGHT,
        primaries="bt709",
        transfer="bt709",
        matrix="bt709",
        colour_range="limited",
        rotation_degrees=0,
        fps=fps,
        is_constant_rate=True,
        frame_count=frame_count,
        start_s=Fraction(0),
        duration_s=frame_count / fps,
    )


def test_colours_match_the_page(films: CodeFilms) -> None:
    for n, picture in enumerate(films.get(PageDriver.RAF_DOM, RATES[1]).pictures):
        assert psnr(picture, draw_frame_code(n, WIDTH, HEIGHT)) > 30
        for cell, digit in zip(cells_of(WIDTH, HEIGHT), cell_digits(n), strict=True):
            colour = picture[cell.core()].reshape(-1, 3).mean(axis=0)
            assert np.abs(colour - PALETTE[digit]).max() < 4


def test_greys_keep_their_range(harness: FilmHarness) -> None:
    bars = "".join(f"<i style='background:rgb({v},{v},{v})'></i>" for v in (0, 16, 128, 235, 255))
    style = "body{display:flex}i{flex:1;height:100%}"
    (picture, *_) = harness.film(f"<style>{style}</style>{bars}").pictures
    found = [colour_at(picture, 64 + 128 * n, 180)[0] for n in range(5)]
    assert found == pytest.approx([0, 16, 128, 235, 255], abs=1)


@pytest.mark.parametrize("driver", [PageDriver.CSS, PageDriver.RAF_CANVAS, PageDriver.INTERVAL])
def test_the_same_page_gives_the_same_bytes_in_any_process(
    films: CodeFilms, harness: FilmHarness, other_browser: Browser, driver: PageDriver
) -> None:
    fps = RATES[1]
    harness.browser = other_browser
    other = film_codes(harness, driver, fps)
    assert other.path.read_bytes() == films.get(driver, fps).path.read_bytes()


@pytest.mark.parametrize("driver", [PageDriver.WAAPI, PageDriver.RAF_CANVAS, PageDriver.TIMEOUT])
def test_screenshots_and_raw_memory_show_the_same(
    films: CodeFilms, harness: FilmHarness, driver: PageDriver
) -> None:
    raw = films.get(driver, RATES[1])
    require_raw_pixels(harness.browser, raw.film.record.fallback_reason)
    shots = film_codes(harness, driver, RATES[1], grabbing=GrabMethod.SCREENSHOT)
    assert (raw.film.record.grabbing, shots.film.record.grabbing) == (
        GrabMethod.RAW,
        GrabMethod.SCREENSHOT,
    )
    assert shots.path.read_bytes() == raw.path.read_bytes()


def test_an_unchanged_page_is_captured_once(harness: FilmHarness) -> None:
    rendered = harness.film("<body style='background:#0f0'>", fps=Fraction(30), duration_ms=2000)
    assert rendered.film.plan.timeline.frame_count == 60
    assert rendered.film.record.captured_frames <= 3
    assert [frame.pts for frame in rendered.frames] == [Fraction(n, 30) for n in range(60)]
    assert all(colour_at(picture, 320, 180) == (0, 255, 1) for picture in rendered.pictures)


def test_a_single_change_is_shown_in_its_frame(harness: FilmHarness) -> None:
    html = "<script>setTimeout(() => document.body.style.background = '#0f0', 451)</script>"
    rendered = harness.film(f"<body style='background:#f00'>{html}", fps=Fraction(20))
    assert [colour_at(picture, 9, 9)[1] > 200 for picture in rendered.pictures] == [
        n >= 10 for n in range(20)
    ]


def test_a_worker_draws_every_frame_from_the_first_on(harness: FilmHarness) -> None:
    # Frame 0 was empty, and those after it showed the frame before.
    html = """<body style="margin: 0; background: blue"><canvas id="canvas"></canvas><script>
      canvas.width = innerWidth;
      canvas.height = innerHeight;
      const script = `onmessage = ({ data: canvas }) => {
        const pen = canvas.getContext("2d");
        let n = 0;
        requestAnimationFrame(function draw() {
          pen.fillStyle = n % 2 ? "white" : "red";
          pen.fillRect(0, 0, canvas.width, canvas.height);
          n += 1;
          requestAnimationFrame(draw);
        });
      }`;
      const worker = new Worker(URL.createObjectURL(new Blob([script])));
      const handedOver = canvas.transferControlToOffscreen();
      worker.postMessage(handedOver, [handedOver]);
    </script>"""
    rendered = harness.film(html, fps=Fraction(10), duration_ms=1000)
    expected = [(255, 255, 255) if n % 2 else (255, 0, 0) for n in range(10)]
    found = np.array([picture[HEIGHT // 2, WIDTH // 2] for picture in rendered.pictures], int)
    assert np.abs(found - expected).max() <= 8


def test_frame_callbacks_run_once_a_frame(harness: FilmHarness) -> None:
    html = """<script>
    let calls = 0;
    requestAnimationFrame(function count() {
      calls += 1;
      document.body.style.background = `rgb(0,${calls * 10},0)`;
      requestAnimationFrame(count);
    });</script>"""
    rendered = harness.film(html)
    greens = [colour_at(picture, 9, 9)[1] for picture in rendered.pictures]
    assert greens == pytest.approx([10 * (n + 1) for n in range(10)], abs=3)


HOLDS = {
    "timer": "new Promise(done => setTimeout(done, 500))",
    "two frames": (
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
    ),
    "both": (
        "new Promise(done => setTimeout(() => requestAnimationFrame("
        "() => requestAnimationFrame(() => setTimeout(done, 123))), 300))"
    ),
    "thenable": "({ then(done) { setTimeout(done, 70); } })",
}


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
def test_frame_0_is_time_zero_after_window_renderready(harness: FilmHarness, hold: str) -> None:
    """Four clocks, four bars: each bar's green is the time that its clock shows."""
    html = f"""<style>
    body {{ display: flex }} i {{ flex: 1; height: 100% }}
    @keyframes go {{ from {{ background: rgb(0,0,0) }} to {{ background: rgb(0,250,0) }} }}
    i:nth-of-type(4) {{ animation: go 1s linear both }}
    </style><i></i><i></i><i></i><i></i><script>
    window.renderReady = {hold};
    const [now, date, stamp] = document.querySelectorAll("i");
    const paint = (bar, ms) => {{ bar.style.background = `rgb(0,${{Math.round(ms / 4)}},0)`; }};
    const epoch = Date.UTC(2025, 0, 1);
    requestAnimationFrame(function draw(stampMs) {{
      paint(now, performance.now());
      paint(date, Date.now() - epoch);
      paint(stamp, stampMs);
      requestAnimationFrame(draw);
    }});</script>"""
    for n, picture in enumerate(harness.film(html).pictures):
        greens = [colour_at(picture, 80 + 160 * bar, 180)[1] for bar in range(4)]
        assert greens == pytest.approx([25 * n] * 4, abs=3)


@pytest.mark.parametrize("sandbox", ["", "sandbox='allow-scripts'"])
def test_iframes_follow_the_time_of_the_film(harness: FilmHarness, sandbox: str) -> None:
    inner = """<script>requestAnimationFrame(function draw(ms) {
      document.body.style.background = `rgb(0,${Math.round(ms / 4)},0)`;
      requestAnimationFrame(draw);
    })</script>"""
    html = f"""<iframe {sandbox} srcdoc="<body>{inner}"></iframe>
    <style>iframe {{ position: fixed; inset: 0; width: 100%; height: 100%; border: 0 }}</style>"""
    greens = [colour_at(picture, 9, 9)[1] for picture in harness.film(html).pictures]
    assert greens == pytest.approx([25 * n for n in range(10)], abs=3)


def test_an_iframe_added_later_has_the_time_of_the_film(harness: FilmHarness) -> None:
    html = """<script>setTimeout(() => {
      const frame = document.createElement("iframe");
      frame.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0";
      frame.srcdoc = `<script>requestAnimationFrame(function draw(ms) {
        document.body.style.background = "rgb(0," + Math.round(ms / 4) + ",0)";
        requestAnimationFrame(draw);
      })<\\/script>`;
      document.body.append(frame);
    }, 250)</script>"""
    greens = [colour_at(picture, 9, 9)[1] for picture in harness.film(html).pictures]
    assert greens[3:] == pytest.approx([25 * n for n in range(3, 10)], abs=3)


def test_no_state_remains_for_the_next_page(harness: FilmHarness) -> None:
    """Pages share an origin, and strangers share a browser."""
    html = """<script>
    document.body.style.background = localStorage.seen || document.cookie ? "#f00" : "#0f0";
    localStorage.seen = "yes";
    document.cookie = "seen=yes";
    window.open("about:blank");
    new SharedWorker(URL.createObjectURL(new Blob(["onconnect = () => { while (true) {} }"])));
    </script>"""
    for _ in range(2):
        assert colour_at(harness.film(html).pictures[0], 9, 9) == (0, 255, 1)
    # A worker that never rests takes Chromium a moment to end.
    give_up_at = time.monotonic() + TIMEOUT_S
    while targets := open_targets(harness):
        assert time.monotonic() < give_up_at, targets
        time.sleep(0.05)


def open_targets(harness: FilmHarness) -> list[object]:
    connection = harness.browser.connection
    found = connection.call("Target.getTargets", session=None, within_s=TIMEOUT_S)
    return list(found["targetInfos"])


def test_images_are_shown_at_frame_0(harness: FilmHarness) -> None:
    style = "img, div { position: fixed; top: 0; height: 100%; width: 50% }"
    html = f"""<style>{style} div {{ left: 50%; background: url(data:image/gif;base64,{RED_PIXEL})
    }} img {{ left: 0 }}</style><img src="data:image/gif;base64,{RED_PIXEL}"><div></div>"""
    picture = harness.film(html).pictures[0]
    for x in (100, 500):
        assert colour_at(picture, x, 180) == pytest.approx((255, 0, 0), abs=3)


def text_page(text: str, family: str, rules: str = "") -> str:
    style = f"{rules} body {{ background: #fff; font: 60px {family}; color: #000 }}"
    return f"<meta charset=utf-8><style>{style}</style><p>{text}</p>"


def test_fonts_of_the_page_are_used_at_frame_0(harness: FilmHarness) -> None:
    data = base64.b64encode((FONTS / "dejavu/DejaVuSerif.ttf").read_bytes()).decode()
    rule = f"@font-face {{ font-family: Own; src: url(data:font/ttf;base64,{data}) }}"
    own = harness.film(text_page("Hamburgefonts 123", "Own, monospace", rule)).pictures[0]
    same = harness.film(text_page("Hamburgefonts 123", "'DejaVu Serif', monospace")).pictures[0]
    other = harness.film(text_page("Hamburgefonts 123", "monospace")).pictures[0]
    # The system hints its own fonts a little differently.
    assert psnr(own, same) > 25
    assert psnr(own, other) < 20


def ink(picture: Picture) -> Picture:
    """Return the part of a white page that something is drawn on."""
    rows, columns = np.nonzero(picture.min(axis=2) < 128)
    return picture[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]


def test_writing_systems_of_the_world_are_drawn(browser: Browser, tmp_path: Path) -> None:
    """Letters without a glyph all look the same: a box."""
    missing = "\U0010fffd"
    systems = ["漢字か", "한국어", "الع", "עבר", "ΕΛΔ", "При"]
    letters = "".join(systems) + missing
    width_px, height_px = 100, 120
    style = f"p {{ position: fixed; top: 0; margin: 0; width: {width_px}px }}"
    cells = (f"<p style='left: {n * width_px}px'>{each}</p>" for n, each in enumerate(letters))
    page = text_page("".join(cells), "sans-serif", style)
    order = FilmOrder(
        page,
        width_px=len(letters) * width_px,
        height_px=height_px,
        still=StillMoment(0, is_transparent=False),
    )
    path = tmp_path / "letters.png"
    make_still(order, browser, path, PngFormat(), limits=FILM_LIMITS)
    drawn = np.split(decode_still(path)[..., :3], len(letters), axis=1)
    looks = {letter: ink(cell).tobytes() for letter, cell in zip(letters, drawn, strict=True)}
    for system in systems:
        assert len({looks[letter] for letter in system} - {looks[missing]}) == 3, system


def test_emoji_are_drawn_in_colour(harness: FilmHarness) -> None:
    drawn = ink(harness.film(text_page("😀🍎", "sans-serif")).pictures[0]).astype(int)
    is_colourful = drawn.max(axis=2) - drawn.min(axis=2) > 100
    assert is_colourful.mean() > 0.3


def test_a_page_may_set_its_size_rate_and_duration(harness: FilmHarness) -> None:
    html = """<!doctype html><html data-width="322" data-height="201" data-fps="12.5"
    data-duration-ms="900"><body style="margin:0;background:#00f">"""
    rendered = harness.film(html, width_px=None, height_px=None, fps=None, duration_ms=None)
    video = measure_file(rendered.path).video
    assert video is not None
    assert (video.width, video.height, video.fps) == (322, 202, Fraction(25, 2))
    assert video.frame_count == 12
    assert rendered.film.record.warnings == (
        "size 322x201 of the composition was rounded up to 322x202: films need even sides",
    )
    corner = colour_at(decode_still(rendered.path), 321, 201, radius=0)
    assert corner == pytest.approx((0, 0, 255), abs=3)
