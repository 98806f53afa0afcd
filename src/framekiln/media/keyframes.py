"""Checks whether a keyframe is a clean start: no later frame refers to an earlier one.

Containers mark more frames as keyframes than that. In an open group, frames after the keyframe need
frames before it, and a player that seeks there fails.
"""

from collections.abc import Callable, Iterator
from typing import Final

_H264_IDR: Final = 5
_H264_PICTURES: Final = range(1, 6)
_AVCC_VERSION: Final = 1
_AV1_FRAME_OBUS: Final = (3, 6)


def is_clean_start(codec: str, extradata: bytes, packet: bytes) -> bool:
    """Return whether a packet of a copyable codec is a clean start; False for other codecs."""
    look = _LOOKS.get(codec)
    return look is not None and look(extradata, packet)


def _is_h264_idr(extradata: bytes, packet: bytes) -> bool:
    has_lengths = extradata[:1] == bytes([_AVCC_VERSION]) and len(extradata) > 4
    units = _units(packet, (extradata[4] & 3) + 1) if has_lengths else _annex_b_units(packet)
    pictures = (kind for kind in units if kind in _H264_PICTURES)
    return next(pictures, None) == _H264_IDR


def _units(packet: bytes, length_bytes: int) -> Iterator[int]:
    """Yield the types of length-prefixed NAL units."""
    at = 0
    while at + length_bytes < len(packet):
        length = int.from_bytes(packet[at : at + length_bytes])
        yield packet[at + length_bytes] & 0x1F
        at += length_bytes + length


def _annex_b_units(packet: bytes) -> Iterator[int]:
    """Yield the types of NAL units after three-byte start codes."""
    at = packet.find(b"\0\0\1")
    while 0 <= at < len(packet) - 3:
        yield packet[at + 3] & 0x1F
        at = packet.find(b"\0\0\1", at + 3)


def _is_vp9_key(_: bytes, packet: bytes) -> bool:
    # Marker 10, profile 0, not a repeated frame, type 0: a keyframe resets all references.
    return bool(packet) and packet[0] & 0b1111_1100 == 0b1000_0000


def _is_av1_key(_: bytes, packet: bytes) -> bool:
    for kind, body in _av1_units(packet):
        if kind in _AV1_FRAME_OBUS:
            # Not a repeated frame, type 0, shown immediately.
            return bool(body) and body[0] >> 4 == 0b0001
    return False


def _av1_units(packet: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(packet):
        header = packet[at]
        at += 2 if header & 4 else 1
        length, at = _leb128(packet, at) if header & 2 else (len(packet) - at, at)
        yield header >> 3 & 0xF, packet[at : at + length]
        at += length


def _leb128(packet: bytes, at: int) -> tuple[int, int]:
    value = 0
    for number, byte in enumerate(packet[at : at + 8]):
        value |= (byte & 0x7F) << (7 * number)
        if not byte & 0x80:
            return value, at + number + 1
    return value, at + 8


_LOOKS: Final[dict[str, Callable[[bytes, bytes], bool]]] = {
    "h264": _is_h264_idr,
    "vp9": _is_vp9_key,
    "av1": _is_av1_key,
}
