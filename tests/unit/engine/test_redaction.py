"""Where boxes are hidden, and when."""

from fractions import Fraction

import numpy as np
import pytest

from framekiln.compositor.picture import Picture
from framekiln.compositor.rect import PixelRect
from framekiln.engine.redaction import MovingBox, RedactionBox, RedactionBoxes, hide_all

PATH = MovingBox.from_json(
    {
        "start_ms": 1000,
        "end_ms": 3000,
        "keyframes": [
            {"t_ms": 1500, "x": 0.0, "y": 0.0, "w": 0.25, "h": 0.5},
            {"t_ms": 2000, "x": 0.5, "y": 0.0, "w": 0.25, "h": 0.5},
            {"t_ms": 2500.0, "x": 0.0, "y": 0.5, "w": 0.25, "h": 0.25},
        ],
    }
)


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "box"),
    [
        (1000, 1040, RedactionBox(0, 0, 0.25, 0.5)),
        (1750, 1750, RedactionBox(0.25, 0, 0.5, 0.5)),
        (1500, 1750, RedactionBox(0, 0, 0.5, 0.5)),
        # Over the turning point, which lies farthest to the right.
        (1750, 2250, RedactionBox(0.25, 0, 0.75, 0.625)),
        (2900, 3400, RedactionBox(0, 0.5, 0.25, 0.75)),
    ],
)
def test_a_box_covers_its_whole_path_during_a_frame(
    from_ms: int, until_ms: int, box: RedactionBox
) -> None:
    assert PATH.area_between(Fraction(from_ms), Fraction(until_ms)) == box


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "is_touched"),
    [
        (940, 980, False),
        (960, 1000, True),
        (980, 1020, True),
        (990, 1030, True),
        # On screen for long, and only at the end of that in the span, or 50 ms before it.
        (100, 1001, True),
        (100, 951, True),
        (100, 950, False),
        (3000, 3040, True),
        (3020, 3060, True),
        (3021, 3061, False),
        (3060, 9000, False),
    ],
)
def test_a_box_is_extended_by_half_a_frame_at_either_end(
    from_ms: int, until_ms: int, is_touched: bool
) -> None:
    assert PATH.is_shown_between(Fraction(from_ms), Fraction(until_ms)) is is_touched
    assert (
        bool(RedactionBoxes([PATH]).areas_between(Fraction(from_ms), Fraction(until_ms)))
        is is_touched
    )


def test_boxes_are_found_for_consecutive_intervals() -> None:
    later = MovingBox(Fraction(2000), Fraction(2100), PATH.times_ms, PATH.boxes)
    boxes = RedactionBoxes([later, PATH])
    counts = [
        len(boxes.areas_between(Fraction(ms), Fraction(ms + 100))) for ms in range(0, 4000, 100)
    ]
    assert counts == [0] * 9 + [1] * 10 + [2] * 3 + [1] * 9 + [0] * 9


def test_the_margin_and_even_sides_stay_inside_the_picture() -> None:
    assert RedactionBox(0.5, 0.5, 0.6, 0.6).pixel_rect(200, 100) == PixelRect(92, 42, 128, 68)
    # A twentieth of a large box is more than eight pixels.
    assert RedactionBox(0.25, 0.25, 0.75, 0.75).pixel_rect(1000, 1000) == PixelRect(
        224, 224, 776, 776
    )
    assert RedactionBox(0, 0, 1, 1).pixel_rect(64, 48) == PixelRect(0, 0, 64, 48)
    assert RedactionBox(1, 1, 1, 1).pixel_rect(64, 48) == PixelRect(56, 40, 64, 48)


def test_overlapping_boxes_do_not_leak_into_each_other() -> None:
    rects = [PixelRect(16, 16, 32, 32), PixelRect(34, 18, 60, 40), PixelRect(30, 30, 40, 50)]
    filled = []
    for seed in (1, 2):
        planes = [np.full(shape, 90, np.uint8) for shape in ((64, 80), (32, 40), (32, 40))]
        random = np.random.default_rng(seed)
        for rect in rects:
            for plane, by in zip(planes, (1, 2, 2), strict=True):
                part = plane[rect.top // by : rect.bottom // by, rect.left // by : rect.right // by]
                part[:] = random.integers(0, 255, part.shape)
        picture = Picture(*planes)
        hide_all(picture, rects)
        filled.append(np.concatenate([plane.ravel() for plane in planes]))
    assert (filled[0] == filled[1]).all()
