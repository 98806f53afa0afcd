"""Composed frames depend on their slice alone: not on what was composed before, nor by whom."""

from collections.abc import Iterable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from framekiln.capture.browser import Browser
from framekiln.compositor.scene import Scene
from framekiln.engine.assets import LocalAsset
from framekiln.engine.composed.composer import FrameComposer
from framekiln.engine.composed.drawing_page import DrawingPage, open_drawing_page
from framekiln.engine.composed.drawings import Drawings
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.kit.errors import RemoteFailed
from tests.support.composed_pages import plan_of
from tests.support.local_assets import LocalAssets
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS

# Layers that share a picture or do not, in several scales; groups that fade; redrawn parts, the
# numbers of whose contents begin anew in each slice; shadows; and something that comes late.
PAGE = """<!doctype html><style>
html, body { margin: 0; height: 100%; background: #124; color: #fff; font: 700 18px "DejaVu Sans" }
p, i { position: absolute; margin: 0; left: 20px }
#one { top: 10px; animation: slide 2s linear both }
#two { top: 40px; text-shadow: 3px 3px 6px #000; animation: grow 2s linear both }
#late { left: 180px; top: 40px; visibility: hidden; animation: show 2s steps(1) both }
#tint { top: 70px; animation: tint 2s steps(4) both }
#glow { left: 120px; top: 65px; opacity: .7; text-shadow: 0 0 9px #fc0;
  animation: tint 2s linear both }
#bar { top: 100px; height: 9px; background: #f808; animation: widen 2s linear both }
#group { position: absolute; inset: 0; animation: fade 2s linear both }
#under { left: 180px; top: 100px; width: 80px; height: 60px; background: #c33 }
#over { left: 200px; top: 90px; width: 80px; height: 60px; background: #3c3;
  animation: turn 2s linear both }
@keyframes slide { to { transform: translateX(40px) } }
@keyframes grow { to { scale: 1.5 } }
@keyframes show { 40% { visibility: visible } }
@keyframes tint { to { color: #f5a } }
@keyframes widen { from { width: 10px } to { width: 120px } }
@keyframes fade { to { opacity: .2 } }
@keyframes turn { to { rotate: 40deg } }
</style><p id="glow">Glows</p><p id="one">Slides</p><p id="two">Grows</p><p id="late">Late</p>
<p id="tint">Tinted</p><i id="bar"></i><div id="group"><i id="under"></i><i id="over"></i></div>"""
FILM = FilmOrder(
    PAGE,
    320,
    180,
    fps=Fraction(6),
    duration_ms=2000,
    page_method=PageMethod.COMPOSED,
)
SLICES = [FilmSlice(number, number * 4, 4) for number in range(3)]


def digests(page: DrawingPage, slices: Iterable[FilmSlice]) -> dict[int, str]:
    """Compose slices in this order; return a digest of each frame."""
    composer, found = FrameComposer(page), {}
    for slice_ in slices:
        composer.read(slice_.first_frame, slice_.frame_count)
        composer.draw()
        scene = Scene(320, 180)
        for frame in range(slice_.first_frame, slice_.end_frame):
            scene.show(composer.items(frame))
            planes = b"".join(plane.tobytes() for plane in scene.picture.planes)
            found[frame] = sha256(planes).hexdigest()
    return found


def test_frames_are_the_same_in_order_and_in_reverse(browser: Browser) -> None:
    plan = plan_of(FILM, browser)
    with open_drawing_page(FILM, browser, plan, FILM_LIMITS) as page:
        in_order = digests(page, SLICES)
    assert len(set(in_order.values())) == len(in_order)
    # Its first slice is composed alone, as by a worker that takes no other.
    with open_drawing_page(FILM, browser, plan, FILM_LIMITS) as page:
        assert digests(page, reversed(SLICES)) == in_order


def test_drawings_of_earlier_slices_make_room_for_those_of_a_later_one(browser: Browser) -> None:
    with (
        open_page_renderer(FILM, browser, FILM_LIMITS) as filmed,
        open_drawing_page(FILM, browser, filmed.plan, FILM_LIMITS) as page,
    ):
        text = next(each for each in page.layers.layers if each.baseline and not each.is_redrawn)
        one = Drawings(page)
        one.prepare([(text, 2.0, 0.0)])
        size = one.pixels
        drawing = one.get(text, 2.0, 0.0)
        assert drawing is not None
        picture = drawing.picture()
        one.prepare([(text, 1.4, 0.0)])
        assert drawing.picture() is not picture
        drawings = Drawings(page, max_pixels=size + 9)
        drawings.prepare([(text, 1.4, 0.0)])
        drawings.prepare([(text, 2.0, 0.0)])
        assert drawings.pixels == size
        with pytest.raises(NotComposable, match="too large together"):
            drawings.prepare([(text, 2.0, 0.0), (text, 1.4, 0.0), (text, 1.0, 0.0)])
        # What could not be composed makes room, too.
        drawings.prepare([(text, 1.0, 0.0), (text, 1.4, 0.0)])
        assert drawings.pixels <= size + 9


class AssetsFailingOnce:
    """The second time that a source is fetched, its server does not answer."""

    def __init__(self, inner: LocalAssets) -> None:
        self._inner = inner
        self.fetched = 0

    def fetch(self, url: str) -> LocalAsset:
        self.fetched += 1
        if self.fetched == 2:
            raise RemoteFailed(f"{url} gave no answer")
        return self._inner.fetch(url)


def test_a_failure_that_passes_does_not_change_how_a_slice_is_made(
    browser: Browser, tmp_path: Path
) -> None:
    html = '<ef-timegroup duration="1s" style="width: 64px; height: 64px">' + (
        '<ef-image src="https://media.test/dawn.jpg"></ef-image></ef-timegroup>'
    )
    assets = AssetsFailingOnce(LocalAssets(tmp_path, stock_makers()))
    film = FilmOrder(html, 64, 64, assets=assets, page_method=PageMethod.COMPOSED)
    made = make_film(film, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    assert assets.fetched == 3
    assert made.record.filmed_reason is None
    assert made.record.composed_frames == made.plan.timeline.frame_count
