"""Pixels out of and into the memory of Chromium: raw frames, and arrays of pages.

Without a GPU, Chromium composes every frame into one plain block of BGRA pixels in the GPU process.
Reading that block costs a memory copy; a screenshot costs an image encoder and a decoder. The
address of the block differs between runs, so it is found by drawing random colours and searching
for them. The pixels are checked against real screenshots (see `grabber.py`).

Chromium is our own child process, so the kernel allows access to its memory.

A page that needs an image fills the start of an array with random bytes and reports them. Finding
the array costs some milliseconds once. After that, each image is one memory copy instead of a
transfer through the debugging protocol. If it cannot be found, the caller sends the bytes.
"""

import ctypes
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.capture.errors import BrowserDied
from framekiln.capture.page import FrameSize, Page
from framekiln.capture.process_tree import processes_of_type

_MAX_REGION_BYTES: Final = 512 << 20
# Such blocks start near the beginning of their memory region; reading whole regions is slow.
_SEARCHED_BYTES: Final = 4 << 20
_WORD_BYTES: Final = 4

_libc = ctypes.CDLL(None, use_errno=True)


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class Block:
    """A block of another process's memory."""

    pid: int
    address: int

    def after(self, size_bytes: int) -> "Block":
        """Return the rest of the block after that many bytes."""
        return Block(self.pid, self.address + size_bytes)

    def read_into(self, pixels: NDArray[np.uint8]) -> bool:
        """Copy from it; return False if it no longer exists."""
        return _copied(_libc.process_vm_readv, self, pixels) == pixels.nbytes

    def write(self, pixels: NDArray[np.uint8]) -> bool:
        """Copy `pixels` to it; return False if it no longer exists."""
        return _copied(_libc.process_vm_writev, self, pixels) == pixels.nbytes


def find_blocks(leader: int, kind: str, *, start: bytes, size_bytes: int) -> Iterator[Block]:
    """Yield the blocks of that size that begin with `start`, in Chromium's `kind` processes.

    Each region is read when it is its turn: who needs one block only saves the others.
    """
    head = np.empty(_SEARCHED_BYTES, np.uint8)
    for pid in processes_of_type(leader, kind):
        for low, high in _writable_regions(pid, at_least=size_bytes):
            length = _copied(_libc.process_vm_readv, Block(pid, low), head[: high - low])
            for offset in _places_of(start, head[:length]):
                if low + offset + size_bytes <= high:
                    yield Block(pid, low + offset)


