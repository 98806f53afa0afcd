"""Boxes are found where they are, and nothing is read where they are not."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import BoxReader, boxes_in, read_header
from tests.support.mp4_boxes import box, numbers


def test_boxes_are_listed_in_order_with_their_positions() -> None:
    data = box("ftyp", b"iso5") + box("moov", box("trak", b"abc")) + box("free")
    found = list(boxes_in(data))
    assert [(b.kind, b.start, b.end) for b in found] == [
        ("ftyp", 0, 12),
        ("moov", 12, 31),
        ("free", 31, 39),
    ]
    assert found[1].require("trak").reader().rest() == b"abc"
    assert found[1].find("trex") is None


def test_64_bit_and_open_sizes_are_read() -> None:
    long = struct.pack(">I4sQ", 1, b"mdat", 20) + b"1234"
    assert [(b.kind, b.body, b.end) for b in boxes_in(long)] == [("mdat", 16, 20)]
    endless = struct.pack(">I4s", 0, b"mdat") + b"12345"
    assert [(b.kind, b.end) for b in boxes_in(endless)] == [("mdat", 13)]


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0",
        struct.pack(">I4s", 7, b"free"),
        struct.pack(">I4s", 100, b"free") + bytes(20),
        struct.pack(">I4sQ", 1, b"mdat", 15),
        struct.pack(">I4sQ", 1, b"mdat", 1 << 63),
        struct.pack(">I4sI", 1, b"mdat", 0),
        box("free") + b"x",
    ],
)
def test_impossible_sizes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableMedia):
        list(boxes_in(data))


def test_a_missing_box_is_named() -> None:
    (movie,) = boxes_in(box("moov", box("trak")))
    with pytest.raises(UnreadableMedia, match="no moov/trak/mdia/mdhd box"):
        movie.require("trak", "mdia", "mdhd")


def test_numbers_are_read_in_order_and_never_beyond_the_end() -> None:
    data = numbers(7, -2) + b"\x01\x02\x03" + b"beyond"
    fields = BoxReader(data, 0, 11, "test")
    assert (fields.u32(), fields.i32(), fields.u8(), fields.u16()) == (7, -2, 1, 0x0203)
    assert fields.left_bytes == 0
    with pytest.raises(UnreadableMedia, match="'test'"):
        fields.u8()


@given(st.binary(max_size=200))
def test_any_bytes_are_boxes_or_refused(data: bytes) -> None:
    try:
        found = list(boxes_in(data))
    except UnreadableMedia:
        return
    assert sum(b.size_bytes for b in found) == len(data)


@given(st.binary(max_size=20))
def test_a_header_gives_kind_and_size_of_its_box(data: bytes) -> None:
    try:
        header = read_header(data)
    except UnreadableMedia:
        return
    if header is None:
        assert len(data) < 16
    else:
        assert header.size_bytes == 0 or header.size_bytes >= header.header_bytes
