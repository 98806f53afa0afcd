"""Every kind of file is known by its bytes, whatever it is called; the rest is not mistaken."""

import io
from fractions import Fraction
from pathlib import Path

import pytest
from PIL import Image

from framekiln.kit.media_kind import MediaKind
from framekiln.media.sniff import HEAD_BYTES, UNKNOWN, SniffedType, sniff
from tests.support.clips import Clip, make_clip

SHORT = Fraction(1, 5)


@pytest.mark.parametrize(
    ("ending", "video", "audio", "expected"),
    [
        ("mp4", "libx264", "aac", SniffedType(MediaKind.VIDEO, "video/mp4")),
        ("mov", "libx264", "aac", SniffedType(MediaKind.VIDEO, "video/quicktime")),
        ("webm", "libvpx", None, SniffedType(MediaKind.VIDEO, "video/webm")),
        ("mkv", "libx264", None, SniffedType(MediaKind.VIDEO, "video/x-matroska")),
        ("avi", "libx264", None, SniffedType(MediaKind.VIDEO, "video/x-msvideo")),
        ("mp3", None, "libmp3lame", SniffedType(MediaKind.AUDIO, "audio/mpeg")),
        ("wav", None, "pcm_s16le", SniffedType(MediaKind.AUDIO, "audio/wav")),
        ("ogg", None, "libopus", SniffedType(MediaKind.AUDIO, "audio/ogg")),
        ("flac", None, "flac", SniffedType(MediaKind.AUDIO, "audio/flac")),
        ("aac", None, "aac", SniffedType(MediaKind.AUDIO, "audio/aac")),
        ("m4a", None, "aac", SniffedType(MediaKind.AUDIO, "audio/mp4")),
    ],
)
def test_files_of_encoders_are_recognized(
    tmp_path: Path, ending: str, video: str | None, audio: str | None, expected: SniffedType
) -> None:
    clip = Clip(duration_s=SHORT, video_codec=video, audio_codec=audio)
    data = make_clip(tmp_path / f"a.{ending}", clip).read_bytes()
    assert sniff(data[:HEAD_BYTES]) == expected


def test_mpeg_transport_streams_are_named_but_not_supported(tmp_path: Path) -> None:
    data = make_clip(tmp_path / "a.ts", Clip(duration_s=SHORT)).read_bytes()
    assert sniff(data[:HEAD_BYTES]) == SniffedType(None, "video/mp2t")
    assert sniff(b"G" + data[1:188] + bytes(1000)) == UNKNOWN


@pytest.mark.parametrize("name", ["JPEG", "PNG", "GIF", "WEBP"])
def test_images_are_recognized(name: str) -> None:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, name)
    assert sniff(file.getvalue()) == SniffedType(MediaKind.IMAGE, f"image/{name.lower()}")


@pytest.mark.parametrize(
    ("text", "mime_type"),
    [
        ("WEBVTT", "text/vtt"),
        ("\ufeffWEBVTT - a title\n\n00:01.000 --> 00:02.000\nHi\n", "text/vtt"),
        ("1\n00:00:01,000 --> 00:00:02,000\nHi\n", "application/x-subrip"),
        ("\ufeff1\r\n00:00:01,000 --> 00:00:02,000\r\nHi\r\n", "application/x-subrip"),
        ('{"segments": []}', "application/json"),
        ('[{"start": 0, "end": 1, "text": "a"}]', "application/json"),
    ],
)
def test_captions_are_recognized(text: str, mime_type: str) -> None:
    assert sniff(text.encode()) == SniffedType(MediaKind.CAPTION, mime_type)


