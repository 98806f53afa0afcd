"""Rasterizes HTML snippets with alpha, each once, in the warm Chromium.

All snippets are in one page. They are measured there and packed on sheets of the page's size, so
that hundreds need only a few screenshots. The page is opened on first use.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, Final

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.network import PageNetwork
from framekiln.capture.page import LOSSLESS, FrameSize, Page, open_page
from framekiln.capture.screenshot import read_png
from framekiln.composition.document import Document
from framekiln.composition.layers import PixelSize, Rect
from framekiln.compositor.picture import Rgba, premultiplied
from framekiln.engine.assets import Assets
from framekiln.engine.film_order import FilmLimits
from framekiln.engine.layers.text_markup import BASE_CSS
from framekiln.engine.page.host import PageHost
from framekiln.engine.page.warnings import missing_font_warning
from framekiln.kit.errors import CompositionFailed
from framekiln.kit.warning_text import WarningText
from framekiln.media.images.stills import decode_bgra

_MAX_SIDE_PX: Final = 8192
_MIN_SHEET: Final = FrameSize(1024, 1024)


@dataclass(frozen=True)
class HtmlSnippet:
    """One box to draw: `markup` has one element of class `box`; `scale` is pixels per CSS pixel."""

    markup: str
    rules: str
    scale: float = 1.0
    uses_tailwind: bool = False
    is_picture: bool = False
    """Whether the result is exactly the box, with empty edges and without overflow."""


@dataclass(frozen=True, eq=False)
class RasterImage:
    """A rasterized box: its size in CSS pixels, and its pixels, which may extend beyond it."""

    size: PixelSize
    sheet: Rgba
    area: Rect
    """The area of the pixels, in CSS pixels from the box's corner."""
    overflows: bool = False

    @cached_property
    def digest(self) -> str:
        """The digest of its pixels."""
        return hashlib.sha256(self.sheet.tobytes()).hexdigest()


class TooLargeToDraw(CompositionFailed):
    """A text, drawing or page exceeds the pixel limit."""

    code = "drawing_too_large"

    def __init__(self, message: str, number: int = 0) -> None:
        super().__init__(message)
        self.number = number
        """The index of the snippet, if there are several."""


class HtmlRasterizer:
    """Rasterizes for one film."""

    def __init__(
        self, browser: Browser, assets: Assets, limits: FilmLimits, *, head: str = ""
    ) -> None:
        self._browser = browser
        self._assets = assets
        self._limits = limits
        self._head = head
        self.warnings: list[str] = []
        """Problems of texts, such as fonts that could not be loaded."""

    def draw(self, pieces: Sequence[HtmlSnippet]) -> list[RasterImage]:
        """Return the snippets in their order."""
        if not pieces:
            return []
        window = _MIN_SHEET
        for _ in range(2):
            with (
                open_page(self._browser, window) as page,
                PageHost(self._assets, self._browser) as host,
            ):
                page.make_transparent()
                page.load(self._network(pieces, host), settle_within_s=self._limits.settle_s)
                boxes = _measured(page, pieces)
                self.warnings += host.warnings
                self.warnings += map(_about_font, page.mistakes()["fonts"])
                wanted = _window(boxes)
                if wanted == window:
                    page.begin(Fraction(30), frame_within_s=self._limits.frame_s)
                    return _screenshot_snippets(page, boxes)
            window = wanted
        raise CompositionFailed("the size of a text depends on the size of its window")

    def _network(self, pieces: Sequence[HtmlSnippet], host: PageHost) -> PageNetwork:
        switch = "on" if any(piece.uses_tailwind for piece in pieces) else "off"
        rules = "".join(piece.rules for piece in pieces)
        cells = "".join(f'<div class="cell">{piece.markup}</div>' for piece in pieces)
        document = (
            f'<!doctype html><html><head><meta charset="utf-8">'
            f'<meta name="framekiln-tailwind" content="{switch}">'
            f"<style>{BASE_CSS}{self._head}@layer fields {{ {rules} }}</style></head>"
            f"<body>{cells}</body></html>"
        )
        return host.network(Document(document))


