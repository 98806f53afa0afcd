"""The same image as a layer config and as a page: shared by the oracle tests.

A page shows media as Chromium draws them. Frames of videos are decoded here, one by one, and put
into pages as images, so that the engine under test does not choose the frame.
"""

import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc
from av.video.stream import VideoStream
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.capture.network import PageNetwork, Resource
from framekiln.capture.page import FrameSize, open_page
from framekiln.engine.page.host import PageHost
from framekiln.media.images.stills import decode_bgra
from tests.support.clips import write_picture
from tests.support.frame_codes import Picture
from tests.support.layer_films import config_of, open_layer_film
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets, Maker
from tests.support.looks import decode_frames, ssim
from tests.support.timeouts import TIMEOUT_S

BUNNY = Path(__file__).parents[2] / "examples/media/bunny.mp4"
PHOTO, LOGO, CLIP, TURNS, SAID = (
    MEDIA_ORIGIN + name for name in ("photo.png", "logo.png", "clip.mp4", "turns.gif", "said.srt")
)
ALIKE = 0.98
FPS = 30
# The excerpt: three seconds at 25 fps, in which nearly everything moves.
CLIP_FPS, CLIP_FRAMES, CLIP_SIZE = 25, 75, (480, 270)
GIF_MS = (100, 200, 300)
BACKGROUND = "#204060"
HEAD = (
    "<!doctype html><meta charset=utf-8><meta name='framekiln-tailwind' content='off'><style>"
    f"html,body{{margin:0;background:{BACKGROUND};overflow:hidden}}img{{display:block}}"
    "*{box-sizing:border-box}.t{white-space:pre-wrap;padding:16px;line-height:1.2;"
    "width:max-content;color:#fff;font-family:Helvetica,'Liberation Sans',sans-serif}"
)
# So many pages share one, in rows of so many.
CELLS, COLUMNS = 16, 4
WIDTH_PX, HEIGHT_PX = 320, 240
CELL_HEAD = (
    "<!doctype html><meta charset=utf-8><meta name='framekiln-tailwind' content='off'><style>"
    f"iframe{{border:0;width:{WIDTH_PX}px;height:{HEIGHT_PX}px}}"
    f"body{{margin:0;display:grid;grid-template-columns:repeat({COLUMNS},{WIDTH_PX}px)}}</style>"
)
CUES = """1
00:00:00,500 --> 00:00:01,000
One line, then two

2
00:00:01,200 --> 00:00:01,800
A caption that is far too long for one line
"""


