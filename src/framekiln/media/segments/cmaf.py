"""Writes CMAF: the header of a track (`init`), and fragments with absolute times.

Every fragment is independent: it begins with a keyframe, its decode times begin where it begins,
and it refers to no other fragment. Fragments made separately, in any order and on any machine, play
as one film. Nothing is encoded or read here.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from framekiln.media.isobmff.codec_string import browser_level

_TRACK_ID: Final = 1
_UNITY_MATRIX: Final = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_UNDEFINED_LANGUAGE: Final = 0x55C4
_BT709: Final = 1

# ISO/IEC 14496-12, 8.8.3.1: dependencies between samples.
_SYNC: Final = 0x02000000
_NOT_SYNC: Final = 0x01010000

_TFHD_BASE_IS_MOOF: Final = 0x020000
_TRUN_FLAGS: Final = 0x000001 | 0x000100 | 0x000200 | 0x000400 | 0x000800
"""Data offset; and for each sample its duration, size, flags and composition offset."""


@dataclass(frozen=True)
class CmafVideo:
    """The header of a video track; `avcc` holds the codec's parameter sets."""

    width_px: int
    height_px: int
    avcc: bytes
    is_bt709: bool = False
    """If False, colours follow from the stream itself."""


@dataclass(frozen=True)
class CmafAudio:
    """The header of an audio track; `config` is the AudioSpecificConfig."""

    channels: int
    rate_hz: int
    config: bytes


@dataclass(frozen=True)
class CmafSample:
    """One encoded video or audio frame; times are in the track's ticks."""

    data: bytes
    shown: int
    is_sync: bool


def init_segment(media: CmafVideo | CmafAudio, *, timescale: int, skipped: int = 0) -> bytes:
    """Return the header of a track; its first `skipped` ticks are decoded but not presented."""
    handler, entry, header = _kind(media)
    size = (media.width_px, media.height_px) if isinstance(media, CmafVideo) else (0, 0)
    tables = b"".join(_full(name, b"\0" * 4) for name in (b"stts", b"stsc", b"stco"))
    sample_table = _box(
        b"stbl", _full(b"stsd", _u32(1) + entry) + tables + _full(b"stsz", bytes(8))
    )
    data_info = _box(b"dinf", _full(b"dref", _u32(1) + _full(b"url ", b"", flags=1)))
    track = _box(
        b"trak",
        _track_header(size, is_sound=isinstance(media, CmafAudio))
        + (_edit(skipped) if skipped else b"")
        + _box(
            b"mdia",
            _media_header(timescale)
            + _full(b"hdlr", bytes(4) + handler + bytes(13))
            + _box(b"minf", header + data_info + sample_table),
        ),
    )
    movie = _movie_header(timescale) + track + _box(b"mvex", _full(b"trex", _track_defaults()))
    brands = b"iso6" + _u32(1) + b"iso6cmfcmp41"
    return _box(b"ftyp", brands) + _box(b"moov", movie)


def media_segment(
    samples: Sequence[CmafSample], *, start: int, end: int, number: int, delay: int = 0
) -> bytes:
    """Return one fragment from `start` to `end`, of samples in decode order.

    Decode times are the sorted presentation times: each sample is decoded when the sample at its
    position in presentation order is shown. They fit those of neighbouring fragments without
    knowing them. With reordered frames, all are shown `delay` later, and the header compensates:
    some players reject samples that are shown before they are decoded.

    Samples before zero are only decoded, because the audio after them needs that. Decode times are
    unsigned, so these samples are squeezed into the first ticks.
    """
    shown = sorted(sample.shown for sample in samples)
    decoded = [max(at, place) for place, at in enumerate(shown)]
    ends = [*decoded[1:], end]
    rows = b"".join(
        struct.pack(
            ">IIIi",
            until - at,
            len(sample.data),
            _SYNC if sample.is_sync else _NOT_SYNC,
            sample.shown + delay - at,
        )
        for sample, at, until in zip(samples, decoded, ends, strict=True)
    )
    assert decoded[0] == start, "a fragment begins with its first sample"
    # The data offset skips the fragment's header, whose length does not depend on it.
    header = _fragment_header(rows, len(samples), start=start, number=number, offset=0)
    header = _fragment_header(
        rows, len(samples), start=start, number=number, offset=len(header) + 8
    )
    data = b"".join(sample.data for sample in samples)
    skipped = _skipped_samples(-shown[0]) if shown[0] < 0 else b""
    styp = _box(b"styp", b"msdh" + _u32(0) + b"msdhmsixcmfc")
    return styp + skipped + header + _box(b"mdat", data)


def avc_codec(avcc: bytes) -> str:
    """Return the codec string of an H.264 track."""
    return f"avc1.{browser_level(avcc[1:4]).hex()}"


def aac_codec(config: bytes) -> str:
    """Return the codec string of an AAC track."""
    return f"mp4a.40.{config[0] >> 3}"


def as_avcc(parameters: bytes) -> bytes:
    """Return parameter sets as MP4 expects them; an encoder returns them as a byte stream."""
    if parameters[:1] == b"\1":
        return parameters
    units = list(_byte_stream_units(parameters))
    sps = [unit for unit in units if unit[0] & 31 == 7]
    pps = [unit for unit in units if unit[0] & 31 == 8]
    listed = b"".join(
        bytes([count]) + b"".join(struct.pack(">H", len(unit)) + unit for unit in found)
        for count, found in ((0xE0 | len(sps), sps), (len(pps), pps))
    )
    head = b"\1" + sps[0][1:4] + b"\xff" + listed
    # High profiles also state their sampling: 4:2:0, 8 bits.
    return head + (b"\xfd\xf8\xf8\0" if sps[0][1] in (100, 110, 122, 144) else b"")