def _about_font(font: Mapping[str, Any]) -> str:
    remedy = "name its file in fonts of the config"
    return WarningText("font_missing", missing_font_warning(font, remedy))


@dataclass(frozen=True)
class _MeasuredSnippet:
    """A measured snippet; margins are how far ink may extend beyond the box, in CSS pixels."""

    width: float
    height: float
    margin: float
    scale: float
    overflows: bool
    is_picture: bool

    @property
    def inset_px(self) -> int:
        """The offset of the box in its cell."""
        return ceil(self.margin * self.scale)

    @property
    def cell(self) -> tuple[int, int]:
        """The size of its cell on a sheet."""
        return (
            ceil(self.width * self.scale) + 2 * self.inset_px,
            ceil(self.height * self.scale) + 2 * self.inset_px,
        )

    def drawn(self, sheet: Rgba) -> RasterImage:
        """Return the snippet cut out of a sheet, without empty edges."""
        size = PixelSize(self.width, self.height)
        if self.is_picture:
            return RasterImage(size, sheet.copy(), Rect(0, 0, self.width, self.height))
        inked = np.argwhere(sheet[..., 3])
        if not len(inked):
            return RasterImage(size, sheet[:1, :1], Rect(0, 0, 1 / self.scale, 1 / self.scale))
        (top, left), (bottom, right) = inked.min(axis=0), inked.max(axis=0) + 1
        area = Rect(
            (int(left) - self.inset_px) / self.scale,
            (int(top) - self.inset_px) / self.scale,
            int(right - left) / self.scale,
            int(bottom - top) / self.scale,
        )
        return RasterImage(size, sheet[top:bottom, left:right].copy(), area, self.overflows)


def _measured(page: Page, pieces: Sequence[HtmlSnippet]) -> list[_MeasuredSnippet]:
    boxes: list[_MeasuredSnippet] = []
    for number, (found, piece) in enumerate(zip(page.evaluate(_MEASURE), pieces, strict=True)):
        margin = 0 if piece.is_picture else ceil(found["margin"])
        sides = (found["width"], found["height"])
        box = _MeasuredSnippet(*sides, margin, piece.scale, found["overflows"], piece.is_picture)
        wide, high = box.cell
        if max(box.cell) > _MAX_SIDE_PX:
            largest = f"it is {wide}x{high} pixels when it is largest"
            raise TooLargeToDraw(f"{largest}; at most {_MAX_SIDE_PX} a side are drawn", number)
        boxes.append(box)
    return boxes


def _window(boxes: Sequence[_MeasuredSnippet]) -> FrameSize:
    """Return a window size in which every snippet fits."""
    wide, high = max(box.cell[0] for box in boxes), max(box.cell[1] for box in boxes)
    return FrameSize(max(_MIN_SHEET.width_px, wide), max(_MIN_SHEET.height_px, high))


def _screenshot_snippets(page: Page, boxes: Sequence[_MeasuredSnippet]) -> list[RasterImage]:
    drawn: dict[int, RasterImage] = {}
    for number, corners in enumerate(_sheets(boxes, page.size)):
        places = {
            str(each): [left + boxes[each].inset_px, top + boxes[each].inset_px, boxes[each].scale]
            for each, (left, top) in corners.items()
        }
        page.evaluate(f"({_LAY_OUT})({json.dumps(places)})")
        pixels = _screenshot(page, is_first=number == 0)
        for each, (left, top) in corners.items():
            wide, high = boxes[each].cell
            own = pixels[top : top + high, left : left + wide, [2, 1, 0, 3]]
            drawn[each] = boxes[each].drawn(premultiplied(own))
    return [drawn[each] for each in range(len(boxes))]


def _screenshot(page: Page, *, is_first: bool) -> Pixels:
    """Return a screenshot of the whole window as BGRA, with unchanged colours."""
    shown = page.show(0, 0, screenshot=LOSSLESS) if is_first else page.redraw(screenshot=LOSSLESS)
    if shown.screenshot is None:
        shown = page.redraw(screenshot=LOSSLESS)
    assert shown.screenshot is not None
    return decode_bgra(read_png(shown.screenshot, page.size))


