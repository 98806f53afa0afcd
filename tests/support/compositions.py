"""Shows compositions in a real Chromium, with synthetic media.

The frames of every video are frame codes at 30 fps: an image shows which source frame was
requested.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.network import PageNetwork, Resource
from framekiln.capture.page import FrameSize, Page, PageFacts, open_page
from framekiln.composition.document import as_document
from framekiln.media.images.stills import decode_bgra
from tests.support.frame_codes import Picture, draw_frame_code, read_frame_code
from tests.support.timeouts import TIMEOUT_S

FPS = Fraction(30)
CLIP = "https://media.example/clip.mp4"
SONG = "https://media.example/song.mp3"
STORED = "8c0f0f4e-2f52-4d7c-9d4e-9d5c6a3b1e11"
_VIDEO = {
    "durationMs": 10_000,
    "widthPx": 320,
    "heightPx": 240,
    "hasVideo": True,
    "hasAudio": True,
}
_SOUND = {
    "durationMs": 10_000,
    "widthPx": None,
    "heightPx": None,
    "hasVideo": False,
    "hasAudio": True,
}
PICTURE = "1b671a64-40d5-491e-99b0-da01ff1f3341"
RED_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
SPOKEN = {
    "segments": [{"start": 0, "end": 1, "text": "one"}, {"start": 1, "end": 2, "text": "two"}],
    "word_segments": [
        {"start": 0, "end": 1, "text": "one"},
        {"start": 1, "end": 2, "text": "two"},
    ],
}
MEDIA = {CLIP: _VIDEO, STORED: _VIDEO, SONG: _SOUND}


@dataclass
class PageMediaHost:
    """Responds to requests of a page to its renderer, and records the requested frames."""

    asked: list[tuple[int, int, int]] = field(default_factory=list)
    """Source frame, width and height of each request."""

    def answer(self, url: str) -> Resource | None:
        """Respond to one request, as a `Lookup` of `PageNetwork`."""
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/__framekiln/media":
            return _facts(query.get("src") or query.get("fileId", ""))
        if parts.path == "/__framekiln/frame":
            return self._frame(query)
        if parts.path == "/__framekiln/transcription" and query["fileId"] == STORED:
            return Resource(json.dumps(SPOKEN).encode(), "application/json")
        if parts.path == f"/api/v1/files/{PICTURE}":
            return Resource(RED_PNG, "image/png")
        return None

    def _frame(self, query: dict[str, str]) -> Resource:
        width, height = int(query["width"]), int(query["height"])
        # A tolerance of half a millisecond, for files whose times are whole milliseconds.
        number = int((float(query["ms"]) + 0.5) * FPS / 1000)
        self.asked.append((number, width, height))
        opaque = np.full((height, width), 255, np.uint8)
        rgba = np.dstack([draw_frame_code(number, width, height), opaque])
        return Resource(rgba.tobytes(), "application/octet-stream")


def _facts(key: str) -> Resource:
    facts = MEDIA.get(key)
    if facts is not None:
        return Resource(json.dumps(facts).encode(), "application/json")
    refusal = {"error": "media_not_found", "message": "no such media"}
    return Resource(json.dumps(refusal).encode(), "application/json", 404)


@dataclass(frozen=True)
class LoadedComposition:
    """A loaded composition."""

    page: Page
    facts: PageFacts
    host: PageMediaHost

    def frame(self, number: int) -> Picture:
        """Show a frame and return its image."""
        at_us = round(number * 1_000_000 / FPS)
        shown = self.page.show(number, at_us, screenshot={"format": "png"})
        # Chromium sometimes returns no screenshot of the first frame of a new process.
        return self._again() if shown.screenshot is None else _picture(shown.screenshot)

    def code(self, number: int) -> int | None:
        """Show a frame and return the number of the source frame in it."""
        return read_frame_code(self.frame(number))

    def at(self, number: int, expression: str) -> Any:
        """Show a frame and evaluate an expression in the page."""
        self.page.show(number, round(number * 1_000_000 / FPS))
        return self.page.evaluate(expression)

    def finished(self) -> Picture:
        """Wait for the frame's own tasks, and return the resulting image."""
        rounds = 0
        while not self.page.evaluate("__framekiln.frameDone()"):
            rounds += 1
            assert rounds < 10_000, "a frame task was never done"
        return self._again()

    def _again(self) -> Picture:
        self.page.evaluate("__framekiln.repeat()")
        shown = self.page.redraw(screenshot={"format": "png"})
        assert shown.screenshot is not None
        return _picture(shown.screenshot)


@contextmanager
def load_composition(
    browser: Browser, html: str, *, size: FrameSize | None = None
) -> Iterator[LoadedComposition]:
    """Load a composition, ready for its first frame."""
    host = PageMediaHost()
    document = Resource(as_document(html).text.encode(), "text/html; charset=utf-8")
    with open_page(browser, size or FrameSize(320, 240)) as page:
        facts = page.load(PageNetwork(document, host.answer), settle_within_s=TIMEOUT_S)
        page.begin(FPS, frame_within_s=TIMEOUT_S)
        yield LoadedComposition(page, facts, host)


def _picture(screenshot: str) -> Picture:
    return decode_bgra(base64.b64decode(screenshot))[..., 2::-1]