def as_length_prefixed(data: bytes) -> bytes:
    """Return an encoded frame with length-prefixed NAL units, as MP4 expects."""
    return b"".join(_u32(len(unit)) + unit for unit in _byte_stream_units(data))


def _byte_stream_units(data: bytes) -> Iterable[bytes]:
    """Yield the NAL units between start codes."""
    for part in data.split(b"\0\0\1")[1:]:
        # A start code may have an extra zero, which belongs to no unit.
        yield part.rstrip(b"\0")


def _kind(media: CmafVideo | CmafAudio) -> tuple[bytes, bytes, bytes]:
    """Return handler, sample entry and media header."""
    if isinstance(media, CmafAudio):
        return b"soun", _sound_entry(media), _full(b"smhd", bytes(4))
    return b"vide", _picture_entry(media), _full(b"vmhd", bytes(8), flags=1)


def _picture_entry(picture: CmafVideo) -> bytes:
    fields = bytes(6) + struct.pack(">H", 1) + bytes(16)
    fields += struct.pack(">HHIIIH", picture.width_px, picture.height_px, 72 << 16, 72 << 16, 0, 1)
    fields += bytes(32) + struct.pack(">Hh", 24, -1)
    colours = struct.pack(">4sHHHB", b"nclx", _BT709, _BT709, _BT709, 0)
    boxes = _box(b"avcC", picture.avcc) + _box(b"pasp", _u32(1) * 2)
    return _box(b"avc1", fields + boxes + (_box(b"colr", colours) if picture.is_bt709 else b""))


def _sound_entry(sound: CmafAudio) -> bytes:
    fields = bytes(6) + struct.pack(">H", 1) + bytes(8)
    fields += struct.pack(">HHIHH", sound.channels, 16, 0, sound.rate_hz & 0xFFFF, 0)
    specific = _descriptor(5, sound.config)
    decoder = _descriptor(4, struct.pack(">BBBHII", 0x40, 0x15, 0, 0, 0, 0) + specific)
    stream = _descriptor(3, struct.pack(">HB", 0, 0) + decoder + _descriptor(6, b"\2"))
    return _box(b"mp4a", fields + _full(b"esds", stream))


def _descriptor(tag: int, content: bytes) -> bytes:
    return struct.pack(">B4B", tag, 0x80, 0x80, 0x80, len(content)) + content


def _track_header(size: tuple[int, int], *, is_sound: bool) -> bytes:
    fields = struct.pack(">IIIII", 0, 0, _TRACK_ID, 0, 0) + bytes(8)
    fields += struct.pack(">HHHH", 0, 0, 0x0100 if is_sound else 0, 0) + _UNITY_MATRIX
    return _full(b"tkhd", fields + struct.pack(">II", *(side << 16 for side in size)), flags=7)


def _media_header(timescale: int) -> bytes:
    return _full(b"mdhd", struct.pack(">IIIIHH", 0, 0, timescale, 0, _UNDEFINED_LANGUAGE, 0))


def _movie_header(timescale: int) -> bytes:
    fields = struct.pack(">IIIIIHH", 0, 0, timescale, 0, 0x10000, 0x0100, 0) + bytes(8)
    return _full(b"mvhd", fields + _UNITY_MATRIX + bytes(24) + _u32(_TRACK_ID + 1))


def _edit(skipped: int) -> bytes:
    # A duration of zero means to the end, which is unknown in a fragmented file.
    return _box(b"edts", _full(b"elst", struct.pack(">IIiHH", 1, 0, skipped, 1, 0)))


def _skipped_samples(count: int) -> bytes:
    """Return the number of audio samples to skip, in the format of music files (iTunSMPB)."""
    numbers = f" 00000000 {count:08X} 00000000 {0:016X}" + 8 * " 00000000"
    value = _box(b"data", _u32(1) + _u32(0) + numbers.encode())
    name = _full(b"mean", b"com.apple.iTunes") + _full(b"name", b"iTunSMPB")
    handler = _full(b"hdlr", bytes(4) + b"mdirappl" + bytes(9))
    return _full(b"meta", handler + _box(b"ilst", _box(b"----", name + value)))


def _track_defaults() -> bytes:
    return struct.pack(">IIIII", _TRACK_ID, 1, 0, 0, 0)


def _fragment_header(rows: bytes, count: int, *, start: int, number: int, offset: int) -> bytes:
    run = _full(b"trun", struct.pack(">II", count, offset) + rows, version=1, flags=_TRUN_FLAGS)
    time = _full(b"tfdt", struct.pack(">Q", start), version=1)
    head = _full(b"tfhd", _u32(_TRACK_ID), flags=_TFHD_BASE_IS_MOOF)
    return _box(b"moof", _full(b"mfhd", _u32(number)) + _box(b"traf", head + time + run))


def _box(name: bytes, content: bytes) -> bytes:
    return _u32(8 + len(content)) + name + content


def _full(name: bytes, content: bytes, *, version: int = 0, flags: int = 0) -> bytes:
    return _box(name, _u32(version << 24 | flags) + content)


def _u32(value: int) -> bytes:
    return struct.pack(">I", value)