@pytest.mark.parametrize(
    "text",
    [
        '<svg xmlns="http://www.w3.org/2000/svg"/>',
        '<?xml version="1.0"?>\n<!-- made -->\n<svg width="1">',
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd">\n<svg>',
        '<!DOCTYPE svg [ <!ENTITY a "b"> ]><svg>',
        '<s:svg xmlns:s="http://www.w3.org/2000/svg">',
        "\ufeff  <svg>",
    ],
)
def test_svg_is_recognized_after_comments_and_declarations(text: str) -> None:
    assert sniff(text.encode()) == SniffedType(MediaKind.IMAGE, "image/svg+xml")


def test_text_that_ends_inside_a_letter_is_still_text() -> None:
    head = ('{"segments": [{"text": "' + "é" * 10).encode()[:-1]
    assert sniff(head).mime_type == "application/json"


@pytest.mark.parametrize(
    ("head", "mime_type"),
    [
        (b"%PDF-1.7\n", "application/pdf"),
        (b"PK\x03\x04\x14\x00", "application/zip"),
        (b"<!DOCTYPE html><svg>", "text/html"),
        (b"<html><body>GIF89a", "text/html"),
        (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "application/vnd.apple.mpegurl"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "text/plain"),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "image/avif"),
        (b"\0\0\0\x18styp\0\0\0\0", "video/iso.segment"),
        (b"\x7fELF\x02\x01", "application/x-executable"),
        (bytes.fromhex("060e2b34020501010d0102010102"), "application/mxf"),
        (b"FORM\0\x0b\xb8.AIFFCOMM", "audio/aiff"),
        (b"caff\0\x01\0\0desc", "audio/x-caf"),
        (b"#!AMR\n", "audio/amr"),
    ],
)
def test_unsupported_formats_are_named_without_a_kind(head: bytes, mime_type: str) -> None:
    assert sniff(head) == SniffedType(None, mime_type)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\0" * 100,
        b"\xff\xfb",
        b"\xff\xfb\x90\x00" + bytes(range(256)),
        b"\xff\xf1\x50\x80" + bytes(100),
        b"RIFF\0\0\0\0ACON",
        b"\x1a\x45\xdf\xa3" + b"\0" * 50,
        b"\x1a\x45\xdf\xa3\x42\x82",
        b"\0\0\0\x04ftyp",
        bytes(range(128, 256)) * 10,
    ],
)
def test_other_bytes_are_unknown(head: bytes) -> None:
    assert sniff(head) == UNKNOWN


@pytest.mark.parametrize(
    "head",
    [
        b" " * HEAD_BYTES,
        b"1\n" + b" " * HEAD_BYTES,
        b"1" * HEAD_BYTES,
        b"{" + b"\n" * HEAD_BYTES,
        b"<!--" * (HEAD_BYTES // 4),
        b"<!DOCTYPE x [" + b"] " * (HEAD_BYTES // 2),
        b"<?" * (HEAD_BYTES // 2),
    ],
)
def test_long_repetitions_are_sniffed_in_linear_time(head: bytes) -> None:
    assert sniff(head).kind in (None, MediaKind.CAPTION)


def test_a_cover_larger_than_the_head_does_not_hide_the_sound() -> None:
    tag = b"ID3\x04\x00\x00" + bytes([0, 0x20, 0, 0])
    assert sniff(tag + b"\1" * HEAD_BYTES).mime_type == "audio/mpeg"
    assert sniff(b"ID3\x04\x00\x00\0\0\0\x04" + b"\1" * 4 + b"fLaC").mime_type == "audio/flac"


def test_old_quicktime_without_a_type_box_is_video() -> None:
    for first in (b"moov", b"mdat", b"wide", b"free"):
        assert sniff(b"\0\0\0\x08" + first + bytes(64)).mime_type == "video/quicktime"


def test_a_heif_brand_beside_those_of_video_does_not_make_a_video_a_picture() -> None:
    assert sniff(b"\0\0\0\x18ftypiso5\0\0\0\0iso5mif1").kind is MediaKind.VIDEO
    assert sniff(b"\0\0\0\x14ftypXXXX\0\0\0\0mif1").kind is None
