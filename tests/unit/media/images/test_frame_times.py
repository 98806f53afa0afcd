"""Times of animated pictures, read from files that may say anything."""

import io
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from framekiln.media.images.frame_times import MAX_FRAMES, FrameTimes, TooManyFrames, frame_times
from framekiln.media.images.image_facts import ImageTooLarge, image_facts

FORMS = {"GIF": "image/gif", "WEBP": "image/webp", "PNG": "image/png"}


def moving(form: str) -> bytes:
    file = io.BytesIO()
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "green", "blue")]
    frames[0].save(file, form, save_all=True, append_images=frames[1:], duration=50, loop=2)
    return file.getvalue()


MOVING = {form: moving(form) for form in FORMS}


@pytest.mark.parametrize(("form", "plays"), [("GIF", 3), ("WEBP", 2), ("PNG", 2)])
def test_a_gif_says_how_often_it_is_repeated_and_others_how_often_they_play(
    tmp_path: Path, form: str, plays: int
) -> None:
    (tmp_path / "x").write_bytes(MOVING[form])
    assert frame_times(tmp_path / "x", FORMS[form]) == FrameTimes((Fraction(50),) * 3, plays)


@given(form=st.sampled_from(sorted(FORMS)), at=st.integers(0, 400), put=st.binary(max_size=40))
def test_damaged_files_have_valid_frame_times(
    tmp_path_factory: pytest.TempPathFactory, form: str, at: int, put: bytes
) -> None:
    data = MOVING[form]
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(data[:at] + put + data[at + len(put) :])
    found = frame_times(path, FORMS[form])
    assert all(each > 10 for each in found.frame_ms)


@pytest.mark.parametrize("form", FORMS)
def test_truncated_frames_do_not_count(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(MOVING[form][:-30])
    assert len(frame_times(path, FORMS[form]).frame_ms) <= 3
    path.write_bytes(MOVING[form][:40])
    assert frame_times(path, FORMS[form]) == FrameTimes()


def test_an_animation_of_too_many_pictures_is_refused(tmp_path: Path) -> None:
    one = b",\0\0\0\0\1\0\1\0\0\2\2\x44\1\0"
    head = b"GIF89a\1\0\1\0\x80\0\0" + bytes(6)
    (tmp_path / "x").write_bytes(head + one * (MAX_FRAMES + 1) + b";")
    with pytest.raises(ImageTooLarge, match="more than 20,000 frames"):
        image_facts(tmp_path / "x")
    (tmp_path / "x").write_bytes(head + one * MAX_FRAMES + b";")
    assert len(image_facts(tmp_path / "x").times.frame_ms) == MAX_FRAMES


def test_an_image_with_too_many_parts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"GIF89a\1\0\1\0\0\0\0" + b"!\xfe" + b"\1x" * 2000)
    with pytest.raises(TooManyFrames, match="too many chunks"):
        frame_times(tmp_path / "x", "image/gif", most_parts=1000)
