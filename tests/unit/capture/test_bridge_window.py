"""The options that a page's own runtime gets."""

from fractions import Fraction

import pytest

from framekiln.capture.bridged_page import BridgeWindow
from framekiln.capture.page import FrameSize


def test_a_film_covers_whole_audio_blocks() -> None:
    assert BridgeWindow(FrameSize(640, 360), Fraction(30), 120).options() == {
        "encoderOptions": {
            "fromMs": 0,
            "toMs": 4000,
            "alignedFromUs": 0,
            # 188 blocks of 1024 samples: the first end of a block that is not before 4 s.
            "alignedToUs": 4_010_667,
            "video": {"width": 640, "height": 360, "framerate": 30},
        }
    }


def test_a_still_begins_at_its_instant() -> None:
    window = BridgeWindow(FrameSize(640, 360), Fraction(25), 1, from_ms=700, is_still=True)
    encoder = window.options()["encoderOptions"]
    assert (encoder["fromMs"], encoder["toMs"]) == (700, 740)
    assert (encoder["alignedFromUs"], encoder["alignedToUs"]) == (682_667, 746_667)


def test_a_fractional_rate_is_passed_on() -> None:
    encoder = BridgeWindow(FrameSize(2, 2), Fraction(30000, 1001), 30).options()["encoderOptions"]
    assert encoder["video"]["framerate"] == pytest.approx(29.97002997)
    assert encoder["toMs"] == 1001


def test_the_sound_has_the_length_of_the_film() -> None:
    assert BridgeWindow(FrameSize(2, 2), Fraction(30), 30).sound_bytes == 48_000 * 8
    assert BridgeWindow(FrameSize(2, 2), Fraction(30000, 1001), 1).sound_bytes == 1602 * 8
