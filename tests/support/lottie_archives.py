"""Makes `.lottie` archives, and an animation that shows an image."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

from PIL import Image

from tests.support.layer_media import moving_square

MANIFEST = {"version": "1", "animations": [{"id": "main"}]}


def lottie_archive(
    entries: Mapping[str, bytes | str | dict[str, Any]], *, method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a ZIP file; objects are written as JSON."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, content in entries.items():
            packed.writestr(name, json.dumps(content) if isinstance(content, dict) else content)
    return file.getvalue()


def packed_square() -> bytes:
    """Return the moving square in an archive of version 1."""
    return lottie_archive({"manifest.json": MANIFEST, "animations/main.json": moving_square()})


def red_image() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (200, 100), (255, 0, 0)).save(file, "PNG")
    return file.getvalue()


def image_animation() -> dict[str, Any]:
    """Return an animation whose only layer is the image `red.png`, over all of it."""
    square = moving_square()
    (shape,) = square["layers"]
    place = {**shape["ks"], "p": {"a": 0, "k": [0, 0, 0]}}
    layer = {**shape, "ty": 2, "refId": "red", "ks": place}
    del layer["shapes"]
    asset = {"id": "red", "w": 200, "h": 100, "u": "/images/", "p": "red.png", "e": 0}
    return {**square, "assets": [asset], "layers": [layer]}
