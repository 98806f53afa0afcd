"""Raw frames, read straight out of the software compositor's memory.

With its GPU off, Chromium composes every frame into one plain block of BGRA pixels in the GPU
process. Reading that block costs a memory copy; asking for a screenshot costs an image encoder and
a decoder. Where the block lies is an accident of the run, so it is found by drawing random colours
and looking for them, and what is read is checked against real screenshots (see `grab.py`).
"""

import ctypes
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.capture.errors import BrowserDied
from framekiln.capture.page import Page, Size

Pixels = NDArray[np.uint8]
"""Height x width x 4, in the order blue, green, red, alpha."""

_MARK_PX: Final = 8
_ROUNDS: Final = 3
_LARGEST_REGION_BYTES: Final = 512 << 20
# The block starts near the head of its memory region; reading whole regions would be slow.
_SEARCHED_BYTES: Final = 4 << 20

_libc = ctypes.CDLL(None, use_errno=True)


class FramebufferNotFound(Exception):
    """This Chromium keeps its pixels where we cannot see them; use screenshots."""


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class Framebuffer:
    """Where the pixels of a page lie."""

    pid: int
    address: int
    size: Size

    def read_into(self, pixels: Pixels) -> None:
        """Copy the frame that was drawn last."""
        if _read(self.pid, self.address, pixels) != pixels.nbytes:
            raise BrowserDied("Chromium's frame memory is gone")


def locate(page: Page) -> Framebuffer:
    """Find the frame memory of an empty page by the colours drawn on it."""
    width, height = page.size.width_px, page.size.height_px
    if min(width, height) < 4 * _MARK_PX:
        raise FramebufferNotFound(f"{width}x{height} is too small to be told apart")
    page.evaluate(_PREPARE)
    candidates: list[tuple[int, int]] | None = None
    for _ in range(_ROUNDS):
        colours = [secrets.token_bytes(3) for _ in range(3)]
        page.evaluate(_paint_script(colours))
        for _ in range(3):
            page.redraw()
        found = _search(page, colours) if candidates is None else candidates
        candidates = [c for c in found if _shows(c, page.size, colours)]
    if not candidates:
        raise FramebufferNotFound("the drawn colours are nowhere in the GPU process")
    pid, address = candidates[0]
    return Framebuffer(pid=pid, address=address, size=page.size)


_PREPARE: Final = """(() => {
  document.documentElement.style.cssText = "margin:0;height:100%";
  document.body.style.cssText = "margin:0;height:100%";
  for (const place of ["left:0;top:0", "right:0;bottom:0"]) {
    const mark = document.createElement("p");
    mark.style.cssText = `position:fixed;margin:0;width:8px;height:8px;${place}`;
    document.body.append(mark);
  }
})()"""


def _paint_script(colours: list[bytes]) -> str:
    ground, first, last = (f"rgb({c[0]},{c[1]},{c[2]})" for c in colours)
    return f"""(() => {{
      const [first, last] = document.querySelectorAll("p");
      document.body.style.background = "{ground}";
      first.style.background = "{first}";
      last.style.background = "{last}";
    }})()"""


def _bgra(colour: bytes) -> bytes:
    return bytes((colour[2], colour[1], colour[0], 255))


def _search(page: Page, colours: list[bytes]) -> list[tuple[int, int]]:
    """Return every place where a first row as drawn begins."""
    ground, first, _ = (_bgra(c) for c in colours)
    row = first * _MARK_PX + ground * _MARK_PX
    need = page.size.width_px * page.size.height_px * 4
    found = []
    for pid in _gpu_processes(page.browser.pid):
        for start, end in _writable_regions(pid, at_least=need):
            head = np.empty(min(end - start, _SEARCHED_BYTES), np.uint8)
            length = _read(pid, start, head)
            offset = head[:length].tobytes().find(row)
            if offset >= 0 and start + offset + need <= end:
                found.append((pid, start + offset))
    return found


def _shows(place: tuple[int, int], size: Size, colours: list[bytes]) -> bool:
    """Tell whether the picture at that place is the one that was drawn."""
    pixels = np.empty((size.height_px, size.width_px, 4), np.uint8)
    if _read(place[0], place[1], pixels) != pixels.nbytes:
        return False
    ground, first, last = (_bgra(c) for c in colours)
    samples = ((0, 0, first), (2 * _MARK_PX, 2 * _MARK_PX, ground), (-1, -1, last))
    return all(bytes(pixels[y, x]) == colour for y, x, colour in samples)


def _read(pid: int, address: int, into: Pixels) -> int:
    """Copy memory of another process; return how many bytes came, 0 when it may not be read."""
    local = _IoVec(into.ctypes.data, into.nbytes)
    remote = _IoVec(address, into.nbytes)
    copied: int = _libc.process_vm_readv(
        pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, ctypes.c_ulong(0)
    )
    return max(copied, 0)


def _gpu_processes(leader: int) -> Iterator[int]:
    for pid in _descendants(leader):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"--type=gpu-process" in command:
            yield pid


def _descendants(leader: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text()
        except OSError:
            continue
        parent = int(status.rsplit(")", 1)[1].split()[1])
        children.setdefault(parent, []).append(int(entry.name))
    waiting = [leader]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _writable_regions(pid: int, *, at_least: int) -> Iterator[tuple[int, int]]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, permissions = line.split()[:2]
        start, end = (int(part, 16) for part in span.split("-"))
        if permissions.startswith("rw") and at_least <= end - start <= _LARGEST_REGION_BYTES:
            yield start, end
