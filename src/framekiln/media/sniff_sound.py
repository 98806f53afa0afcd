"""Recognizes MP3 and AAC without a container: frames have a weak mark, so two must follow."""

from typing import Final

_ID3_HEADER_BYTES: Final = 10
# kbit/s by index, for layer III of MPEG 1, and of MPEG 2 and 2.5.
_KBITS_1: Final = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_KBITS_2: Final = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_RATES_HZ: Final = (44_100, 48_000, 32_000)
# Version bits: by how much rates are divided. 1 is not used.
_DIVISORS: Final = {0: 4, 2: 2, 3: 1}


def skip_id3(head: bytes) -> int:
    """Return where the sound begins behind an ID3 tag; beyond the head if the tag is longer."""
    if head[:3] != b"ID3" or len(head) < _ID3_HEADER_BYTES:
        return 0
    size = 0
    for byte in head[6:10]:
        if byte & 0x80:
            return 0
        size = size << 7 | byte
    return _ID3_HEADER_BYTES + size


def is_mp3(sound: bytes) -> bool:
    """Tell whether two MPEG layer III frames stand at the start."""
    # Encoders may leave zeros between the tag and the first frame.
    sound = sound.lstrip(b"\0")
    length = _mp3_frame_bytes(sound)
    return length > 0 and _mp3_frame_bytes(sound[length:]) > 0


def is_adts(sound: bytes) -> bool:
    """Tell whether two frames of AAC with ADTS headers stand at the start."""
    length = _adts_frame_bytes(sound)
    return length > 0 and _adts_frame_bytes(sound[length:]) > 0


def _mp3_frame_bytes(sound: bytes) -> int:
    """Return the length of the frame that begins here, 0 if there is none."""
    if len(sound) < 4 or sound[0] != 0xFF or sound[1] & 0xE0 != 0xE0:
        return 0
    version, layer = sound[1] >> 3 & 3, sound[1] >> 1 & 3
    rate, bits, padding = sound[2] >> 2 & 3, sound[2] >> 4, sound[2] >> 1 & 1
    if version not in _DIVISORS or layer != 1 or rate == 3 or bits in (0, 15):
        return 0
    is_first = version == 3
    bit_rate = 1000 * (_KBITS_1 if is_first else _KBITS_2)[bits]
    return (144 if is_first else 72) * bit_rate * _DIVISORS[version] // _RATES_HZ[rate] + padding


def _adts_frame_bytes(sound: bytes) -> int:
    if len(sound) < 7 or sound[0] != 0xFF or sound[1] & 0xF6 != 0xF0:
        return 0
    if sound[2] >> 2 & 0xF > 12:
        return 0
    length = (sound[3] & 3) << 11 | sound[4] << 3 | sound[5] >> 5
    return length if length >= 7 else 0
