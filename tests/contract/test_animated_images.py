"""Animated GIF, WebP and PNG in pages: the right picture in each frame, whatever draws them."""

import base64
import io
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from framekiln.capture.browser import Browser
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.media.images.image_source import ImageSource
from tests.support.compositions import load_composition
from tests.support.frame_codes import Picture
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import decode_frames
from tests.support.timeouts import FILM_LIMITS

pytestmark = pytest.mark.spec("4.3")

COLOURS = {"r": (255, 0, 0), "g": (0, 255, 0), "b": (0, 0, 255), "w": (255, 255, 255)}
MOVING = "rgb"
# Frame n of a film is at n * 100 ms.
LENGTHS_MS = (100, 300, 200)
ONE_RUN = "rgggbb"


def animation(kind: str, *, colours: str = MOVING, **more: Any) -> bytes:
    """Squares of one colour each, on for `LENGTHS_MS`, by default for ever."""
    pictures = [Image.new("RGB", (40, 40), COLOURS[each]) for each in colours]
    options: dict[str, Any] = {"duration": list(LENGTHS_MS), "loop": 0, **more}
    file = io.BytesIO()
    pictures[0].save(file, kind, save_all=True, append_images=pictures[1:], **options)
    return file.getvalue()


def leaving_gif() -> bytes:
    """A red square; a green one at the left of it, which goes away again; a blue one at the right.

    What a GIF draws only in part, and how it is disposed of.
    """
    pictures = []
    for colour, box in (("r", (0, 0, 39, 39)), ("g", (0, 0, 9, 39)), ("b", (30, 0, 39, 39))):
        picture = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
        ImageDraw.Draw(picture).rectangle(box, fill=COLOURS[colour])
        pictures.append(picture)
    file = io.BytesIO()
    pictures[0].save(
        file,
        "GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=list(LENGTHS_MS),
        loop=0,
        disposal=2,
    )
    return file.getvalue()


FILES = {
    "moving.gif": animation("GIF"),
    "moving.webp": animation("WEBP", lossless=True),
    "moving.png": animation("PNG"),
    "once.gif": animation("GIF", loop=None),
    "twice.webp": animation("WEBP", lossless=True, loop=2),
    "twice.png": animation("PNG", loop=2),
    "thrice.gif": animation("GIF", loop=2),
    "leaving.gif": leaving_gif(),
    "still.gif": animation("GIF", colours="w", duration=100),
}


