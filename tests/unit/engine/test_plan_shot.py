"""Size, rate and length of a film: the order wins over the page, the page over the defaults."""

from fractions import Fraction

import pytest

from framekiln.capture.page import PageFacts, Size
from framekiln.engine.errors import LengthUnknown
from framekiln.engine.order import FilmOrder
from framekiln.engine.shot import even_size, plan_shot
from framekiln.kit.errors import InvalidInput
from framekiln.timeline import Timeline

NOTHING = PageFacts(None, None, None, None)
SAID = PageFacts(640, 360, 29.97, 2000)


def test_the_order_wins() -> None:
    order = FilmOrder("", width_px=320, height_px=180, fps=Fraction(10), duration_ms=500)
    shot = plan_shot(order, SAID)
    assert (shot.size, shot.timeline) == (Size(320, 180), Timeline(Fraction(10), 5))


def test_then_the_page() -> None:
    shot = plan_shot(FilmOrder(""), SAID)
    assert shot.size == Size(640, 360)
    assert shot.timeline == Timeline(Fraction(30000, 1001), 60)


def test_then_the_defaults() -> None:
    shot = plan_shot(FilmOrder("", duration_ms=1000), NOTHING)
    assert (shot.size, shot.timeline) == (Size(1280, 720), Timeline(Fraction(30), 30))


def test_each_is_settled_by_itself() -> None:
    order = FilmOrder("", height_px=100, duration_ms=100)
    shot = plan_shot(order, PageFacts(200, 999, None, 5))
    assert (shot.size, shot.timeline) == (Size(200, 100), Timeline(Fraction(30), 3))


def test_a_length_must_come_from_somewhere() -> None:
    with pytest.raises(LengthUnknown, match="neither data-duration-ms nor a finite animation"):
        plan_shot(FilmOrder(""), NOTHING)


@pytest.mark.parametrize(
    "facts",
    [
        PageFacts(None, None, 0.5, 1000),
        PageFacts(None, None, 121, 1000),
        PageFacts(None, None, None, 6 * 3600 * 1000 + 1),
        PageFacts(8194, None, None, 1000),
        PageFacts(None, 1e9, None, 1000),
    ],
)
def test_a_page_may_not_ask_for_everything(facts: PageFacts) -> None:
    with pytest.raises(InvalidInput):
        plan_shot(FilmOrder(""), facts)


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ((321, 181), Size(322, 182)),
        ((320.2, 179.9), Size(322, 180)),
        ((1, 0.5), Size(2, 2)),
        ((8191, 2), Size(8192, 2)),
    ],
)
def test_a_page_of_odd_size_is_rounded_up_and_told(asked: tuple[float, float], made: Size) -> None:
    size, (warning,) = even_size(*asked)
    assert size == made
    assert f"{asked[0]:g}x{asked[1]:g}" in warning
    assert f"{made.width_px}x{made.height_px}" in warning


def test_a_page_of_even_size_is_left_alone() -> None:
    assert even_size(320, 180) == (Size(320, 180), ())
