"""Captures the pixels of each frame: from raw memory if it is right, else from screenshots.

Raw reading depends on an internal detail of Chromium, so it is verified: the first frame, and then
one in each interval, is also taken as a screenshot and compared. The first difference ends raw
reading for this page. Frames since the last check may be wrong, so the caller starts over.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.capture.errors import PageOutOfStep
from framekiln.capture.framebuffer import Framebuffer, FramebufferNotFound, Pixels, locate
from framekiln.capture.grab_method import GrabMethod
from framekiln.capture.page import LOSSLESS, Page
from framekiln.capture.screenshot import read_png

__all__ = [
    "FrameStrip",
    "GrabMethod",
    "Grabber",
    "RawPixelsDiffer",
    "StillFrameChanged",
    "prepare_grabber",
    "read_strip",
]

DecodePng = Callable[[bytes], Pixels]

# Frames between two checks; the offset in each interval varies, to catch periodic errors.
_CHECK_EVERY: Final = 240
_OPAQUE: Final = 255
_OPAQUE_WORD: Final = _OPAQUE << 24
"""The smallest pixel with full alpha, as a little-endian number."""
# Where an opaque layer ends between pixels, Chromium blends the edge once more than a screenshot.
_MAX_EDGE_DIFFERENCE: Final = 8
# The frames whose strip must be right before it is required.
_PROOFS: Final = 2


class StillFrameChanged(Exception):
    """Frames were left out because nothing should change in them, but something did."""


class RawPixelsDiffer(Exception):
    """Raw memory and the screenshot differ; captured frames must not be used."""


class FrameStrip:
    """Checks the frame number that some pages paint as a colour on the row below the image.

    It proves that the image shows the requested frame, at the cost of reading one row. Not every
    page paints it, so it is required only after it was right twice.
    """

    def __init__(self) -> None:
        self._proofs = 0

    def check(self, number: int, below: NDArray[np.uint8]) -> None:
        """Raise if the rows below the image of frame `number` belong to another frame."""
        if not below.size:
            return
        seen = read_strip(below[-1])
        if seen == number:
            # Frame 0 is black, and so are many pages without a strip.
            self._proofs += number > 0
        elif self._proofs >= _PROOFS:
            shown = "no frame's strip" if seen is None else f"frame {seen}"
            raise PageOutOfStep(
                f"the page said that frame {number} was ready, but shows {shown}",
            )


class Grabber:
    """Captures the frames of one page, in order.

    Rows of the window below the image are not captured, but checked: see `FrameStrip`.
    """

    def __init__(self, page: Page, framebuffer: Framebuffer | None, decode_png: DecodePng) -> None:
        self._page = page
        self._framebuffer = framebuffer
        self._decode_png = decode_png
        self._strip = FrameStrip()

    @property
    def method(self) -> GrabMethod:
        """How this page's frames are captured."""
        return GrabMethod.SCREENSHOT if self._framebuffer is None else GrabMethod.RAW

    def grab(
        self,
        number: int,
        at_us: int,
        into: Pixels,
        *,
        checked: bool = False,
        is_needed: bool = False,
        is_still: bool = False,
    ) -> bool:
        """Show a frame and copy its pixels to `into`; return False if it is unchanged.

        A `checked` frame is compared with a screenshot. One that `is_needed` is copied even if it
        is unchanged. One that `is_still` must be unchanged, or `StillFrameChanged` is raised.
        """
        if self._framebuffer is None:
            picture = self._screenshot(number, at_us)
            into[...] = _on_white(picture[: len(into)])
            self._strip.check(number, picture[len(into) :])
            return True
        if not is_still and (checked or _is_checked(number)):
            self._grab_checked(self._framebuffer, number, at_us, into)
            return True
        has_damage = self._page.show(number, at_us).has_damage
        if has_damage and is_still:
            raise StillFrameChanged(f"frame {number} should look as the one before")
        if has_damage or is_needed:
            _read(self._framebuffer, into)
        self._strip.check(number, self._framebuffer.read_below(into))
        return has_damage

    def _grab_checked(
        self, framebuffer: Framebuffer, number: int, at_us: int, into: Pixels
    ) -> None:
        expected = self._screenshot(number, at_us)
        _read(framebuffer, into)
        if not _is_same(into, expected[: len(into)]):
            raise RawPixelsDiffer(f"raw memory and screenshot differ at frame {number}")
        self._strip.check(number, framebuffer.read_below(into))

    def _screenshot(self, number: int, at_us: int) -> Pixels:
        shown = self._page.show(number, at_us, screenshot=LOSSLESS)
        if shown.screenshot is None:
            raise RawPixelsDiffer(f"Chromium gave no screenshot of frame {number}")
        return self._decode_png(read_png(shown.screenshot, self._page.size))


def prepare_grabber(page: Page, decode_png: DecodePng, *, raw: bool) -> tuple[Grabber, str | None]:
    """Return a grabber for an empty page, and the reason if it does not read raw memory."""
    if not raw:
        return Grabber(page, None, decode_png), None
    try:
        return Grabber(page, locate(page), decode_png), None
    except FramebufferNotFound as reason:
        return Grabber(page, None, decode_png), str(reason)


def _read(framebuffer: Framebuffer, into: Pixels) -> None:
    """Copy a frame as the window shows it, on white.

    Where an opaque layer ends between pixels, Chromium leaves colours multiplied with their alpha.
    """
    framebuffer.read_into(into)
    if into.view(np.uint32).min() < _OPAQUE_WORD:
        into[..., :3] += _OPAQUE - into[..., 3:]
        into[..., 3] = _OPAQUE


def _is_same(raw: Pixels, screenshot: Pixels) -> bool:
    if np.array_equal(raw[..., :3], screenshot[..., :3]):
        return True
    apart = np.abs(raw[..., :3].astype(np.int16) - _on_white(screenshot)[..., :3])
    allowed = np.where(screenshot[..., 3] == _OPAQUE, 0, _MAX_EDGE_DIFFERENCE)
    return bool((apart <= allowed[..., None]).all())


def _on_white(screenshot: Pixels) -> Pixels:
    """Return a screenshot as the window shows it: edges between pixels may be translucent."""
    alpha = screenshot[..., 3:].astype(np.uint16)
    if alpha.min(initial=_OPAQUE) == _OPAQUE:
        return screenshot
    mixed = (screenshot * alpha + _OPAQUE * (_OPAQUE - alpha) + _OPAQUE // 2) // _OPAQUE
    mixed[..., 3] = _OPAQUE
    return mixed.astype(np.uint8)


def _is_checked(number: int) -> bool:
    group, offset = divmod(number, _CHECK_EVERY)
    return offset == group * 89 % _CHECK_EVERY


def read_strip(row: NDArray[np.uint8]) -> int | None:
    """Return the number in a row of BGRA pixels; None if the row is not of one colour."""
    colours = row.reshape(-1, row.shape[-1])[:, :3]
    if (colours != colours[0]).any():
        return None
    blue, green, red = (int(part) for part in colours[0])
    return red << 16 | green << 8 | blue
