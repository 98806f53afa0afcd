"""Pictures are described by decoding them; broken and enormous ones are refused."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from framekiln.media.images.image_facts import BrokenImage, ImageFacts, ImageTooLarge, image_facts
from framekiln.media.images.svg import UnsafeSvg


def write(path: Path, picture: Image.Image, name: str, **options: object) -> Path:
    picture.save(path, name, **options)
    return path


def noise(mode: str = "RGB", size: tuple[int, int] = (64, 48)) -> Image.Image:
    return Image.effect_noise(size, 90).convert(mode)


@pytest.mark.parametrize(
    ("name", "mode", "has_alpha"),
    [
        ("JPEG", "RGB", False),
        ("JPEG", "L", False),
        ("JPEG", "CMYK", False),
        ("PNG", "RGB", False),
        ("PNG", "RGBA", True),
        ("PNG", "I;16", False),
        ("GIF", "P", False),
        ("WEBP", "RGB", False),
        ("WEBP", "RGBA", True),
    ],
)
def test_pictures_are_described(tmp_path: Path, name: str, mode: str, has_alpha: bool) -> None:
    picture = noise("L") if mode == "I;16" else noise(mode)
    if has_alpha:
        picture.putalpha(100)
    path = write(tmp_path / "x", picture.convert(mode), name)
    assert image_facts(path) == ImageFacts(64, 48, f"image/{name.lower()}", has_alpha, False)


@pytest.mark.parametrize("name", ["GIF", "WEBP", "PNG"])
def test_animated_pictures_are_recognized(tmp_path: Path, name: str) -> None:
    frames = [noise(), noise(), noise()]
    path = write(tmp_path / "x", frames[0], name, save_all=True, append_images=frames[1:])
    facts = image_facts(path)
    assert facts.is_animated
    assert (facts.width_px, facts.height_px) == (64, 48)


@pytest.mark.parametrize(("orientation", "size"), [(1, (64, 48)), (3, (64, 48)), (6, (48, 64))])
def test_the_size_is_that_of_the_rotated_picture(
    tmp_path: Path, orientation: int, size: tuple[int, int]
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    facts = image_facts(write(tmp_path / "x", noise(), "JPEG", exif=exif))
    assert (facts.width_px, facts.height_px) == size


def test_a_drawing_has_the_size_of_its_view_box(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30"/>')
    assert image_facts(path) == ImageFacts(40, 30, "image/svg+xml", True, False)
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')
    with pytest.raises(UnsafeSvg):
        image_facts(path)
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="99999" height="1"/>')
    with pytest.raises(ImageTooLarge):
        image_facts(path)


@pytest.mark.parametrize("name", ["JPEG", "PNG", "GIF", "WEBP"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_truncated_images_are_refused(tmp_path: Path, name: str, share: float) -> None:
    path = write(tmp_path / "x", noise(), name)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(BrokenImage):
        image_facts(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xe0\x00\x00" + bytes(100),
        b"\xff\xd8" + b"\xff" * 1000,
        b"GIF89a",
        b"GIF89a\x2f\x0a\x2f\x0a*/=1;<html><script>alert(1)</script>",
        b"RIFF\x10\0\0\0WEBPVP8 \0\0\0\0" + bytes(16),
        b"RIFF\x10\0\0\0WEBPVP8L\x01\0\0\0\x2f",
        b"%PDF-1.4",
        b"not a picture at all",
    ],
)
def test_broken_images_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.png").write_bytes(data)
    with pytest.raises(BrokenImage):
        image_facts(tmp_path / "x.png")


def png_bomb(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1 << 20))
    chunks = (chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def webp_bomb() -> bytes:
    body = bytes([0, 0, 0, 0]) + (16382).to_bytes(3, "little") * 2
    return b"RIFF" + struct.pack("<I", 100) + b"WEBPVP8X" + struct.pack("<I", 10) + body


def jpeg_bomb() -> bytes:
    file = io.BytesIO()
    noise().save(file, "JPEG")
    data = file.getvalue()
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", 65_000, 65_000) + data[at + 4 :]


@pytest.mark.parametrize(
    "data",
    [
        png_bomb(30_000, 30_000),
        png_bomb(0x7FFFFFFF, 0x7FFFFFFF),
        png_bomb(16_385, 1),
        png_bomb(9000, 9000),
        webp_bomb(),
        b"GIF89a\xff\xff\xff\xff\x00\x00\x00;",
        jpeg_bomb(),
    ],
)
def test_a_small_file_with_an_enormous_picture_is_refused_by_its_header(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ImageTooLarge, match="the image is"):
        image_facts(tmp_path / "x")
