"""Videos of composed pages are decoded and placed natively, and look as Chromium draws them."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.page import FrameSize
from framekiln.engine.composed.composer import FrameComposer
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.proof import Likeness, compare
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.engine.page.queries import GRACE_MS
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.composed_pages import (
    cut,
    frames_both_ways,
    golden_film,
    likenesses,
    side_by_side,
)
from tests.support.frame_codes import read_frame_code
from tests.support.golden import FOLDER, GoldenComposition
from tests.support.local_assets import LocalAssets
from tests.support.looks import decode_frames
from tests.support.sounds import decode_audio
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS

FOOTAGE = "https://media.test/footage.mp4"


SIZE = FrameSize(320, 180)


def page(content: str, size: FrameSize = SIZE) -> str:
    look = f"width: {size.width_px}px; height: {size.height_px}px; background: #246"
    return (
        "<style>@keyframes move { to { transform: translate(24px, 9px) scale(1.15) } }"
        " @keyframes fade { to { opacity: .2 } } @keyframes turn { to { rotate: 12deg } }</style>"
        f'<ef-timegroup mode="fixed" duration="1500ms" style="{look}">{content}</ef-timegroup>'
    )


WHOLE = "position: absolute; inset: 0; width: 320px; height: 180px"
TITLE = (
    '<p style="position: absolute; left: 30px; top: 2px; margin: 0; color: #fff;'
    ' font: 30px Liberation Sans; animation: fade 1s both">Over it</p>'
)
PAGES = {
    "between layers": f"<b style='position: absolute; inset: 0; background: #c33'></b>"
    f'<ef-video src="{FOOTAGE}" style="position: absolute; left: 40px; top: 20px; width: 240px;'
    f' height: 135px"></ef-video>{TITLE}',
    "cover": f'<ef-video src="{FOOTAGE}" style="position: absolute; left: 61px; top: 11px;'
    ' width: 101px; height: 151px; object-fit: cover"></ef-video>',
    "round": '<div style="position: absolute; left: 30px; top: 20px; width: 120px; height: 120px;'
    f' border-radius: 50%; overflow: hidden; animation: move 1s both"><ef-video src="{FOOTAGE}"'
    ' style="width: 120px; height: 120px; object-fit: cover"></ef-video></div>',
    "faded": f'<div style="animation: fade 1s both; {WHOLE}"><ef-video src="{FOOTAGE}"'
    f' style="width: 320px; height: 180px"></ef-video>{TITLE}</div>',
    "turned": f'<ef-video src="{FOOTAGE}" style="width: 192px; height: 108px;'
    ' animation: turn 1s both, fade 1s both"></ef-video>',
    "plain": f'<video src="{FOOTAGE}" style="position: absolute; left: 20px; top: 10px;'
    f' width: 192px; border-radius: 14px"></video>{TITLE}',
    "between pixels": f'<video src="{FOOTAGE}" style="position: absolute; left: 20.5px;'
    ' top: 10.3px; width: 100.4px; height: 150.5px; object-fit: fill"></video>',
    "plain, with a size": f'<video src="{FOOTAGE}" style="position: absolute; left: 20px;'
    ' top: 10px; width: 100px; height: 150px; object-fit: cover"></video>',
}
MARGINS = (
    "<style>body { margin: 8px 12px } html { margin: 3px }</style>"
    f'<ef-video src="{FOOTAGE}" style="position: absolute; left: 20px; top: 10px; width: 192px;'
    f' animation: move 1s both"></ef-video>{TITLE}'
)


def order(html: str, assets: LocalAssets, method: PageMethod = PageMethod.COMPOSED) -> FilmOrder:
    return FilmOrder(html, fps=Fraction(30), assets=assets, page_method=method)


def check(found: list[Likeness], *, least: float = 0.99) -> None:
    assert min(each.ssim for each in found) >= least
    assert all(each.is_close for each in found)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return LocalAssets(tmp_path_factory.mktemp("stock"), stock_makers())


def test_video_in_any_place_looks_as_in_chromium(browser: Browser, stock: LocalAssets) -> None:
    html, size = side_by_side(PAGES.values(), SIZE)
    film = order(page(html, size), stock)
    found: dict[str, list[Likeness]] = {name: [] for name in PAGES}
    for frame in frames_both_ways(film, browser, every=6):
        for name, cell in zip(PAGES, cut(*frame, SIZE), strict=True):
            found[name].append(compare(*cell))
    for each in found.values():
        check(each, least=0.98)


def test_video_in_a_page_with_margins_looks_as_in_chromium(
    browser: Browser, stock: LocalAssets
) -> None:
    check(list(likenesses(order(page(MARGINS), stock), browser, every=6)), least=0.98)


def test_golden_footage_under_a_lower_third(browser: Browser, stock: LocalAssets) -> None:
    film, every = golden_film(GoldenComposition(FOLDER / "lower-third"), stock)
    check(list(likenesses(film, browser, every=every)))


def test_frames_and_sound_are_those_of_the_filmed_page(
    browser: Browser, stock: LocalAssets, tmp_path: Path
) -> None:
    html = page(f'<ef-video src="{FOOTAGE}" sourcein="1s" style="{WHOLE}"></ef-video>' + TITLE)
    paths = {}
    for method in (PageMethod.COMPOSED, PageMethod.FILMED):
        paths[method] = tmp_path / f"{method.value}.mp4"
        film = make_film(order(html, stock, method), browser, paths[method], limits=FILM_LIMITS)
        is_composed = method is PageMethod.COMPOSED
        assert film.record.composed_frames == (45 if is_composed else 0), film.record
    composed, filmed = (
        [read_frame_code(frame.rgb) for frame in decode_frames(path)] for path in paths.values()
    )
    assert composed == filmed == [30 + number for number in range(45)]
    one, other = (decode_audio(path).mono for path in paths.values())
    assert one.any()
    assert np.array_equal(one, other)


def test_pictures_are_found_for_their_own_time_and_size_only(
    browser: Browser, stock: LocalAssets
) -> None:
    film = order(page(f'<ef-video src="{FOOTAGE}" style="{WHOLE}"></ef-video>'), stock)
    with (
        open_page_renderer(film, browser, FILM_LIMITS) as filmed,
        open_drawing_page(film, browser, filmed.plan, FILM_LIMITS) as drawing,
    ):
        composer = FrameComposer(drawing)
        composer.read(0, 10)
        composer.draw()
        composer.items(6)
        ms = Fraction(200) + GRACE_MS
        found = composer.footage.find(FOOTAGE, ms, (320, 180))
        assert found is not None
        assert read_frame_code(found[1][..., :3]) == 6
        assert composer.footage.find(FOOTAGE, ms, (160, 90)) is None
        assert composer.footage.find(FOOTAGE, ms + 1, (320, 180)) is None
        assert composer.footage.find(FOOTAGE + "?", ms, (320, 180)) is None
