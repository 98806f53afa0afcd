"""What is taken of a streamed upload, byte by byte."""

from collections.abc import Callable
from pathlib import Path

import pytest

from framekiln.files.streams.errors import InvalidFragment, UnsupportedCoding
from framekiln.files.streams.model import NewStream, NewStreamTrack
from framekiln.files.streams.validation import check_fragment, check_init, presentation_ms
from framekiln.media.isobmff.track_init import parse_init
from tests.support.mp4_boxes import (
    ESDS,
    NOT_SYNC,
    SYNC,
    BoxTrack,
    SampleRun,
    box,
    fragment,
    init_segment,
    sound_entry,
    video_entry,
)

INIT = init_segment()
SOUND = BoxTrack(handler=b"soun", entry=sound_entry("mp4a", box("esds", ESDS)))
FileOf = Callable[[bytes], Path]
HIGH_10 = box("avcC", bytes([1, 0x6E, 0, 0x1F, 0xFF, 0xE0, 0]))


@pytest.fixture
def file_of(tmp_path: Path) -> FileOf:
    def write(data: bytes) -> Path:
        path = tmp_path / "fragment"
        path.write_bytes(data)
        return path

    return write


def test_codecs_of_browsers_are_accepted() -> None:
    assert check_init(INIT, "video").codec == "avc1.64001f"
    assert check_init(init_segment(SOUND), "audio").codec == "mp4a.40.2"
    for entry in (video_entry("avc1", HIGH_10), video_entry("hvc1"), video_entry("encv")):
        with pytest.raises(UnsupportedCoding, match="re-encoded"):
            check_init(init_segment(BoxTrack(entry=entry)), "video")


@pytest.mark.parametrize("data", [b"", b"nonsense", INIT[:-4], INIT + fragment(), INIT + INIT[:20]])
def test_invalid_init_segments_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidFragment):
        check_init(data, "video")


def test_an_init_segment_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidFragment, match="track of video, but audio was declared"):
        check_init(INIT, "audio")


def test_fragments_must_follow_each_other(file_of: FileOf) -> None:
    init = parse_init(INIT)
    path = file_of(fragment(SampleRun(dts=1000, samples=((40, 5, SYNC, 0), (40, 3, NOT_SYNC, 0)))))
    found = check_fragment(init, path, end_dts=None)
    assert (found.dts, found.end_dts, found.size_bytes) == (1000, 1080, path.stat().st_size)
    # Ticks are milliseconds here. Muxers round, so a little later is the same.
    for end_dts in (1000, 900):
        assert check_fragment(init, path, end_dts=end_dts) == found
    with pytest.raises(InvalidFragment, match="in order"):
        check_fragment(init, path, end_dts=1001)
    with pytest.raises(InvalidFragment, match="missing"):
        check_fragment(init, path, end_dts=899)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "ends before its mdat"),
        (fragment()[:-1], "are left"),
        (fragment() + fragment(), "separately"),
        (fragment()[: -len(fragment()) // 2], "declares|ends before"),
        (box("mdat", b"x"), "moof"),
        (b"\0\0\0\0moof", "declares 0"),
        (b"\0\0\0\x01moof" + b"\xff" * 8, "declares"),
        (fragment(SampleRun(samples=((40, 5, NOT_SYNC, 0),))), "keyframe"),
        (fragment(SampleRun(dts=1 << 63)), "24 hours"),
        (fragment(SampleRun(number=2)), "to track 2"),
    ],
)
def test_invalid_fragments_are_refused(file_of: FileOf, data: bytes, message: str) -> None:
    with pytest.raises(InvalidFragment, match=message):
        check_fragment(parse_init(INIT), file_of(data), end_dts=None)


def test_boxes_before_a_fragment_belong_to_it(file_of: FileOf) -> None:
    data = box("styp", b"msdh") + fragment()
    assert check_fragment(parse_init(INIT), file_of(data), end_dts=None).size_bytes == len(data)


def test_too_many_boxes_before_a_fragment_are_refused(file_of: FileOf) -> None:
    data = box("free") * 20_000 + fragment()
    with pytest.raises(InvalidFragment, match="more than 10000 boxes"):
        check_fragment(parse_init(init_segment()), file_of(data), end_dts=None)


def test_presentation_times_are_never_negative() -> None:
    init = parse_init(init_segment(BoxTrack(timescale=90_000)))
    assert [presentation_ms(init, ticks) for ticks in (-5000, 0, 89, 90, 90_000)] == [
        0,
        0,
        0,
        1,
        1000,
    ]


def test_a_new_stream_has_one_to_eight_tracks() -> None:
    sounds = [NewStreamTrack(number, "audio") for number in range(1, 9)]
    assert len(NewStream("a", sounds).tracks) == 8
