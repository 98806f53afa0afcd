"""Folders with a page and the files beside it."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.support.clips import make_still
from tests.support.frame_codes import Picture, read_frame_code
from tests.support.looks import colour_at

FONT: Final = Path("/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf")


def write_site(
    folder: Path, page: str, files: Mapping[str, str | bytes] = MappingProxyType({})
) -> Path:
    """Write a page and the files beside it."""
    for name, content in {"index.html": page, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def vite_site(folder: Path) -> Path:
    """Write what `vite build` leaves: addresses from the root, modules that import others, a font.

    The red bar is as wide as eight letters: 102 px in the font, 193 in its fallback.
    """
    picture = make_still(folder.with_suffix(".png"), 7, width=160, height=240).read_bytes()
    page = """<!doctype html><html data-width="320" data-height="240" data-fps="10"
      data-duration-ms="200"><head>
      <script type="module" crossorigin src="/assets/index-1a.js"></script>
      <link rel="stylesheet" crossorigin href="/assets/index-1a.css"></head>
      <body><div id="root"></div><b>iiiiiiii</b></body></html>"""
    return write_site(
        folder,
        page,
        {
            "assets/index-1a.js": """const part = import("./part-2b.js");
              const image = new Image(); image.src = "/assets/logo.png";
              root.append(image);
              window.renderReady = part.then((module) => module.paint(root));""",
            "assets/part-2b.js": "export const paint = (root) => root.classList.add('painted');",
            "assets/index-1a.css": """body { margin: 0 } img { float: left }
              .painted { width: 320px; height: 240px; background: #00f }
              @font-face { font-family: Own; src: url(/assets/own-3c.ttf) }
              b { position: fixed; left: 160px; top: 0; background: #f00; color: #f00;
                font: 40px Own, monospace }""",
            "assets/logo.png": picture,
            "assets/own-3c.ttf": FONT.read_bytes(),
        },
    )


def assert_vite_picture(picture: Picture) -> None:
    """Check a frame of that site: image, script, style and font."""
    assert read_frame_code(picture[:, :160]) == 7
    assert colour_at(picture, 240, 120)[2] > 240
    assert colour_at(picture, 200, 20)[0] > 240
    assert colour_at(picture, 290, 20)[2] > 240, "the font was not used"
