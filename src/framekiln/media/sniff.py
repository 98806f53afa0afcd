"""The type of an uploaded file, from its first bytes. Its name and declared type are ignored.

It is a guess, not a check: a file that begins like a video may still be broken or something else.
A confined child decodes it; this only chooses the decoder.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from framekiln.kit.media_kind import MediaKind

HEAD_BYTES: Final = 64 << 10
"""How much of a file `sniff` needs; more is ignored, less may make the result uncertain."""


@dataclass(frozen=True)
class SniffedType:
    """The result. Without `kind` the type is not supported, though `mime_type` may name it."""

    kind: MediaKind | None
    mime_type: str | None


UNKNOWN: Final = SniffedType(None, None)

# Brands of ISO media files: the major brand first, then the compatible ones.
_BRANDS: Final = {
    b"qt  ": SniffedType(MediaKind.VIDEO, "video/quicktime"),
    b"M4A ": SniffedType(MediaKind.AUDIO, "audio/mp4"),
    b"M4B ": SniffedType(MediaKind.AUDIO, "audio/mp4"),
    b"M4P ": SniffedType(MediaKind.AUDIO, "audio/mp4"),
    b"avif": SniffedType(None, "image/avif"),
    b"avis": SniffedType(None, "image/avif"),
    b"heic": SniffedType(None, "image/heic"),
    b"heix": SniffedType(None, "image/heic"),
    b"hevc": SniffedType(None, "image/heic"),
    b"mif1": SniffedType(None, "image/heif"),
    b"msf1": SniffedType(None, "image/heif"),
    b"crx ": SniffedType(None, "image/x-canon-cr3"),
    b"jp2 ": SniffedType(None, "image/jp2"),
}
_MP4: Final = SniffedType(MediaKind.VIDEO, "video/mp4")
_QUICKTIME_FIRST: Final = {b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"}
_RIFF: Final = {
    b"AVI ": SniffedType(MediaKind.VIDEO, "video/x-msvideo"),
    b"WAVE": SniffedType(MediaKind.AUDIO, "audio/wav"),
    b"WEBP": SniffedType(MediaKind.IMAGE, "image/webp"),
}
_DOCUMENT_TYPES: Final = {
    b"webm": SniffedType(MediaKind.VIDEO, "video/webm"),
    b"matroska": SniffedType(MediaKind.VIDEO, "video/x-matroska"),
}
_MAGIC: Final = {
    b"\xff\xd8\xff": SniffedType(MediaKind.IMAGE, "image/jpeg"),
    b"\x89PNG\r\n\x1a\n": SniffedType(MediaKind.IMAGE, "image/png"),
    b"GIF87a": SniffedType(MediaKind.IMAGE, "image/gif"),
    b"GIF89a": SniffedType(MediaKind.IMAGE, "image/gif"),
    b"fLaC": SniffedType(MediaKind.AUDIO, "audio/flac"),
    # Named only so that an error message can say what it was.
    b"%PDF-": SniffedType(None, "application/pdf"),
    b"PK\x03\x04": SniffedType(None, "application/zip"),
    b"PK\x05\x06": SniffedType(None, "application/zip"),
    b"\x1f\x8b": SniffedType(None, "application/gzip"),
    b"FLV\x01": SniffedType(None, "video/x-flv"),
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": SniffedType(None, "video/x-ms-asf"),
    b"\x06\x0e\x2b\x34\x02\x05\x01\x01": SniffedType(None, "application/mxf"),
    b"caff": SniffedType(None, "audio/x-caf"),
    b"#!AMR": SniffedType(None, "audio/amr"),
    b".snd": SniffedType(None, "audio/basic"),
    b"\x7fELF": SniffedType(None, "application/x-executable"),
    b"MZ": SniffedType(None, "application/x-msdownload"),
    b"\x00\x00\x01\xba": SniffedType(None, "video/mpeg"),
    b"BM": SniffedType(None, "image/bmp"),
    b"II*\x00": SniffedType(None, "image/tiff"),
    b"MM\x00*": SniffedType(None, "image/tiff"),
}
_TS_PACKET_BYTES: Final = 188
_XML_BEFORE_ROOT: Final = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*", re.DOTALL | re.IGNORECASE
)
_SVG_ROOT: Final = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?svg[\s/>]")
_SRT: Final = re.compile(
    r"(?:\d{1,9}[ \t]*\r?\n\s*)?(?:\d{1,9}:)?\d{1,9}:\d{1,9}[.,]\d{1,9}[ \t]*-->"
)


def sniff(head: bytes) -> SniffedType:
    """Return the type of a file that begins with `head`."""
    head = head[:HEAD_BYTES]
    for is_type in _CHECKS:
        found = is_type(head)
        if found is not None:
            return found
    return UNKNOWN


def _iso_media(head: bytes) -> SniffedType | None:
    size, name = int.from_bytes(head[:4], "big"), head[4:8]
    if name == b"ftyp" and 12 <= size <= 4096:
        brands = [head[at : at + 4] for at in (8, *range(16, min(size, len(head)), 4))]
        return _BRANDS.get(brands[0]) or _compatible(brands[1:])
    if name == b"styp":
        return SniffedType(None, "video/iso.segment")
    # Old QuickTime files begin with any box. A size of 1 means that a 64-bit size follows.
    if name in _QUICKTIME_FIRST and (size in (0, 1) or size >= 8):
        return SniffedType(MediaKind.VIDEO, "video/quicktime")
    return None


def _compatible(brands: list[bytes]) -> SniffedType:
    """Decide for a generic major brand, such as isom or mp42."""
    is_video = any(brand[:3] in (b"iso", b"mp4", b"avc", b"dby", b"das") for brand in brands)
    known = (_BRANDS[brand] for brand in brands if brand in _BRANDS)
    return _MP4 if is_video else next(known, _MP4)


def _matroska(head: bytes) -> SniffedType | None:
    if not head.startswith(b"\x1a\x45\xdf\xa3"):
        return None
    # Element 0x4282, the document type: one byte of length, then the name.
    at = head.find(b"\x42\x82", 4, 4096)
    if at < 0 or not head[at + 2 : at + 3]:
        return UNKNOWN
    length = head[at + 2] & 0x7F
    word = head[at + 3 : at + 3 + length].rstrip(b"\0")
    return _DOCUMENT_TYPES.get(word, UNKNOWN)


def _riff(head: bytes) -> SniffedType | None:
    if head[:4] in (b"RIFF", b"RF64", b"BW64"):
        return _RIFF.get(head[8:12], UNKNOWN)
    # Named only so that an error message can say what it was.
    is_aiff = head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC")
    return SniffedType(None, "audio/aiff") if is_aiff else None


def _ogg(head: bytes) -> SniffedType | None:
    if not head.startswith(b"OggS"):
        return None
    has_picture = b"\x80theora" in head[:4096] or b"BBCD\0" in head[:4096]
    if has_picture:
        return SniffedType(MediaKind.VIDEO, "video/ogg")
    return SniffedType(MediaKind.AUDIO, "audio/ogg")


def _transport_stream(head: bytes) -> SniffedType | None:
    # Named only so that an error message can say what it was. Each packet begins with this byte.
    starts = head[: 4 * _TS_PACKET_BYTES : _TS_PACKET_BYTES]
    return SniffedType(None, "video/mp2t") if starts == b"GGGG" else None


def _by_magic(head: bytes) -> SniffedType | None:
    return next((found for magic, found in _MAGIC.items() if head.startswith(magic)), None)


def _bare_sound(head: bytes) -> SniffedType | None:
    """Look after any tags for audio without a container, which has no magic number."""
    at = skip_id3(head)
    if at and head[at : at + 4] == b"fLaC":
        return SniffedType(MediaKind.AUDIO, "audio/flac")
    if is_adts(head[at:]):
        return SniffedType(MediaKind.AUDIO, "audio/aac")
    # Cover images are often larger than the head: then the tag alone decides.
    if is_mp3(head[at:]) or at >= len(head) > 0:
        return SniffedType(MediaKind.AUDIO, "audio/mpeg")
    return None


def _text(head: bytes) -> SniffedType | None:
    try:
        text = _as_text(head).lstrip()
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    checks: tuple[tuple[Callable[[str], object], SniffedType], ...] = (
        (_is_vtt, SniffedType(MediaKind.CAPTION, "text/vtt")),
        (_SRT.match, SniffedType(MediaKind.CAPTION, "application/x-subrip")),
        (_is_html, SniffedType(None, "text/html")),
        (_is_svg, SniffedType(MediaKind.IMAGE, "image/svg+xml")),
        (_is_json, SniffedType(MediaKind.CAPTION, "application/json")),
        (_is_playlist, SniffedType(None, "application/vnd.apple.mpegurl")),
        (bool, SniffedType(None, "text/plain")),
    )
    return next((found for is_type, found in checks if is_type(text)), None)


def _as_text(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head[: len(head) & ~1].decode("utf-16", errors="strict")
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The head may end inside a character.
        if error.end < len(head) or len(head) - error.start > 3:
            raise
        return head[: error.start].decode("utf-8-sig")


def _is_vtt(text: str) -> bool:
    return re.match(r"WEBVTT(\s|$)", text) is not None


def _is_svg(text: str) -> bool:
    start = _XML_BEFORE_ROOT.match(text)
    return start is not None and _SVG_ROOT.match(text, start.end()) is not None


def _is_json(text: str) -> bool:
    return re.match(r'\{\s*("|\}|$)|\[\s*(\{|\]|$)', text) is not None


def _is_playlist(text: str) -> bool:
    return text.startswith("#EXTM3U")


def _is_html(text: str) -> bool:
    return (
        re.match(r"\s*<(!doctype\s+html|html|head|body|script)\b", text, re.IGNORECASE) is not None
    )


_ID3_HEADER_BYTES: Final = 10
# kbit/s by index, for layer III of MPEG 1, and of MPEG 2 and 2.5.
_KBITS_1: Final = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_KBITS_2: Final = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_RATES_HZ: Final = (44_100, 48_000, 32_000)
# Version bits: the divisor of the rates. 1 is not used.
_DIVISORS: Final = {0: 4, 2: 2, 3: 1}


def skip_id3(head: bytes) -> int:
    """Return where the audio begins after an ID3 tag; beyond the head if the tag is longer."""
    if head[:3] != b"ID3" or len(head) < _ID3_HEADER_BYTES:
        return 0
    size = 0
    for byte in head[6:10]:
        if byte & 0x80:
            return 0
        size = size << 7 | byte
    return _ID3_HEADER_BYTES + size


def is_mp3(sound: bytes) -> bool:
    """Return whether the data begins with two MPEG layer III frames."""
    # Encoders may leave zeros between the tag and the first frame.
    sound = sound.lstrip(b"\0")
    length = _mp3_frame_bytes(sound)
    return length > 0 and _mp3_frame_bytes(sound[length:]) > 0


def is_adts(sound: bytes) -> bool:
    """Return whether the data begins with two AAC frames with ADTS headers."""
    length = _adts_frame_bytes(sound)
    return length > 0 and _adts_frame_bytes(sound[length:]) > 0


def _mp3_frame_bytes(sound: bytes) -> int:
    """Return the length of the frame that begins here, or 0."""
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


_CHECKS: Final = (
    _iso_media,
    _matroska,
    _riff,
    _ogg,
    _transport_stream,
    _by_magic,
    _bare_sound,
    _text,
)


def may_be_animated(data: bytes) -> bool:
    """Return whether the first bytes may be those of an animated image; cheap for all others."""
    if data.startswith(b"GIF8"):
        return True
    if data.startswith(b"\x89PNG"):
        return b"acTL" in data.partition(b"IDAT")[0]
    if data.startswith(b"RIFF"):
        # The animation flag of an extended WebP.
        return data[12:16] == b"VP8X" and len(data) > 20 and bool(data[20] & 2)
    return data[4:12] == b"ftypavis"
