"""Large pictures in films, and stills: exactly their instant, with their transparency."""

import base64
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from framekiln.capture.framebuffer import Pixels
from framekiln.engine.film_order import FilmOrder, StillMoment
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.media.images.still_formats import PngFormat
from tests.e2e.conformance import bar, film, scene
from tests.e2e.conftest import FilmHarness
from tests.support.clips import write_picture
from tests.support.looks import colour_at, decode_still
from tests.support.timeouts import FILM_LIMITS

LARGE_PX = (4000, 3000)
QUARTERS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0))


@pytest.fixture(scope="module")
def large_image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A data address of a picture of twelve million pixels, a colour in each quarter."""
    width, height = LARGE_PX
    pixels = np.zeros((height, width, 3), np.uint8)
    for n, colour in enumerate(QUARTERS):
        top, left = n // 2 * height // 2, n % 2 * width // 2
        pixels[top : top + height // 2, left : left + width // 2] = colour
    path = write_picture(tmp_path_factory.mktemp("large") / "large.jpg", pixels)
    return f"data:image/jpeg;base64,{base64.b64encode(path.read_bytes()).decode()}"


def quarters(picture: Pixels, left: int, width: int) -> list[tuple[int, int, int]]:
    points = [(x, y) for y in (45, 135) for x in (left + width // 4, left + 3 * width // 4)]
    return [colour_at(picture, x, y) for x, y in points]


def test_case_21_large_inline_images_are_shown_from_the_first_frame(
    harness: FilmHarness, large_image: str
) -> None:
    place = "position:absolute;top:0;width:80px;height:180px;object-fit:fill"
    later = f"""<ef-timegroup duration="500ms" offset="500ms">
      <img src="{large_image}#later" style="{place};left:240px"></ef-timegroup>"""
    content = f"""<img src="{large_image}" style="{place};left:0">
      <ef-image src="{large_image}" style="{place};left:80px"></ef-image>
      <div style="{place};left:160px;background:url({large_image}) 0 0/100% 100%"></div>{later}"""
    rendered = film(harness, scene(content, 'duration="1s" fps="10"'))
    expected = [pytest.approx(colour, abs=6) for colour in QUARTERS]
    for picture in rendered.pictures:
        assert [quarters(picture, left, 80) for left in (0, 80, 160)] == [expected] * 3
    seen = [quarters(picture, 240, 80) == expected for picture in rendered.pictures]
    assert seen == [False] * 5 + [True] * 5


@pytest.fixture(scope="module")
def animated_image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A data address of a GIF that shows another colour every tenth of a second."""
    path = tmp_path_factory.mktemp("animated") / "animated.gif"
    with av.open(path, "w") as container:
        stream = container.add_stream("gif", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "rgb8"
        for n, colour in enumerate(QUARTERS):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), colour, np.uint8), "rgb24")
            frame = frame.reformat(format="rgb8")
            frame.pts = n
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return f"data:image/gif;base64,{base64.b64encode(path.read_bytes()).decode()}"


@pytest.mark.parametrize("door", ["page", "composition"])
def test_an_animated_image_is_on_time_also_where_nothing_else_moves(
    harness: FilmHarness, animated_image: str, door: str
) -> None:
    image = f'<img src="{animated_image}" style="position:absolute;left:0;top:0;width:100%">'
    html = scene(image) if door == "composition" else image
    rendered = film(harness, html, fps=Fraction(10), duration_ms=1200)
    colours = [colour_at(picture, 160, 90) for picture in rendered.pictures]
    assert colours == [pytest.approx(QUARTERS[n % 4], abs=6) for n in range(12)]


MOVED = """<style>
@keyframes move { from { transform: translateX(0) } to { transform: translateX(200px) } }
</style>"""
FADED = bar(7, "background:rgb(0 128 255 / .5)")
# Each moves 100 pixels a second to the right, from the left edge.
MOVING = {
    "animation": scene(
        bar(0, "animation:move 2s linear both") + FADED, 'duration="2s"', "background:none"
    ),
    "progress": scene(
        bar(0, "transform:translateX(calc(var(--ef-progress) * 200px))") + FADED,
        'duration="2s"',
        "background:none",
    ),
    "task": scene(
        bar(0)
        + FADED
        + """<script>root.addFrameTask(({ ownCurrentTimeMs }) => {
        document.querySelector(".bar").style.translate = `${ownCurrentTimeMs / 10}px`;
        })</script>""",
        'duration="2s"',
        "background:none",
    ),
    "page": bar(0, "animation:move 2s linear both") + FADED,
    "callback": bar(0)
    + FADED
    + """<script>requestAnimationFrame(function draw(ms) {
    document.querySelector(".bar").style.translate = `${ms / 10}px`;
    requestAnimationFrame(draw);
    })</script>""",
    "clock": bar(0)
    + FADED
    + """<script>requestAnimationFrame(function draw() {
    document.querySelector(".bar").style.translate = `${performance.now() / 10}px`;
    requestAnimationFrame(draw);
    })</script>""",
}


def still(harness: FilmHarness, html: str, at_ms: int, *, is_transparent: bool = True) -> Pixels:
    """Take a still and return it as RGBA."""
    moment = StillMoment(at_ms, is_transparent=is_transparent)
    order = FilmOrder(MOVED + html, width_px=320, height_px=180, still=moment)
    return decode_still(harness.still(order, PngFormat(transparency=is_transparent)))


@pytest.mark.parametrize("at_ms", [0, 1234])
@pytest.mark.parametrize("name", MOVING)
def test_case_25_a_still_shows_its_exact_instant(
    harness: FilmHarness, name: str, at_ms: int
) -> None:
    picture = still(harness, MOVING[name], at_ms)
    row = picture[90, :240, 3].astype(float) / 255
    # Where a pixel is partly covered, its alpha says how much.
    left = float(np.flatnonzero(row > 0)[0] + 1 - row[row > 0][0])
    assert left == pytest.approx(at_ms / 10, abs=0.25)
    assert picture[90, 300].tolist() == pytest.approx([0, 128, 255, 128], abs=1)
    assert picture[90, 20 + (at_ms + 100) // 10].tolist() == [255, 255, 255, 255]
    assert picture[90, 250].tolist() == [0, 0, 0, 0]


def test_case_25_a_still_without_transparency_is_on_white(harness: FilmHarness) -> None:
    picture = still(harness, MOVING["page"], 1000, is_transparent=False)
    assert picture[..., 3].min() == 255
    assert picture[90, 250].tolist() == [255, 255, 255, 255]
    assert picture[90, 300].tolist() == pytest.approx([127, 191, 255, 255], abs=1)


def test_case_25_a_still_may_have_odd_sides(harness: FilmHarness, tmp_path: Path) -> None:
    moment = StillMoment(100, is_transparent=False)
    html = "<body style='background:#0f0'>"
    order = FilmOrder(html, width_px=321, height_px=181, fps=Fraction(10), still=moment)
    with open_page_renderer(order, harness.browser, FILM_LIMITS) as stage:
        picture = stage.render_still(moment)
        assert stage.warnings() == ()
    assert picture.shape == (181, 321, 4)
    assert (picture[..., :3] == (0, 255, 0)).all()