@dataclass(frozen=True)
class OracleCase:
    """A config, and the page that must look like it; compared at these seconds.

    `html` may be a function of the film's frame number: then each time has its own page.
    """

    layers: list[dict[str, Any]]
    html: str | Callable[[int], str]
    css: str = ""
    at_s: tuple[float, ...] = (0,)
    top: dict[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The frames that are compared."""
        return tuple(round(at_s * FPS) for at_s in self.at_s)


@dataclass(frozen=True)
class _Document:
    """A page of a case, and the frames in which it is looked at."""

    html: str
    css: str
    numbers: tuple[int, ...]

    @property
    def text(self) -> str:
        return f"{HEAD}{self.css}</style>{self.html}"


class Oracle:
    """Draws configs and pages, and compares them.

    To open a page takes longer than to draw it: pages that are looked at in the same frames share
    one, each in an iframe of its own.
    """

    def __init__(self, cases: Iterable[OracleCase], browser: Browser, assets: LocalAssets) -> None:
        self._browser, self._assets = browser, assets
        self._sharing: dict[tuple[int, ...], dict[_Document, None]] = {}
        for document in chain.from_iterable(map(_documents, cases)):
            self._sharing.setdefault(document.numbers, {})[document] = None
        self._drawn: dict[_Document, list[Picture]] = {}

    def assert_alike(self, case: OracleCase) -> None:
        """Draw both and compare them."""
        config = config_of(*case.layers, backgroundColor=BACKGROUND, **case.top)
        with open_layer_film(config, self._browser, self._assets) as film:
            mine = [film.frame(number) for number in case.numbers]
        pages = [picture for each in _documents(case) for picture in self._pictures(each)]
        for number, one, other in zip(case.numbers, mine, pages, strict=True):
            alike = ssim(one, other)
            assert alike > ALIKE, f"frame {number}: {alike:.4f}"
            assert np.abs(one.astype(int) - other).mean() < 3, f"frame {number}: colours differ"

    def _pictures(self, document: _Document) -> list[Picture]:
        if document not in self._drawn:
            sharing = list(self._sharing[document.numbers])
            first = sharing.index(document) // CELLS * CELLS
            self._draw(sharing[first : first + CELLS])
        return self._drawn[document]

    def _draw(self, documents: list[_Document]) -> None:
        rows = -(-len(documents) // COLUMNS)
        size = FrameSize(COLUMNS * WIDTH_PX, rows * HEIGHT_PX)
        cells = "".join(f'<iframe srcdoc="{escape(each.text)}"></iframe>' for each in documents)
        resource = Resource(f"{CELL_HEAD}{cells}".encode(), "text/html; charset=utf-8")
        for document in documents:
            self._drawn[document] = []
        with (
            open_page(self._browser, size) as page,
            PageHost(self._assets, self._browser) as host,
        ):
            page.load(PageNetwork(resource, host.lookup), settle_within_s=TIMEOUT_S)
            page.begin(Fraction(FPS), frame_within_s=TIMEOUT_S)
            numbers = documents[0].numbers
            if numbers[0] != 0:
                page.show(0, 0)
            for number in numbers:
                at_us = round(number * 1_000_000 / FPS)
                shown = page.show(number, at_us, screenshot={"format": "png"})
                assert shown.screenshot is not None
                picture = decode_bgra(base64.b64decode(shown.screenshot))[..., 2::-1]
                for place, document in enumerate(documents):
                    top, left = (place // COLUMNS * HEIGHT_PX, place % COLUMNS * WIDTH_PX)
                    cell = picture[top : top + HEIGHT_PX, left : left + WIDTH_PX]
                    self._drawn[document].append(cell)


def _documents(case: OracleCase) -> list[_Document]:
    """Return the pages of a case: one, or one for each time that shows nothing but that time."""
    if isinstance(case.html, str):
        return [_Document(case.html, case.css, case.numbers)]
    return [_Document(case.html(number), case.css, (0,)) for number in case.numbers]


def image(file: str = PHOTO, **more: Any) -> dict[str, Any]:
    """An image layer."""
    return {"type": "image", "file": file, **more}


def video(**more: Any) -> dict[str, Any]:
    """A layer of the excerpt."""
    return {"type": "video", "file": CLIP, **more}


def text(words: str, **style: Any) -> dict[str, Any]:
    """A text layer; `place` has the other fields besides `text`."""
    place = style.pop("place", {})
    return {"type": "text", "text": {"text": words, **style}, **place}


def at(left: float, top: float, more: str = "", *, file: str = PHOTO) -> str:
    """An image in a page, with its corner at this position."""
    return f'<img src="{file}" style="position:absolute;left:{left}px;top:{top}px;{more}">'


def clip_frame(source_s: float) -> str:
    """The URL of the excerpt's frame at an instant."""
    number = int(Fraction(str(round(source_s, 6))) * CLIP_FPS)
    return f"{MEDIA_ORIGIN}clip/{number}.png"


def keyframes(kind: str, *points: tuple[float, float], easing: str | None = None) -> list[Any]:
    """Transitions of one property."""
    more = {} if easing is None else {"easing": easing}
    return [
        {"type": kind, "options": {"time": time, "value": value, **more}} for time, value in points
    ]


def moving(*rules: str, timing: str = "linear") -> str:
    """Styles that animate every image of a page for two seconds."""
    return f"img{{animation:m 2s {timing} both}}@keyframes m{{{' '.join(rules)}}}"


def oracle_media(folder: Path) -> LocalAssets:
    """Return the media of the cases; each is made on first use."""
    frames = cache(lambda: [frame.rgb for frame in decode_frames(folder / "clip.mp4")])

    def write_frame(path: Path, number: int) -> None:
        write_picture(path, frames()[number])

    makers: dict[str, Maker] = {
        "photo.png": partial(_photo),
        "logo.png": partial(_logo),
        "clip.mp4": partial(_excerpt),
        "turns.gif": partial(_turning),
        "said.srt": partial(Path.write_text, data=CUES, encoding="utf-8"),
    }
    makers |= {f"clip/{n}.png": partial(write_frame, number=n) for n in range(CLIP_FRAMES)}
    makers |= {f"turn/{n}.png": partial(_turn_png, number=n) for n in range(len(GIF_MS))}
    return LocalAssets(folder, makers)


def _excerpt(path: Path) -> None:
    with av.open(BUNNY) as source, av.open(path, "w") as film:
        options = {"preset": "veryfast", "crf": "12", "bf": "2"}
        stream = film.add_stream("libx264", rate=CLIP_FPS, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = *CLIP_SIZE, "yuv420p"
        stream.colorspace, stream.color_range = Colorspace.ITU709, ColorRange.MPEG
        stream.color_primaries, stream.color_trc = ColorPrimaries.BT709, ColorTrc.BT709
        for number, frame in enumerate(source.decode(video=0)):
            if number == CLIP_FRAMES:
                break
            small = frame.reformat(width=CLIP_SIZE[0], height=CLIP_SIZE[1], format="yuv420p")
            small.pts, small.time_base = number, Fraction(1, CLIP_FPS)
            film.mux(stream.encode(small))
        film.mux(stream.encode(None))


def _photo(path: Path) -> None:
    """Hills under a sky: smooth colours and a few edges, of 300 x 200 pixels."""
    ys, xs = np.mgrid[:200, :300].astype(float)
    sky = np.stack([90 + ys * 0.4, 140 + ys * 0.3, 230 - ys * 0.2], axis=-1)
    hill = 120 + 30 * np.sin(xs / 40) + 10 * np.sin(xs / 11)
    ground = np.stack([60 + xs * 0.3, 130 - ys * 0.2, 60 + 0 * xs], axis=-1)
    pixels = np.where((ys > hill)[..., None], ground, sky)
    pixels[(xs - 230) ** 2 + (ys - 50) ** 2 < 625] = (250, 230, 120)
    write_picture(path, np.clip(pixels, 0, 255).astype(np.uint8))


def _logo(path: Path) -> None:
    """A ring with a soft edge on a transparent background, of 80 x 80 pixels."""
    ys, xs = np.mgrid[:80, :80] + 0.5
    distance = np.abs(np.hypot(xs - 40, ys - 40) - 28)
    alpha = np.clip(9 - distance, 0, 1) * 255
    pixels = np.dstack([np.full((80, 80), 240), xs * 3, ys * 2, alpha])
    write_picture(path, np.clip(pixels, 0, 255).astype(np.uint8))


def _turn(number: int) -> Image.Image:
    """A bar on a plain background, in colours of a 256-colour palette, of 96 x 96 pixels."""
    ys, xs = np.mgrid[:96, :96] - 47.5
    turn = np.pi * number / len(GIF_MS)
    is_bar = np.abs(xs * np.sin(turn) - ys * np.cos(turn)) < 10
    colours = np.array([[(30, 30, 40)], [(250, 200 - 60 * number, 60 * number)]], np.uint8)
    return Image.fromarray(colours[is_bar.astype(int), 0])


def _turning(path: Path) -> None:
    frames = [_turn(n) for n in range(len(GIF_MS))]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=list(GIF_MS), loop=0)


def _turn_png(path: Path, number: int) -> None:
    _turn(number).save(path)
