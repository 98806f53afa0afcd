"""`.lottie` archives: which animation is read, its images, and what is refused."""

import base64
import zipfile
from pathlib import Path
from typing import Any

import pytest

from framekiln.media.errors import UnreadableMedia
from framekiln.media.lottie_archive import MAX_UNPACKED_BYTES
from framekiln.media.lottie_file import read_lottie
from tests.support.layer_media import moving_square
from tests.support.lottie_archives import (
    MANIFEST,
    image_animation,
    lottie_archive,
    packed_square,
    red_image,
)

pytestmark = pytest.mark.spec("2.4")

OTHER = {**moving_square(), "fr": 25}
SECOND = {
    "version": "2",
    "animations": [{"id": "main"}, {"id": "b"}],
    "initial": {"animation": "b"},
}


def read(folder: Path, data: bytes) -> dict[str, Any]:
    path = folder / "x.lottie"
    path.write_bytes(data)
    return read_lottie(path)


@pytest.mark.parametrize(
    ("entries", "fps"),
    [
        ({"manifest.json": MANIFEST, "animations/main.json": OTHER}, 25),
        ({"manifest.json": MANIFEST, "a/main.json": OTHER, "a/a.json": moving_square()}, 25),
        ({"manifest.json": SECOND, "a/main.json": moving_square(), "a/b.json": OTHER}, 25),
        (
            {"manifest.json": {}, "animations/1.json": moving_square(), "animations/2.json": OTHER},
            30,
        ),
        ({"animations/only.json": OTHER, "t/theme.json": {}}, 25),
    ],
    ids=["version 1", "version 2", "initial", "none named", "no manifest"],
)
def test_an_archive_is_the_animation_that_its_manifest_names(
    tmp_path: Path, entries: dict[str, Any], fps: int
) -> None:
    assert read(tmp_path, lottie_archive(entries))["fr"] == fps


@pytest.mark.parametrize("name", ["images/red.png", "i/red.png"])
def test_images_of_an_archive_become_part_of_the_animation(tmp_path: Path, name: str) -> None:
    archive = lottie_archive({"a/main.json": image_animation(), name: red_image()})
    (asset,) = read(tmp_path, archive)["assets"]
    url = "data:image/png;base64," + base64.b64encode(red_image()).decode()
    assert (asset["u"], asset["p"], asset["e"]) == ("", url, 1)


def with_password(archive: bytes) -> bytes:
    """Return an archive whose entries claim to be encrypted."""
    changed = bytearray(archive)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = changed.find(signature)
        while at >= 0:
            changed[at + flags] |= 1
            at = changed.find(signature, at + 1)
    return bytes(changed)


REFUSED: dict[str, tuple[bytes, str]] = {
    "no animation": (lottie_archive({"x.txt": "x"}), "a ZIP archive without an animation"),
    "no entries": (lottie_archive({}), "a ZIP archive without an animation"),
    "no image": (
        lottie_archive({"a/m.json": image_animation()}),
        "'red.png' is not in the .lottie",
    ),
    "truncated": (packed_square()[:-40], "the ZIP archive is truncated"),
    "a password": (with_password(packed_square()), "the ZIP archive cannot be read: .*encrypted"),
    "another method": (
        lottie_archive({"a/m.json": OTHER}, method=zipfile.ZIP_BZIP2),
        "'a/m.json' in the archive is compressed in another way",
    ),
    "a large animation": (
        lottie_archive({"a/m.json": b" " * (MAX_UNPACKED_BYTES + 1)}),
        "the archive unpacks to more than 16777216 bytes",
    ),
    "many entries": (
        lottie_archive({f"a/{number:0200}.json": "" for number in range(5000)}),
        "too many entries",
    ),
    "a wrong manifest": (
        lottie_archive({"manifest.json": "{", "a/m.json": OTHER}),
        "the manifest of the archive is not JSON",
    ),
    "other JSON": (lottie_archive({"a/m.json": {"w": 1}}), "not a Lottie animation"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_archive_that_cannot_be_read_is_refused_with_the_reason(
    tmp_path: Path, case: str
) -> None:
    data, message = REFUSED[case]
    with pytest.raises(UnreadableMedia, match=message):
        read(tmp_path, data)
