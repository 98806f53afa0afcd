"""Frame codes survive what codecs do, and never read as the wrong number."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.frame_codes import (
    BASE,
    DIGITS,
    PALETTE,
    PageDriver,
    cell_digits,
    cells_of,
    draw_frame_code,
    frame_code_page,
    read_frame_code,
)


@given(n=st.integers(0, BASE**DIGITS - 1), flash=st.booleans())
def test_any_number_reads_back(n: int, flash: bool) -> None:
    assert read_frame_code(draw_frame_code(n, 64, 48, flash=flash)) == n


@pytest.mark.parametrize(("width", "height"), [(64, 64), (317, 211), (1920, 1080), (240, 426)])
def test_reads_back_at_any_size(width: int, height: int) -> None:
    assert read_frame_code(draw_frame_code(123_456, width, height)) == 123_456


def test_survives_noise_and_a_dull_range() -> None:
    noise = np.random.default_rng(1).integers(-40, 41, (240, 320, 3))
    dull = draw_frame_code(777, 320, 240) * (219 / 255) + 16
    assert read_frame_code(np.clip(dull + noise, 0, 255).astype(np.uint8)) == 777


def test_a_mix_of_two_frames_is_no_number() -> None:
    first, second = draw_frame_code(41, 320, 240), draw_frame_code(42, 320, 240)
    mixed = ((first.astype(int) + second) // 2).astype(np.uint8)
    assert read_frame_code(mixed) is None


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (128, 128, 128), *PALETTE])
def test_a_plain_picture_is_no_number(colour: tuple[int, int, int]) -> None:
    assert read_frame_code(np.full((240, 320, 3), colour, np.uint8)) is None


@pytest.mark.parametrize("wrong_cell", range(DIGITS + 2))
def test_one_wrong_cell_is_detected(wrong_cell: int) -> None:
    picture = draw_frame_code(98_765, 320, 240)
    cell = cells_of(320, 240)[wrong_cell]
    digit = cell_digits(98_765)[wrong_cell]
    picture[cell.top : cell.bottom, cell.left : cell.right] = PALETTE[(digit + 1) % BASE]
    assert read_frame_code(picture) is None


def test_a_picture_too_small_for_cells_is_no_number() -> None:
    assert read_frame_code(np.zeros((4, 4, 3), np.uint8)) is None


@pytest.mark.parametrize("n", [-1, BASE**DIGITS])
def test_numbers_that_do_not_fit_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        draw_frame_code(n, 64, 64)


@pytest.mark.parametrize("driver", list(PageDriver))
def test_every_page_is_complete_and_self_contained(driver: PageDriver) -> None:
    page = frame_code_page(driver, Fraction(30000, 1001), frame_count=10)
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "src=" not in page
    assert "://" not in page


@pytest.mark.parametrize(
    ("driver", "mechanism"),
    [
        (PageDriver.WAAPI, ".animate("),
        (PageDriver.RAF_CANVAS, 'getContext("2d")'),
        (PageDriver.RAF_DOM, "requestAnimationFrame(function draw(stampMs)"),
        (PageDriver.TIMEOUT, "setTimeout(tick"),
        (PageDriver.INTERVAL, "setInterval("),
        (PageDriver.PERFORMANCE_NOW, "frameAt(performance.now())"),
        (PageDriver.DATE_NOW, "frameAt(Date.now() - startMs)"),
    ],
)
def test_script_pages_use_their_driver_and_an_exact_rate(
    driver: PageDriver, mechanism: str
) -> None:
    page = frame_code_page(driver, Fraction(30000, 1001), frame_count=10)
    assert mechanism in page
    assert '"fpsNum": 30000, "fpsDen": 1001' in page


def test_the_css_page_has_no_script_and_changes_half_way_between_frames() -> None:
    page = frame_code_page(PageDriver.CSS, Fraction(25), frame_count=50)
    assert "<script" not in page
    assert "animation:cell0 2.000000000s steps(1,end) -0.020000000s both" in page
    # The lowest digit changes on each of 50 frames, and the last stop holds the end.
    lowest = page.split("@keyframes cell0")[1].split("\n")[0]
    assert lowest.count("background:") == 51
    assert "2.00000000%{background:#00ff00}" in lowest
