"""What an init segment says about its track, and which ones are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.codec_string import browser_level
from framekiln.media.isobmff.track_init import AudioParameters, VideoParameters, parse_init
from framekiln.media.segments.cmaf import avc_codec
from tests.support.mp4_boxes import (
    AVCC,
    ESDS,
    BoxTrack,
    box,
    init_segment,
    movie,
    sound_entry,
    video_entry,
)


def test_video_tracks_are_described() -> None:
    data = init_segment(BoxTrack(timescale=12_800, number=7))
    init = parse_init(data)
    assert (init.type, init.number, init.timescale, init.shift) == ("video", 7, 12_800, 0)
    assert init.parameters == VideoParameters(640, 360)
    assert init.codec == "avc1.64001f"
    assert init.size_bytes == len(data)
    assert (init.defaults.duration, init.defaults.size_bytes) == (40, 10)


def test_audio_tracks_are_described() -> None:
    entry = sound_entry("mp4a", box("esds", ESDS), channels=6, rate_hz=44_100)
    init = parse_init(init_segment(BoxTrack(handler=b"soun", entry=entry, timescale=44_100)))
    assert (init.type, init.codec) == ("audio", "mp4a.40.2")
    assert init.parameters == AudioParameters(
        channel_count=6, sample_rate_hz=44_100, sample_size_bits=16
    )


@pytest.mark.parametrize(
    ("edits", "shift"),
    [
        ((), 0),
        (((0, 1024),), 1024),
        (((300, -1), (0, 0)), -500),
        (((300, -1), (0, 80)), -420),
        (((60, -1), (60, -1)), -200),
    ],
)
def test_the_edit_list_moves_the_track(edits: tuple[tuple[int, int], ...], shift: int) -> None:
    assert parse_init(init_segment(BoxTrack(edits=edits))).shift == shift


HVCC = bytes([1, 0x21, 0x60, 0, 0, 0, 0xB0, 0, 0, 0, 0, 0, 93, *[0] * 10])


@pytest.mark.parametrize(
    ("entry", "codec"),
    [
        (video_entry("avc3", box("avcC", AVCC)), "avc3.64001f"),
        (video_entry("hvc1", box("hvcC", HVCC)), "hvc1.1.6.H93.B0"),
        (video_entry("vp09", box("vpcC", bytes([1, 0, 0, 0, 0, 31, 0x82]))), "vp09.00.31.08"),
        (video_entry("av01", box("av1C", bytes([0x81, 0x08, 0x0C, 0]))), "av01.0.08M.08"),
        (video_entry("av01", box("av1C", bytes([0x81, 0x28, 0xC0, 0]))), "av01.1.08H.10"),
        (video_entry("avc1"), "avc1"),
        (video_entry("mp4v"), "mp4v"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_codecs_of_pictures_have_the_names_browsers_know(entry: bytes, codec: str) -> None:
    assert parse_init(init_segment(BoxTrack(entry=entry))).codec == codec


@pytest.mark.parametrize(
    ("entry", "codec"),
    [
        (sound_entry("Opus", box("dOps", bytes(11))), "opus"),
        (sound_entry("fLaC"), "flac"),
        (sound_entry("ac-3"), "ac-3"),
        (
            sound_entry("mp4a", box("esds", ESDS.replace(b"\x04\x11\x40", b"\x04\x11\x6b"))),
            "mp4a.6b",
        ),
        (sound_entry("mp4a", box("esds", ESDS.replace(b"\x11\x90", b"\x2b\x09"))), "mp4a.40.5"),
        (sound_entry("mp4a", box("wave", box("esds", ESDS))), "mp4a.40.2"),
        (sound_entry("mp4a"), "mp4a"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_codecs_of_sound_have_the_names_browsers_know(entry: bytes, codec: str) -> None:
    assert parse_init(init_segment(BoxTrack(handler=b"soun", entry=entry))).codec == codec


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no moov box"),
        (box("ftyp", b"iso5"), "no moov box"),
        (movie(), "0 tracks"),
        (movie(BoxTrack(), BoxTrack(number=2)), "2 tracks"),
        (movie(BoxTrack(handler=b"text")), "neither video nor sound"),
        (movie(BoxTrack(timescale=0)), "timescale of 0"),
        (movie(BoxTrack(edits=((10, 0), (10, 500)))), "several parts"),
        (movie(BoxTrack(edits=((10, -1),) * 17)), "17 parts"),
        (movie(BoxTrack(edits=((10, -1), (0, 0)), movie_timescale=0)), "timescale of 0"),
        (movie(BoxTrack(entry=b"")), "has 0 sample descriptions"),
        (movie(BoxTrack(entry=video_entry("avc1") * 2)), "has 2 sample descriptions"),
        (movie(BoxTrack(entry=box("avc1", bytes(20)))), "too short"),
        (movie(BoxTrack(number=3)).replace(b"mvex", b"free"), "no moov/mvex box"),
        (movie(BoxTrack()).replace(b"trex", b"free"), "no entry for its track 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_without_a_track_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableMedia, match=message):
        parse_init(data)


SOUND = BoxTrack(
    handler=b"soun", entry=sound_entry("mp4a", box("esds", ESDS)), edits=((1, -1), (0, 9))
)


@given(
    st.sampled_from([init_segment(), init_segment(SOUND)]),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8),
)
def test_changed_bytes_give_a_track_or_a_refusal(
    data: bytes, changes: list[tuple[int, int]]
) -> None:
    changed = bytearray(data)
    for at, value in changes:
        changed[at % len(changed)] = value
    try:
        init = parse_init(bytes(changed))
    except UnreadableMedia:
        return
    assert init.timescale > 0


@pytest.mark.parametrize(
    ("given", "known"), [("640009", "64000b"), ("64000a", "64000a"), ("42c01e", "42c01e")]
)
def test_level_1b_is_named_as_the_one_that_includes_it(given: str, known: str) -> None:
    """Chromium refused videos of 64 by 64 pixels: it knows no level 9."""
    assert browser_level(bytes.fromhex(given)).hex() == known
    assert avc_codec(b"\1" + bytes.fromhex(given)) == f"avc1.{known}"