def _sheets(
    boxes: Sequence[_MeasuredSnippet], sheet: FrameSize
) -> Iterator[dict[int, tuple[int, int]]]:
    """Yield the corners of cells, row by row, sheet by sheet."""
    corners: dict[int, tuple[int, int]] = {}
    left = top = row_height = 0
    for number, box in enumerate(boxes):
        wide, high = box.cell
        if left + wide > sheet.width_px:
            left, top, row_height = 0, top + row_height, 0
        if top + high > sheet.height_px:
            yield corners
            corners, left, top, row_height = {}, 0, 0, 0
        corners[number] = (left, top)
        left, row_height = left + wide, max(row_height, high)
    yield corners


# Glyphs may extend beyond their line; half of the font size is more than our fonts need.
_MEASURE: Final = """(() => {
const ACROSS = ["paddingLeft", "paddingRight", "borderLeftWidth", "borderRightWidth"];
const DOWN = ["paddingTop", "paddingBottom", "borderTopWidth", "borderBottomWidth"];
return [...document.querySelectorAll(".cell")].map((cell) => {
  const box = cell.querySelector(".box");
  if (box.dataset.fit) fit(box);
  const own = box.getBoundingClientRect();
  let margin = 0, overflows = false;
  for (const part of [box, ...box.querySelectorAll("*")]) {
    const rect = part.getBoundingClientRect();
    const style = getComputedStyle(part);
    const out = Math.max(
      own.left - rect.left, own.top - rect.top,
      rect.right - own.right, rect.bottom - own.bottom, 0);
    if (part.matches(".words, .block") && out > 0.5) overflows = true;
    const shadow = style.textShadow === "none" ? [] : style.textShadow
      .replace(/rgba?\\([^)]*\\)/gu, "").match(/-?[\\d.]+/gu).map(Number);
    const reach = shadow.length ? Math.max(...shadow.map(Math.abs)) * 3 : 0;
    const letters = part.matches(".block, text") ? parseFloat(style.fontSize) / 2 : 0;
    const stroke = parseFloat(style.strokeWidth) || parseFloat(style.webkitTextStrokeWidth) || 0;
    margin = Math.max(margin, out + reach + letters + stroke);
  }
  return { width: own.width, height: own.height, margin, overflows };

  function fit(box) {
    const words = box.querySelector(".words");
    const size = parseFloat(getComputedStyle(words).fontSize);
    const block = box.querySelector(".block");
    const sum = (style, names) => names.reduce((all, name) => all + parseFloat(style[name]), 0);
    const fits = (px) => {
      words.style.fontSize = `${px}px`;
      const [outer, inner] = [getComputedStyle(words), getComputedStyle(block)];
      const across = block.scrollWidth + sum(outer, ACROSS);
      const down = parseFloat(inner.height) + sum(outer, DOWN);
      const { lines } = box.dataset;
      const most = lines ? parseFloat(inner.lineHeight) * lines : Infinity;
      return across <= box.clientWidth + 0.5 && down <= box.clientHeight + 0.5
        && parseFloat(inner.height) <= most + 0.5;
    };
    // All lines are measured. maxLines cuts off those of a text that cannot be made to fit.
    block.dataset.whole = "";
    if (!settled()) delete block.dataset.whole;

    function settled() {
      let [low, high] = [1, box.dataset.fit === "grow" ? 2000 : size];
      if (box.dataset.fit === "shrink" && fits(size)) return true;
      for (let round = 0; round < 24; round += 1) {
        const middle = (low + high) / 2;
        if (fits(middle)) low = middle; else high = middle;
      }
      return fits(Math.floor(low * 4) / 4);
    }
  }
})})()"""
_LAY_OUT: Final = """(places) => document.querySelectorAll(".cell").forEach((cell, number) => {
  const place = places[number];
  cell.style.display = place ? "" : "none";
  if (!place) return;
  cell.style.transform = `translate(${place[0]}px, ${place[1]}px) scale(${place[2]})`;
})"""
