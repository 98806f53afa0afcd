"""How many frames of an H.264 track are decoded ahead of presentation, from its parameter sets.

Reads what encoders write that state it (the bitstream restriction of ITU-T H.264, annex E), as x264
does. Scaling lists and HRD parameters, which our films do not have, are refused.
"""

from typing import Final

from framekiln.media.errors import UnreadableMedia

# Profiles whose parameter sets also state the sampling and the depth.
_HIGH_PROFILES: Final = {100, 110, 122, 244, 44, 83, 86, 118, 128}
_EXTENDED_ASPECT: Final = 255
_MAX_PREFIX_BITS: Final = 32


def reorder_depth(avcc: bytes) -> int:
    """Return the depth that the first parameter set of an avcC box states."""
    # Version, profile, compatibility, level, length size, count; then the length of the first set.
    length = int.from_bytes(avcc[6:8], "big")
    unit = avcc[8 : 8 + length]
    if len(unit) < 4 or len(unit) != length:
        raise UnreadableMedia("the MP4's avcC box has no parameter set")
    # Encoders insert a 3 where two zeros could be taken for a start code.
    bits = _Bits(unit[1:].replace(b"\0\0\3", b"\0\0"))
    _skip_picture_format(bits)
    if not bits.flag():
        raise _unstated()
    _skip_display(bits)
    if bits.flag() or bits.flag():
        raise UnreadableMedia("the MP4's parameter set has HRD parameters, which are not read here")
    bits.skip(1)
    if not bits.flag():
        raise _unstated()
    bits.skip(1)
    for _ in range(4):
        bits.golomb()
    return bits.golomb()


def _skip_picture_format(bits: "_Bits") -> None:
    profile = bits.number(8)
    bits.skip(16)
    bits.golomb()
    if profile in _HIGH_PROFILES:
        has_three_planes = bits.golomb() == 3
        bits.skip(1 if has_three_planes else 0)
        bits.golomb()
        bits.golomb()
        bits.skip(1)
        if bits.flag():
            raise UnreadableMedia("the MP4's parameter set has scaling lists, not read here")
    bits.golomb()
    order = bits.golomb()
    if order == 0:
        bits.golomb()
    elif order == 1:
        raise UnreadableMedia("the MP4's parameter set counts frames in cycles, not read here")
    bits.golomb()
    bits.skip(1)
    bits.golomb()
    bits.golomb()
    has_frames_only = bits.flag()
    bits.skip(1 if has_frames_only else 2)
    if bits.flag():
        for _ in range(4):
            bits.golomb()


def _skip_display(bits: "_Bits") -> None:
    if bits.flag() and bits.number(8) == _EXTENDED_ASPECT:
        bits.skip(32)
    if bits.flag():
        bits.skip(1)
    if bits.flag():
        bits.skip(4)
        if bits.flag():
            bits.skip(24)
    if bits.flag():
        bits.golomb()
        bits.golomb()
    if bits.flag():
        bits.skip(65)


def _unstated() -> UnreadableMedia:
    return UnreadableMedia("the MP4's parameter set does not say how many frames are reordered")


class _Bits:
    """Reads bits in sequence, never beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._left = 8 * len(data)

    def number(self, count: int) -> int:
        if count > self._left:
            raise UnreadableMedia("the MP4's parameter set is too short")
        self._left -= count
        return self._value >> self._left & ((1 << count) - 1)

    def flag(self) -> bool:
        return self.number(1) == 1

    def skip(self, count: int) -> None:
        self.number(count)

    def golomb(self) -> int:
        """Read an unsigned number whose length is the number of zeros before it."""
        for zeros in range(_MAX_PREFIX_BITS):
            if self.flag():
                return (1 << zeros) - 1 + self.number(zeros)
        raise UnreadableMedia("the MP4's parameter set has a number of more than 32 bits")