class Films:
    """Films pages of 40 lines at 10 frames a second."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        makers = {name: partial(Path.write_bytes, data=data) for name, data in FILES.items()}
        self._browser = browser
        self._folder = folder
        self._assets = LocalAssets(folder, makers)

    def pictures(self, html: str, count: int, *, width_px: int = 80) -> list[Picture]:
        order = FilmOrder(
            f'<body style="margin:0;background:#fff">{html}',
            width_px=width_px,
            height_px=40,
            fps=Fraction(10),
            duration_ms=100 * count,
            assets=self._assets,
        )
        path = self._folder / "film.mp4"
        make_film(order, self._browser, path, limits=FILM_LIMITS)
        return [frame.rgb for frame in decode_frames(path)]

    def colours(self, html: str, count: int, x: int = 20) -> str:
        """Return the colour at the middle of a column, frame by frame."""
        return "".join(colour_of(picture[20, x]) for picture in self.pictures(html, count))


@pytest.fixture
def films(browser: Browser, tmp_path: Path) -> Films:
    return Films(browser, tmp_path)


def colour_of(pixel: Sequence[int]) -> str:
    distances = {
        name: sum(abs(int(a) - b) for a, b in zip(pixel, colour, strict=True))
        for name, colour in COLOURS.items()
    }
    nearest = min(distances, key=lambda name: distances[name])
    assert distances[nearest] < 90, pixel
    return nearest


def image(name: str, more: str = "") -> str:
    return f'<img src="{MEDIA_ORIGIN}{name}" {more}>'


def test_each_frame_of_the_film_shows_the_picture_of_its_time(films: Films) -> None:
    names = ("moving.gif", "moving.webp", "moving.png")
    for name, colours in side_by_side(films, names, 14).items():
        assert colours == ONE_RUN * 2 + "rg", name


def test_an_animation_keeps_its_last_frame_after_its_play_count(films: Films) -> None:
    runs = {"once.gif": 1, "twice.webp": 2, "twice.png": 2, "thrice.gif": 3}
    count = 6 * 3 + 3
    for name, colours in side_by_side(films, tuple(runs), count).items():
        assert colours == (ONE_RUN * runs[name]).ljust(count, "b"), name


def side_by_side(films: Films, names: tuple[str, ...], count: int) -> dict[str, str]:
    """Return the colours of images in one film, frame by frame."""
    images = [
        image(name, f'style="position:absolute;left:{40 * place}px;top:0"')
        for place, name in enumerate(names)
    ]
    pictures = films.pictures("".join(images), count, width_px=40 * len(names))
    return {
        name: "".join(colour_of(picture[20, 40 * place + 20]) for picture in pictures)
        for place, name in enumerate(names)
    }


def test_disposed_parts_of_a_frame_are_cleared(films: Films) -> None:
    pictures = films.pictures(image("leaving.gif"), 6)
    columns = ["".join(colour_of(picture[20, x]) for picture in pictures) for x in (5, 20, 35)]
    assert columns == ["rgggww", "rwwwww", "rwwwbb"]


def test_an_animated_image_in_a_data_url_is_animated(films: Films) -> None:
    data = base64.b64encode(FILES["moving.gif"]).decode()
    assert films.colours(f'<img src="data:image/gif;base64,{data}">', 7) == ONE_RUN + "r"


def test_an_image_added_later_starts_when_it_is_added(films: Films) -> None:
    script = f"""<script>setTimeout(() => {{
      const it = new Image(); it.src = "{MEDIA_ORIGIN}moving.gif"; document.body.append(it)
    }}, 300)</script>"""
    assert films.colours(script, 9) == "www" + ONE_RUN


def test_a_new_source_restarts_the_animation(films: Films) -> None:
    page = image("moving.gif", 'id="i"') + (
        f'<script>setTimeout(() => {{ i.src = "{MEDIA_ORIGIN}still.gif" }}, 200)</script>'
        f'<script>setTimeout(() => {{ i.src = "{MEDIA_ORIGIN}moving.png" }}, 400)</script>'
    )
    assert films.colours(page, 8) == "rgww" + "rggg"


def test_sizes_borders_and_fits_are_those_of_the_image(films: Films) -> None:
    style = "width:60px;height:30px;object-fit:contain;border:5px solid #00f;box-sizing:border-box"
    last = films.pictures(image("moving.gif", f'style="{style};translate:10px 5px"'), 3)[-1]
    seen = "".join(colour_of(last[20, x]) for x in (2, 12, 25, 40, 55, 67, 75))
    assert seen == "wbwgwbw"


def test_an_image_in_a_group_starts_with_the_group(films: Films) -> None:
    page = f"""<ef-timegroup mode="sequence" style="width:80px;height:40px">
      <ef-timegroup duration="300ms"></ef-timegroup>
      <ef-timegroup duration="600ms">{image("moving.gif", 'style="position:absolute"')}
        <ef-image src="{MEDIA_ORIGIN}moving.webp" style="position:absolute;left:40px"></ef-image>
      </ef-timegroup></ef-timegroup>"""
    pictures = films.pictures(page, 9)
    for x in (20, 60):
        assert "".join(colour_of(picture[20, x]) for picture in pictures) == "www" + ONE_RUN


def test_a_still_image_is_not_replaced_by_a_canvas(films: Films) -> None:
    hint = "<script>document.querySelector('canvas') && document.body.append('moved')</script>"
    assert films.colours(image("still.gif") + hint, 2) == "ww"


@pytest.mark.parametrize("name", [name for name in FILES if name != "still.gif"])
def test_pictures_are_those_that_chromium_decodes(
    browser: Browser, name: str, tmp_path: Path
) -> None:
    """Their number, how long each is on, how often all run, and what is seen of the first row."""
    kind = name.rpartition(".")[2]
    data = base64.b64encode(FILES[name]).decode()
    page = f"""<script>const found = []; window.renderReady = (async () => {{
      const bytes = Uint8Array.from(atob("{data}"), (character) => character.charCodeAt(0))
      const decoder = new ImageDecoder({{ type: "image/{kind}", data: bytes }})
      await decoder.tracks.ready; await decoder.completed
      const track = decoder.tracks.selectedTrack
      const pen = new OffscreenCanvas(40, 40).getContext("2d", {{ willReadFrequently: true }})
      for (let frameIndex = 0; frameIndex < track.frameCount; frameIndex += 1) {{
        const {{ image }} = await decoder.decode({{ frameIndex }})
        pen.clearRect(0, 0, 40, 40); pen.drawImage(image, 0, 0)
        found.push([image.duration, [...pen.getImageData(0, 0, 40, 1).data]])
      }}
      window.runs = track.repetitionCount === Infinity ? null : track.repetitionCount + 1
    }})()</script>"""
    path = tmp_path / name
    path.write_bytes(FILES[name])
    with load_composition(browser, page) as shown, ImageSource(path) as source:
        assert shown.page.evaluate("runs") == source.facts.times.plays
        found = shown.page.evaluate("found")
        ends = list(accumulate(Fraction(duration_us, 1000) for duration_us, _ in found))
        assert ends == source.ends_ms
        for number, (_, row) in enumerate(found):
            assert source.rgba(number)[0].ravel().tolist() == row