def _places_of(start: bytes, memory: NDArray[np.uint8]) -> Iterator[int]:
    """Yield all matches, in whole pixels: the first may be a copy of the block."""
    # `bytes.find` takes several times as long in memory that holds pictures.
    words = memory[: len(memory) // _WORD_BYTES * _WORD_BYTES].view(np.uint32)
    for number in np.flatnonzero(words == np.frombuffer(start, np.uint32, 1)):
        offset = int(number) * _WORD_BYTES
        if memory[offset : offset + len(start)].tobytes() == start:
            yield offset


def _copied(call: "ctypes._NamedFuncPointer", block: Block, pixels: NDArray[np.uint8]) -> int:
    """Return the number of copied bytes; 0 if the kernel refuses."""
    local = _IoVec(pixels.ctypes.data, pixels.nbytes)
    remote = _IoVec(block.address, pixels.nbytes)
    copied: int = call(
        block.pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, ctypes.c_ulong(0)
    )
    return max(copied, 0)


def _writable_regions(pid: int, *, at_least: int) -> Iterator[tuple[int, int]]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return
    for line in maps.splitlines():
        span, permissions = line.split()[:2]
        start, end = (int(part, 16) for part in span.split("-"))
        if permissions.startswith("rw") and at_least <= end - start <= _MAX_REGION_BYTES:
            yield start, end


Pixels = NDArray[np.uint8]
"""Height x width x 4, in the order blue, green, red, alpha."""

_MARK_PX: Final = 8
_ROUNDS: Final = 3
_MAX_FALLEN: Final = 100
_LATER_FRAMES: Final = 2


class FramebufferNotFound(Exception):
    """The pixels of this Chromium cannot be found; use screenshots."""


@dataclass(frozen=True)
class Framebuffer:
    """The address of a page's pixels."""

    block: Block
    size: FrameSize

    def read_into(self, pixels: Pixels) -> None:
        """Copy the last drawn frame, or as many rows of it as `pixels` has."""
        if not self.block.read_into(pixels):
            raise BrowserDied("Chromium's frame memory is gone")

    def read_rows(self, top: int, bottom: int) -> Pixels:
        """Return some rows of the last drawn frame."""
        rows = np.empty((bottom - top, self.size.width_px, 4), np.uint8)
        if rows.size:
            Framebuffer(self.block.after(top * self.size.width_px * 4), self.size).read_into(rows)
        return rows

    def read_below(self, pixels: Pixels) -> Pixels:
        """Return the rows of the frame below those that fit into `pixels`."""
        return self.read_rows(len(pixels), self.size.height_px)


def locate(page: Page) -> Framebuffer:
    """Find the frame memory of an empty page by the colours drawn on it."""
    width, height = page.size.width_px, page.size.height_px
    if min(width, height) < 4 * _MARK_PX:
        raise FramebufferNotFound(f"{width}x{height} is too small to find the frame memory")
    page.evaluate(_PREPARE)
    # The first block with the colours is the frame, or sometimes an older copy of it: then all of
    # them are compared.
    block = _find(page, most=1) or _find(page, most=None)
    if block is None:
        raise FramebufferNotFound("the drawn colours are nowhere in the GPU process")
    return Framebuffer(block, page.size)


def _find(page: Page, *, most: int | None) -> Block | None:
    """Return a block that shows whatever is drawn; look at so many that show the first colours."""
    candidates: list[Block] | None = None
    for _ in range(_ROUNDS):
        colours = [secrets.token_bytes(3) for _ in range(3)]
        page.evaluate(_paint_script(colours))
        _draw(page, colours, candidates)
        found = _search(page, colours) if candidates is None else candidates
        shown = (each for each in found if _shows(each, page.size, colours))
        candidates = list(islice(shown, most))
    return candidates[0] if candidates else None


def _draw(page: Page, colours: list[bytes], candidates: list[Block] | None) -> None:
    """Draw what was painted, even if Chromium is busy and drops frames."""
    for _ in range(_MAX_FALLEN):
        page.redraw()
        if page.evaluate("hasPainted"):
            break
    # The drawn content is presented with the following frames. One block shows it or does not;
    # of several, a copy may show it sooner.
    for _ in range(_LATER_FRAMES):
        if candidates and len(candidates) == 1 and _shows(candidates[0], page.size, colours):
            break
        page.redraw()


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
      window.hasPainted = false;
      requestAnimationFrame(() => {{ window.hasPainted = true; }});
    }})()"""


def _bgra(colour: bytes) -> bytes:
    return bytes((colour[2], colour[1], colour[0], 255))


def _search(page: Page, colours: list[bytes]) -> Iterator[Block]:
    """Yield every address of the drawn first row."""
    ground, first, _ = (_bgra(c) for c in colours)
    return find_blocks(
        page.browser.pid,
        "gpu-process",
        start=first * _MARK_PX + ground * _MARK_PX,
        size_bytes=page.size.width_px * page.size.height_px * 4,
    )


def _shows(block: Block, size: FrameSize, colours: list[bytes]) -> bool:
    """Whether the image at this address is the one that was drawn."""
    ground, first, last = (_bgra(c) for c in colours)
    inside = 2 * _MARK_PX * (size.width_px + 1)
    samples = ((0, first), (inside, ground), (size.width_px * size.height_px - 1, last))
    pixel = np.empty(4, np.uint8)
    return all(
        block.after(4 * number).read_into(pixel) and pixel.tobytes() == colour
        for number, colour in samples
    )


_MIN_MARK_BYTES: Final = 32


class PageBuffers:
    """The arrays of one page found so far, by their mark in hex."""

    def __init__(self, browser_pid: int) -> None:
        self._browser_pid = browser_pid
        self._blocks: dict[str, Block | None] = {}

    def write(self, mark: str | None, pixels: NDArray[np.uint8]) -> bool:
        """Copy `pixels` into the array with that mark; return False if it cannot be reached."""
        if mark is None:
            return False
        if mark not in self._blocks:
            self._blocks[mark] = self._find(mark, pixels.nbytes)
        block = self._blocks[mark]
        return block is not None and block.write(np.ascontiguousarray(pixels))

    def _find(self, mark: str, size_bytes: int) -> Block | None:
        try:
            start = bytes.fromhex(mark)
        except ValueError:
            return None
        if len(start) < _MIN_MARK_BYTES:
            return None
        found = [*find_blocks(self._browser_pid, "renderer", start=start, size_bytes=size_bytes)]
        # Two addresses have the same random bytes: one is a copy, and it is unknown which.
        return found[0] if len(found) == 1 else None
