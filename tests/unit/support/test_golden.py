from pathlib import Path

import numpy as np
import pytest

from tests.support.frame_codes import Picture
from tests.support.golden import Expectation, Level, compare
from tests.support.golden_videos import cells, sounds_alike

MINIMAL_GOLDEN = "width_px = 320\nheight_px = 180\nduration_ms = 900\n[pictures]\nat_ms = [0]\n"


@pytest.fixture
def stripes() -> Picture:
    columns = np.arange(320) // 7 % 2 * 200
    return np.broadcast_to(columns[None, :, None], (180, 320, 3)).astype(np.uint8)


def test_a_small_spot_is_detected_in_similar_pictures(stripes: Picture) -> None:
    spoiled = stripes.copy()
    spoiled[100:112, 200:212] = 90
    likeness = compare(stripes, spoiled)
    assert likeness.ssim > 0.98
    assert likeness.tile_difference > 30


def test_another_colour_of_the_same_brightness_is_detected(stripes: Picture) -> None:
    tinted = stripes.copy()
    tinted[:16, :16] = (100, 0, 0)
    plain = stripes.copy()
    plain[:16, :16] = (0, 30, 0)
    assert compare(tinted, plain).tile_difference == 100


def test_a_spot_in_the_last_incomplete_tile_counts(stripes: Picture) -> None:
    spoiled = stripes.copy()
    spoiled[176:, :16] ^= 64
    assert compare(stripes, spoiled).tile_difference == 64


def test_equal_pictures_are_alike(stripes: Picture) -> None:
    likeness = compare(stripes, stripes)
    assert likeness.ssim == pytest.approx(1)
    assert likeness.tile_difference == 0


@pytest.mark.parametrize(
    ("sound", "levels"),
    [
        ("", (Level(0, 900, 0),)),
        ("[sound]\nbeeps_ms = [0]\n", ()),
        (
            "[sound]\nlevels = [{ from_ms = 1, to_ms = 2, rms = 0.5 }]\n",
            (Level(1, 2, 0.5),),
        ),
    ],
)
def test_a_film_without_expected_sound_must_be_silent(
    tmp_path: Path, sound: str, levels: tuple[Level, ...]
) -> None:
    path = tmp_path / "expect.toml"
    path.write_text(MINIMAL_GOLDEN + sound)
    assert Expectation.read(path).levels == levels


def test_a_changed_level_of_a_tenth_of_a_second_is_detected() -> None:
    golden = [0.0, 0.1, 0.2, 0.0]
    assert sounds_alike([0.002, 0.103, 0.195, 0.0], golden)
    assert not sounds_alike([0.0, 0.108, 0.2, 0.0], golden)
    assert not sounds_alike([0.0, 0.0, 0.1, 0.2], golden)
    assert not sounds_alike(golden[:3], golden)


def test_a_sheet_is_cut_into_its_frames_row_by_row() -> None:
    frames = [np.full((20, 30, 3), 10 * number, np.uint8) for number in range(6)]
    sheet = np.vstack([np.hstack(frames[:3]), np.hstack(frames[3:])])
    found = cells(sheet)
    assert list(found) == list(range(6))
    assert all(np.array_equal(found[number], frame) for number, frame in enumerate(frames))
