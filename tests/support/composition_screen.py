"""Shows compositions of text and audio at given times, with a host that responds to them."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.network import PageNetwork, Resource
from framekiln.capture.page import FrameSize, Page, open_page
from framekiln.capture.page_clock import DrawnFrame
from framekiln.composition.document import as_document
from framekiln.media.images.stills import decode_bgra
from tests.support.timeouts import TIMEOUT_S

FPS = Fraction(30)
FADE = "<style>@keyframes fade { from { opacity: 0 } to { opacity: 1 } }</style>"


class LoadedPage:
    """A loaded composition, shown at the frames nearest to given times, in order."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._shown = -1
        page.begin(FPS, frame_within_s=TIMEOUT_S)

    def at(self, ms: float, expression: str) -> Any:
        """Show the frame at that time, unless it is shown, and evaluate an expression in it."""
        number = round(ms * FPS / 1000)
        if number != self._shown:
            self._show(number, None)
            self._shown = number
        return self.page.evaluate(expression)

    def picture(self, ms: float) -> np.ndarray:
        """Show the frame at that time and return its pixels."""
        shown = self._show(round(ms * FPS / 1000), {"format": "png", "optimizeForSpeed": True})
        assert shown.screenshot is not None
        return decode_bgra(base64.b64decode(shown.screenshot))

    def _show(self, number: int, screenshot: dict[str, Any] | None) -> DrawnFrame:
        shown = self.page.show(number, round(number * 1_000_000 / FPS), screenshot=screenshot)
        # Sometimes the first frame of a page is not drawn at all, and its scripts do not run.
        return shown if shown.has_damage else self.page.redraw(screenshot=screenshot)


class RecordingHost:
    """Responds to requests of compositions to the renderer, and records them."""

    def __init__(self) -> None:
        self.captions: object = {}
        self.samples: Callable[[float, int], np.ndarray] = lambda _ms, count: np.zeros(count)
        self.asked: list[str] = []

    def __call__(self, url: str) -> Resource | None:
        parts = urlsplit(url)
        self.asked.append(parts.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match parts.path:
            case "/__framekiln/tailwind.js":
                compiler = resources.files("framekiln.capture").joinpath("tailwind.js")
                return Resource(compiler.read_bytes(), "text/javascript; charset=utf-8")
            case "/__framekiln/captions":
                if query["src"].endswith("missing.vtt"):
                    return answer({"error": "not_found", "message": "there is no such file"}, 404)
                return answer(self.captions)
            case "/__framekiln/media":
                sound = {"durationMs": 10_000, "hasVideo": False, "hasAudio": True}
                return answer({**sound, "widthPx": None, "heightPx": None})
            case "/__framekiln/peaks":
                samples = self.samples(float(query["ms"]), int(query["window"]))
                return Resource(samples.astype("<f4").tobytes(), "application/octet-stream")
        return None


def answer(body: object, status: int = 200) -> Resource:
    return Resource(json.dumps(body).encode(), "application/json", status)


Load = Callable[[str], LoadedPage]


@contextmanager
def loader(browser: Browser, host: RecordingHost) -> Iterator[Load]:
    """Yield a function that loads a composition, ready for its first frame."""
    with ExitStack() as stack:

        def load(html: str) -> LoadedPage:
            page = stack.enter_context(open_page(browser, FrameSize(640, 360)))
            document = Resource(as_document(html).text.encode(), "text/html; charset=utf-8")
            page.load(PageNetwork(document, host), settle_within_s=TIMEOUT_S)
            return LoadedPage(page)

        yield load


def scene(inner: str, attributes: str = 'mode="fixed" duration="4s"') -> str:
    """Put elements into a composition with the animation `fade`."""
    return f"{FADE}<ef-timegroup id=root {attributes}>{inner}</ef-timegroup>"
