"""Size, rate and length of a film: the order wins over the page, the page over the defaults."""

from fractions import Fraction

import pytest

from framekiln.capture.page import FrameSize, PageFacts
from framekiln.engine.errors import LengthUnknown
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import even_size, plan_page_film
from framekiln.kit.errors import InvalidInput
from framekiln.timeline import Timeline

NOTHING = PageFacts(None, None, None, None)
SAID = PageFacts(640, 360, 29.97, 2000)


def test_the_order_overrides_the_page() -> None:
    order = FilmOrder("", width_px=320, height_px=180, fps=Fraction(10), duration_ms=500)
    plan = plan_page_film(order, SAID)
    assert (plan.size, plan.timeline) == (FrameSize(320, 180), Timeline(Fraction(10), 5))


def test_the_page_overrides_the_defaults() -> None:
    plan = plan_page_film(FilmOrder(""), SAID)
    assert plan.size == FrameSize(640, 360)
    assert plan.timeline == Timeline(Fraction(30000, 1001), 60)


def test_defaults_without_order_and_page() -> None:
    plan = plan_page_film(FilmOrder("", duration_ms=1000), NOTHING)
    assert (plan.size, plan.timeline) == (FrameSize(1280, 720), Timeline(Fraction(30), 30))


def test_size_rate_and_length_are_resolved_independently() -> None:
    order = FilmOrder("", height_px=100, duration_ms=100)
    plan = plan_page_film(order, PageFacts(200, 999, None, 5))
    assert (plan.size, plan.timeline) == (FrameSize(200, 100), Timeline(Fraction(30), 3))


def test_an_unknown_length_is_refused() -> None:
    with pytest.raises(LengthUnknown, match="neither data-duration-ms nor a finite animation"):
        plan_page_film(FilmOrder(""), NOTHING)


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
def test_a_page_outside_the_limits_is_refused(facts: PageFacts) -> None:
    with pytest.raises(InvalidInput):
        plan_page_film(FilmOrder(""), facts)


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ((321, 181), FrameSize(322, 182)),
        ((320.2, 179.9), FrameSize(322, 180)),
        ((1, 0.5), FrameSize(2, 2)),
        ((8191, 2), FrameSize(8192, 2)),
    ],
)
def test_an_odd_size_is_rounded_up_with_a_warning(
    asked: tuple[float, float], made: FrameSize
) -> None:
    size, (warning,) = even_size(*asked)
    assert size == made
    assert f"{asked[0]:g}x{asked[1]:g}" in warning
    assert f"{made.width_px}x{made.height_px}" in warning


def test_an_even_size_is_unchanged() -> None:
    assert even_size(320, 180) == (FrameSize(320, 180), ())
