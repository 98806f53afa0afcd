"""Slices of H.264 (ITU-T H.264): their headers, and slices that skip all macroblocks.

Only what x264 writes with our settings is known: CABAC, 4:2:0 of 8 bits, no interlacing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

_SLICE, _IDR, _SPS, _PPS = 1, 5, 7, 8
_UNIT_MARK: Final = b"\0\0\1"
"""Before each unit of a byte stream; zeros may precede it."""
_START: Final = b"\0" + _UNIT_MARK
_HEADER_BYTES: Final = 32
_ALL_P: Final = 5
"""The type of a slice if all slices of the picture are P slices."""
_HIGH_PROFILE: Final = 100
_HIGHEST_QP: Final = 51


@dataclass(frozen=True)
class StreamFormat:
    """What the parameter sets say about slices."""

    macroblocks: int
    """Of a picture."""
    frame_num_bits: int
    poc_bits: int
    is_weighted: bool
    """Whether P slices have weights."""
    initial_qp: int

    @classmethod
    def read(cls, parameter_sets: bytes) -> Self | None:
        """Return the format of a byte stream; None if its slices are not known here."""
        bits = {unit[0] & 31: _Bits(_unescaped(unit[1:])) for unit in _units(parameter_sets)}
        if not {_SPS, _PPS} <= bits.keys():
            return None
        sequence, picture = _read_sequence(bits[_SPS]), _read_picture(bits[_PPS])
        return None if sequence is None or picture is None else cls(*sequence, *picture)


@dataclass(frozen=True)
class CodedPicture:
    """What each slice of a picture says about it."""

    is_idr: bool
    is_reference: bool
    frame_num: int
    poc: int
    """The last bits of the picture order count."""

    @classmethod
    def read(cls, packet: bytes, format_: StreamFormat) -> Self:
        """Read a packet of the encoder (byte stream)."""
        head = _first_slice_head(packet)
        bits, is_idr, frame_num = _read_up_to_poc(_unescaped(head), format_)
        return cls(is_idr, head[0] >> 5 > 0, frame_num, bits.fixed(format_.poc_bits))


def with_poc(packet: bytes, format_: StreamFormat, poc: int) -> bytes:
    """Return a packet with another picture order count; nothing else changes."""
    units = (
        _slice_with_poc(each, format_, poc) if _is_slice(each) else each for each in _units(packet)
    )
    return b"".join(_START + each for each in units)


def skipped_picture(
    format_: StreamFormat, *, frame_num: int, poc: int, reference_num: int
) -> bytes:
    """Return a packet with a picture that has the pixels of a reference, and is none itself.

    `reference_num` is the `frame_num` of the reference.
    """
    # How long ago the reference was decoded, in references: the list begins with the last one.
    distance = (frame_num - reference_num) % (1 << format_.frame_num_bits)
    header = (
        _ue(0),  # first_mb_in_slice
        _ue(_ALL_P),
        _ue(0),  # pic_parameter_set_id
        _fixed(frame_num, format_.frame_num_bits),
        _fixed(poc, format_.poc_bits),
        "1" + _ue(0),  # one reference
        "0" if distance == 1 else "1" + _ue(0) + _ue(distance - 1) + _ue(3),
        _ue(0) + _ue(0) + "00" if format_.is_weighted else "",
        _ue(0),  # cabac_init_idc
        _se(_HIGHEST_QP - format_.initial_qp),
        _ue(1),  # disable_deblocking_filter_idc
    )
    unit = bytes([_SLICE]) + _whole_bytes("".join(header), "1")
    return _START + _escaped(unit + _skipped_macroblocks(format_.macroblocks))


class _Bits:
    """Reads fields of bits."""

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._size = 8 * len(data)
        self.place = 0

    def fixed(self, count: int) -> int:
        """Read an unsigned number of that many bits."""
        self.place += count
        return self._value >> (self._size - self.place) & ((1 << count) - 1)

    def ue(self) -> int:
        """Read an unsigned number of variable length."""
        zeros = 0
        while self.fixed(1) == 0:
            zeros += 1
        return (1 << zeros) - 1 + self.fixed(zeros)

    def se(self) -> int:
        """Read a signed number of variable length."""
        code = self.ue()
        return (code + 1) // 2 if code % 2 else -(code // 2)


def _fixed(value: int, count: int) -> str:
    return f"{value:0{count}b}"


def _ue(value: int) -> str:
    bits = f"{value + 1:b}"
    return "0" * (len(bits) - 1) + bits


def _se(value: int) -> str:
    return _ue(2 * value - 1 if value > 0 else -2 * value)


def _whole_bytes(bits: str, fill: str) -> bytes:
    bits += fill * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def _units(data: bytes) -> list[bytes]:
    return [unit for unit in re.split(rb"\x00*\x00\x00\x01", data) if unit]


def _first_slice_head(packet: bytes) -> bytes:
    """Return the first bytes of the first slice; what follows is not searched, for speed."""
    start = packet.index(_UNIT_MARK) + len(_UNIT_MARK)
    while not _is_slice(packet[start : start + 1]):
        start = packet.index(_UNIT_MARK, start) + len(_UNIT_MARK)
    return packet[start : start + _HEADER_BYTES]


def _is_slice(unit: bytes) -> bool:
    return unit[0] & 31 in {_SLICE, _IDR}


def _escaped(unit: bytes) -> bytes:
    """Insert emulation prevention bytes."""
    return re.sub(rb"\x00\x00(?=[\x00-\x03])", b"\0\0\3", unit)


def _unescaped(unit: bytes) -> bytes:
    return unit.replace(b"\0\0\3", b"\0\0")


def _slice_with_poc(unit: bytes, format_: StreamFormat, poc: int) -> bytes:
    plain = _unescaped(unit)
    head = plain[:_HEADER_BYTES]
    bits, _, _ = _read_up_to_poc(head, format_)
    shift = 8 * len(head) - bits.place - format_.poc_bits
    others = int.from_bytes(head, "big") & ~(((1 << format_.poc_bits) - 1) << shift)
    return _escaped((others | poc << shift).to_bytes(len(head), "big") + plain[_HEADER_BYTES:])


def _read_up_to_poc(head: bytes, format_: StreamFormat) -> tuple[_Bits, bool, int]:
    """Return what comes next, whether the picture is an IDR picture, and its frame_num."""
    bits = _Bits(head)
    is_idr = bits.fixed(8) & 31 == _IDR
    for _ in ("first_mb_in_slice", "slice_type", "pic_parameter_set_id"):
        bits.ue()
    frame_num = bits.fixed(format_.frame_num_bits)
    if is_idr:
        bits.ue()
    return bits, is_idr, frame_num


def _read_sequence(bits: _Bits) -> tuple[int, int, int] | None:
    """Return macroblocks of a picture, bits of frame_num and of the POC."""
    profile = bits.fixed(24) >> 16
    bits.ue()
    # 4:2:0, 8 bits, no scaling matrix.
    known = (1, 0, 0, 0)
    if profile >= _HIGH_PROFILE and (bits.ue(), bits.ue(), bits.ue(), bits.fixed(2)) != known:
        return None
    frame_num_bits = bits.ue() + 4
    if bits.ue() != 0:
        return None
    poc_bits = bits.ue() + 4
    bits.ue()
    bits.fixed(1)
    macroblocks = (bits.ue() + 1) * (bits.ue() + 1)
    is_progressive = bits.fixed(1) == 1
    return (macroblocks, frame_num_bits, poc_bits) if is_progressive else None


def _read_picture(bits: _Bits) -> tuple[bool, int] | None:
    """Return whether P slices have weights, and the initial QP."""
    bits.ue(), bits.ue()
    # CABAC, no field order, one slice group.
    if (bits.fixed(1), bits.fixed(1), bits.ue()) != (1, 0, 0):
        return None
    bits.ue(), bits.ue()
    is_weighted = bits.fixed(1) == 1
    bits.fixed(2)
    initial_qp = 26 + bits.se()
    bits.se(), bits.se()
    # Slices say how they are deblocked, and none is redundant.
    is_known = (bits.fixed(1), bits.fixed(1), bits.fixed(1)) == (1, 0, 0)
    return (is_weighted, initial_qp) if is_known else None


# Table 9-44, for the states 42 to 62.
_LPS_RANGES: Final = (
    *((16, 20, 23, 27), (15, 19, 22, 25), (14, 18, 21, 24), (14, 17, 20, 23), (13, 16, 19, 22)),
    *((12, 15, 18, 21), (12, 14, 17, 20), (11, 14, 16, 19), (11, 13, 15, 18), (10, 12, 15, 17)),
    *((10, 12, 14, 16), (9, 11, 13, 15), (9, 11, 12, 14), (8, 10, 12, 14), (8, 9, 11, 13)),
    *((7, 9, 11, 12), (7, 9, 10, 12), (7, 8, 10, 11), (6, 8, 9, 11), (6, 7, 9, 10)),
    (6, 7, 8, 9),
)


@lru_cache(maxsize=64)
def _skipped_macroblocks(count: int) -> bytes:
    """Return the data of a P slice at the highest QP that skips all macroblocks.

    For each there is a flag, always the likely one, and another that says whether the slice ends
    (9.3.4). At the highest QP the flag begins in state 42.
    """
    coder = _ArithmeticCoder()
    for number in range(count):
        coder.encode_likely(_LPS_RANGES[min(number, len(_LPS_RANGES) - 1)])
        coder.encode_end(is_end=number == count - 1)
    return coder.data()


class _ArithmeticCoder:
    """As much of CABAC as skipped macroblocks need."""

    def __init__(self) -> None:
        self._low, self._range = 0, 510
        self._bits: list[str] = []
        self._outstanding = 0

    def encode_likely(self, lps_ranges: tuple[int, int, int, int]) -> None:
        """Encode the likely value of a flag."""
        self._range -= lps_ranges[self._range >> 6 & 3]
        self._renormalize()

    def encode_end(self, *, is_end: bool) -> None:
        """Encode whether the slice ends."""
        self._range -= 2
        if is_end:
            self._low += self._range
            self._range = 2
        self._renormalize()
        if is_end:
            self._put(self._low >> 9 & 1)
            # The last bit is the stop bit of the unit.
            self._bits.append(_fixed(self._low >> 7 & 3 | 1, 2))

    def data(self) -> bytes:
        """Return what was encoded, without the bit that every coder begins with."""
        return _whole_bytes("".join(self._bits)[1:], "0")

    def _renormalize(self) -> None:
        while self._range < 256:
            if self._low < 256:
                self._put(0)
            elif self._low >= 512:
                self._low -= 512
                self._put(1)
            else:
                self._low -= 256
                self._outstanding += 1
            self._range *= 2
            self._low *= 2

    def _put(self, bit: int) -> None:
        self._bits.append(str(bit) + str(1 - bit) * self._outstanding)
        self._outstanding = 0
