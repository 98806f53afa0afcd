"""Frame codes: the number of a frame, drawn as a grid of coloured cells.

Cells are an eighth of the image wide and high, and their colours are corners of the RGB cube. The
number survives scaling, 4:2:0 and lossy codecs, while a mix of two frames is unreadable.
`frame_code_page` is the same image drawn by a page, frame n at page time n / fps.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

Rgb = tuple[int, int, int]
Picture = NDArray[np.uint8]

# Without black and white, so that an empty page or a flash is never a digit.
PALETTE: tuple[Rgb, ...] = (
    (255, 0, 0),
    (0, 255, 0),
    (0, 0, 255),
    (255, 255, 0),
    (255, 0, 255),
)
BASE = len(PALETTE)
GRID = 4
DIGITS = GRID * GRID - 2
# The grid is in the middle half of the image, two eighths from each edge.
EIGHTHS = 8
MARGIN_EIGHTHS = 2
BACKGROUND: Rgb = (0, 0, 0)
FLASH: Rgb = (255, 255, 255)
# The middle of two palette colours is 127 off; errors of codecs and of a wrong matrix are smaller.
TOLERANCE = 80


@dataclass(frozen=True)
class Cell:
    """One cell in pixels of an image; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    def core(self) -> tuple[slice, slice]:
        """Rows and columns of its centre, away from edges that codecs blur."""
        inset_x = (self.right - self.left) // 4
        inset_y = (self.bottom - self.top) // 4
        return (
            slice(self.top + inset_y, self.bottom - inset_y),
            slice(self.left + inset_x, self.right - inset_x),
        )


