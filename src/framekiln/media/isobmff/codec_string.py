"""Codec strings as browsers use them (RFC 6381): `avc1.64001f`, `mp4a.40.2`.

Read from the decoder configuration box, never guessed from the samples. If that box is missing, the
result is the name of the sample entry alone.
"""

from collections.abc import Callable
from typing import Final

from framekiln.media.isobmff.boxes import BoxReader, Mp4Box, boxes_in

# MPEG-4 descriptors: the stream, its decoder configuration, and the codec-specific data.
_STREAM: Final = 3
_DECODER: Final = 4
_SETUP: Final = 5
# Object type, stream type, buffer size and bit rates.
_DECODER_FIELDS_BYTES: Final = 13
_MPEG4_AUDIO: Final = 0x40
_ESCAPED_OBJECT_TYPE: Final = 31
_LEVEL_1B: Final = 9
_LEVEL_1_1: Final = 11


def codec_string(entry: Mp4Box, children_at: int) -> str:
    """Return the codec string of a sample entry whose child boxes begin at `children_at`."""
    kind = entry.kind
    made = _MAKERS.get(kind)
    if made is None:
        return _PLAIN_NAMES.get(kind, kind.strip())
    setup_kind, make = made
    for box in boxes_in(entry.data, children_at, entry.end):
        # QuickTime nests the configuration of audio one box deeper.
        inner = box.find(setup_kind) if box.kind == "wave" else box
        if inner is not None and inner.kind == setup_kind:
            return make(kind, inner.reader())
    return kind.strip()


def browser_level(profile_and_level: bytes) -> bytes:
    """Return the profile, constraints and level of H.264 in a form that browsers accept.

    Very small frames have level 1b, which Chromium does not accept as a level: 1.1 includes it.
    """
    *others, level = profile_and_level
    return bytes([*others, _LEVEL_1_1 if level == _LEVEL_1B else level])


def _avc(kind: str, fields: BoxReader) -> str:
    fields.skip(1)
    return f"{kind}.{browser_level(fields.take(3)).hex()}"


def _hevc(kind: str, fields: BoxReader) -> str:
    fields.skip(1)
    profile = fields.u8()
    compatibility = int(f"{fields.u32():032b}"[::-1], 2)
    constraints = fields.take(6)
    level = fields.u8()
    space = ("", "A", "B", "C")[profile >> 6]
    tier = "H" if profile & 0x20 else "L"
    parts = [kind, f"{space}{profile & 0x1F}", f"{compatibility:X}", f"{tier}{level}"]
    parts += [f"{byte:X}" for byte in constraints.rstrip(b"\0")]
    return ".".join(parts)


def _vp9(kind: str, fields: BoxReader) -> str:
    fields.skip(4)
    profile, level, depth = fields.u8(), fields.u8(), fields.u8()
    return f"{kind}.{profile:02d}.{level:02d}.{depth >> 4:02d}"


def _av1(kind: str, fields: BoxReader) -> str:
    fields.skip(1)
    levels, features = fields.u8(), fields.u8()
    tier = "H" if features & 0x80 else "M"
    depth = (8, 8, 10, 12)[(features >> 5) & 3]
    return f"{kind}.{levels >> 5}.{levels & 0x1F:02d}{tier}.{depth:02d}"


def aac_config(fields: BoxReader) -> bytes:
    """Return the AudioSpecificConfig of an esds box; empty if it has none."""
    decoder = _mpeg4_decoder(fields)
    if decoder is None:
        return b""
    decoder.skip(_DECODER_FIELDS_BYTES)
    setup = _descriptor(decoder, _SETUP)
    return b"" if setup is None else setup.rest()


def _mpeg4_sound(kind: str, fields: BoxReader) -> str:
    decoder = _mpeg4_decoder(fields)
    if decoder is None:
        return kind
    object_type = decoder.u8()
    if object_type != _MPEG4_AUDIO:
        return f"{kind}.{object_type:02x}"
    decoder.skip(_DECODER_FIELDS_BYTES - 1)
    setup = _descriptor(decoder, _SETUP)
    if setup is None or setup.left_bytes < 2:
        return f"{kind}.40"
    word = setup.u16()
    sound_type = word >> 11
    if sound_type == _ESCAPED_OBJECT_TYPE:
        sound_type = 32 + ((word >> 5) & 0x3F)
    return f"{kind}.40.{sound_type}"


def _mpeg4_decoder(fields: BoxReader) -> BoxReader | None:
    """Return the decoder configuration of an esds box."""
    fields.skip(4)
    stream = _descriptor(fields, _STREAM)
    if stream is None:
        return None
    stream.skip(2)
    flags = stream.u8()
    stream.skip((2 if flags & 0x80 else 0) + (2 if flags & 0x20 else 0))
    if flags & 0x40:
        stream.skip(stream.u8())
    return _descriptor(stream, _DECODER)


def _descriptor(fields: BoxReader, tag: int) -> BoxReader | None:
    """Return the contents of the next descriptor if it has the requested tag."""
    if fields.left_bytes < 2 or fields.u8() != tag:
        return None
    length = 0
    for _ in range(4):
        byte = fields.u8()
        length = length << 7 | byte & 0x7F
        if not byte & 0x80:
            break
    body = fields.take(min(length, fields.left_bytes))
    return BoxReader(body, 0, len(body), "esds")


_MAKERS: Final[dict[str, tuple[str, Callable[[str, BoxReader], str]]]] = {
    "avc1": ("avcC", _avc),
    "avc3": ("avcC", _avc),
    "hvc1": ("hvcC", _hevc),
    "hev1": ("hvcC", _hevc),
    "vp08": ("vpcC", _vp9),
    "vp09": ("vpcC", _vp9),
    "av01": ("av1C", _av1),
    "mp4a": ("esds", _mpeg4_sound),
}
_PLAIN_NAMES: Final = {"Opus": "opus", "fLaC": "flac", ".mp3": "mp4a.6b"}
