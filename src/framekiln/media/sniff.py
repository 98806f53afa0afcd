"""What an uploaded file is, by its first bytes. Its name and declared type are never asked.

A look, not a check: a file that begins like a video may still be broken, or something else as
well. Decoding decides, in a confined child; this only says which decoder is to try.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from framekiln.kit.media_kind import MediaKind
from framekiln.media.sniff_sound import is_adts, is_mp3, skip_id3

HEAD_BYTES: Final = 64 << 10
"""How much of a file `sniff` wants to see; more is not looked at, less may leave it unsure."""


@dataclass(frozen=True)
class Sniffed:
    """What was found. Without `kind` it is nothing we take, though `mime_type` may have a name."""

    kind: MediaKind | None
    mime_type: str | None


UNKNOWN: Final = Sniffed(None, None)

# Of ISO media files: by their major brand, else by one of the compatible ones.
_BRANDS: Final = {
    b"qt  ": Sniffed(MediaKind.VIDEO, "video/quicktime"),
    b"M4A ": Sniffed(MediaKind.AUDIO, "audio/mp4"),
    b"M4B ": Sniffed(MediaKind.AUDIO, "audio/mp4"),
    b"M4P ": Sniffed(MediaKind.AUDIO, "audio/mp4"),
    b"avif": Sniffed(None, "image/avif"),
    b"avis": Sniffed(None, "image/avif"),
    b"heic": Sniffed(None, "image/heic"),
    b"heix": Sniffed(None, "image/heic"),
    b"hevc": Sniffed(None, "image/heic"),
    b"mif1": Sniffed(None, "image/heif"),
    b"msf1": Sniffed(None, "image/heif"),
    b"crx ": Sniffed(None, "image/x-canon-cr3"),
    b"jp2 ": Sniffed(None, "image/jp2"),
}
_MP4: Final = Sniffed(MediaKind.VIDEO, "video/mp4")
_QUICKTIME_FIRST: Final = {b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"}
_RIFF: Final = {
    b"AVI ": Sniffed(MediaKind.VIDEO, "video/x-msvideo"),
    b"WAVE": Sniffed(MediaKind.AUDIO, "audio/wav"),
    b"WEBP": Sniffed(MediaKind.IMAGE, "image/webp"),
}
_DOCUMENT_TYPES: Final = {
    b"webm": Sniffed(MediaKind.VIDEO, "video/webm"),
    b"matroska": Sniffed(MediaKind.VIDEO, "video/x-matroska"),
}
_MAGIC: Final = {
    b"\xff\xd8\xff": Sniffed(MediaKind.IMAGE, "image/jpeg"),
    b"\x89PNG\r\n\x1a\n": Sniffed(MediaKind.IMAGE, "image/png"),
    b"GIF87a": Sniffed(MediaKind.IMAGE, "image/gif"),
    b"GIF89a": Sniffed(MediaKind.IMAGE, "image/gif"),
    b"fLaC": Sniffed(MediaKind.AUDIO, "audio/flac"),
    # Named only so that a refusal can say what it was.
    b"%PDF-": Sniffed(None, "application/pdf"),
    b"PK\x03\x04": Sniffed(None, "application/zip"),
    b"PK\x05\x06": Sniffed(None, "application/zip"),
    b"\x1f\x8b": Sniffed(None, "application/gzip"),
    b"FLV\x01": Sniffed(None, "video/x-flv"),
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": Sniffed(None, "video/x-ms-asf"),
    b"\x7fELF": Sniffed(None, "application/x-executable"),
    b"MZ": Sniffed(None, "application/x-msdownload"),
    b"\x00\x00\x01\xba": Sniffed(None, "video/mpeg"),
    b"BM": Sniffed(None, "image/bmp"),
    b"II*\x00": Sniffed(None, "image/tiff"),
    b"MM\x00*": Sniffed(None, "image/tiff"),
}
_XML_BEFORE_ROOT: Final = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*", re.DOTALL | re.IGNORECASE
)
_SVG_ROOT: Final = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?svg[\s/>]")
_SRT: Final = re.compile(
    r"(?:\d{1,9}[ \t]*\r?\n\s*)?(?:\d{1,9}:)?\d{1,9}:\d{1,9}[.,]\d{1,9}[ \t]*-->"
)


def sniff(head: bytes) -> Sniffed:
    """Return what a file is that begins with `head`."""
    head = head[:HEAD_BYTES]
    for look in (_iso_media, _matroska, _riff, _ogg, _by_magic, _bare_sound, _text):
        found = look(head)
        if found is not None:
            return found
    return UNKNOWN


def _iso_media(head: bytes) -> Sniffed | None:
    size, name = int.from_bytes(head[:4], "big"), head[4:8]
    if name == b"ftyp" and 12 <= size <= 4096:
        brands = [head[at : at + 4] for at in (8, *range(16, min(size, len(head)), 4))]
        return _BRANDS.get(brands[0]) or _compatible(brands[1:])
    if name == b"styp":
        return Sniffed(None, "video/iso.segment")
    # QuickTime files of old begin with any box. A size of 1 means that a longer one follows.
    if name in _QUICKTIME_FIRST and (size in (0, 1) or size >= 8):
        return Sniffed(MediaKind.VIDEO, "video/quicktime")
    return None


def _compatible(brands: list[bytes]) -> Sniffed:
    """Decide for a major brand that says little, such as isom or mp42."""
    is_video = any(brand[:3] in (b"iso", b"mp4", b"avc", b"dby", b"das") for brand in brands)
    known = (_BRANDS[brand] for brand in brands if brand in _BRANDS)
    return _MP4 if is_video else next(known, _MP4)


def _matroska(head: bytes) -> Sniffed | None:
    if not head.startswith(b"\x1a\x45\xdf\xa3"):
        return None
    # Element 0x4282, the document type: one byte of length, then the word.
    at = head.find(b"\x42\x82", 4, 4096)
    if at < 0 or not head[at + 2 : at + 3]:
        return UNKNOWN
    length = head[at + 2] & 0x7F
    word = head[at + 3 : at + 3 + length].rstrip(b"\0")
    return _DOCUMENT_TYPES.get(word, UNKNOWN)


def _riff(head: bytes) -> Sniffed | None:
    if head[:4] in (b"RIFF", b"RF64", b"BW64"):
        return _RIFF.get(head[8:12], UNKNOWN)
    return None


def _ogg(head: bytes) -> Sniffed | None:
    if not head.startswith(b"OggS"):
        return None
    has_picture = b"\x80theora" in head[:4096] or b"BBCD\0" in head[:4096]
    if has_picture:
        return Sniffed(MediaKind.VIDEO, "video/ogg")
    return Sniffed(MediaKind.AUDIO, "audio/ogg")


def _by_magic(head: bytes) -> Sniffed | None:
    return next((found for magic, found in _MAGIC.items() if head.startswith(magic)), None)


def _bare_sound(head: bytes) -> Sniffed | None:
    """Look for sound without a container, which has no magic, behind its tags."""
    at = skip_id3(head)
    if at and head[at : at + 4] == b"fLaC":
        return Sniffed(MediaKind.AUDIO, "audio/flac")
    if is_adts(head[at:]):
        return Sniffed(MediaKind.AUDIO, "audio/aac")
    # Pictures of covers are often larger than what we see: then the tag must do.
    if is_mp3(head[at:]) or at >= len(head) > 0:
        return Sniffed(MediaKind.AUDIO, "audio/mpeg")
    return None


def _text(head: bytes) -> Sniffed | None:
    try:
        text = _as_text(head).lstrip()
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    looks: tuple[tuple[Callable[[str], object], Sniffed], ...] = (
        (_is_vtt, Sniffed(MediaKind.CAPTION, "text/vtt")),
        (_SRT.match, Sniffed(MediaKind.CAPTION, "application/x-subrip")),
        (_is_html, Sniffed(None, "text/html")),
        (_is_svg, Sniffed(MediaKind.IMAGE, "image/svg+xml")),
        (_is_json, Sniffed(MediaKind.CAPTION, "application/json")),
        (_is_playlist, Sniffed(None, "application/vnd.apple.mpegurl")),
        (bool, Sniffed(None, "text/plain")),
    )
    return next((found for look, found in looks if look(text)), None)


def _as_text(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head[: len(head) & ~1].decode("utf-16", errors="strict")
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The head may end inside a letter.
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