def cell_digits(n: int) -> list[int]:
    """Return the palette index of each cell: digits, lowest first, then two checksums."""
    if not 0 <= n < BASE**DIGITS:
        message = f"frame number {n} does not fit a code; use 0 to {BASE**DIGITS - 1}"
        raise ValueError(message)
    digits = [n // BASE**place % BASE for place in range(DIGITS)]
    return [*digits, *_check_sums(digits)]


def cells_of(width: int, height: int) -> list[Cell]:
    """Return the cells of an image, row by row."""
    columns = [round(width * (MARGIN_EIGHTHS + i) / EIGHTHS) for i in range(GRID + 1)]
    rows = [round(height * (MARGIN_EIGHTHS + i) / EIGHTHS) for i in range(GRID + 1)]
    return [
        Cell(columns[column], rows[row], columns[column + 1], rows[row + 1])
        for row, column in product(range(GRID), repeat=2)
    ]


def draw_frame_code(n: int, width: int, height: int, *, flash: bool = False) -> Picture:
    """Return the image of frame `n`; a flash whitens everything around the code."""
    around = np.array(FLASH if flash else BACKGROUND, np.uint8)
    picture = np.empty((height, width, 3), np.uint8)
    # Line by line, because to fill an area with a colour takes numpy many times as long.
    picture[:] = line = np.tile(around, (width, 1))
    cells, digits = cells_of(width, height), cell_digits(n)
    for first in range(0, len(cells), GRID):
        row = slice(first, first + GRID)
        for cell, digit in zip(cells[row], digits[row], strict=True):
            line[cell.left : cell.right] = PALETTE[digit]
        picture[cells[first].top : cells[first].bottom] = line
    return picture


def read_frame_code(rgb: Picture) -> int | None:
    """Return the frame number in an image, or None if there is no valid one."""
    height, width = rgb.shape[:2]
    cores = [rgb[cell.core()] for cell in cells_of(width, height)]
    if any(core.size == 0 for core in cores):
        return None
    colours = np.array([core[..., :3].mean(axis=(0, 1)) for core in cores])
    distances = np.abs(colours[:, None] - np.array(PALETTE)).max(axis=2)
    if distances.min(axis=1).max() > TOLERANCE:
        return None
    cells: list[int] = distances.argmin(axis=1).tolist()
    digits = cells[:DIGITS]
    if cells[DIGITS:] != _check_sums(digits):
        return None
    return sum(digit * int(BASE**place) for place, digit in enumerate(digits))


def _check_sums(digits: list[int]) -> list[int]:
    # The constants make sure that an image of one single colour is not a valid code.
    plain = 1 + sum(digits)
    weighted = 2 + sum(place * digit for place, digit in enumerate(digits, start=1))
    return [plain % BASE, weighted % BASE]


class PageDriver(StrEnum):
    """The mechanism that advances a frame code page to the next frame."""

    CSS = "css"
    WAAPI = "waapi"
    RAF_CANVAS = "raf_canvas"
    RAF_DOM = "raf_dom"
    TIMEOUT = "timeout"
    INTERVAL = "interval"
    PERFORMANCE_NOW = "performance_now"
    DATE_NOW = "date_now"


def frame_code_page(driver: PageDriver, fps: Fraction, *, frame_count: int) -> str:
    """Return a complete HTML page that draws the number of its current frame.

    The number changes half-way between two frame times, so that at n / fps a change is as far away
    as possible. Page time is used unchanged: no driver corrects a clock that did not start at zero.
    CSS and WAAPI pages stay on their last frame after `frame_count` frames.
    """
    if driver is PageDriver.CSS:
        style, script = _keyframe_rules(fps, frame_count), ""
    else:
        style, script = "", _page_script(driver, fps, frame_count)
    cells = "" if driver is PageDriver.RAF_CANVAS else "<i></i>" * (GRID * GRID)
    surface = "<canvas></canvas>" if driver is PageDriver.RAF_CANVAS else f"<div>{cells}</div>"
    return _PAGE.format(title=f"Frame code ({driver})", style=style, body=surface, script=script)


def _css_colour(rgb: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def _keyframe_rules(fps: Fraction, frame_count: int) -> str:
    """Return one stepped animation per cell, with a keyframe at each change of its colour."""
    codes = [cell_digits(n) for n in range(frame_count)]
    duration_s = float(frame_count / fps)
    half_frame_s = float(1 / fps / 2)
    rules = []
    for cell in range(GRID * GRID):
        column = [code[cell] for code in codes]
        stops = [
            f"{100 * n / frame_count:.8f}%{{background:{_css_colour(PALETTE[digit])}}}"
            for n, digit in enumerate(column)
            if n == 0 or digit != column[n - 1]
        ]
        stops.append(f"100%{{background:{_css_colour(PALETTE[column[-1]])}}}")
        rules.append(f"@keyframes cell{cell}{{{''.join(stops)}}}")
        rules.append(
            f"i:nth-child({cell + 1}){{animation:cell{cell} {duration_s:.9f}s steps(1,end) "
            f"-{half_frame_s:.9f}s both}}"
        )
    return "\n".join(rules)


def cells_script(fps: int) -> str:
    """Return a script whose `show(n)` draws frame n on the sixteen <i> of its page."""
    return _facts_script(Fraction(fps), 0) + _NUMBER_SCRIPT + _CELLS_SCRIPT


def _page_script(driver: PageDriver, fps: Fraction, frame_count: int) -> str:
    parts = [_facts_script(fps, frame_count), _NUMBER_SCRIPT]
    parts.append(_CANVAS_SCRIPT if driver is PageDriver.RAF_CANVAS else _CELLS_SCRIPT)
    parts.append(_DRIVER_SCRIPTS[driver])
    return "<script>\n" + "".join(parts) + "</script>"


def _facts_script(fps: Fraction, frame_count: int) -> str:
    facts = {
        "palette": [_css_colour(colour) for colour in PALETTE],
        "digits": DIGITS,
        "grid": GRID,
        "margin": MARGIN_EIGHTHS,
        "eighths": EIGHTHS,
        "fpsNum": fps.numerator,
        "fpsDen": fps.denominator,
        "frameCount": frame_count,
    }
    return f"const code = {json.dumps(facts)};"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
html, body {{ margin: 0; width: 100%; height: 100%; overflow: hidden; background: #000; }}
div {{ position: absolute; left: 25%; top: 25%; width: 50%; height: 50%;
  display: grid; grid-template: repeat(4, 1fr) / repeat(4, 1fr); }}
canvas {{ position: absolute; left: 0; top: 0; width: 100%; height: 100%; }}
{style}
</style>
</head>
<body>
{body}
{script}
</body>
</html>
"""

_NUMBER_SCRIPT = """
const frameAt = (tMs) => Math.max(0, Math.round(tMs * code.fpsNum / (1000 * code.fpsDen)));
function coloursOf(n) {
  const base = code.palette.length;
  const digits = [];
  for (let rest = n; digits.length < code.digits; rest = Math.floor(rest / base)) {
    digits.push(rest % base);
  }
  let plain = 1;
  let weighted = 2;
  digits.forEach((digit, i) => { plain += digit; weighted += (i + 1) * digit; });
  return [...digits, plain % base, weighted % base].map((digit) => code.palette[digit]);
}
"""

_CELLS_SCRIPT = """
const cells = [...document.querySelectorAll("i")];
function show(n) {
  coloursOf(n).forEach((colour, i) => { cells[i].style.background = colour; });
}
"""

_CANVAS_SCRIPT = """
const canvas = document.querySelector("canvas");
canvas.width = innerWidth;
canvas.height = innerHeight;
const context = canvas.getContext("2d");
function show(n) {
  const edge = (whole, i) => Math.round(whole * (code.margin + i) / code.eighths);
  context.fillStyle = "#000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  coloursOf(n).forEach((colour, i) => {
    const column = i % code.grid;
    const row = Math.floor(i / code.grid);
    const x = edge(canvas.width, column);
    const y = edge(canvas.height, row);
    context.fillStyle = colour;
    context.fillRect(x, y, edge(canvas.width, column + 1) - x, edge(canvas.height, row + 1) - y);
  });
}
"""

_STAMPED_FRAMES = """
show(0);
requestAnimationFrame(function draw(stampMs) {
  show(frameAt(stampMs));
  requestAnimationFrame(draw);
});
"""

_DRIVER_SCRIPTS = {
    PageDriver.RAF_CANVAS: _STAMPED_FRAMES,
    PageDriver.RAF_DOM: _STAMPED_FRAMES,
    PageDriver.WAAPI: """
const frameMs = 1000 * code.fpsDen / code.fpsNum;
cells.forEach((cell, i) => {
  const stops = [];
  for (let n = 0; n < code.frameCount; n += 1) {
    const offset = n / code.frameCount;
    stops.push({ backgroundColor: coloursOf(n)[i], offset, easing: "steps(1, end)" });
  }
  stops.push({ backgroundColor: coloursOf(code.frameCount - 1)[i], offset: 1 });
  cell.animate(stops, { duration: code.frameCount * frameMs, delay: -frameMs / 2, fill: "both" });
});
""",
    # Browsers truncate the delay to whole milliseconds, so a timer fires 2 to 3 ms early: after the
    # change half-way between frames up to 120 fps, and before the frame is shown.
    PageDriver.TIMEOUT: """
const earlyMs = 2;
(function tick() {
  const nowMs = performance.now();
  const n = frameAt(nowMs);
  show(n);
  setTimeout(tick, (n + 1) * 1000 * code.fpsDen / code.fpsNum - earlyMs - nowMs);
})();
""",
    # The shortest interval that browsers allow permanently; less than half a frame up to 120 fps.
    PageDriver.INTERVAL: """
show(0);
setInterval(() => show(frameAt(performance.now())), 4);
""",
    PageDriver.PERFORMANCE_NOW: """
(function draw() {
  show(frameAt(performance.now()));
  requestAnimationFrame(draw);
})();
""",
    PageDriver.DATE_NOW: """
const startMs = Date.now();
(function draw() {
  show(frameAt(Date.now() - startMs));
  requestAnimationFrame(draw);
})();
""",
}
